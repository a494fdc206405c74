"""The operator's page: who opens it, what it says needs somebody, and what it shows."""

from datetime import timedelta
from pathlib import Path

from flask import Flask
from sqlalchemy import update

from testimonials.core import clock
from testimonials.core.audit import Event
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db, lock_for_writing
from testimonials.core.jobs import Job
from testimonials.core.mail.outbox import MailState, OutboxMail
from testimonials.core.settings.table import current_settings
from testimonials.projects import domains
from testimonials.projects.models import CustomDomain
from testimonials.projects.projects import get_project, lock_project
from tests.auth.browsers import COOKIE, open_browser, sign_in
from tests.conftest import PASSWORD
from tests.support.plans import count_statements

ROWS = ("Version", "Storage", "Backups", "Mail", "Accounts", "Domains", "Jobs", "Limits")


def add_mail(app: Flask, state: MailState) -> str:
    with app.app_context():
        lock_for_writing()
        mail = OutboxMail(
            purpose="submissions", recipient="theo@example.com", subject="A secret subject",
            text="A secret text", html="", state=state, last_error="connection refused",
        )  # fmt: skip
        db.session.add(mail)
        db.session.commit()
        return mail.id


def set_domain(app: Flask, project_id: str, host: str, **values: object) -> None:
    with app.app_context(), write():
        domains.set_domain(lock_project(project_id), host)
        if values:
            db.session.execute(update(CustomDomain).values(values))


def test_only_operators_find_the_page(app, owner, server, boss, customer):
    # Without the setting there is none.
    assert open_browser(app, owner).get("/operator").status_code == 404
    assert boss.get("/operator").status_code == 200
    other = open_browser(server, customer)
    assert other.get("/operator").status_code == 404
    assert other.post("/operator").status_code == 404
    stranger = server.test_client().get("/operator")
    assert (stranger.status_code, "/login" in stranger.headers["Location"]) == (303, True)


def test_who_is_no_operator_any_more_is_out_at_once(make_app, boss):
    assert boss.get("/operator").status_code == 200
    later = make_app(operators="somebody.else@example.com")
    other = later.test_client()
    cookie = boss.get_cookie(COOKIE)
    assert cookie
    other.set_cookie(COOKIE, cookie.value, path="/")
    assert other.get("/operator").status_code == 404


def test_reading_needs_a_proof_of_the_last_hour(server, boss, moved_clock):
    moved_clock.move(minutes=59)
    assert boss.get("/operator").status_code == 200
    moved_clock.move(minutes=2)
    asked = boss.get("/operator")
    assert (asked.status_code, "Version" in asked.text) == (401, False)
    assert boss.post("/operator").status_code == 401
    assert boss.post("/operator", data={"proof": "wrong words"}).status_code == 422
    answer = boss.post("/operator", data={"proof": PASSWORD})
    assert (answer.status_code, answer.headers["Location"]) == (303, "/operator")
    assert boss.get("/operator").status_code == 200


def test_it_only_looks(server, boss, customer):
    add_mail(server, MailState.FAILED)
    page = boss.get("/operator")
    main = page.text.partition("<main")[2].partition("<template")[0]
    # What needs somebody comes first.
    assert main.index("1 email was given up on") < main.index(">Version</span>")
    assert "Nothing needs you." not in main
    assert "<form" not in main
    for name in ROWS:
        assert f">{name}</span>" in main
    assert main.count("<code>testimonials ") >= len(ROWS)
    for private in ("theo@", "secret", "Words that nobody", customer.email):
        assert private not in main
    assert page.headers["Cache-Control"] == "no-store"
    for part in boss.get("/operator").text.split("<code>testimonials ")[1:]:
        words = [each for each in part.partition("<")[0].split() if each == each.lower()]
        names = [each for each in words if not each.startswith("--")]
        options = [each for each in words if each.startswith("--")]
        told = server.test_cli_runner().invoke(args=[*names, "--help"])
        assert told.exit_code == 0, part
        assert all(option in told.output for option in options), part


def test_nothing_needs_somebody(make_app, make_caller):
    app = make_app(operators="boss@example.com", smtp_url="smtp://127.0.0.1:9")
    browser = open_browser(app, make_caller("boss@example.com", is_claimed=True, on=app))
    assert "Nothing needs you." in browser.get("/operator").text
    # The first mail that the server refuses.
    add_mail(app, MailState.QUEUED)
    page = browser.get("/operator").text
    assert "Mail: 1 email(s) not sent, the oldest for " in page
    assert "the mail server refuses them or does not answer" in page


def test_troubles_said(server, boss, customer, backend, monkeypatch):
    monkeypatch.setattr("testimonials.operations.admin.__version__", "0.0.9")
    now = clock.now()
    with server.app_context(), write():
        names = {"sweep": None, "send-mail": "[Errno 111] Connection refused"}
        for name, error in names.items():
            times = {"started_at": now, "finished_at": now - timedelta(hours=3)}
            failed = now if error else None
            db.session.add(Job(id=name, kind=name, error=error, failed_at=failed, **times))
        folder = Path(current_settings().backup_path)
    folder.mkdir(exist_ok=True)
    (folder / f"scheduled-{now - timedelta(days=4):%Y%m%dT%H%M%SZ}.tar.gz").touch()
    visitor = server.test_client()
    for number in range(4):
        sign_in(visitor, customer.email, "not this one", ip=f"203.0.{number}.77")
    with server.app_context(), write():
        db.session.execute(update(Event).where(Event.type == "session.refused").values(times=90))
    page = boss.get("/operator").text
    for words in (
        "Jobs: send-mail failed at", "none has run since",
        "wrong passwords or codes within an hour", "0.0.9 is still running",
        *(["The newest backup is 4 days old"] if backend == "sqlite" else []),
    ):  # fmt: skip
        assert words in page
    # The grave come first.
    assert page.index("Jobs: ") < page.index("SMTP: SMTP_URL is not set")


def test_hosts_reports_and_limits_hit_are_counted_without_names(server, boss, customer):
    with server.app_context():
        project_id = get_project("larkspur").id
    gone = {"is_held": True, "missing_since": clock.now(), "verified_at": clock.now()}
    set_domain(server, project_id, "words.larkspur.example", **gone)
    form = {"reason": "private", "words": "That is my address.", "page": "wall"}
    assert server.test_client().post("/larkspur/report", data=form).status_code == 200
    page = boss.get("/operator").text
    assert "1 own host name has no TXT record any more" in page
    assert "0 serving, 1 without a TXT record" in page
    assert "1 report waits" in page
    for private in ("words.larkspur.example", "That is my address."):
        assert private not in page
    assert "Nobody has hit a limit" in boss.get("/operator").text
    visitor = server.test_client()
    for _ in range(20):
        sign_in(visitor, customer.email, "not this one", ip="203.0.113.77")
    page = boss.get("/operator").text
    assert "sign-in-network, 20 an hour: 1 over it" in page
    assert "203.0.113." not in page
    assert customer.email not in page


def test_it_takes_the_same_statements_however_many_accounts(server, boss, customer, make_caller):
    with server.app_context():
        engine = db.engine
    before = count_statements(engine, lambda: boss.get("/operator"))
    for number in range(10):
        other = make_caller(f"other{number}@example.com", on=server)
        project = other.create_project(businessName=f"Other {number}")
        other.create_testimonial(project["_id"])
        set_domain(server, project["_id"], f"other{number}.larkspur.example")
        add_mail(server, MailState.QUEUED)
    assert count_statements(engine, lambda: boss.get("/operator")) <= before
    assert ">Accounts</span>" in boss.get("/operator").text
