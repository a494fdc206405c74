"""A project's settings: address, what is rated, mail, pausing, deleting and taking back."""

import json
import re
from typing import Any

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from testimonials.operations.expiry import sweep
from tests.auth.browsers import open_browser
from tests.conftest import Caller
from tests.support.rows import add_member


@pytest.fixture
def project(owner: Caller) -> str:
    """The id of the owner's project at /fern, with one testimonial."""
    project_id: str = owner.create_project(slug="fern", businessName="Fern")["_id"]
    owner.create_testimonial(project_id, text="Words that are shown.", rating=4)
    return project_id


def send(browser: FlaskClient, project_id: str, what: str, **form: str) -> TestResponse:
    return browser.post(f"/dashboard/projects/{project_id}/{what}", data=form)


def rename(browser: FlaskClient, project_id: str, slug: str) -> TestResponse:
    return send(browser, project_id, "settings/address", slug=slug)


def slug_of(caller: Caller, project_id: str) -> str:
    data = caller.get("/v1/projects").json["data"]  # type: ignore[index]
    (found,) = [each["publicPageConfig"]["slug"] for each in data if each["_id"] == project_id]
    return str(found)


def can_create(caller: Caller, slug: str) -> bool:
    body = {"slug": slug, "skipDemoTestimonials": True}
    return caller.post("/v1/projects", body).status_code == 200


def feed(client: FlaskClient, project_id: str) -> TestResponse:
    return client.get(f"/widget/{project_id}/feed")


def test_old_addresses_lead_on(client, browser, project):
    for slug in ("two", "three", " New Address! "):
        answer = rename(browser, project, slug)
        assert answer.status_code == 303
    assert 'value="new-address"' in browser.get(answer.headers["Location"]).text
    assert client.get("/new-address").status_code == 200
    for slug in ("fern", "two", "three"):
        answer = client.get(f"/{slug}")
        assert (answer.status_code, answer.headers["Location"]) == (307, "/new-address")
    assert "Words that are shown." in feed(client, project).text
    assert rename(browser, project, "two").status_code == 303
    assert client.get("/two").status_code == 200


def test_others_can_take_an_old_address_after_ninety_days(
    app, client, browser, owner, outsider, project, moved_clock
):
    theirs = outsider.create_project(slug="theirs")["_id"]
    rename(browser, project, "new")
    moved_clock.move(days=89, hours=23)
    strange = open_browser(app, outsider)
    assert not can_create(outsider, "fern")
    assert not can_create(owner, "fern")
    assert rename(strange, theirs, "fern").status_code == 400
    assert client.get("/fern").status_code == 307
    moved_clock.move(hours=2)
    # Nobody has taken it, so it still leads on.
    assert client.get("/fern").status_code == 307
    assert rename(strange, theirs, "fern").status_code == 303
    assert client.get("/fern").status_code == 200
    assert client.get("/theirs").headers["Location"] == "/fern"
    # Then it is theirs, also against who had it first.
    assert rename(open_browser(app, owner), project, "fern").status_code == 400


def test_nobody_keeps_more_than_twenty_old_addresses_from_others(app, browser, outsider, project):
    rename(browser, project, "salon")
    for number in range(2, 22):
        assert rename(browser, project, f"salon-{number}").status_code == 303
    # All numbers that are tried are taken; each that is tried is looked up.
    form = {"business_name": "Salon", "website": ""}
    strange = open_browser(app, outsider)
    made = strange.post("/dashboard/projects/new", data=form).headers["Location"].split("/")[3]
    assert re.fullmatch("salon-[a-z0-9]{6}", slug_of(outsider, made))
    # The newest twenty are kept for the project.
    assert not can_create(outsider, "salon")
    assert can_create(outsider, "fern")


def test_an_address_that_cannot_be_is_refused(client, browser, owner, outsider, project):
    outsider.create_project(slug="theirs")
    for slug in ("   ", "!!!", "\0", "Login", "theirs", "x" * 61):
        answer = rename(browser, project, slug)
        assert answer.status_code in (400, 422)
        assert 'aria-invalid="true"' in answer.text
        # The page still shows the address that it has.
        assert "https://testimonials.example.com/fern" in answer.text
    assert "theirs-2 is free" in rename(browser, project, "Theirs").text
    assert rename(browser, project, "x" * 90_000).status_code in (413, 422)
    assert (slug_of(owner, project), client.get("/fern").status_code) == ("fern", 200)


def test_a_paused_project_is_still_and_deleting_needs_the_address_typed(
    client, browser, project, owner
):
    assert "Words that are shown." in feed(client, project).text
    token = client.get("/fern").text.partition('name="token" value="')[2].partition('"')[0]
    answer = send(browser, project, "settings/live", live="false")
    assert answer.status_code == 303
    assert "Your page is closed" in browser.get(answer.headers["Location"]).text
    assert "<textarea" not in client.get("/fern").text
    answer = client.post("/fern", data={"token": token, "text": "Good", "authorName": "Maya"})
    assert answer.status_code == 409
    assert "Words that are shown." not in feed(client, project).text

    send(browser, project, "settings/live", live="true")
    assert "<textarea" in client.get("/fern").text
    assert "Words that are shown." in feed(client, project).text
    for confirm in ("", "Fern", "fern/"):
        answer = send(browser, project, "settings/delete", confirm=confirm)
        assert answer.status_code == 422
        assert "Type fern to confirm." in answer.text
        # Without the samples.
        assert "This deletes 1 testimonial, the widget" in answer.text
    assert send(browser, project, "take-back").status_code == 404
    assert (slug_of(owner, project), client.get("/fern").status_code) == ("fern", 200)


