"""Several widgets of one project: in the dashboard, the feed, the API and the snippet."""

import json
from typing import Any

import pytest
from flask import Flask
from selectolax.lexbor import LexborHTMLParser
from werkzeug.test import TestResponse

from tests.conftest import Caller
from tests.core.events import read_types
from tests.dashboard.inbox.inbox import Inbox, open_inbox
from tests.support.rows import add_testimonial, change_project
from tests.widget.conftest import read_feed


@pytest.fixture
def inbox(app: Flask, owner: Caller) -> Inbox:
    return open_inbox(app, owner, slug="salon")


def send(inbox: Inbox, path: str, status: int = 303, **values: str) -> TestResponse:
    answer = inbox.client.post(f"{inbox.base}/widget{path}", data=values)
    assert answer.status_code == status, answer.text
    return answer


def listed(inbox: Inbox) -> list[dict[str, Any]]:
    return list(inbox.owner.get(f"/v1/projects/{inbox.project}/widgets").json["data"])  # type: ignore[index]


def test_saved_ones_have_look_and_selection(app, inbox, client):
    for rating in (5, 3):
        add_testimonial(app, inbox.project, rating=rating)
    design = {"minRating": 4, "brandColor": "#C2410C", "labels": {"readMore": "More"}}
    change_project(app, inbox.project, widget_design=design)
    send(inbox, "/new", look="wall")
    send(inbox, "s/wall", name=" Home Page ")
    change_project(app, inbox.project, widget_design={})
    inbox.owner.patch(f"/v1/projects/{inbox.project}/widget-config", {"layout": "list"})
    own, saved = (
        read_feed(client, inbox.project, "lang=en"),
        read_feed(client, inbox.project, "widget=home-page&lang=en"),
    )
    assert (own["config"]["layout"], own["total"]) == ("list", 2)
    assert (saved["config"]["layout"], saved["total"]) == ("masonry", 1)
    assert own["colours"] != saved["colours"]
    assert (own["words"]["readMore"], saved["words"]["readMore"]) == ("Read more", "More")
    assert ("widget" in own, saved["widget"]) == (False, "home-page")
    # Attributes of the container go before the widget's settings.
    assert read_feed(client, inbox.project, "widget=home-page&shape=badge")["shape"] == "badge"
    # Of a name that isn't one, and of one that isn't there, it is the project's own.
    for name in ("elsewhere", "Home%20Page", "%00", "x" * 50):
        assert read_feed(client, inbox.project, f"widget={name}&lang=en") == own
    page = client.get(f"/widget/{inbox.project}?widget=home-page").text
    assert 'data-testimonials-widget="home-page"' in page


def test_a_saved_widget_may_be_a_shape(app, inbox, client):
    add_testimonial(app, inbox.project, rating=5)
    assert send(inbox, "/new", look="badge").location.endswith("/widget?widget=badge")
    small = read_feed(client, inbox.project, "widget=badge")
    assert (small["shape"], small["badge"]["average"], small["items"]) == ("badge", 5, [])
    assert "shape" not in read_feed(client, inbox.project, "")
    # A container that asks for something itself gets that.
    assert read_feed(client, inbox.project, "widget=badge&shape=strip")["shape"] == "strip"
    path = f"/v1/projects/{inbox.project}/embed-snippet?widget=badge"
    snippet = inbox.owner.get(path).json["data"]["container"]  # type: ignore[index]
    # The snippet follows when the shape is changed, so it doesn't name one.
    assert "data-testimonials-shape" not in snippet
    assert "<noscript>" not in snippet
    assert 'class="tm badge' in client.get(f"/widget/{inbox.project}?widget=badge").text


def test_the_api_lists_them_with_their_snippets(inbox, outsider):
    for look in ("wall", "letters"):
        send(inbox, "/new", look=look)
    found = listed(inbox)
    assert [each["name"] for each in found] == [None, "letters", "wall"]
    assert found[0].keys() == found[1].keys()
    assert len(found[1]["widgetConfig"]) == 10
    path = f"/v1/projects/{inbox.project}/embed-snippet"
    snippet = inbox.owner.get(f"{path}?widget=wall").json["data"]["container"]  # type: ignore[index]
    assert 'data-testimonials-widget="wall"' in snippet
    assert "?widget=wall" in snippet
    missing = inbox.owner.get(f"{path}?widget=three")
    assert (missing.status_code, missing.json["message"]) == (  # type: ignore[index]
        404, "This project has no widget named three."
    )  # fmt: skip
    assert outsider.get(f"/v1/projects/{inbox.project}/widgets").status_code == 404


