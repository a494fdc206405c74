"""The sheet that orders a widget's testimonials by hand, in its draft; without its script."""

import re

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from tests.dashboard.inbox.inbox import JSON, Inbox
from tests.support.rows import add_testimonial, add_widget, change_project, read_project


@pytest.fixture
def ids(app: Flask, inbox: Inbox) -> dict[str, str]:
    """Four testimonials, the newest last."""
    return {
        name: add_testimonial(app, inbox.project, author_name=name, rating=rating)
        for name, rating in (("Aiko", 3), ("Ben", 5), ("Cleo", 5), ("Dana", 5))
    }


def press(
    inbox: Inbox, button: str, of: str, status: int = 303, widget: str = "", **more: str
) -> TestResponse:
    path = f"{inbox.base}/widget/order?widget={widget}"
    answer = inbox.client.post(path, data={button: of} | more)
    assert answer.status_code == status, answer.text
    return answer


def on_sheet(inbox: Inbox, query: str = "") -> tuple[list[str], list[str]]:
    """Return the authors that come first, and the others."""
    first, _, others = inbox.get(f"widget/order{query}").text.partition("data-others")
    return tuple(re.findall(r'order-name">(\w+)<', part) for part in (first, others))  # type: ignore[return-value]


def publish(inbox: Inbox) -> list[str]:
    """Publish the draft; return whom the widget shows."""
    inbox.client.post(f"{inbox.base}/widget", data={"publish": "1"})
    return inbox.shown()


def changed(inbox: Inbox) -> str:
    """Return what the editor says of the draft and of its order."""
    page = inbox.get("widget").text
    parts = ("data-changed", "data-order-name")
    return " ".join(re.findall(f"{part}>([^<]*)<", page)[0] for part in parts).strip()


def test_the_draft_is_ordered_and_published(inbox, ids):
    before = ["Dana", "Cleo", "Ben", "Aiko"]
    assert on_sheet(inbox) == ([], before)
    for name in ("Ben", "Aiko", "Dana", "Ben"):
        press(inbox, "add", ids[name])
    press(inbox, "up", ids["Dana"])
    press(inbox, "down", ids["Ben"])
    # The first goes no further, nor the last, nor one that isn't there.
    for button, name in (("up", "Dana"), ("down", "Aiko"), ("up", "Cleo"), ("remove", "Cleo")):
        press(inbox, button, ids[name])
    assert on_sheet(inbox) == (["Dana", "Ben", "Aiko"], ["Cleo"])
    assert changed(inbox) == "1 change, not on your site yet By hand"
    assert inbox.shown() == before, "visitors see it once it is published"
    assert publish(inbox) == ["Dana", "Ben", "Aiko", "Cleo"]
    press(inbox, "remove", ids["Ben"])
    assert publish(inbox) == ["Dana", "Aiko", "Cleo", "Ben"]
    inbox.client.post(f"{inbox.base}/widget", data={"show": "chosen"})
    assert "Only these show." in inbox.get("widget/order").text
    assert publish(inbox) == ["Dana", "Aiko"]
    inbox.client.post(f"{inbox.base}/widget", data={"show": "all"})
    for name in ("Dana", "Aiko"):
        press(inbox, "remove", ids[name])
    # What has no order is in that of time again.
    assert publish(inbox) == before
    assert changed(inbox) == "Pinned, then newest"


def test_the_order_is_undone_and_discarded(inbox, ids):
    press(inbox, "add", ids["Ben"])
    inbox.client.post(f"{inbox.base}/widget", data={"theme": "dark"})
    press(inbox, "add", ids["Aiko"])
    inbox.client.post(f"{inbox.base}/widget/undo")
    assert on_sheet(inbox)[0] == ["Ben"]
    inbox.client.post(f"{inbox.base}/widget/discard")
    assert on_sheet(inbox)[0] == []


def test_the_order_begins_with_the_pinned_ones(inbox, ids):
    inbox.act(ids["Aiko"], "pin")
    assert on_sheet(inbox) == (["Aiko"], ["Dana", "Cleo", "Ben"])
    press(inbox, "add", ids["Ben"])
    assert publish(inbox) == ["Aiko", "Ben", "Dana", "Cleo"]
    press(inbox, "up", ids["Ben"])
    assert publish(inbox) == ["Ben", "Aiko", "Dana", "Cleo"]
    # One that is taken out stays out, though it is pinned, and leads the others.
    press(inbox, "remove", ids["Aiko"])
    assert on_sheet(inbox) == (["Ben"], ["Aiko", "Dana", "Cleo"])


def test_a_script_arranges_all_and_loses_none(inbox, ids):
    for name in ids:
        press(inbox, "add", ids[name])
    wanted = [ids["Cleo"], "0" * 24, ids["Aiko"], "x"]
    path = f"{inbox.base}/widget/order"
    answer = inbox.client.post(path, data={"ids": wanted}, headers=JSON).json
    assert on_sheet(inbox)[0] == ["Cleo", "Aiko", "Ben", "Dana"]
    # The editor behind the sheet shows it.
    names = [item["authorName"] for item in answer["feed"]["items"]]  # type: ignore[index]
    assert (names, answer["order"]) == (["Cleo", "Aiko", "Ben", "Dana"], "By hand")  # type: ignore[index]


def test_what_does_not_show_says_why(app, inbox, ids):
    for name in ("Aiko", "Ben"):
        press(inbox, "add", ids[name])
    publish(inbox)
    design = read_project(app, inbox.project).widget_design
    change_project(app, inbox.project, widget_design=design | {"minRating": 4})
    inbox.act(ids["Ben"], "reject")
    page = inbox.get("widget/order").text
    assert "Not selected for this widget" in page
    assert "Not approved" in page


def test_each_widget_has_an_order_of_its_own_of_a_hundred(app, inbox, ids, outsider):
    add_widget(app, inbox.project, "home")
    press(inbox, "add", ids["Aiko"], widget="home")
    assert (on_sheet(inbox, "?widget=home")[0], on_sheet(inbox)[0]) == (["Aiko"], [])
    foreign = add_testimonial(app, outsider.create_project()["_id"])
    for of, name, status in (
        (foreign, "", 404), ("x", "", 404), (ids["Ben"], "gone", 404), ("y" * 99, "", 422),
    ):  # fmt: skip
        press(inbox, "add", of, status, widget=name)
    many = [add_testimonial(app, inbox.project, author_name=f"P{n}") for n in range(100)]
    change_project(app, inbox.project, widget_design={"chosen": many, "order": "hand"})
    assert "At most 100" in press(inbox, "add", ids["Aiko"], 409).text
    assert read_project(app, inbox.project).widget_draft is None
    # The others come in pages.
    assert on_sheet(inbox)[1] == ["Dana", "Cleo", "Ben", "Aiko"]
    change_project(app, inbox.project, widget_design={})
    page = inbox.get("widget/order").text
    older = re.findall(r'rel="next" href="[^"]*(\?after=[^"]+)"', page)[0]
    answer = inbox.client.post(f"{inbox.base}/widget/order{older}", data={"add": many[0]})
    assert answer.headers["Location"].endswith(f"order{older}")
