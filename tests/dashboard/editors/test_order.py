"""The page that orders a widget's testimonials by hand; without its script."""

import re

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from tests.conftest import Caller
from tests.dashboard.inbox.inbox import JSON, Inbox, open_inbox
from tests.support.rows import add_testimonial, change_project, read_project


@pytest.fixture
def inbox(app: Flask, owner: Caller) -> Inbox:
    return open_inbox(app, owner)


@pytest.fixture
def ids(app: Flask, inbox: Inbox) -> dict[str, str]:
    """Four testimonials, the newest last."""
    return {
        name: add_testimonial(app, inbox.project, author_name=name, rating=rating)
        for name, rating in (("Aiko", 3), ("Ben", 5), ("Cleo", 5), ("Dana", 5))
    }


def do(inbox: Inbox, what: str, status: int = 303, **values: str | list[str]) -> TestResponse:
    answer = inbox.client.post(f"{inbox.base}/order", data={"do": what} | values)
    assert answer.status_code == status, answer.text
    return answer


def on_page(page: str) -> tuple[list[str], list[str]]:
    """Return the authors that are ordered, and the others."""
    first, _, others = page.partition("others-title")
    return tuple(re.findall(r'order-name">(\w+)<', part) for part in (first, others))  # type: ignore[return-value]


def test_testimonials_are_added_moved_and_taken_out(inbox: Inbox, ids: dict[str, str]) -> None:
    assert on_page(inbox.get("order").text) == ([], ["Dana", "Cleo", "Ben", "Aiko"])
    for name in ("Ben", "Aiko", "Dana", "Ben"):
        do(inbox, f"add {ids[name]}")
    assert on_page(inbox.get("order").text) == (["Ben", "Aiko", "Dana"], ["Cleo"])
    assert inbox.shown() == ["Ben", "Aiko", "Dana", "Cleo"]
    do(inbox, f"up {ids['Dana']}")
    do(inbox, f"down {ids['Ben']}")
    assert inbox.shown() == ["Dana", "Ben", "Aiko", "Cleo"]
    # The first goes no further, nor the last, nor one that isn't there.
    for move in (f"up {ids['Dana']}", f"down {ids['Aiko']}", f"up {ids['Cleo']}"):
        do(inbox, move)
    do(inbox, "only ")
    assert inbox.shown() == ["Dana", "Ben", "Aiko"]
    do(inbox, f"out {ids['Ben']}")
    assert inbox.shown() == ["Dana", "Aiko"]
    do(inbox, "all ")
    assert inbox.shown() == ["Dana", "Aiko", "Cleo", "Ben"]
    for name in ("Dana", "Aiko"):
        do(inbox, f"out {ids[name]}")
    # What has no order is in that of time again.
    assert inbox.shown() == ["Dana", "Cleo", "Ben", "Aiko"]


def test_a_script_arranges_all_and_loses_none(inbox: Inbox, ids: dict[str, str]) -> None:
    for name in ids:
        do(inbox, f"add {ids[name]}")
    wanted = [ids["Cleo"], "0" * 24, ids["Aiko"], "x"]
    answer = inbox.client.post(
        f"{inbox.base}/order", data={"do": "arrange", "ids": wanted}, headers=JSON
    )
    assert (answer.json, inbox.shown()) == ({"ok": True}, ["Cleo", "Aiko", "Ben", "Dana"])


def test_what_does_not_show_says_why(app: Flask, inbox: Inbox, ids: dict[str, str]) -> None:
    for name in ("Aiko", "Ben"):
        do(inbox, f"add {ids[name]}")
    design = read_project(app, inbox.project).widget_design
    # A draft loses its own order, or publishing it would take this one back.
    draft = {"design": {"order": "best", "radius": 6}}
    change_project(app, inbox.project, widget_design=design | {"minRating": 4}, widget_draft=draft)
    inbox.act(ids["Ben"], "reject")
    page = inbox.get("order").text
    assert "Left out by this widget’s selection" in page
    assert "Not approved" in page
    do(inbox, f"add {ids['Cleo']}")
    assert read_project(app, inbox.project).widget_draft == {"design": {"radius": 6}}


def test_each_widget_has_an_order_of_its_own_of_a_hundred(
    app: Flask, inbox: Inbox, ids: dict[str, str], outsider: Caller
) -> None:
    inbox.client.post(f"{inbox.base}/widgets", data={"name": "home"})
    do(inbox, f"add {ids['Aiko']}", widget="home")
    path = f"/widget/{inbox.project}/feed?widget=home"
    names = [item["authorName"] for item in inbox.client.get(path).json["items"]]  # type: ignore[index]
    assert (names[0], inbox.shown()[0]) == ("Aiko", "Dana")
    foreign = add_testimonial(app, outsider.create_project()["_id"])
    for what, name, status in (
        (f"add {foreign}", "", 404), ("add x", "", 404), ("add", "gone", 404), ("dance", "", 400),
    ):  # fmt: skip
        do(inbox, what, status, widget=name)
    many = [add_testimonial(app, inbox.project, author_name=f"P{n}") for n in range(100)]
    change_project(app, inbox.project, widget_design={"chosen": many, "order": "hand"})
    answer = do(inbox, f"add {ids['Aiko']}")
    assert "At most 100" in inbox.client.get(answer.headers["Location"]).text
    assert read_project(app, inbox.project).widget_design["chosen"] == many
