"""The numbers of before every genuine rating counted: the notice, its clock, its mail, its end."""

import pytest
from sqlalchemy import select

from testimonials.core import clock
from testimonials.core.extensions import db
from testimonials.core.mail.outbox import OutboxMail
from testimonials.testimonials.new_numbers import follow_old_numbers
from tests.conftest import MovableClock
from tests.dashboard.inbox.inbox import Inbox
from tests.dashboard.inbox.test_setting_aside import number
from tests.support.rows import add_testimonial, change_project, read_project

DAY = 24 * 60 * 60
pytestmark = [pytest.mark.postgres, pytest.mark.recount]


@pytest.fixture
def upgraded(inbox: Inbox, moved_clock: MovableClock) -> Inbox:
    """Return the inbox of a project of which two ratings are shown and one was rejected."""
    for rating, status in ((5, "approved"), (5, "approved"), (1, "rejected")):
        values = {"status": status, "source": "public_page", "author_name": status}
        add_testimonial(inbox.app, inbox.project, rating=rating, **values)
    old = {"total": 10 * 10**9, "stars": [0, 0, 0, 0, 2]}
    until = clock.from_milliseconds(clock.to_milliseconds(clock.now()) + 60 * DAY * 1000)
    change_project(inbox.app, inbox.project, old_numbers=old, numbers_from=until)
    return inbox


def follow(inbox: Inbox) -> int:
    with inbox.app.app_context():
        return follow_old_numbers()


def days_left(inbox: Inbox) -> int:
    until = read_project(inbox.app, inbox.project).numbers_from
    assert until is not None
    return round((until - clock.now()).total_seconds() / DAY)


def test_the_first_page_starts_the_days(upgraded, moved_clock):
    assert (number(upgraded), days_left(upgraded)) == (2, 60)
    upgraded.get("settings")
    assert days_left(upgraded) == 14
    moved_clock.move(days=3)
    page = upgraded.get("inbox").text
    assert "5.0 becomes 3.7, because 1 rating that you rejected counts now." in page
    assert 'inbox?status=rejected">Review</a>' in page
    assert days_left(upgraded) == 11
    assert number(upgraded) == 2
    moved_clock.move(days=11)
    follow(upgraded)
    assert (number(upgraded), read_project(upgraded.app, upgraded.project).old_numbers) == (3, None)
    assert "becomes 3.7" not in upgraded.get("inbox").text


def test_whoever_has_looked_ends_them_at_once(upgraded):
    version = read_project(upgraded.app, upgraded.project).feed_version
    assert upgraded.bulk("", do="numbers").status_code == 200
    assert number(upgraded) == 3
    project = read_project(upgraded.app, upgraded.project)
    assert (project.old_numbers, project.numbers_from) == (None, None)
    assert project.feed_version > version


def test_what_is_set_aside_changes_what_it_says(upgraded):
    said = "The old average is shown until"
    assert said in upgraded.get("inbox").text
    rejected = upgraded.find(upgraded.get("inbox?status=rejected").text, "rejected")
    upgraded.act(rejected, "set-aside", "abusive")
    assert said not in upgraded.get("inbox").text


def test_the_owner_is_told_once(upgraded):
    assert follow(upgraded) == 1
    assert follow(upgraded) == 0
    with upgraded.app.app_context():
        told = select(OutboxMail).where(OutboxMail.purpose == "new-numbers")
        (mail,) = db.session.scalars(told).all()
    assert mail.recipient == upgraded.owner.email
    for text in (mail.text, mail.html):
        assert "5.0 becomes 3.7, because 1 rating that you rejected counts now." in text
        assert "inbox?status=rejected" in text
    assert "becomes 3.7" in upgraded.get("inbox").text
