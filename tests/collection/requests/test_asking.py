"""Asking people by mail, on the page and by the API: the form, its limits, the list."""

import io
import re
from html import unescape
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from testimonials.auth.callers import Scope
from tests.auth.browsers import open_browser
from tests.auth.links import mails
from tests.auth.tokens import TokenCaller, give_token
from tests.collection.requests.asking import (
    FORM,
    ask,
    confirm,
    preview,
    read_hidden,
    read_requests,
    requests_to,
    states,
)
from tests.conftest import Caller, MakeApp, MakeCaller, MovableClock
from tests.support.rows import everything

NOOR = "Noor Haddad <noor@example.com>"


def many(count: int, start: int = 0) -> str:
    return "\n".join(f"a{number}@example.com" for number in range(start, start + count))


def test_a_file_and_pasted_addresses(app: Flask, browser: FlaskClient, project: str) -> None:
    content = "Name;E-Mail;Firma\nLi;li@example.org;Kiln\nX;bad;\nNoor;noor@example.com;\n"
    file = (io.BytesIO(content.encode("utf-8-sig")), "people.csv")
    page = preview(browser, project, f"{NOOR}\nfoo", file=file)
    text = unescape(re.sub("<[^>]+>", "", page.text))
    assert "Send to 2 people?" in text
    assert "2 lines need a correction" in text
    for words in ("Line 2 foo", "Line of the file 3 X bad", "Is on the list twice."):
        assert words in text
    confirm(browser, project, page.text)
    people = read_requests(app)
    assert people["li@example.org"].company == "Kiln"
    assert (people["noor@example.com"].name, len(people)) == ("Noor Haddad", 2)


def test_change_leads_back_to_what_was_typed(browser: FlaskClient, project: str) -> None:
    page = preview(browser, project, f"{NOOR}\nfoo", language="fr", reminder="7")
    path = f"/dashboard/projects/{project}/invitations/preview"
    form = browser.post(path, data=read_hidden(page.text) | {"change": "1"}).text
    assert "Noor Haddad &lt;noor@example.com&gt;\nfoo</textarea>" in form
    assert 'value="fr" lang="fr" selected' in form
    assert 'value="7" selected' in form


WRONG: tuple[tuple[dict[str, object], str], ...] = (
    ({"people": ""}, "Paste at least one address"),
    ({"people": "foo"}, "There is no email address here"),
    ({"people": many(501)}, "at most 500 people at a time"),
    ({"subject": " "}, "Write a subject."),
    ({"subject": "x" * 161}, "Shorten this to 160 characters"),
    ({"subject": "x\nBcc: all@example.com"}, "Write this on one line."),
    ({"message": ""}, "Write a few words."),
    ({"message": "x" * 2001}, "Shorten this to 2000 characters; it has 2001."),
    ({"message": "x\0"}, "control characters"),
    ({"language": "tlh"}, "Choose one of the languages."),
    ({"reminder": "1"}, "Choose after how many days"),
)


def test_what_is_wrong_is_said_and_kept(app: Flask, browser: FlaskClient, project: str) -> None:
    for form, reason in WRONG:
        answer = preview(browser, project, **({"people": NOOR} | form))  # type: ignore[arg-type]
        assert answer.status_code == 422
        assert reason in unescape(answer.text)
        if "people" not in form:
            assert "Noor Haddad &lt;noor@example.com&gt;</textarea>" in answer.text
    answer = preview(browser, project, NOOR, file=(io.BytesIO(b"name\nNoor"), "people.csv"))
    assert answer.status_code == 422
    assert "no column of email addresses" in unescape(answer.text)
    assert read_requests(app) == {}


def test_a_file_far_too_large_is_refused(browser: FlaskClient, project: str) -> None:
    head = 'Content-Disposition: form-data; name="file"; filename="a.csv"'
    body = f"--x\r\n{head}\r\n\r\n{'y' * 3_000_000}\r\n--x--\r\n".encode()
    answer = browser.post(
        f"/dashboard/projects/{project}/invitations/preview",
        data=body,
        content_type="multipart/form-data; boundary=x",
    )
    assert answer.status_code == 422
    assert "This file is too large to upload" in answer.text


