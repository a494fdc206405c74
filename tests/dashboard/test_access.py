"""Every address of the dashboard, read from the URL map, against everybody whom it is not for."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import select

from testimonials.core.database import Base
from testimonials.core.outbox import OutboxMail
from testimonials.core.ratelimit import RateLimitCounter
from testimonials.extensions import db
from tests.auth.browsers import open_browser, session_ids
from tests.conftest import PASSWORD, Caller

SECRET = "Words that only the owner may see"
# Whatever a form of the dashboard may be sent with, so that nothing is refused for lack of it.
FORM = {
    "email": "next@example.com",
    "password": PASSWORD,
    "current": PASSWORD,
    "slug": "taken-over",
    "status": "inactive",
    "confirm": "secret-slug",
    "business_name": "Another",
    "website": "",
    "action": "trash",
    "do": "hide",
    "message": "Changed",
    "all": "1",
    "text": "Changed",
    "author_name": "Changed",
    "submitted_on": "2024-01-01",
    "theme": "dark",
}


@dataclass(frozen=True)
class Door:
    """One method of one address, with the owner's ids in it."""

    method: str
    path: str
    is_about_project: bool


@dataclass(frozen=True)
class Property:
    """What the owner has."""

    project: str
    deleted: str
    testimonial: str
    session: str


@pytest.fixture
def property_(app: Flask, owner: Caller) -> Property:
    """A project with a testimonial, a deleted project, and a session."""
    browser = open_browser(app, owner)
    project = owner.create_project(slug="secret-slug", businessName="Secret business")["_id"]
    deleted = owner.create_project(slug="gone")["_id"]
    testimonial = owner.create_testimonial(project, text=SECRET)
    answer = browser.post(f"/dashboard/projects/{deleted}/delete", data={"confirm": "gone"})
    assert answer.status_code == 303
    (session,) = session_ids(app, owner.account_id)
    return Property(project, deleted, testimonial["_id"], session)


@pytest.fixture
def doors(app: Flask, property_: Property) -> list[Door]:
    """Every rule under /dashboard with each of its methods."""
    return list(find_doors(app, property_))


def find_doors(app: Flask, has: Property) -> Iterator[Door]:
    adapter = app.url_map.bind("localhost")
    for rule in app.url_map.iter_rules():
        if rule.rule.split("/")[1] != "dashboard":
            continue
        ids = {
            "project_id": has.deleted if rule.rule.endswith("/take-back") else has.project,
            "testimonial_id": has.testimonial,
            "session_id": has.session,
        }
        # A new kind of id must be given here, so that no door is left out.
        path = adapter.build(rule.endpoint, {name: ids[name] for name in rule.arguments})
        for method in sorted((rule.methods or set()) - {"OPTIONS"}):
            yield Door(method, path, "project_id" in rule.arguments)


def everything(app: Flask, *, but: set[str] = frozenset()) -> dict[str, set[str]]:  # type: ignore[assignment]
    """Give every row of the database, except the counters of limits."""
    left_out = {RateLimitCounter.__tablename__} | but
    with app.app_context():
        return {
            table.name: {repr(tuple(row)) for row in db.session.execute(select(table))}
            for table in Base.metadata.sorted_tables
            if table.name not in left_out
        }


def test_the_map_has_the_doors(doors: list[Door]) -> None:
    assert len(doors) > 30
    assert {door.method for door in doors} == {"GET", "HEAD", "POST"}


def test_who_is_not_signed_in_sees_and_does_nothing(
    app: Flask, client: FlaskClient, doors: list[Door]
) -> None:
    before = everything(app)
    for door in doors:
        answer = client.open(door.path, method=door.method, data=FORM, follow_redirects=False)
        assert answer.status_code == 303, door
        assert answer.headers["Location"].startswith("/login?next=%2Fdashboard"), door
        assert SECRET not in answer.text
        assert "Secret business" not in answer.text
        assert "Set-Cookie" not in answer.headers
    assert everything(app) == before


def test_a_key_of_the_api_is_no_session(
    app: Flask, owner: Caller, client: FlaskClient, doors: list[Door]
) -> None:
    before = everything(app)
    for door in doors:
        answer = client.open(door.path, method=door.method, data=FORM, headers=owner.headers)
        assert answer.status_code == 303, door
        assert answer.headers["Location"].startswith("/login?"), door
    assert everything(app) == before


