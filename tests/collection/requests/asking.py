"""Asking people for testimonials through the dashboard's doors, for tests of all that follows."""

import html
import re

from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import select
from werkzeug.test import TestResponse

from testimonials.collection import models
from testimonials.core.extensions import db
from testimonials.core.mail.outbox import OutboxMail
from tests.auth.links import ORIGIN, mails

FORM = {
    "people": "", "subject": "Two sentences?", "message": "Hi {name},\nhow was it?",
    "language": "en", "reminder": "3",
}  # fmt: skip


def preview(browser: FlaskClient, project: str, people: str, **form: object) -> TestResponse:
    """Send the form; nothing is sent to anybody yet."""
    path = f"/dashboard/projects/{project}/invitations/preview"
    data = FORM | {"people": people} | form
    return browser.post(path, data=data, content_type="multipart/form-data")


def read_hidden(page: str) -> dict[str, str]:
    """Return the fields that a preview carries on."""
    found = re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', page)
    return {name: html.unescape(value) for name, value in found}


def confirm(browser: FlaskClient, project: str, page: str) -> TestResponse:
    return browser.post(f"/dashboard/projects/{project}/invitations", data=read_hidden(page))


def ask(browser: FlaskClient, project: str, people: str, **form: object) -> None:
    """Ask people: the form, the preview, the button."""
    page = preview(browser, project, people, **form)
    assert page.status_code == 200, page.text
    answer = confirm(browser, project, page.text)
    assert answer.status_code == 303, answer.text


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
    """Return what the list shows: each person's address and state."""
    page = browser.get(f"/dashboard/projects/{project}/invitations{query}")
    assert page.status_code == 200
    rows = page.text.split('<li class="asked-person">')[1:]
    found = {}
    for row in rows:
        email = re.search(r"Delete (\S+) from the list", row)
        found[email[1]] = re.search(r'class="asked-state is-\w+">([^<]+)<', row)[1]
    return found