def test_nobody_is_asked_twice(app: Flask, browser: FlaskClient, project: str) -> None:
    ask(browser, project, NOOR)
    page = preview(browser, project, "NOOR@example.com, li@example.org").text
    assert "You have asked them already." in page
    assert "Send to 1 person?" in page
    refused = preview(browser, project, NOOR)
    assert refused.status_code == 422
    assert "noor@example.com: You have asked them already." in refused.text
    assert len(requests_to(app)) == 1


def test_a_day_has_a_limit_that_deleting_does_not_lift(
    make_app: MakeApp, make_caller: MakeCaller, moved_clock: MovableClock
) -> None:
    app = make_app(invitations_per_day=5)
    owner = make_caller("owner@example.com", is_claimed=True, on=app)
    browser = open_browser(app, owner)
    first, second = (owner.create_project(slug=slug)["_id"] for slug in ("one", "two"))
    page = preview(browser, second, many(3, 10)).text
    ask(browser, first, many(4))
    for row in read_requests(app).values():
        browser.post(f"/dashboard/projects/{first}/invitations/remove", data={"id": row.id})
    refused = preview(browser, second, many(2))
    assert refused.status_code == 422
    assert "1 more now, and this list has 2" in refused.text
    # The preview was made while there was room; the button counts again.
    assert (confirm(browser, second, page).status_code, read_requests(app)) == (422, {})
    ask(browser, second, many(1))
    assert "0 more now, and this list has 1" in preview(browser, second, NOOR).text
    moved_clock.move(days=1, seconds=1)
    ask(browser, second, many(5, 20))


def test_the_operator_can_switch_it_off(make_app: MakeApp, make_caller: MakeCaller) -> None:
    app = make_app(invitations_per_day=0)
    owner = make_caller("owner@example.com", is_claimed=True, on=app)
    project = owner.create_project()["_id"]
    refused = preview(open_browser(app, owner), project, NOOR)
    assert refused.status_code == 422
    assert "doesn’t send requests by email" in refused.text


def test_a_token_of_no_preview_of_another_project_or_too_old_sends_nothing(
    app: Flask, browser: FlaskClient, owner: Caller, project: str, moved_clock: MovableClock
) -> None:
    other = owner.create_project(slug="other")["_id"]
    page = preview(browser, other, NOOR).text
    for form in (read_hidden(page), FORM | {"people": NOOR}):
        answer = browser.post(f"/dashboard/projects/{project}/invitations", data=form)
        assert answer.status_code == 422
        assert "This preview is more than a day old." in answer.text
    moved_clock.move(days=1, seconds=1)
    browser = open_browser(app, owner)
    assert (confirm(browser, other, page).status_code, read_requests(app)) == (422, {})


def test_the_list_is_filtered_and_has_pages(browser: FlaskClient, project: str) -> None:
    ask(browser, project, many(120))
    assert len(states(browser, project)) == 50
    assert len(states(browser, project, "?page=3")) == 20
    assert states(browser, project, "?page=99") == states(browser, project, "?page=3")
    assert set(states(browser, project, "?state=waiting").values()) == {"Waiting"}
    assert states(browser, project, "?state=answered") == {}
    assert len(states(browser, project, "?state=bad&page=x")) == 50
    page = browser.get(f"/dashboard/projects/{project}/invitations?state=waiting&page=2").text
    assert "51 to 100 of 120" in page


def test_cancelled_ones_never_leave(app: Flask, browser: FlaskClient, project: str) -> None:
    ask(browser, project, many(15))
    assert len(requests_to(app)) == 10
    answer = browser.post(f"/dashboard/projects/{project}/invitations/cancel")
    assert answer.status_code == 303
    assert "15 requests are cancelled" in browser.get(answer.headers["Location"]).text
    assert (read_requests(app), requests_to(app)) == ({}, [])


