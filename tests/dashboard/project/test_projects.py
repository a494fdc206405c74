"""The projects' page: the list, however long, and the form that creates one."""

import re
from datetime import timedelta

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import insert
from werkzeug.test import TestResponse

from testimonials.core.extensions import db
from testimonials.dashboard.home import PAGE_SIZE
from testimonials.dashboard.shell import SWITCHED
from testimonials.projects.models import Project
from tests.auth.browsers import COOKIE, open_browser
from tests.conftest import Caller, MakeApp
from tests.support.racing import at_once
from tests.support.rows import change_project

PAGE = "/dashboard/projects"
NEW = f"{PAGE}/new"


def create(browser: FlaskClient, name: str = "Fern & Fable") -> TestResponse:
    return browser.post(NEW, data={"business_name": name, "website": ""})


def projects(caller: Caller) -> dict[str, str]:
    data = caller.get("/v1/projects").json["data"]  # type: ignore[index]
    return {each["publicPageConfig"]["slug"]: each["_id"] for each in data}


def test_the_dashboard_opens_where_one_was_last(browser, owner):
    assert browser.get("/dashboard").location == NEW
    one, two = (owner.create_project(slug=slug)["_id"] for slug in ("one", "two"))
    assert browser.get("/dashboard").location == f"{PAGE}/{two}/inbox"
    browser.get(f"{PAGE}/{one}/inbox")
    assert browser.get("/dashboard").location == f"{PAGE}/{one}/inbox"
    browser.post(f"{PAGE}/{one}/settings/delete", data={"confirm": "one"})
    assert browser.get("/dashboard").location == f"{PAGE}/{two}/inbox"


def test_the_limit_is_told_and_kept(make_app, owner):
    browser = open_browser(make_app(project_limit=2), owner)
    assert create(browser, "One").status_code == 303
    assert create(browser, "Two").status_code == 303
    page = browser.get(NEW).text
    assert "You have used all of your projects." in page
    assert 'name="business_name"' not in page
    answer = create(browser, "Three")
    assert (answer.status_code, "at its limit of 2 projects" in answer.text) == (402, True)
    assert len(projects(owner)) == 2


def test_a_deleted_project_gives_its_place_back_once(make_app, owner):
    browser = open_browser(make_app(project_limit=1), owner)
    first = create(browser, "One").headers["Location"].removesuffix("/settings/brand")
    browser.post(f"{first}/settings/delete", data={"confirm": "one"})
    assert create(browser, "Two").status_code == 303
    assert "Restore" in browser.get(NEW).text
    answer = browser.post(f"{first}/take-back")
    assert answer.status_code >= 400
    assert "limit of 1 project" in answer.text
    assert list(projects(owner)) == ["two"]


def test_a_taken_address_gets_a_number(browser, owner, outsider):
    outsider.create_project(slug="fern-fable")
    assert create(browser, "").status_code == 422
    assert create(browser).status_code == 303
    # A name that nothing of can be an address, or that is one of ours.
    create(browser, "🌿")
    create(browser, "Dashboard")
    reserved, odd, first = projects(owner)
    assert (first, reserved, odd[:8]) == ("fern-fable-2", "dashboard-2", "project-")


@pytest.mark.postgres
def test_of_two_at_once_each_gets_an_address(app, owner):
    browsers = [open_browser(app, owner) for _ in range(4)]
    answers = at_once(4, lambda number: create(browsers[number], "Fern"))
    assert [each.status_code for each in answers] == [303] * 4
    assert sorted(projects(owner)) == ["fern", "fern-2", "fern-3", "fern-4"]


NAME = re.compile(r'class="project-name">([^<]*)')
SWITCH = re.compile(r'<a class="menu-item" href="([^"]*/inbox)"')


@pytest.fixture
def app(make_app: MakeApp) -> Flask:
    return make_app(project_limit=1_000)


