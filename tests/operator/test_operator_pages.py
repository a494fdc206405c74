"""The operator's pages: who opens them, what they show, and what can be done there."""

import re

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import update

from testimonials.activity.models import Event
from testimonials.auth.models import Session
from testimonials.core import clock
from testimonials.core.mail.outbox import MailState, OutboxMail
from testimonials.extensions import begin_write, db
from tests.auth.browsers import is_signed_in, open_browser, purposes, sign_in
from tests.conftest import PASSWORD, Caller, MakeApp, MakeCaller, MovableClock
from tests.support.plans import count_statements
from tests.support.rows import count_rows, read_account

PAGES = ("", "/accounts", "/mail", "/backups", "/reports", "/jobs", "/security", "/limits")


@pytest.fixture
def server(make_app: MakeApp) -> Flask:
    """An application that has an operator."""
    return make_app(operators="boss@example.com")


@pytest.fixture
def boss(server: Flask, make_caller: MakeCaller) -> FlaskClient:
    """The operator's browser, a moment after signing in."""
    return open_browser(server, make_caller("boss@example.com", is_claimed=True, on=server))


@pytest.fixture
def customer(server: Flask, make_caller: MakeCaller) -> Caller:
    """Somebody with a project and a testimonial."""
    made = make_caller("team@larkspur.example", is_claimed=True, on=server)
    project = made.create_project(businessName="Larkspur", slug="larkspur")
    made.create_testimonial(project["_id"], text="Words that nobody here may read.")
    return made


def add_mail(app: Flask, state: MailState) -> str:
    with app.app_context():
        begin_write()
        mail = OutboxMail(
            purpose="submissions", recipient="theo@example.com", subject="A secret subject",
            text="A secret text", html="", state=state, last_error="connection refused",
        )  # fmt: skip
        db.session.add(mail)
        db.session.commit()
        return mail.id


@pytest.mark.parametrize("page", PAGES)
def test_only_operators_find_the_pages(
    server: Flask, boss: FlaskClient, customer: Caller, page: str
) -> None:
    path = f"/operator{page}"
    assert boss.get(path).status_code == 200
    assert open_browser(server, customer).get(path).status_code == 404
    stranger = server.test_client().get(path)
    assert (stranger.status_code, "/login" in stranger.headers["Location"]) == (303, True)


def test_without_the_setting_there_is_no_operator(app: Flask, owner: Caller) -> None:
    assert open_browser(app, owner).get("/operator").status_code == 404


def test_reading_needs_a_proof_of_the_last_hour(
    server: Flask, boss: FlaskClient, moved_clock: MovableClock
) -> None:
    moved_clock.move(minutes=59)
    assert boss.get("/operator/jobs").status_code == 200
    moved_clock.move(minutes=2)
    asked = boss.get("/operator/jobs")
    assert asked.status_code == 401
    form = {"target": "/operator/jobs"}
    assert boss.post("/operator/open", data=form).status_code == 401
    assert boss.post("/operator/open", data=form | {"proof": "wrong words"}).status_code == 422
    answer = boss.post("/operator/open", data=form | {"proof": PASSWORD})
    assert (answer.status_code, answer.headers["Location"]) == (303, "/operator/jobs")
    assert boss.get("/operator/jobs").status_code == 200


def test_what_needs_somebody_comes_first(server: Flask, boss: FlaskClient) -> None:
    add_mail(server, MailState.FAILED)
    page = boss.get("/operator").text
    assert "1 mail was given up" in page
    assert page.index("1 mail was given up") < page.index("Version")


def test_accounts_are_found_by_address_project_and_state(
    server: Flask, boss: FlaskClient, customer: Caller
) -> None:
    for query, is_found in (
        ("q=LARKSPUR.example", True),
        ("q=larkspur", True),
        ("q=%25", False),
        ("state=active", True),
        ("state=suspended", False),
        ("state=nonsense", True),
        ("q=nobody", False),
        ("after=nonsense", True),
    ):
        page = boss.get(f"/operator/accounts?{query}").text
        assert (customer.email in page) is is_found, query
        assert "Words that nobody" not in page
    page = boss.get(f"/operator/accounts/{customer.account_id}").text
    assert "Larkspur" in page
    assert "Words that nobody" not in page
    assert boss.get("/operator/accounts/nonsense").status_code == 404