def test_a_row_is_deleted_and_nobody_elses(
    app: Flask, browser: FlaskClient, owner: Caller, outsider: Caller, project: str
) -> None:
    ask(browser, project, f"{NOOR}, li@example.org")
    row = read_requests(app)["noor@example.com"]
    theirs = outsider.create_project(slug="theirs")["_id"]
    other = owner.create_project(slug="other")["_id"]
    for who, where in ((open_browser(app, outsider), theirs), (browser, other)):
        for each in (row.id, "", "\0", "x" * 24):
            path = f"/dashboard/projects/{where}/invitations/remove"
            assert who.post(path, data={"id": each}).status_code == 404
    assert len(read_requests(app)) == 2
    path = f"/dashboard/projects/{project}/invitations/remove"
    assert browser.post(path, data={"id": row.id}).status_code == 303
    assert (list(states(browser, project)), len(requests_to(app))) == (["li@example.org"], 1)


PEOPLE = [{"email": "Maya@example.com", "name": "Maya"}, {"email": "ben@example.com"}]


@pytest.fixture
def helper(app: Flask, owner: Caller) -> TokenCaller:
    return give_token(app, owner, Scope.CONFIGURE)


def ask_by_api(caller: Caller, project: str, **body: Any) -> Any:
    answer = caller.post(f"/v1/projects/{project}/requests", {"people": PEOPLE} | body)
    assert answer.status_code == 200, answer.text
    return answer.json["data"]  # type: ignore[index]


def test_people_are_asked_once_by_the_api(app: Flask, helper: TokenCaller, project: str) -> None:
    assert ask_by_api(helper, project) == {"count": 2, "leftOut": [], "hasMailServer": False}
    (maya,) = [mail for mail in mails(app) if mail.recipient == "maya@example.com"]
    assert "Kiln" in maya.subject
    assert "Hi Maya," in maya.text
    before = everything(app)
    again = ask_by_api(helper, project)
    assert again["count"] == 0
    assert [each["email"] for each in again["leftOut"]] == ["maya@example.com", "ben@example.com"]
    assert "asked them already" in again["leftOut"][0]["reason"]
    assert everything(app) == before


def test_the_list_has_states(app: Flask, helper: TokenCaller, owner: Caller, project: str) -> None:
    ask_by_api(helper, project, message="Hello {name}", language="de", remindAfterDays=3)
    path = f"/v1/projects/{project}/requests"
    first = helper.get(f"{path}?limit=1").json["data"]
    second = helper.get(f"{path}?limit=1&after={first['next']}").json["data"]
    assert second["next"] is None
    found = first["items"] + second["items"]
    assert {each["email"] for each in found} == {"maya@example.com", "ben@example.com"}
    assert {each["state"] for each in found} == {"waiting"}
    assert helper.get(f"{path}?state=answered").json["data"]["items"] == []
    one = f"{path}/{found[0]['_id']}"
    assert helper.get(one).json["data"] == found[0]
    assert helper.get(one.replace(project, owner.create_project()["_id"])).status_code == 404
    assert helper.delete(one).json["data"] == {"deletedCount": 1}
    assert (helper.delete(one).status_code, len(mails(app))) == (404, 1)


def test_the_key_proposes_and_nobody_gets_mail(app: Flask, owner: Caller, project: str) -> None:
    answer = owner.post(f"/v1/projects/{project}/requests", {"people": PEOPLE})
    assert (answer.status_code, answer.json["data"]["kind"]) == (202, "request")
    assert mails(app) == []
    assert owner.get(f"/v1/projects/{project}/requests").status_code == 403
    reader = give_token(app, owner, Scope.READ)
    assert reader.get(f"/v1/projects/{project}/requests").status_code == 403


def test_the_limit_is_the_dashboards(make_app: MakeApp, make_caller: MakeCaller) -> None:
    app = make_app(invitations_per_day=1)
    owner = make_caller("owner@example.com", is_claimed=True, on=app)
    helper, project = give_token(app, owner), owner.create_project()["_id"]
    path, before = f"/v1/projects/{project}/requests", everything(app)
    answer = helper.post(path, {"people": PEOPLE})
    assert (answer.status_code, answer.json["code"]) == (422, "ASKING_REFUSED")
    for people in ([], [{"email": "x"}], PEOPLE * 51, [{"name": "Maya"}], "x@example.com"):
        assert helper.post(path, {"people": people}).status_code == 400, people
    assert everything(app) == before
