"""Beacons: which are counted, what they may hold, and how they are written down."""

import json
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from testimonials.core.urls import app_url
from testimonials.extensions import db
from testimonials.insights.counting import MAX_BEACONS, MAX_WEBSITES, current_counts
from testimonials.insights.services import describe_insights
from testimonials.operations.jobs.registry import write_insights
from testimonials.projects.models import Project
from tests.auth.browsers import open_browser
from tests.conftest import Caller
from tests.support.rows import add_testimonial

BROWSER = {
    "User-Agent": "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
    "Content-Type": "text/plain;charset=UTF-8",
    "Sec-Fetch-Site": "cross-site",
}
ELSEWHERE = BROWSER | {"Origin": "https://fern.example"}


@pytest.fixture
def project(owner: Caller) -> str:
    """A project of the owner, which has no testimonials."""
    project_id: str = owner.create_project(skipDemoTestimonials=True)["_id"]
    return project_id


def send(client: FlaskClient, project: str, body: Any, headers: dict[str, str] = ELSEWHERE) -> None:
    """Send a beacon as a page does."""
    data = body if isinstance(body, bytes) else json.dumps(body)
    answer = client.post(f"/widget/{project}/seen", data=data, headers=headers)
    assert (answer.status_code, answer.data) == (204, b"")
    assert answer.headers["Access-Control-Allow-Origin"] == "*"


def told(app: Flask, project: str) -> dict[str, Any]:
    """Write down what was counted; return what the owner is told."""
    with app.app_context():
        write_insights()
        return describe_insights(db.session.get_one(Project, project), 7, top=100)


def test_what_a_page_tells_is_counted(app: Flask, client: FlaskClient, project: str) -> None:
    seen, read = (add_testimonial(app, project) for _ in range(2))
    hidden = add_testimonial(app, project, status="pending")
    view = {"surface": "widget", "view": True, "seen": [seen, read, hidden, "x" * 24, 5]}
    send(client, project, view)
    send(client, project, view)
    send(client, project, {"surface": "widget", "read": [read, read], "clicks": 1})
    found = told(app, project)
    assert found["views"]["widget"] == 2
    assert found["clicks"] == 1
    assert [(each["id"], each["seen"], each["read"]) for each in found["testimonials"]] == [
        (read, 2, 1),
        (seen, 2, 0),
    ]
    (website,) = found["websites"]
    assert (website["website"], website["views"]) == ("fern.example", 2)
    # Rows are added to.
    send(client, project, view)
    assert told(app, project)["websites"][0]["views"] == 3


def test_the_wall_and_the_form_are_ours(app: Flask, client: FlaskClient, project: str) -> None:
    with app.app_context():
        own = BROWSER | {"Origin": app_url(), "Sec-Fetch-Site": "same-origin"}
    send(client, project, {"surface": "wall", "view": True}, own)
    send(client, project, {"surface": "form", "opened": True}, own)
    send(client, project, {"surface": "form", "form": "trade", "started": True}, own)
    # The editor's preview, and others' pages that claim to be ours.
    send(client, project, {"surface": "widget", "view": True}, own)
    send(client, project, {"surface": "wall", "view": True})
    send(client, project, {"surface": "form", "opened": True})
    found = told(app, project)
    assert found["views"] == {"widget": 0, "wall": 1, "total": 1, "previous": 0}
    assert found["funnel"] == {"opened": 1, "started": 1, "sent": 0, "approved": 0}


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-GPC": "1"},
        {"DNT": "1"},
        {"User-Agent": "Mozilla/5.0 (compatible; Googlebot/2.1)"},
        {"User-Agent": "Mozilla/5.0 HeadlessChrome/130.0"},
        {"User-Agent": ""},
        {"Origin": "null"},
        {"Origin": "http://localhost:3000"},
        {"Origin": "http://127.0.0.1"},
        {"Origin": "http://[::1]:8080"},
        {"Origin": "http://[x"},
        {"Origin": "file://"},
        {"Origin": "https://" + "a" * 300},
    ],
)
def test_what_is_nobodys_view_is_not_counted(
    app: Flask, client: FlaskClient, project: str, headers: dict[str, str]
) -> None:
    send(client, project, {"surface": "widget", "view": True}, ELSEWHERE | headers)
    assert told(app, project)["views"]["total"] == 0


def test_the_owners_own_look_is_not_counted(app: Flask, owner: Caller, project: str) -> None:
    browser = open_browser(app, owner)
    with app.app_context():
        own = BROWSER | {"Origin": app_url(), "Sec-Fetch-Site": "same-origin"}
    send(browser, project, {"surface": "wall", "view": True}, own)
    assert told(app, project)["views"]["total"] == 0


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"\xff",
        b"[" * 15_000,
        b'{"surface": "widget", "view": 1, "clicks": true, "seen": {}, "read": [[]]}',
        b'{"surface": ["widget"], "view": true}',
        b'{"surface": "widget", "view": true, "x": "' + b"x" * 20_000 + b'"}',
    ],
)
def test_no_body_does_harm(app: Flask, client: FlaskClient, project: str, body: bytes) -> None:
    send(client, project, body)
    found = told(app, project)
    assert (found["views"]["total"], found["clicks"]) == (0, 0)


def test_inventions_are_bounded(app: Flask, client: FlaskClient, project: str) -> None:
    for number in range(MAX_BEACONS + 5):
        body = {"surface": "widget", "view": True}
        send(client, project, body, BROWSER | {"Origin": f"https://{number}.example"})
    send(client, "0" * 24, {"surface": "widget", "view": True})
    found = told(app, project)
    assert len(found["websites"]) == MAX_WEBSITES
    assert found["views"]["widget"] == MAX_WEBSITES


def test_what_could_not_be_written_is_written_later(
    app: Flask, client: FlaskClient, project: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    send(client, project, {"surface": "widget", "view": True})
    with monkeypatch.context() as patched, app.app_context():
        patched.setattr("testimonials.operations.jobs.registry.write_counts", lambda _: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            write_insights()
        assert current_counts().numbers
    assert told(app, project)["views"]["widget"] == 1
