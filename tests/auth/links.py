"""The magic links that were mailed, read from the outbox."""

import re
from typing import Any

from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import select
from werkzeug.test import TestResponse

from testimonials.core.extensions import db
from testimonials.core.mail.outbox import OutboxMail
from tests.conftest import PASSWORD
from tests.support.rows import do_jobs, write_mail

ORIGIN = "https://testimonials.example.com"


def mails(app: Flask) -> list[OutboxMail]:
    write_mail(app)
    with app.app_context():
        return list(db.session.scalars(select(OutboxMail).order_by(OutboxMail.id)))


def mailed_links(app: Flask) -> list[str]:
    found = (re.search(rf"{ORIGIN}(/claim/\S+)", mail.text) for mail in mails(app))
    return [match[1] for match in found if match]


def ask_for_link(client: FlaskClient, path: str, email: str, ip: str = "10.0.0.1") -> TestResponse:
    """Send a form that asks for a link by mail; the mail is in the outbox afterwards."""
    answer = client.post(path, data={"email": email}, environ_base={"REMOTE_ADDR": ip})
    do_jobs(client.application, "mail.link")
    return answer


def init(
    client: FlaskClient, email: object = "new@example.com", ip: str = "10.0.0.1"
) -> TestResponse:
    return client.post(
        "/v1/auth/agent-init", json={"email": email}, environ_base={"REMOTE_ADDR": ip}
    )


def credentials(answer: TestResponse) -> dict[str, str]:
    data = answer.get_json()["data"]
    return {"x-service-account-id": data["accountId"], "x-api-key": data["apiKey"]}


def redeem(client: FlaskClient, link: str, **form: Any) -> TestResponse:
    """Send the form behind a link as the page has it; the key is kept unless `form` differs."""
    seen = re.search(r'name="key_seen" value="([^"]*)"', client.get(link).text)
    shown = {"key": "keep", "key_seen": seen[1] if seen else ""}
    return client.post(link, data={"password": PASSWORD} | shown | form)
