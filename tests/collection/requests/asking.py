"""Asking people for testimonials through the dashboard's doors, for tests of all that follows."""

import html
import re

from flask import Flask
from flask.testing import FlaskClient
from selectolax.lexbor import LexborHTMLParser
from sqlalchemy import select, update
from werkzeug.test import TestResponse

from testimonials.collection import models
from testimonials.collection.request_mail import SEND_NOW
from testimonials.collection.requests import GRACE
from testimonials.core import clock
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db
from testimonials.core.mail.outbox import OutboxMail
from tests.auth.links import ORIGIN, mails
from tests.support.rows import do_jobs

FORM = {
    "people": "", "subject": "Two sentences?", "message": "Hi {name},\nhow was it?",
    "language": "en", "reminder": "3",
}  # fmt: skip


def send(browser: FlaskClient, project: str, people: str, **form: object) -> TestResponse:
    """Press "Send to 3 people"; the mails go out in 30 seconds."""
    data = FORM | {"people": people} | form
    return browser.post(f"/dashboard/projects/{project}/collect", data=data)


def ask(browser: FlaskClient, project: str, people: str, **form: object) -> None:
    """Ask people, and let the 30 seconds be over."""
    answer = send(browser, project, people, **form)
    assert answer.status_code == 303, answer.text
    let_go(browser.application)


def let_go(app: Flask) -> None:
    """Let the 30 seconds of every sending be over, without moving the clock for all else."""
    row = models.MailedRequest
    with app.app_context(), write():
        is_new = (row.sent_at.is_(None), row.next_mail_at <= clock.now() + GRACE)
        db.session.execute(update(row).where(*is_new).values(next_mail_at=clock.now()))
    do_jobs(app, SEND_NOW)


def read_hidden(page: str) -> dict[str, str]:
    """Return the fields that a page carries on."""
    found = re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', page)
    return {name: html.unescape(value) for name, value in found}


def read_requests(app: Flask) -> dict[str, models.MailedRequest]:
    """Return every request by its address."""
    with app.app_context():
        rows = list(db.session.scalars(select(models.MailedRequest)))
        db.session.expunge_all()
        db.session.rollback()
        return {row.email: row for row in rows}


def requests_to(app: Flask, email: str | None = None) -> list[OutboxMail]:
    """Return the mails that ask, to one address or to all, oldest first."""
    return [
        mail
        for mail in mails(app)
        if mail.purpose.startswith("invitation-") or mail.purpose == "invitation"
        if email in (None, mail.recipient)
    ]


def link_of(mail: OutboxMail, words: str) -> str:
    """Return the path of the link after these words in a mail's text."""
    found = re.search(rf"{words}\s+{ORIGIN}(/\S+)", mail.text)
    assert found, mail.text
    return found[1]


def form_of(mail: OutboxMail) -> str:
    return link_of(mail, "Write a few words")


def states(browser: FlaskClient, project: str, query: str = "") -> dict[str, str]:
    """Return each person's address on the list, and the beginning of what came of it."""
    page = browser.get(f"/dashboard/projects/{project}/collect/asked{query}")
    assert page.status_code == 200
    rows = LexborHTMLParser(page.text).css(".asked-row")
    return {
        row.css_first(".menu-note bdi").text(): row.css_first(".asked-state > span:not(.bars)")
        .text()
        .partition(",")[0]
        for row in rows
    }
