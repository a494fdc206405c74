"""The messages: headers, texts and links."""

import re

import pytest
from flask import Flask
from flask.testing import FlaskClient

from testimonials.core import clock
from testimonials.core.mail.delivery import deliver_due_mail
from testimonials.core.mail.messages import write_message
from testimonials.core.mail.outbox import OutboxMail
from testimonials.core.mail.transports import make_transport
from testimonials.settings.current import current_settings
from tests.auth.links import credentials, init, mailed_links, mails
from tests.conftest import MakeApp, MovableClock
from tests.support.servers import MailSink

SENDER = "Testimonials <mail@example.com>"


def received_by(app: Flask, smtp: MailSink) -> MailSink:
    with app.app_context():
        deliver_due_mail(make_transport(smtp.url, current_settings(app).mail_from))
    return smtp


def test_a_mail_has_text_and_html_and_the_headers_of_a_machine(
    app: Flask, client: FlaskClient, smtp: MailSink
) -> None:
    init(client)
    (path,) = mailed_links(app)
    (mail,) = received_by(app, smtp).received
    assert mail.sender == "testimonials@testimonials.example.com"
    assert mail.recipients == ["new@example.com"]
    message = mail.message
    assert message.get_content_type() == "multipart/alternative"
    assert message["From"] == "Testimonials <testimonials@testimonials.example.com>"
    assert message["To"] == "new@example.com"
    assert message["Subject"] == "Claim your testimonials account"
    assert message["Auto-Submitted"] == "auto-generated"
    assert message["Date"]
    assert re.fullmatch(r"<\w{24}@testimonials\.example\.com>", message["Message-ID"])
    link = f"https://testimonials.example.com{path}"
    assert f"{link}\r\n" in mail.text
    assert f'href="{link}"' in mail.html
    assert client.get(path).status_code == 200


def test_links_lead_to_the_address_of_the_pages(make_app: MakeApp) -> None:
    app = make_app(app_url="https://app.example.org")
    init(app.test_client())
    (mail,) = mails(app)
    assert "https://app.example.org/claim/" in mail.text
    assert "testimonials.example.com" not in mail.text


def test_the_mail_says_how_long_the_link_works(
    app: Flask, client: FlaskClient, moved_clock: MovableClock
) -> None:
    init(client)
    moved_clock.move(days=7)
    until = f"{moved_clock.time.day} {moved_clock.time:%b %Y, %H:%M} UTC"
    for part in (mails(app)[0].text, mails(app)[0].html):
        assert "7 days" in part
        assert until in part


@pytest.mark.parametrize(
    ("days", "label"), [(1, "1 day,"), (0.5, "12 hours,"), (0.001, "1 minute,")]
)
def test_short_times_are_told_in_fitting_units(make_app: MakeApp, days: float, label: str) -> None:
    app = make_app(claim_days=days)
    init(app.test_client())
    assert f"The link works for {label}" in mails(app)[0].text


def test_the_mail_shows_the_projects(app: Flask, client: FlaskClient) -> None:
    headers = credentials(init(client))
    for name in ("Fern & Fable", "x" * 120):
        client.post("/v1/projects", json={"businessName": name}, headers=headers)
    init(client)
    mail = mails(app)[-1]
    lines = [line for line in mail.text.splitlines() if "https://" not in line]
    assert max(map(len, lines)) <= 78
    assert '"Fern & Fable"' in mail.text
    assert "https://testimonials.example.com/fern-fable" in mail.text
    assert "Fern &amp; Fable" in mail.html


def make_mail(**values: str) -> OutboxMail:
    fields = {"recipient": "a@example.com", "subject": "S", "text": "T", "html": "<p>T</p>"}
    return OutboxMail(id="0" * 24, purpose="test", created_at=clock.now(), **(fields | values))


def test_neither_an_address_nor_another_field_brings_headers_or_further_receivers() -> None:
    encoded = "=?utf-8?q?=0D=0ABcc=3Ab=40x.com?=@example.com"
    for recipient in ("a@example.com\nBcc: b@example.com", "a@x.com, b@x.com", encoded, "@", ""):
        with pytest.raises(ValueError, match=r"is no e-mail address"):
            write_message(make_mail(recipient=recipient), SENDER)
    for character in ("\r", "\n", "\r\n", "\0", "\x0b", "\x7f"):
        for field in ("subject", "list_unsubscribe"):
            with pytest.raises(ValueError, match="has a control character"):
                write_message(make_mail(**{field: f"S{character}Bcc: b@example.com"}), SENDER)


def test_a_reply_goes_nowhere_else_for_an_address_that_no_header_can_hold() -> None:
    mail = make_mail(reply_to="=?utf-8?q?=0D=0ABcc=3Ab=40x.com?=@example.com")
    assert b"Reply-To" not in write_message(mail, SENDER)


@pytest.mark.parametrize(
    "recipient", ["o'neil+tag@example.com", "ünï@example.com", "a@bücher.example"]
)
def test_addresses_of_the_whole_world_get_their_mail(
    app: Flask, client: FlaskClient, smtp: MailSink, recipient: str
) -> None:
    init(client, recipient)
    (mail,) = received_by(app, smtp).received
    assert mail.recipients == [recipient]
    assert [found.state for found in mails(app)] == ["sent"]
