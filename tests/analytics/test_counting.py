"""Beacons: which are counted, what they may hold, and how they are written down."""

import json
from typing import Any

import pytest
from flask import Flask, request
from flask.testing import FlaskClient

from testimonials.analytics.counting import (
    MAX_BEACONS,
    MAX_KEYS,
    MAX_NEW_KEYS,
    MAX_VISITS,
    MAX_WEBSITES,
    Beacon,
    current_counts,
    write_insights,
)
from testimonials.analytics.models import OTHER_WEBSITES
from testimonials.analytics.reports import describe_insights
from testimonials.collection.context import make_context
from testimonials.collection.models import CollectionForm
from testimonials.collection.submission import make_form_token
from testimonials.core.db.identifiers import new_identifier
from testimonials.core.extensions import db
from testimonials.core.http.urls import app_url
from testimonials.projects.models import Project
from tests.auth.browsers import open_browser
from tests.conftest import Caller
from tests.support.rows import add_testimonial

pytestmark = pytest.mark.postgres

BROWSER = {
    "User-Agent": "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
    "Content-Type": "text/plain;charset=UTF-8",
    "Sec-Fetch-Site": "cross-site",
}
ELSEWHERE = BROWSER | {"Origin": "https://fern.example"}


@pytest.fixture
def project(owner: Caller) -> str:
    return str(owner.create_project()["_id"])


@pytest.fixture
def own(app: Flask) -> dict[str, str]:
    with app.app_context():
        return BROWSER | {"Origin": app_url(), "Sec-Fetch-Site": "same-origin"}


def send(client: FlaskClient, project: str, body: Any, headers: dict[str, str] = ELSEWHERE) -> None:
    """Send a beacon as a page does."""
    data = body if isinstance(body, bytes) else json.dumps(body)
    answer = client.post(f"/widget/{project}/seen", data=data, headers=headers)
    assert (answer.status_code, answer.data) == (204, b"")
    assert answer.headers["Access-Control-Allow-Origin"] == "*"


def elsewhere(host: str) -> dict[str, str]:
    return BROWSER | {"Origin": f"https://{host}"}


def make_visit(app: Flask, project: str) -> dict[str, Any]:
    """Return what the page of a form tells when it opens."""
    with app.test_request_context(headers=BROWSER):
        context = make_context(db.session.get_one(Project, project))
        token = make_form_token(context, request, is_empty=True)
    return {"surface": "form", "form": "", "visit": token, "opened": True}


def told(app: Flask, project: str) -> dict[str, Any]:
    """Write down what was counted; return what the owner is told."""
    with app.app_context():
        write_insights()
        return describe_insights(db.session.get_one(Project, project), 7, top=100)


def test_what_a_page_tells_is_counted(app, client, project):
    seen, read = (add_testimonial(app, project) for _ in range(2))
    hidden = add_testimonial(app, project, status="pending")
    view = {"surface": "widget", "view": True, "seen": [seen, read, hidden, "x" * 24, 5]}
    send(client, project, view)
    send(client, project, view)
    send(client, project, {"surface": "widget", "read": [read, read], "clicks": 1})
    found = told(app, project)
    assert (found["views"]["widget"], found["clicks"]) == (2, 1)
    numbers = [(each["id"], each["seen"], each["read"]) for each in found["testimonials"]]
    assert numbers == [(read, 2, 1), (seen, 2, 0)]
    (website,) = found["websites"]
    assert (website["website"], website["views"]) == ("fern.example", 2)
    # Rows are added to.
    send(client, project, view)
    assert told(app, project)["websites"][0]["views"] == 3


def test_the_wall_and_the_page_are_ours(app, client, owner, project, own):
    send(client, project, {"surface": "wall", "view": True}, own)
    visit = make_visit(app, project)
    send(client, project, visit, own)
    send(client, project, visit | {"started": True}, own)
    # The owner's own look, the editor's preview, and others' pages that claim to be ours.
    send(open_browser(app, owner), project, {"surface": "wall", "view": True}, own)
    send(open_browser(app, owner), project, make_visit(app, project), own)
    send(client, project, {"surface": "widget", "view": True}, own)
    send(client, project, {"surface": "wall", "view": True})
    send(client, project, make_visit(app, project))
    # No page had such a form.
    other = str(owner.create_project()["_id"])
    for token in (None, "", "x", make_visit(app, other)["visit"]):
        send(client, project, visit | {"visit": token}, own)
    found = told(app, project)
    assert found["views"] == {"widget": 0, "wall": 1, "total": 1, "previous": 0}
    assert found["funnel"] == {"opened": 1, "started": 1, "sent": 0, "approved": 0}


