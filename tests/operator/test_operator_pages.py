"""The operator's pages: who opens them, what they show, and what can be done there."""

import re
from datetime import timedelta
from pathlib import Path

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import select, text, update

from testimonials.activity.models import Event
from testimonials.auth.models import Account, Session
from testimonials.core import clock
from testimonials.core.data.leases import BackgroundJob
from testimonials.core.mail.outbox import MailState, OutboxMail
from testimonials.domains import services
from testimonials.domains.models import CustomDomain
from testimonials.extensions import begin_write, db
from testimonials.projects.services import get_project, lock_project
from testimonials.settings.current import current_settings
from tests.auth.browsers import COOKIE, is_signed_in, open_browser, purposes, sign_in
from tests.conftest import PASSWORD, Caller, MakeApp, MakeCaller, MovableClock
from tests.support.plans import count_statements
from tests.support.rows import count_rows, read_account

PAGES = (
    "", "/accounts", "/mail", "/domains", "/backups", "/reports", "/jobs", "/security", "/limits",
    "/doctor",
)  # fmt: skip


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


def set_domain(app: Flask, project_id: str, host: str, **values: object) -> None:
    with app.app_context():
        begin_write()
        services.set_domain(lock_project(project_id), host)
        if values:
            db.session.execute(update(CustomDomain).values(values))
        db.session.commit()


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


def test_each_trouble_is_said_with_what_to_do(
    server: Flask, boss: FlaskClient, customer: Caller, backend: str
) -> None:
    now = clock.now()
    with server.app_context():
        begin_write()
        names = {"sweep": None, "send-mail": "[Errno 111] Connection refused"}
        for name, error in names.items():
            times = {"started_at": now, "finished_at": now - timedelta(hours=3)}
            failed = now if error else None
            db.session.add(BackgroundJob(name=name, error=error, failed_at=failed, **times))
        folder = Path(current_settings().backup_path)
        db.session.commit()
    folder.mkdir(exist_ok=True)
    (folder / f"scheduled-{now - timedelta(days=4):%Y%m%dT%H%M%SZ}.tar.gz").touch()
    visitor = server.test_client()
    for number in range(4):
        sign_in(visitor, customer.email, "not this one", ip=f"203.0.{number}.77")
    with server.app_context():
        begin_write()
        db.session.execute(update(Event).where(Event.type == "session.refused").values(times=90))
        db.session.commit()
    page = boss.get("/operator").text
    for words in (
        "No background work since",
        "Failed: send-mail",
        "wrong passwords or codes within an hour",
        *(["The newest backup is 4 days old"] if backend == "sqlite" else []),
    ):
        assert words in page
    # The grave come first.
    assert page.index("No background work since") < page.index("Failed: send-mail")


def test_another_schema_or_version_is_a_trouble(
    server: Flask, boss: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("testimonials.operator.overview.troubles.__version__", "0.0.9")
    with server.app_context(), db.engine.begin() as connection:
        before = connection.scalar(text("SELECT version_num FROM alembic_version"))
        connection.execute(text("UPDATE alembic_version SET version_num = '0001'"))
    page = boss.get("/operator").text
    # On PostgreSQL the tests share a database.
    with server.app_context(), db.engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = :to"), {"to": before})
    assert "The database is at revision 0001, and this version needs" in page
    assert "0.0.9 still runs" in page


def test_the_doctor_says_what_to_do(server: Flask, boss: FlaskClient) -> None:
    assert "What to do" not in boss.get("/operator/doctor").text
    page = boss.post("/operator/doctor").text
    assert "What to do" in page
    assert "Backups" in page


def test_own_host_names_are_looked_up_and_removed(
    server: Flask, boss: FlaskClient, customer: Caller
) -> None:
    with server.app_context():
        project_id = get_project("larkspur").id
    gone = {"is_held": True, "missing_since": clock.now(), "verified_at": clock.now()}
    set_domain(server, project_id, "words.larkspur.example", **gone)
    page = boss.get("/operator/domains").text
    assert "words.larkspur.example" in page
    assert "Its TXT record is gone" in page
    assert "1 own host name has no TXT record" in boss.get("/operator").text
    path, form = "/operator/domains", {"project": project_id}
    assert boss.post(f"{path}/check", data=form).status_code == 303
    with server.app_context():
        assert db.session.get_one(CustomDomain, project_id).checked_at
    assert boss.post(f"{path}/remove", data=form).status_code == 303
    assert "No project has its own host name." in boss.get("/operator/domains").text
    assert boss.post(f"{path}/remove", data=form).status_code == 404
    assert boss.post(f"{path}/check").status_code == 404
    activity = open_browser(server, customer).get("/dashboard/account/activity").text
    assert "The operator" in activity


def test_who_is_no_operator_any_more_is_out_at_once(
    make_app: MakeApp, server: Flask, boss: FlaskClient
) -> None:
    assert boss.get("/operator").status_code == 200
    later = make_app(operators="somebody.else@example.com")
    other = later.test_client()
    cookie = boss.get_cookie(COOKIE)
    assert cookie
    other.set_cookie(COOKIE, cookie.value, path="/")
    assert other.get("/operator").status_code == 404
    assert other.post("/operator/mail/retry").status_code == 404


def test_an_operator_suspends_no_operator(server: Flask, boss: FlaskClient) -> None:
    with server.app_context():
        own = db.session.scalars(
            select(Account.id).where(Account.email == "boss@example.com")
        ).one()
    path = f"/operator/accounts/{own}"
    assert "Take it out of <code>OPERATORS</code>" in boss.get(path).text
    form = {"reason": "A mistake.", "widgets": "keep"}
    assert boss.post(f"{path}/suspend", data=form).status_code == 409
    assert boss.get("/operator").status_code == 200


def test_another_website_changes_nothing(
    server: Flask, boss: FlaskClient, customer: Caller
) -> None:
    headers = {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}
    form = {"reason": "x", "widgets": "keep"}
    path = f"/operator/accounts/{customer.account_id}/suspend"
    assert boss.post(path, data=form, headers=headers).status_code == 403
    assert not read_account(server, customer.account_id).is_suspended


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
    for page in (*PAGES, "/accounts?order=storage"):
        before[page] = count_statements(engine, lambda page=page: boss.get(f"/operator{page}"))
    for number in range(30):
        other = make_caller(f"other{number}@example.com", on=server)
        project = other.create_project(businessName=f"Other {number}")
        other.create_testimonial(project["_id"])
        set_domain(server, project["_id"], f"other{number}.larkspur.example")
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
