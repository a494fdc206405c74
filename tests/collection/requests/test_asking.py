"""Asking people by mail, on the page and by the API: the form, its limits, taking it back."""

import io
from html import unescape
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from selectolax.lexbor import LexborHTMLParser
from sqlalchemy import select
from werkzeug.test import TestResponse

from testimonials.auth.tokens import Scope
from testimonials.collection.models import RequestBatch
from testimonials.collection.request_mail import SEND_NOW
from testimonials.core.extensions import db
from testimonials.core.jobs import Job, run_due
from tests.auth.browsers import open_browser
from tests.auth.links import mails
from tests.auth.tokens import TokenCaller, give_token
from tests.collection.requests.asking import (
    FORM,
    ask,
    let_go,
    read_hidden,
    read_requests,
    requests_to,
    send,
    states,
)
from tests.conftest import Caller
from tests.support.rows import everything

NOOR = "Noor Haddad <noor@example.com>"
JSON = {"Accept": "application/json"}


def many(count: int, start: int = 0) -> str:
    return "\n".join(f"a{number}@example.com" for number in range(start, start + count))


def check(browser: FlaskClient, project: str, people: str) -> list[dict[str, Any]]:
    """Return what the server says of each address that somebody pasted."""
    path = f"/dashboard/projects/{project}/collect/check"
    answer = browser.post(path, data={"people": people}, headers=JSON)
    assert answer.status_code == 200, answer.text
    return list(answer.json["people"])  # type: ignore[index]


def send_file(
    browser: FlaskClient, project: str, where: str, content: str, **form: object
) -> TestResponse:
    file = (io.BytesIO(content.encode("utf-8-sig")), "people.csv")
    path = f"/dashboard/projects/{project}/collect/{where}"
    data = FORM | {"file": file} | form
    return browser.post(path, data=data, content_type="multipart/form-data", headers=JSON)


def take_back(browser: FlaskClient, answer: TestResponse) -> TestResponse:
    """Press Undo where sending has led to."""
    page = LexborHTMLParser(browser.get(answer.headers["Location"]).text)
    form = page.css_first("[data-undo]")
    value = form.css_first("[name=undo]").attributes["value"]
    return browser.post(str(form.attributes["action"]), data={"undo": value})


def find_jobs(app: Flask) -> list[Job]:
    with app.app_context():
        rows = list(db.session.scalars(select(Job).where(Job.kind == SEND_NOW)))
        db.session.expunge_all()
        return rows


def test_it_goes_out_in_30_seconds_as_a_job_of_the_database(app, browser, project, moved_clock):
    answer = send(browser, project, f"{NOOR}\nli@example.org")
    page = browser.get(answer.headers["Location"]).text
    assert "2 requests noted, but not sent" in page
    assert "Goes out in 30 seconds" in page
    assert len(find_jobs(app)) == 1
    for seconds, count in ((29, 0), (2, 2), (60, 2)):
        moved_clock.move(seconds=seconds)
        with app.app_context():
            run_due("mail")
        assert len(requests_to(app)) == count
        assert (find_jobs(app) == []) == (count > 0)
    assert "Goes out" not in browser.get(answer.headers["Location"]).text


@pytest.mark.postgres
def test_a_sending_is_taken_back_and_its_people_are_in_the_form_again(
    app, browser, project, smtp_url
):
    ask(browser, project, "early@example.com")
    answer = send(browser, project, f"{NOOR}\nli@example.org")
    assert "2 mails go out in 30 seconds" in browser.get(answer.headers["Location"]).text
    page = take_back(browser, answer)
    assert page.status_code == 200
    assert "Nothing was sent" in page.text
    field = LexborHTMLParser(page.text).css_first("[name=people]").text()
    assert "noor@example.com,Noor Haddad" in field
    assert list(read_requests(app)) == ["early@example.com"]
    # Pressed twice, it says the same; what was taken back can be sent.
    assert "Too late" in take_back(browser, answer).text
    ask(browser, project, field)
    assert len(requests_to(app)) == 3


