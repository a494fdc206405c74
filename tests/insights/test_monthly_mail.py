"""One sentence a month by mail: for whom, about what, once, and how it ends."""

from datetime import UTC, datetime

import pytest
from flask import Flask
from flask.testing import FlaskClient

from testimonials.core.mail.outbox import OutboxMail
from testimonials.operations.jobs.registry import send_gathered_mail
from tests.auth.browsers import open_browser
from tests.auth.links import mails
from tests.conftest import Caller, MakeCaller, MovableClock
from tests.dashboard.insights.counted import add_views
from tests.support.rows import add_member, add_testimonial

CHOSEN = datetime(2026, 10, 20, 12, tzinfo=UTC)
DUE = datetime(2026, 11, 1, 8, tzinfo=UTC)


@pytest.fixture
def project(owner: Caller, moved_clock: MovableClock) -> str:
    """A project of the owner's in October."""
    moved_clock.time = CHOSEN
    values = {"businessName": "Fern & Fable", "skipDemoTestimonials": True}
    return str(owner.create_project(**values)["_id"])


@pytest.fixture
def browser(app: Flask, owner: Caller) -> FlaskClient:
    """The owner's browser."""
    return open_browser(app, owner)


def choose(browser: FlaskClient, project: str, **form: str) -> None:
    """Save the form of the notifications."""
    path = f"/dashboard/projects/{project}/notifications"
    assert browser.post(path, data={"mode": "never"} | form).status_code == 303


def is_chosen(browser: FlaskClient, project: str, page: str = "notifications") -> bool:
    text = browser.get(f"/dashboard/projects/{project}/{page}").text
    return 'name="monthly" value="1" checked' in text


def tell(app: Flask) -> list[OutboxMail]:
    """Let the job work; return its mails about months."""
    before = len(mails(app))
    with app.app_context():
        send_gathered_mail()
    return [mail for mail in mails(app)[before:] if mail.purpose == "month"]


def test_a_month_is_told_once_and_in_one_sentence(
    app: Flask, browser: FlaskClient, project: str, moved_clock: MovableClock
) -> None:
    choose(browser, project, monthly="1")
    assert is_chosen(browser, project)
    assert is_chosen(browser, project, "settings")
    add_views(app, project, 1200, website="fern.example", clicks=6)
    add_views(app, project, 34, ago=3, clicks=1)
    add_views(app, project, 99, ago=30)
    add_testimonial(app, project, submitted_at=CHOSEN)
    assert tell(app) == []
    moved_clock.time = DUE.replace(hour=7, minute=59)
    assert tell(app) == []
    moved_clock.time = DUE
    add_views(app, project, 5000)
    add_testimonial(app, project, submitted_at=DUE)
    (mail,) = tell(app)
    assert mail.recipient == "owner@example.com"
    assert mail.subject == "Fern & Fable in October: seen 1,234 times"
    sentence = (
        "In October your testimonials were seen 1,234 times on 1 website and your public wall, "
        "the button was clicked 7 times, and 1 customer wrote."
    )
    assert sentence in " ".join(mail.text.split())
    assert f"/dashboard/projects/{project}/insights" in mail.text
    assert tell(app) == []
    moved_clock.time = datetime(2026, 12, 1, 9, tzinfo=UTC)
    (mail,) = tell(app)
    assert mail.subject == "Fern & Fable in November: seen 5,000 times"


def test_nobody_saw_it(
    app: Flask, browser: FlaskClient, project: str, moved_clock: MovableClock
) -> None:
    choose(browser, project, monthly="1")
    moved_clock.time = DUE
    (mail,) = tell(app)
    assert mail.subject == "Fern & Fable in October: not seen"
    assert "In October nobody saw your testimonials, and 0 customers wrote." in mail.text


def test_who_did_not_choose_it_gets_none(
    app: Flask, browser: FlaskClient, project: str, moved_clock: MovableClock
) -> None:
    choose(browser, project)
    assert not is_chosen(browser, project)
    moved_clock.time = DUE
    assert tell(app) == []
    # What was over by then is not told.
    choose(browser, project, monthly="1")
    assert tell(app) == []
    choose(browser, project)
    moved_clock.move(days=31)
    assert tell(app) == []


def test_it_is_for_owners_and_admins(
    app: Flask, project: str, make_caller: MakeCaller, moved_clock: MovableClock
) -> None:
    for role in ("admin", "moderator"):
        colleague = make_caller(f"{role}@example.com", is_claimed=True)
        add_member(app, project, colleague, role)
        browser = open_browser(app, colleague)
        choose(browser, project, monthly="1")
        assert is_chosen(browser, project) is (role == "admin")
    moved_clock.time = DUE
    assert [mail.recipient for mail in tell(app)] == ["admin@example.com"]


def test_its_link_ends_it_and_nothing_else(
    app: Flask, client: FlaskClient, browser: FlaskClient, project: str, moved_clock: MovableClock
) -> None:
    choose(browser, project, mode="at_once", monthly="1")
    moved_clock.time = DUE
    (mail,) = tell(app)
    assert mail.list_unsubscribe is not None
    assert mail.list_unsubscribe in mail.text
    path = mail.list_unsubscribe[mail.list_unsubscribe.index("/unsubscribe/") :]
    assert "each month about the insights of" in client.get(path).text
    assert is_chosen(browser, project)
    # As mail programs do.
    assert client.post(path, data={"List-Unsubscribe": "One-Click"}).status_code == 200
    assert not is_chosen(browser, project)
    page = browser.get(f"/dashboard/projects/{project}/notifications").text
    assert 'value="at_once" checked' in page