def test_an_operator_suspends_and_restores(
    server: Flask, boss: FlaskClient, customer: Caller
) -> None:
    theirs = open_browser(server, customer)
    path = f"/operator/accounts/{customer.account_id}"
    refused = boss.post(f"{path}/suspend", data={"reason": " ", "widgets": "keep"})
    assert (refused.status_code, is_signed_in(theirs)) == (422, True)
    form = {"reason": "Invented praise.", "widgets": "hide"}
    assert boss.post(f"{path}/suspend", data=form).status_code == 303
    assert not is_signed_in(theirs)
    assert read_account(server, customer.account_id).hides_widgets
    assert "Invented praise." in boss.get(path).text
    assert customer.email in boss.get("/operator/accounts?state=suspended").text
    # The second time, in another tab.
    assert boss.post(f"{path}/suspend", data=form).status_code == 409
    assert boss.post(f"{path}/restore").status_code == 303
    assert boss.post(f"{path}/restore").status_code == 409
    assert [each[0] for each in purposes(server)][-2:] == ["suspended", "restored"]
    # The owner reads that it was the operator, and not who that is.
    assert sign_in(theirs, customer.email).status_code == 303
    page = theirs.get("/dashboard/account/activity").text
    assert "The operator" in page
    assert "boss@example.com" not in page


def test_changes_need_a_proof_of_the_last_minutes(
    server: Flask, boss: FlaskClient, customer: Caller
) -> None:
    with server.app_context():
        begin_write()
        earlier = clock.now() - clock.timedelta(minutes=11)
        db.session.execute(update(Session).values(proved_at=earlier))
        db.session.commit()
    path = f"/operator/accounts/{customer.account_id}/suspend"
    answer = boss.post(path, data={"reason": "Invented praise.", "widgets": "keep"})
    assert answer.status_code == 401
    assert not read_account(server, customer.account_id).is_suspended


def test_mail_is_tried_again_and_dropped(server: Flask, boss: FlaskClient) -> None:
    mail_id = add_mail(server, MailState.FAILED)
    page = boss.get("/operator/mail").text
    assert "connection refused" in page
    assert "secret" not in page
    assert boss.post("/operator/mail/retry", data={"mail": mail_id}).status_code == 303
    with server.app_context():
        assert db.session.get_one(OutboxMail, mail_id).state == MailState.QUEUED
    assert boss.post("/operator/mail/drop", data={"mail": mail_id}).status_code == 303
    assert count_rows(server, OutboxMail) == 0
    other = add_mail(server, MailState.QUEUED)
    result = server.test_cli_runner().invoke(args=["mail", "drop", other])
    assert (result.exit_code, count_rows(server, OutboxMail)) == (0, 0)
    assert server.test_cli_runner().invoke(args=["mail", "drop", other]).exit_code == 1


def test_backups_are_asked_for(server: Flask, boss: FlaskClient) -> None:
    for what in ("make", "rehearse", "drop"):
        assert boss.post(f"/operator/backups/{what}").status_code == 303
    with server.app_context():
        types = [event.type for event in db.session.query(Event).order_by(Event.id)]
    assert types[-3:] == ["backup.asked", "backup.tried", "backup.dropped"]


def test_security_events_and_limits_name_no_network_whole(
    server: Flask, boss: FlaskClient, customer: Caller
) -> None:
    visitor = server.test_client()
    for _ in range(12):
        sign_in(visitor, customer.email, "not this one", ip="203.0.113.77")
    page = boss.get("/operator/security").text
    assert customer.email in page
    assert "tried to sign in with a wrong password" in page
    assert "203.0.113.77" not in page + boss.get("/operator/limits").text


def test_a_page_takes_the_same_statements_however_many_accounts(
    server: Flask, boss: FlaskClient, customer: Caller, make_caller: MakeCaller
) -> None:
    with server.app_context():
        engine = db.engine
    before = {}
    for page in ("", "/accounts", "/reports", "/mail"):
        before[page] = count_statements(engine, lambda page=page: boss.get(f"/operator{page}"))
    for number in range(30):
        other = make_caller(f"other{number}@example.com", on=server)
        project = other.create_project(businessName=f"Other {number}")
        other.create_testimonial(project["_id"])
        add_mail(server, MailState.QUEUED)
    for page, count in before.items():
        assert count_statements(engine, lambda page=page: boss.get(f"/operator{page}")) <= count


def test_many_accounts_are_paged(server: Flask, boss: FlaskClient, make_caller: MakeCaller) -> None:
    for number in range(60):
        make_caller(f"other{number}@example.com", on=server)
    first = boss.get("/operator/accounts").text
    link = re.search(r'rel="next" href="([^"]+)"', first)
    assert link
    second = boss.get(link[1].replace("&amp;", "&")).text
    found = re.findall(r"<bdi>((?:other|boss)[^<]+)</bdi></a></th>", first + second)
    assert len(found) == len(set(found)) == 61
