"""Several widgets of one project: in the dashboard, the feed, the API, the snippet, a command."""

from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from tests.conftest import Caller
from tests.core.events import read_types
from tests.dashboard.inbox.inbox import Inbox, open_inbox
from tests.support.rows import add_testimonial, change_project
from tests.transfer.archives.projects import run_well
from tests.widget.conftest import read_feed


@pytest.fixture
def inbox(app: Flask, owner: Caller) -> Inbox:
    return open_inbox(app, owner, slug="salon")


def send(inbox: Inbox, path: str = "", status: int = 303, **values: str) -> TestResponse:
    answer = inbox.client.post(f"{inbox.base}/widgets{path}", data=values)
    assert answer.status_code == status, answer.text
    return answer


def listed(inbox: Inbox) -> list[dict[str, Any]]:
    return list(inbox.owner.get(f"/v1/projects/{inbox.project}/widgets").json["data"])  # type: ignore[index]


def test_saved_ones_have_look_and_selection(app: Flask, inbox: Inbox, client: FlaskClient) -> None:
    for rating in (5, 3):
        add_testimonial(app, inbox.project, rating=rating)
    design = {"minRating": 4, "brandColor": "#C2410C", "labels": {"readMore": "More"}}
    change_project(app, inbox.project, widget_design=design)
    send(inbox, name=" Home Page ")
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


def test_a_saved_widget_may_be_a_shape(app: Flask, inbox: Inbox, client: FlaskClient) -> None:
    add_testimonial(app, inbox.project, rating=5)
    send(inbox, name="small")
    form = {"arrangement": "badge", "publish": "1"}
    assert inbox.client.post(f"{inbox.base}/widget?widget=small", data=form).status_code == 303
    small = read_feed(client, inbox.project, "widget=small")
    assert (small["shape"], small["badge"]["average"], small["items"]) == ("badge", 5, [])
    assert "shape" not in read_feed(client, inbox.project, "")
    # A container that asks for something itself gets that.
    assert read_feed(client, inbox.project, "widget=small&shape=strip")["shape"] == "strip"
    path = f"/v1/projects/{inbox.project}/embed-snippet?widget=small"
    snippet = inbox.owner.get(path).json["data"]["container"]  # type: ignore[index]
    # The snippet follows when the shape is changed, so it doesn't name one.
    assert "data-testimonials-shape" not in snippet
    assert "<noscript>" not in snippet
    assert 'class="tm badge' in client.get(f"/widget/{inbox.project}?widget=small").text


def test_the_api_lists_them_with_their_snippets(inbox: Inbox, outsider: Caller, app: Flask) -> None:
    for name in ("two", "one"):
        send(inbox, name=name)
    found = listed(inbox)
    assert [each["name"] for each in found] == [None, "one", "two"]
    assert found[0].keys() == found[1].keys()
    assert len(found[1]["widgetConfig"]) == 10
    path = f"/v1/projects/{inbox.project}/embed-snippet"
    snippet = inbox.owner.get(f"{path}?widget=one").json["data"]["container"]  # type: ignore[index]
    assert 'data-testimonials-widget="one"' in snippet
    assert "?widget=one" in snippet
    missing = inbox.owner.get(f"{path}?widget=three")
    assert (missing.status_code, missing.json["message"]) == (  # type: ignore[index]
        404, "This project has no widget named three."
    )  # fmt: skip
    assert outsider.get(f"/v1/projects/{inbox.project}/widgets").status_code == 404
    assert "one" in run_well(app, "projects", "widgets", "salon")


def test_they_are_renamed_copied_and_deleted(inbox: Inbox, client: FlaskClient, app: Flask) -> None:
    send(inbox, name="home")
    before = read_feed(client, inbox.project, "widget=home")
    send(inbox, "/rename", widget="home", name="Start")
    assert "widget" not in read_feed(client, inbox.project, "widget=home")
    assert read_feed(client, inbox.project, "widget=start") == before | {"widget": "start"}
    send(inbox, name="copy", source="start")
    send(inbox, "/delete", widget="start")
    assert [each["name"] for each in listed(inbox)] == [None, "copy"]
    kinds = [kind for kind in read_types(app) if kind.startswith("widget.")]
    assert kinds == ["widget.saved", "widget.renamed", "widget.saved", "widget.deleted"]


def test_what_is_wrong_is_said_and_nothing_is_saved(inbox: Inbox) -> None:
    send(inbox, name="home")
    for name, reason in (
        ("", "Write a name"), ("!?", "Write a name"), ("x" * 41, "to 40 characters"),
        ("HOME", "named home already"),
    ):  # fmt: skip
        assert reason in send(inbox, status=422, name=name).text
    send(inbox, name="other")
    assert "named home already" in send(inbox, "/rename", 422, widget="other", name="home").text
    send(inbox, "/rename", widget="other", name="other")
    # The project's own has no name to change.
    for path in ("/rename", "/delete"):
        send(inbox, path, 404, widget="", name="own")
        send(inbox, path, 404, widget="gone", name="own")
    send(inbox, status=422, name="third", source="gone")
    for number in range(18):
        send(inbox, name=f"w{number}")
    assert "at most 20 saved widgets" in send(inbox, status=422, name="more").text
    assert len(listed(inbox)) == 21