def test_a_deleted_project_can_be_taken_back_for_seven_days(
    app, client, browser, owner, project, moved_clock
):
    rename(browser, project, "new")
    # What is kept in memory of it is gone at once, too.
    seen = ("/new", "/new/wall", f"/widget/{project}/feed", f"/widget/{project}")
    for path in seen * 2:
        assert client.get(path).status_code == 200, path
    answer = send(browser, project, "settings/delete", confirm=" new ")
    assert (answer.status_code, answer.headers["Location"]) == (303, "/dashboard/projects")
    assert owner.get("/v1/projects").json["data"] == []  # type: ignore[index]
    page = browser.get("/dashboard/projects").text
    assert f"/dashboard/projects/{project}/inbox" not in page
    assert f"/dashboard/projects/{project}/take-back" in page
    for path in ("/fern", *seen):
        assert client.get(path).status_code == 404, path
    moved_clock.move(days=6, hours=23)
    with app.app_context():
        sweep()
    assert client.get("/new").status_code == 404
    answer = send(browser, project, "take-back")
    assert (answer.status_code, answer.headers["Location"]) == (
        303,
        f"/dashboard/projects/{project}/inbox",
    )
    assert browser.get(answer.headers["Location"]).status_code == 200
    assert (client.get("/new").status_code, client.get("/fern").status_code) == (200, 307)
    assert "Words that are shown." in feed(client, project).text
    assert slug_of(owner, project) == "new"
    assert "take-back" not in browser.get("/dashboard/projects").text
    moved_clock.move(days=8)
    with app.app_context():
        sweep()
    assert client.get("/new").status_code == 200


@pytest.mark.parametrize("is_swept", [False, True])
def test_after_seven_days_it_is_gone_for_good(
    app, browser, outsider, project, moved_clock, is_swept
):
    add_member(app, project, outsider, "admin")
    send(browser, project, "settings/delete", confirm="fern")
    assert send(open_browser(app, outsider), project, "take-back").status_code == 404
    assert not can_create(outsider, "fern")
    moved_clock.move(days=7)
    if is_swept:
        with app.app_context():
            sweep()
        assert can_create(outsider, "fern")
    assert send(browser, project, "take-back").status_code == 404
    assert "take-back" not in browser.get("/dashboard/projects").text


def data_on(client: FlaskClient, address: str) -> Any:
    found = re.search(
        r'<script type="application/ld\+json">(.*?)</script>', client.get(address).text, re.DOTALL
    )
    return json.loads(found[1]) if found else None


def test_what_is_rated_is_named(client, browser, project):
    page = browser.get(f"/dashboard/projects/{project}/settings/stars").text
    for words in (
        'value="Product"',
        "Search engines can show stars",
        "for a business or organisation",
    ):
        assert words in page
    assert not re.search(r'<option value="\w+" selected', page)
    addresses = ("/fern/wall", f"/widget/{project}", f"/widget/{project}/fragment")
    assert [data_on(client, each) for each in addresses] == [None, None, None]
    answer = send(browser, project, "settings/stars", kind="Course", name="  Cutting <hair> ")
    assert answer.status_code == 303
    page = browser.get(answer.headers["Location"]).text
    assert "Saved" in page
    assert '<option value="Course" selected>' in page
    assert 'value="Cutting &lt;hair&gt;"' in page
    for each in addresses:
        data = data_on(client, each)
        assert (data["@type"], data["name"]) == ("Course", "Cutting <hair>")
        assert data["aggregateRating"]["ratingCount"] == 1
    assert send(browser, project, "settings/stars", kind="", name="Cutting").status_code == 303
    assert [data_on(client, each) for each in addresses] == [None, None, None]
    for kind, name, field, rule in (
        ("LocalBusiness", "Fern", "kind", "Choose one of the options."),
        ("Product", "  ", "name", "Fill in this field."),
        ("Product", "x" * 121, "name", "Shorten this to 120 characters; it has 121."),
    ):
        answer = send(browser, project, "settings/stars", kind=kind, name=name)
        assert answer.status_code == 422
        assert f'<a href="#rated-{field}">{rule}' in answer.text
    assert data_on(client, "/fern/wall") is None


def chosen(browser: FlaskClient, project: str) -> str:
    answer = browser.get(f"/dashboard/projects/{project}/settings/mail")
    assert answer.status_code == 200
    (mode,) = re.findall(r'name="mode" value="(\w+)" checked', answer.text)
    return str(mode)


def choose(browser: FlaskClient, project: str, mode: str) -> str:
    answer = send(browser, project, "settings/mail", mode=mode)
    assert answer.status_code == 303
    return answer.headers["Location"]


def test_a_choice_of_mail_is_kept_and_said(browser, project):
    assert chosen(browser, project) == "at_once"
    for mode, value in (("daily", "Once a day"), ("never", "Never"), ("at_once", "Immediately")):
        page = browser.get(choose(browser, project, mode)).text
        assert "Saved" in page
        assert chosen(browser, project) == mode
        # The row of the settings says it.
        assert value in browser.get(f"/dashboard/projects/{project}/settings").text
    choose(browser, project, "never")
    for mode in ("", "often", "AT_ONCE"):
        answer = send(browser, project, "settings/mail", mode=mode)
        assert answer.status_code == 422
        assert "Choose one of the options." in answer.text
    assert chosen(browser, project) == "never"


def test_a_moderator_chooses_mail_of_their_own(app, browser, outsider, project):
    colleague = open_browser(app, outsider)
    add_member(app, project, outsider, "moderator")
    choose(colleague, project, "daily")
    assert chosen(colleague, project) == "daily"
    assert chosen(browser, project) == "at_once"
    account = colleague.get("/dashboard/account/mail").text
    assert "Once a day" in account
    assert f'href="/dashboard/projects/{project}/settings/mail"' in account