def test_undo_names_who_was_already_gone(app, browser, project, smtp_url):
    answer = send(browser, project, f"{NOOR}\nli@example.org", wait="3")
    with app.app_context():
        row = read_requests(app)["noor@example.com"]
    path = f"/dashboard/projects/{project}/collect"
    assert browser.post(f"{path}/undo", data={"undo": "x" * 24}).status_code == 200
    early = send(browser, project, "maya@example.com")
    let_go(app)
    assert "Too late: all emails have gone out." in take_back(browser, early).text
    assert "Nothing was sent" in take_back(browser, answer).text
    assert row.id not in {each.id for each in read_requests(app).values()}


@pytest.mark.postgres
def test_one_person_is_cancelled_until_it_goes(app, browser, project):
    send(browser, project, f"{NOOR}\nli@example.org")
    row = read_requests(app)["noor@example.com"]
    path = f"/dashboard/projects/{project}/collect/asked/remove"
    answer = browser.post(path, data={"id": row.id})
    assert "Removed" in browser.get(answer.headers["Location"]).text
    let_go(app)
    assert [mail.recipient for mail in requests_to(app)] == ["li@example.org"]


def test_without_script_a_preview_comes_first(app, browser, project):
    content = "Name;E-Mail;Firma\nLi;li@example.org;Kiln\nX;bad;\nNoor;noor@example.com;\n"
    page = send_file(browser, project, "preview", content, people=f"{NOOR}\nfoo", language="fr")
    text = unescape(LexborHTMLParser(page.text).body.text())  # type: ignore[union-attr]
    for words in (
        "Send to 2 people", "2 need a look", "Line 2 foo", "Hi Noor Haddad,",
        "Line 3 X bad", "On the list twice.",
    ):  # fmt: skip
        assert words in text, words
    assert read_requests(app) == {}
    sent = read_hidden(page.text)
    assert sent["language"] == "fr"
    assert browser.post(f"/dashboard/projects/{project}/collect", data=sent).status_code == 303
    people = read_requests(app)
    assert people["li@example.org"].company == "Kiln"
    assert (people["noor@example.com"].name, len(people)) == ("Noor Haddad", 2)


def test_the_columns_of_a_file_can_be_chosen(browser, project):
    content = "Kunde;Kontakt\nLi;li@example.org\nNoor;noor@example.com\nX;bad\n"
    first = send_file(browser, project, "file", content)
    assert "3 need a look" in first.text
    page = send_file(browser, project, "file", content, email="1", name="0")
    assert "Add 2 people" in page.text
    assert "1 needs a look" in page.text
    table = LexborHTMLParser(page.text).css_first("[data-table]").text()
    assert [each["text"] for each in check(browser, project, table)] == ["Li", "Noor"]
    refused = send_file(browser, project, "file", "email\n" + "a@example.com\n" * 501)
    assert (refused.status_code, "at most 500 people" in refused.text) == (422, True)


def test_each_address_is_judged_when_it_is_pasted(app, client, browser, project):
    ask(browser, project, "asked@example.com")
    found = check(browser, project, f"{NOOR}\nfoo\nasked@example.com, noor@example.com")
    said = {each["text"]: each["reason"] for each in found}
    assert said["Noor Haddad"] == "" or said["noor@example.com"] == "On the list twice."
    assert said["foo"].startswith("There is no email address here.")
    assert said["asked@example.com"].startswith("asked on ")
    assert next(each for each in found if not each["reason"])["table"].startswith("noor@")
    path = f"/dashboard/projects/{project}/collect/check"
    refused = browser.post(path, data={"people": many(501)}, headers=JSON)
    assert (refused.status_code, "at most 500 people" in refused.text) == (422, True)


