"""Every address of the dashboard, read from the URL map, against everybody whom it is not for."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import select

from testimonials.auth.models import Account
from testimonials.core.database import Base
from testimonials.core.outbox import OutboxMail
from testimonials.core.ratelimit import RateLimitCounter
from testimonials.extensions import db
from testimonials.projects.models import Project
from tests.auth.browsers import open_browser, session_ids
from tests.conftest import PASSWORD, Caller, MakeCaller
from tests.rows import add_member

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
    "palette": "rose",
    "initialCount": "12",
    "undo": "nothing",
    "mode": "never",
    "role": "admin",
    "ctaLabel": "Changed",
    "kind": "Product",
    "name": "Changed",
}
# What a moderator may do in a project; every other door about it is closed to them, new ones too.
MODERATOR_MAY = {
    "/dashboard/projects/<project_id>/inbox",
    "/dashboard/projects/<project_id>/bulk",
    "/dashboard/projects/<project_id>/undo",
    "/dashboard/projects/<project_id>/testimonials/new",
    "/dashboard/projects/<project_id>/testimonials/<testimonial_id>",
    "/dashboard/projects/<project_id>/testimonials/<testimonial_id>/action",
    "/dashboard/projects/<project_id>/leave",
    "/dashboard/projects/<project_id>/notifications",
    "/dashboard/projects/<project_id>/samples",
    "/dashboard/projects/<project_id>/tags",
}
# What an admin may not.
OWNER_ONLY = {
    "/dashboard/projects/<project_id>/delete",
    "/dashboard/projects/<project_id>/team/members/<account_id>/role",
}
# A deleted project is gone for everybody but its owner.
OF_DELETED = {"/dashboard/projects/<project_id>/take-back"}


@dataclass(frozen=True)
class Door:
    """One method of one address, with the owner's ids in it."""

    method: str
    path: str
    rule: str
    is_about_project: bool


@dataclass(frozen=True)
class Property:
    """What the owner has."""

    project: str
    deleted: str
    testimonial: str
    session: str
    member: str


@pytest.fixture
def property_(app: Flask, owner: Caller, make_caller: MakeCaller) -> Property:
    """A project with a testimonial, a member and an invitation, a deleted one, and a session."""
    browser = open_browser(app, owner)
    project = owner.create_project(slug="secret-slug", businessName="Secret business")["_id"]
    deleted = owner.create_project(slug="gone")["_id"]
    testimonial = owner.create_testimonial(project, text=SECRET)
    answer = browser.post(f"/dashboard/projects/{deleted}/delete", data={"confirm": "gone"})
    assert answer.status_code == 303
    (session,) = session_ids(app, owner.account_id)
    member = make_caller("member@example.com", is_claimed=True)
    add_member(app, project, member, "moderator")
    add_member(app, deleted, member, "moderator")
    form = {"email": FORM["email"], "role": "admin"}
    answer = browser.post(f"/dashboard/projects/{project}/team/invitations", data=form)
    assert answer.status_code == 303
    return Property(project, deleted, testimonial["_id"], session, member.account_id)


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
            "account_id": has.member,
        }
        # A new kind of id must be given here, so that no door is left out.
        path = adapter.build(rule.endpoint, {name: ids[name] for name in rule.arguments})
        for method in sorted((rule.methods or set()) - {"OPTIONS"}):
            yield Door(method, path, rule.rule, "project_id" in rule.arguments)


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


def test_the_lists_of_roles_name_doors_that_exist(doors: list[Door]) -> None:
    rules = {door.rule for door in doors if door.is_about_project}
    assert rules >= MODERATOR_MAY | OWNER_ONLY | OF_DELETED


@pytest.mark.parametrize("accept", ["text/html", "application/json"])
def test_a_moderator_finds_every_other_door_closed(
    app: Flask, property_: Property, outsider: Caller, doors: list[Door], accept: str
) -> None:
    add_member(app, property_.project, outsider, "moderator")
    browser = open_browser(app, outsider)
    before = everything(app)
    closed = [door for door in doors if door.is_about_project and door.rule not in MODERATOR_MAY]
    assert len(closed) > 12
    for door in closed:
        answer = browser.open(door.path, method=door.method, data=FORM, headers={"Accept": accept})
        assert answer.status_code == (404 if door.rule in OF_DELETED else 403), door
        assert SECRET not in answer.text
        assert "secret-slug" not in answer.text
        if door.method != "HEAD":
            assert answer.mimetype == accept, door
            expected = "This project can’t be" if door.rule in OF_DELETED else "Your role in this"
            assert expected in (answer.json["message"] if answer.is_json else answer.text), door
    assert everything(app) == before


def test_a_moderator_opens_the_doors_that_are_theirs(
    app: Flask, property_: Property, outsider: Caller, doors: list[Door]
) -> None:
    add_member(app, property_.project, outsider, "moderator")
    browser = open_browser(app, outsider)
    opened = {door.rule for door in doors if door.rule in MODERATOR_MAY and door.method == "GET"}
    assert len(opened) >= 4
    for door in doors:
        if door.rule in MODERATOR_MAY and door.method == "GET":
            answer = browser.get(door.path)
            assert answer.status_code == 200, door
            # Neither keys nor plan nor the project's settings, nor a link that answers 403.
            for closed in ("/settings", "/team", "/widget", "/share", owner_key(app, property_)):
                assert f'{property_.project}{closed}"' not in answer.text, door
                assert closed.startswith("/") or closed not in answer.text, door
    form = {"action": "pin"}
    path = f"/dashboard/projects/{property_.project}/testimonials/{property_.testimonial}/action"
    answer = browser.post(path, data=form, headers={"Accept": "application/json"})
    assert answer.status_code == 200


def test_an_admin_finds_the_owners_doors_closed_and_the_others_open(
    app: Flask, property_: Property, outsider: Caller, doors: list[Door]
) -> None:
    add_member(app, property_.project, outsider, "admin")
    browser = open_browser(app, outsider)
    before = everything(app)
    for door in doors:
        if door.rule in OWNER_ONLY and door.method == "POST":
            assert browser.post(door.path, data=FORM).status_code == 403, door
        elif door.rule in OF_DELETED:
            assert browser.open(door.path, method=door.method).status_code in (404, 405), door
        elif door.is_about_project and door.method == "GET":
            assert browser.get(door.path).status_code == 200, door
    assert everything(app) == before


def owner_key(app: Flask, has: Property) -> str:
    """Give how the owner's key ends, as the account page shows it."""
    with app.app_context():
        project = db.session.get_one(Project, has.project)
        return db.session.get_one(Account, project.account_id).key_last_four


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
            # Only the editors of this service may frame their previews.
            ancestors = "'self'" if door.path.endswith("/preview") else "'none'"
            policy = answer.headers["Content-Security-Policy"]
            assert f"frame-ancestors {ancestors}" in policy or answer.status_code == 303
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