def test_what_is_nobodys_view_is_not_counted(app, client, project):
    for headers in (
        {"Sec-GPC": "1"}, {"DNT": "1"}, {"User-Agent": "Mozilla/5.0 (compatible; Googlebot/2.1)"},
        {"User-Agent": "Mozilla/5.0 HeadlessChrome/130.0"}, {"User-Agent": ""},
        {"Origin": "null"}, {"Origin": "http://localhost:3000"}, {"Origin": "http://127.0.0.1"},
        {"Origin": "http://[::1]:8080"}, {"Origin": "http://[x"}, {"Origin": "file://"},
        {"Origin": "https://" + "a" * 300},
    ):  # fmt: skip
        send(client, project, {"surface": "widget", "view": True}, ELSEWHERE | headers)
        assert told(app, project)["views"]["total"] == 0, headers
    for body in (
        b"", b"[]", b"\xff", b"[" * 15_000,
        b'{"surface": "widget", "view": 1, "clicks": true, "seen": {}, "read": [[]]}',
        b'{"surface": ["widget"], "view": true}',
        b'{"surface": "widget", "view": true, "x": "' + b"x" * 20_000 + b'"}',
    ):  # fmt: skip
        send(client, project, body)
        found = told(app, project)
        assert (found["views"]["total"], found["clicks"]) == (0, 0), body[:60]


def test_inventions_are_bounded(app, client, project):
    for number in range(MAX_BEACONS + 5):
        body = {"surface": "widget", "view": True}
        send(client, project, body, elsewhere(f"{number}.example"))
    send(client, "0" * 24, {"surface": "widget", "view": True})
    found = told(app, project)
    # Who invents more than a project may have takes nothing from the others' numbers.
    assert len(found["websites"]) == MAX_WEBSITES + 1
    others = [each for each in found["websites"] if each["website"] == OTHER_WEBSITES]
    assert [each["views"] for each in others] == [MAX_BEACONS - MAX_WEBSITES]
    assert found["views"]["widget"] == MAX_BEACONS
    send(client, project, {"surface": "widget", "view": True}, elsewhere("late.example"))
    found = told(app, project)
    assert (len(found["websites"]), found["views"]["widget"]) == (MAX_WEBSITES + 1, MAX_BEACONS + 1)


def test_one_address_leaves_others_room(app, client, project):
    known = add_testimonial(app, project)
    for _ in range(MAX_NEW_KEYS // 200 + 3):
        invented = [new_identifier() for _ in range(200)]
        send(client, project, {"surface": "widget", "view": True, "seen": invented})
    with app.app_context():
        assert len(current_counts().numbers) == MAX_NEW_KEYS
        # A full memory still counts what it has.
        for number in range(MAX_KEYS):
            current_counts().note(
                f"{number:024x}", Beacon([("wall", "", "views", 1)]), str(number % 999)
            )
        assert len(current_counts().numbers) == MAX_KEYS
    send(client, project, {"surface": "widget", "seen": [known], "view": True})
    found = told(app, project)
    assert found["views"]["widget"] == MAX_NEW_KEYS // 200 + 4
    assert found["testimonials"] == []


def test_no_other_forms(app, client, project, own):
    with app.app_context():
        db.session.add(CollectionForm(project_id=project, name="trade", title="Trade"))
        db.session.commit()
    for form in ("", "trade", *(f"invented-{number}" for number in range(5))):
        send(client, project, make_visit(app, project) | {"form": form}, own)
    assert told(app, project)["funnel"]["opened"] == 2


def test_one_address_makes_few_visits_a_minute(app, client, project, own):
    for _ in range(MAX_VISITS + 5):
        send(client, project, make_visit(app, project), own)
    assert told(app, project)["funnel"]["opened"] == MAX_VISITS