def add_projects(app: Flask, owner: Caller, count: int) -> list[str]:
    """Add projects called Shop 1, Shop 2 and so on, each newer than the last; return their ids."""
    first = owner.create_project(businessName="Shop 0", slug="at-0")["_id"]
    with app.app_context():
        row = db.session.get_one(Project, first)
        same = {
            each.name: getattr(row, each.name)
            for each in Project.__table__.columns
            if each.computed is None
        }
        rows = [
            same
            | {
                "id": f"{number:024x}", "slug": f"at-{number}", "business_name": f"Shop {number}",
                "created_at": row.created_at + timedelta(days=number),
            }
            for number in range(1, count)
        ]  # fmt: skip
        db.session.execute(insert(Project), rows)
        db.session.commit()
    return [first, *(each["id"] for each in rows)]


def read_switcher(page: str, ids: list[str]) -> list[int]:
    return [ids.index(each.split("/")[3]) for each in SWITCH.findall(page)]


def test_the_list_has_pages_and_finds_by_name_and_address(browser, app, owner, outsider):
    add_projects(app, owner, PAGE_SIZE + 5)
    first = browser.get(PAGE).text
    assert NAME.findall(first) == [f"Shop {n}" for n in range(PAGE_SIZE + 4, 4, -1)]
    assert f"{PAGE}?page=2" in first
    second = browser.get(f"{PAGE}?page=2").text
    assert NAME.findall(second) == [f"Shop {n}" for n in range(4, -1, -1)]
    assert f"{PAGE_SIZE + 1} to {PAGE_SIZE + 5}" in second
    for other in ("0", "-1", "x", "99999999999999999999"):
        assert NAME.findall(browser.get(f"{PAGE}?page={other}").text) == NAME.findall(first)
    assert "No results" in browser.get(f"{PAGE}?page=99").text
    outsider.create_project(businessName="Theirs", slug="theirs")
    for q, found in (
        ("shop 27", ["Shop 27"]), ("AT-28", ["Shop 28"]), ("27 shop", ["Shop 27"]), ("%", []),
        ("_", []), ("shop nowhere", []), ("theirs", []),
    ):  # fmt: skip
        page = browser.get(PAGE, query_string={"q": q}).text
        assert NAME.findall(page) == found
        assert ("No results" in page) is (found == [])
    assert browser.get(PAGE, query_string={"q": "\0"}).status_code == 200


def test_the_switcher_has_those_opened_last(browser, app, owner, outsider):
    ids = add_projects(app, owner, 3 * SWITCHED)
    newest = list(range(3 * SWITCHED - 1, 2 * SWITCHED - 1, -1))
    assert read_switcher(browser.get(PAGE).text, ids) == newest
    for number in (3, 5, 3):
        page = browser.get(f"{PAGE}/{ids[number]}/inbox").text
        assert 'role="search"' in page
    assert read_switcher(page, ids) == [3, 5, *newest[:-2]]
    assert read_switcher(browser.get(PAGE).text, ids) == [3, 5, *newest[:-2]]
    # Nothing else can be put there.
    theirs = outsider.create_project()["_id"]
    browser.set_cookie(f"{COOKIE}-opened", f"{theirs}.<b>.{ids[7]}", path="/")
    page = browser.get(PAGE).text
    assert read_switcher(page, ids) == [7, *newest[:-1]]
    assert theirs not in page


def test_projects_of_one_name_show_their_addresses(app, browser, owner):
    for slug in ("fern", "fern-2"):
        project = owner.create_project(slug=slug, businessName="Fern & Fable")["_id"]
    assert "/fern-2</bdi>" in browser.get(f"{PAGE}/{project}/inbox").text
    change_project(app, project, business_name="Moss")
    assert "/fern-2</bdi>" not in browser.get(f"{PAGE}/{project}/inbox").text


def test_random_letters_are_no_name(app, browser, owner):
    project = owner.create_project()["_id"]
    page = browser.get(f"{PAGE}/{project}/inbox").text
    assert "Unnamed project</bdi>" in page
    assert ">project-" not in page
    change_project(app, project, slug="fern")
    assert "fern</bdi>" in browser.get(f"{PAGE}/{project}/inbox").text


def test_few_projects_stay_in_their_order(browser, app, owner):
    ids = add_projects(app, owner, SWITCHED)
    page = browser.get(f"{PAGE}/{ids[3]}/inbox")
    assert read_switcher(page.text, ids) == list(range(SWITCHED - 1, -1, -1))
    assert "Search projects" not in page.text
    assert "All projects" not in page.text