WRONG: tuple[tuple[dict[str, object], str], ...] = (
    ({"people": ""}, "Enter at least one email address"),
    ({"people": "foo"}, "There is no email address here"),
    ({"people": many(501)}, "at most 500 people at a time"),
    ({"subject": " "}, "Fill in this field."),
    ({"subject": "x" * 161}, "Shorten this to 160 characters"),
    ({"subject": "x\nBcc: all@example.com"}, "Use a single line."),
    ({"message": ""}, "Fill in this field."),
    ({"message": "x" * 2001}, "Shorten this to 2000 characters; it has 2001."),
    ({"message": "x\0"}, "control characters"),
    ({"language": "tlh"}, "Choose one of the options."),
    ({"reminder": "1"}, "Choose one of the options"),
)


def test_what_is_wrong_is_said_and_kept(app, browser, project, smtp_url):
    for form, reason in WRONG:
        answer = send(browser, project, **({"people": NOOR} | form))  # type: ignore[arg-type]
        assert answer.status_code == 422
        assert reason in unescape(answer.text)
        if "people" not in form:
            assert "Noor Haddad &lt;noor@example.com&gt;</textarea>" in answer.text
    assert read_requests(app) == {}


def test_a_file_far_too_large_is_refused(browser, project):
    head = 'Content-Disposition: form-data; name="file"; filename="a.csv"'
    body = f"--x\r\n{head}\r\n\r\n{'y' * 3_000_000}\r\n--x--\r\n".encode()
    answer = browser.post(
        f"/dashboard/projects/{project}/collect/preview",
        data=body,
        content_type="multipart/form-data; boundary=x",
    )
    assert answer.status_code == 422
    assert "The file is too large: the limit is 1 MB" in answer.text


def test_nobody_is_asked_twice(app, browser, project):
    assert send(browser, project, NOOR).status_code == 303
    for _ in range(2):
        refused = send(browser, project, NOOR)
        assert refused.status_code == 422
        assert "noor@example.com: You have already asked this person." in refused.text
        let_go(app)
    ask(browser, project, "NOOR@example.com, li@example.org")
    assert [mail.recipient for mail in requests_to(app)] == ["noor@example.com", "li@example.org"]


def test_a_day_has_a_limit_that_deleting_does_not_lift(
    make_app, make_caller, moved_clock, smtp_url
):
    app = make_app(invitations_per_day=5, smtp_url=smtp_url)
    owner = make_caller("owner@example.com", is_claimed=True, on=app)
    browser = open_browser(app, owner)
    first, second = (owner.create_project(slug=slug)["_id"] for slug in ("one", "two"))
    ask(browser, first, many(4))
    for row in read_requests(app).values():
        browser.post(f"/dashboard/projects/{first}/collect/asked/remove", data={"id": row.id})
    assert "You can ask 1 more today." in browser.get(f"/dashboard/projects/{second}/collect").text
    refused = send(browser, second, many(2))
    assert refused.status_code == 422
    assert "1 more now, and this list has 2" in refused.text
    # What was taken back before it went doesn't count.
    assert "Nothing was sent" in take_back(browser, send(browser, second, many(1, 9))).text
    ask(browser, second, many(1))
    assert "0 more now, and this list has 1" in send(browser, second, NOOR).text
    moved_clock.move(days=1, seconds=1)
    # Nor does who is taken off the list before it goes.
    send(browser, second, many(1, 30))
    (row,) = (each for each in read_requests(app).values() if each.sent_at is None)
    browser.post(f"/dashboard/projects/{second}/collect/asked/remove", data={"id": row.id})
    ask(browser, second, many(5, 20))


def test_the_operator_can_switch_it_off(make_app, make_caller):
    app = make_app(invitations_per_day=0)
    owner = make_caller("owner@example.com", is_claimed=True, on=app)
    browser, project = open_browser(app, owner), owner.create_project()["_id"]
    page = browser.get(f"/dashboard/projects/{project}/collect").text
    assert "doesn’t send requests by email" in page
    assert 'name="people"' not in page
    assert send(browser, project, NOOR).status_code == 422