@pytest.mark.parametrize("accept", ["text/html", "application/json"])
def test_another_owner_finds_nothing_and_changes_nothing(
    app: Flask, outsider: Caller, doors: list[Door], accept: str
) -> None:
    browser = open_browser(app, outsider)
    outsider.create_project(slug="theirs")
    before = everything(app)
    for door in doors:
        if not door.is_about_project:
            continue
        answer = browser.open(door.path, method=door.method, data=FORM, headers={"Accept": accept})
        assert answer.status_code == 404, door
        assert SECRET not in answer.text
        assert "Secret business" not in answer.text
        assert "secret-slug" not in answer.text
    assert everything(app) == before


def test_another_owner_does_not_reach_a_testimonial_through_an_own_project(
    app: Flask, outsider: Caller, property_: Property, doors: list[Door]
) -> None:
    browser = open_browser(app, outsider)
    own = outsider.create_project(slug="theirs")["_id"]
    before = everything(app)
    reached = [door for door in doors if property_.testimonial in door.path]
    assert len(reached) >= 3
    for door in reached:
        path = door.path.replace(property_.project, own)
        answer = browser.open(path, method=door.method, data=FORM)
        assert answer.status_code == 404, path
        assert SECRET not in answer.text
    # Many at once find only what is in the project.
    form = {"action": "trash", "ids": [property_.testimonial, "\0", "x"]}
    browser.post(f"/dashboard/projects/{own}/bulk", data=form)
    assert everything(app) == before


def test_another_owners_own_pages_show_nothing_of_it(
    app: Flask, outsider: Caller, doors: list[Door]
) -> None:
    browser = open_browser(app, outsider)
    for door in doors:
        if door.method == "GET" and not door.is_about_project:
            answer = browser.get(door.path, follow_redirects=True)
            assert answer.status_code == 200, door
            assert "Secret business" not in answer.text
            assert "secret-slug" not in answer.text


@pytest.mark.parametrize("name", ["Sec-Fetch-Site", "Origin"])
def test_no_form_is_taken_from_another_site(
    app: Flask, owner: Caller, doors: list[Door], name: str
) -> None:
    browser = open_browser(app, owner)
    headers = {name: "cross-site" if name == "Sec-Fetch-Site" else "https://elsewhere.example"}
    before = everything(app)
    for door in doors:
        if door.method == "POST":
            answer = browser.post(door.path, data=FORM, headers=headers)
            assert answer.status_code == 403, door
            assert "Set-Cookie" not in answer.headers
    assert everything(app) == before


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE", "OPTIONS"])
def test_other_methods_do_nothing(
    app: Flask, owner: Caller, doors: list[Door], method: str
) -> None:
    browser = open_browser(app, owner)
    before = everything(app)
    for path in {door.path for door in doors}:
        answer = browser.open(path, method=method, data=FORM)
        assert answer.status_code in (200, 405), path
        assert SECRET not in answer.text
    assert everything(app) == before


def test_opening_a_page_changes_nothing(app: Flask, owner: Caller, doors: list[Door]) -> None:
    browser = open_browser(app, owner)
    before = everything(app)
    for door in doors:
        if door.method in ("GET", "HEAD"):
            answer = browser.open(door.path, method=door.method)
            assert answer.status_code in (200, 303), door
            assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"] or (
                answer.status_code == 303
            )
    assert everything(app) == before


@pytest.mark.parametrize("made_up", ["x", "%00", "0" * 24, "%25", "..%2f", "é", "9" * 2000])
def test_made_up_ids_are_found_nowhere(
    app: Flask, owner: Caller, property_: Property, doors: list[Door], made_up: str
) -> None:
    browser = open_browser(app, owner)
    before = everything(app, but={OutboxMail.__tablename__})
    for door in doors:
        if not door.is_about_project:
            continue
        path = door.path.replace(property_.project, made_up).replace(property_.deleted, made_up)
        answer = browser.open(path, method=door.method, data=FORM)
        assert answer.status_code in (404, 405, 303), path
        if answer.status_code == 303:
            assert answer.headers["Location"].startswith("/login") or made_up == "..%2f"
    assert everything(app, but={OutboxMail.__tablename__}) == before