def test_they_are_renamed_copied_and_deleted(inbox, client, app):
    send(inbox, "/new", look="letters")
    before = read_feed(client, inbox.project, "widget=letters")
    assert before["config"]["layout"] == "list"
    send(inbox, "s/letters", name="Start")
    assert "widget" not in read_feed(client, inbox.project, "widget=letters")
    assert read_feed(client, inbox.project, "widget=start") == before | {"widget": "start"}
    # What it selects is that of the widget where one was; its name is free.
    inbox.client.post(f"{inbox.base}/widget?widget=start", data={"minRating": "4", "publish": "1"})
    for _ in range(2):
        send(inbox, "/new?widget=start", look="wall")
    assert [each["name"] for each in listed(inbox)] == [None, "start", "wall", "wall-2"]
    assert [each["widgetDesign"].get("minRating") for each in listed(inbox)] == [0, 4, 4, 4]
    page = send(inbox, "s/start/delete").location
    assert "widget=start" not in page
    assert "Deleted" in inbox.client.get(page).text
    assert [each["name"] for each in listed(inbox)] == [None, "wall", "wall-2"]
    kinds = [kind for kind in read_types(app) if kind.startswith("widget.")]
    saved = ["widget.saved"]
    assert kinds == [*saved, "widget.renamed", "widget.changed", *saved, *saved, "widget.deleted"]


def test_what_is_wrong_is_said_and_nothing_is_saved(inbox):
    send(inbox, "/new", look="wall")
    send(inbox, "/new", look="letters")
    for name, reason in (
        ("", "Write a name"), ("!?", "Write a name"), ("x" * 41, "to 40 characters"),
        ("WALL", "named wall already"),
    ):  # fmt: skip
        page = send(inbox, "s/letters", 422, name=name).text
        assert reason in page
        assert f'value="{name}"' in page
    send(inbox, "s/letters", name="letters")
    send(inbox, "s/gone", 404, name="own")
    send(inbox, "s/gone/delete", 404)
    assert inbox.client.get(f"{inbox.base}/widgets/gone").status_code == 404
    send(inbox, "/new?widget=gone", 404, look="wall")
    send(inbox, "/new", 422, look="sepia")
    for _ in range(18):
        send(inbox, "/new", look="slider")
    assert "at most 20 saved widgets" in send(inbox, "/new", 409, look="wall").text
    assert len(listed(inbox)) == 21


def test_the_gallery_has_the_owners_words_and_samples_up_to_six(app, inbox):
    add_testimonial(app, inbox.project, text="Words </script> of our own.", rating=3)
    page = inbox.client.get(f"{inbox.base}/widget/new").text
    data = json.loads(page.partition('id="gallery">')[2].partition("</script>")[0])
    items = data["feed"]["items"]
    assert [item.get("isSample", False) for item in items] == [False, *[True] * 5]
    assert items[0]["text"] == "Words </script> of our own."
    # Nobody's rating but the one that there is.
    header = data["drawn"]["badge"]["header"]
    assert (header["average"], header["count"]) == (3, 1)
    assert data["drawn"]["night"]["config"]["theme"] == "dark"
    assert data["drawn"]["badge-corner"]["shape"] == "badge-corner"
    for path, look in (("/widget/new", 12), ("/widget/look", 6)):
        radios = LexborHTMLParser(inbox.client.get(f"{inbox.base}{path}").text).css("[name=look]")
        assert len(radios) == look
        assert sum("checked" in radio.attributes for radio in radios) == 1
    assert inbox.client.get(f"{inbox.base}/widget/look?widget=gone").status_code == 404
    # Where it is paused, it is chosen all the same.
    change_project(app, inbox.project, status="inactive")
    assert '"active": true' in inbox.client.get(f"{inbox.base}/widget/look").text