def test_the_list_is_filtered_and_has_pages(browser, project):
    ask(browser, project, many(120))
    assert len(states(browser, project)) == 50
    assert len(states(browser, project, "?page=3")) == 20
    assert states(browser, project, "?page=99") == states(browser, project, "?page=3")
    assert set(states(browser, project, "?state=waiting").values()) == {"Waiting"}
    assert states(browser, project, "?state=answered") == {}
    assert len(states(browser, project, "?state=bad&page=x")) == 50
    page = browser.get(f"/dashboard/projects/{project}/collect/asked?state=waiting&page=2").text
    assert "51 to 100 of 120" in page


def test_cancelled_ones_never_leave(app, browser, project):
    ask(browser, project, many(15))
    assert len(requests_to(app)) == 10
    answer = browser.post(f"/dashboard/projects/{project}/collect/asked/cancel")
    assert answer.status_code == 303
    assert "Removed" in browser.get(answer.headers["Location"]).text
    assert (read_requests(app), requests_to(app)) == ({}, [])
    with app.app_context():
        assert db.session.scalars(select(RequestBatch.size)).all() == [0]


def test_a_row_is_deleted(app, browser, owner, project):
    send(browser, project, f"{NOOR}, li@example.org")
    row = read_requests(app)["noor@example.com"]
    # By one of one's own projects nothing of another's goes.
    other = f"/dashboard/projects/{owner.create_project(slug='other')['_id']}/collect"
    for each in (row.id, "", "\0", "x" * 24):
        answer = browser.post(f"{other}/asked/remove", data={"id": each})
        assert answer.status_code in (404, 422)
    undone = browser.post(f"{other}/undo", data={"undo": row.batch_id})
    assert (undone.status_code, "li@example.org" in undone.text) == (200, False)
    assert len(read_requests(app)) == 2
    let_go(app)
    path = f"/dashboard/projects/{project}/collect/asked/remove"
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


def test_people_are_asked_once_by_the_api(app, helper, project):
    assert ask_by_api(helper, project) == {"count": 2, "leftOut": [], "hasMailServer": False}
    (maya,) = [mail for mail in mails(app) if mail.recipient == "maya@example.com"]
    assert "Kiln" in maya.subject
    assert "Hi Maya," in maya.text
    before = everything(app)
    again = ask_by_api(helper, project)
    assert again["count"] == 0
    assert [each["email"] for each in again["leftOut"]] == ["maya@example.com", "ben@example.com"]
    assert "already asked this person" in again["leftOut"][0]["reason"]
    assert everything(app) == before


def test_the_list_has_states(app, helper, owner, project):
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


def test_the_key_proposes_and_nobody_gets_mail(app, owner, project):
    answer = owner.post(f"/v1/projects/{project}/requests", {"people": PEOPLE})
    assert (answer.status_code, answer.json["data"]["kind"]) == (202, "request")
    assert mails(app) == []
    assert owner.get(f"/v1/projects/{project}/requests").status_code == 403
    reader = give_token(app, owner, Scope.READ)
    assert reader.get(f"/v1/projects/{project}/requests").status_code == 403


def test_the_limit_is_the_dashboards(make_app, make_caller):
    app = make_app(invitations_per_day=1)
    owner = make_caller("owner@example.com", is_claimed=True, on=app)
    helper, project = give_token(app, owner), owner.create_project()["_id"]
    path, before = f"/v1/projects/{project}/requests", everything(app)
    answer = helper.post(path, {"people": PEOPLE})
    assert (answer.status_code, answer.json["code"]) == (422, "ASKING_REFUSED")
    for people in ([], [{"email": "x"}], PEOPLE * 51, [{"name": "Maya"}], "x@example.com"):
        assert helper.post(path, {"people": people}).status_code == 400, people
    assert everything(app) == before
