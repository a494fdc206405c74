"""The projects' page: the list and the form that creates one."""

from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from tests.auth.browsers import open_browser
from tests.conftest import Caller, MakeApp

PAGE = "/dashboard/projects"


def create(browser: FlaskClient, name: str = "Fern & Fable", website: str = "") -> TestResponse:
    return browser.post(PAGE, data={"business_name": name, "website": website})


def projects(caller: Caller) -> dict[str, str]:
    data = caller.get("/v1/projects").json["data"]  # type: ignore[index]
    return {each["publicPageConfig"]["slug"]: each["_id"] for each in data}


def count_testimonials(caller: Caller, project_id: str) -> int:
    data = caller.get(f"/v1/projects/{project_id}/testimonials").json["data"]  # type: ignore[index]
    return len(data["items"])


def test_only_the_first_project_starts_with_samples(browser: FlaskClient, owner: Caller) -> None:
    first, second = create(browser), create(browser, "Second")
    assert (first.status_code, second.status_code) == (303, 303)
    pages = [browser.get(answer.headers["Location"] + "?status=all") for answer in (first, second)]
    assert [page.status_code for page in pages] == [200, 200]
    counts = {
        slug: count_testimonials(owner, project_id) for slug, project_id in projects(owner).items()
    }
    assert counts == {"fern-fable": 6, "second": 0}


def test_the_only_project_opens_at_its_inbox(browser: FlaskClient, owner: Caller) -> None:
    assert browser.get("/dashboard").headers["Location"] == PAGE
    project = owner.create_project(slug="one")
    assert browser.get("/dashboard").headers["Location"] == f"{PAGE}/{project['_id']}/inbox"
    owner.create_project(slug="two")
    assert browser.get("/dashboard").headers["Location"] == PAGE
    browser.post(f"{PAGE}/{project['_id']}/delete", data={"confirm": "one"})
    assert browser.get("/dashboard").headers["Location"] != PAGE


def test_the_limit_is_told_and_kept(make_app: MakeApp, owner: Caller) -> None:
    browser = open_browser(make_app(project_limit=2), owner)
    assert create(browser, "One").status_code == 303
    assert create(browser, "Two").status_code == 303
    page = browser.get(PAGE).text
    assert "You have used all of them" in page
    assert 'name="business_name"' not in page
    answer = create(browser, "Three")
    assert answer.status_code == 422
    assert "at its limit of 2 projects" in answer.text
    assert len(projects(owner)) == 2


def test_a_deleted_project_gives_its_place_back_once(make_app: MakeApp, owner: Caller) -> None:
    browser = open_browser(make_app(project_limit=1), owner)
    first = create(browser, "One").headers["Location"].removesuffix("/inbox")
    browser.post(f"{first}/delete", data={"confirm": "one"})
    assert create(browser, "Two").status_code == 303
    answer = browser.post(f"{first}/take-back")
    assert answer.status_code >= 400
    assert "limit of 1 project" in answer.text
    assert list(projects(owner)) == ["two"]


def test_a_taken_address_is_told(browser: FlaskClient, owner: Caller, outsider: Caller) -> None:
    outsider.create_project(slug="fern-fable")
    answer = create(browser, website="fern.example")
    assert answer.status_code == 422
    assert "already taken" in answer.text
    assert 'id="new-slug-error"' in answer.text
    # What was typed is still there.
    assert 'value="Fern &amp; Fable"' in answer.text
    assert 'value="fern.example"' in answer.text
    assert projects(owner) == {}
    # Nothing was used up by it either.
    assert "6" in browser.get(create(browser, "Another").headers["Location"] + "?status=all").text


def test_another_address_can_be_had(browser: FlaskClient, owner: Caller, outsider: Caller) -> None:
    outsider.create_project(slug="fern-fable")
    form = {"business_name": "Fern & Fable", "website": "", "slug": "Fern in Town"}
    assert browser.post(PAGE, data=form).status_code == 303
    assert list(projects(owner)) == ["fern-in-town"]
    answer = browser.post(PAGE, data=form | {"slug": "x" * 61})
    assert answer.status_code == 422
    assert "Shorten this to 60 characters; it has 61." in answer.text


def test_unusable_values_are_refused_in_words(browser: FlaskClient, owner: Caller) -> None:
    for name, website in (
        ("", ""), ("   ", ""), ("one\ntwo", ""), ("a\x1b[31m", ""), ("x" * 201, ""), ("Login", ""),
        ("Fern", "javascript:alert(1)"), ("Fern", "a\0b.example"),
        ("Fern", "https://fern.example/" + "x" * 3000),
    ):  # fmt: skip
        answer = create(browser, name, website)
        assert answer.status_code == 422
        assert 'aria-invalid="true"' in answer.text
    assert create(browser, "x" * 100_000).status_code in (413, 422)
    assert projects(owner) == {}
