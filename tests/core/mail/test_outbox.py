"""The outbox, its messages and its delivery."""

import re
from datetime import timedelta

import pytest
from flask import Flask
from sqlalchemy import update

from testimonials.core import clock
from testimonials.core.extensions import db
from testimonials.core.jobs import KINDS, MAX_DELAY, OWN_WORK, BackgroundWorker, Job, _take_next
from testimonials.core.mail.outbox import SEND, MailState, OutboxMail, write_message
from testimonials.core.mail.smtp import SmtpTransport
from tests.auth.links import credentials, init, mailed_links, mails
from tests.support.applications import change_settings
from tests.support.commands import run, run_json, run_well
from tests.support.racing import at_once
from tests.support.rows import deliver_mail, put_mail
from tests.support.servers import MailSink, free_port, wait_for

pytestmark = pytest.mark.postgres
SENDER = "Testimonials <mail@example.com>"


def deliver(app: Flask, url: str) -> int:
    return deliver_mail(app, url, mail_from=SENDER)


def only_mail(app: Flask) -> OutboxMail:
    (mail,) = mails(app)
    return mail


def test_mail_waits_in_the_transaction_of_what_it_tells_of(app, client):
    assert init(client, "not usable").status_code == 400
    assert mails(app) == []
    init(client)
    assert only_mail(app).state == MailState.QUEUED


def test_due_mail_is_sent_once(app, smtp):
    put_mail(app, 3)
    # A bad one holds up no other.
    put_mail(app, recipient="no address at all")
    assert deliver(app, smtp.url) == 4
    assert deliver(app, smtp.url) == 0
    subjects = [received.message["Subject"] for received in smtp.received]
    assert sorted(subjects) == ["Number 0", "Number 1", "Number 2"]
    *sent, bad = mails(app)
    assert bad.state == MailState.FAILED
    for mail in sent:
        assert (mail.state, mail.attempts, mail.last_error) == (MailState.SENT, 1, None)
        assert mail.sent_at is not None


@pytest.mark.parametrize(
    ("link", "subject"), [(None, "Number 0"), ("https://example.com/off/token", "")]
)
def test_a_sent_mail_is_emptied(app, smtp, moved_clock, link, subject):
    put_mail(app)
    with app.app_context():
        db.session.execute(update(OutboxMail).values(list_unsubscribe=link))
        db.session.commit()
    smtp.answers = ["451 4.3.0 Try again"]
    assert deliver(app, smtp.url) == 1
    assert only_mail(app).text == "Grüße"
    moved_clock.move(seconds=5)
    assert deliver(app, smtp.url) == 1
    mail = only_mail(app)
    assert (mail.text, mail.html, mail.list_unsubscribe, mail.subject) == ("", "", None, subject)
    assert smtp.received[0].text == "Grüße\r\n"
    assert "The text of a sent email is not kept." in run_well(app, "mail", "show", mail.id)


def test_several_workers_never_send_the_same_mail(app, smtp):
    put_mail(app, 12)
    tried = sum(at_once(4, lambda _: deliver(app, smtp.url)))
    subjects = [received.message["Subject"] for received in smtp.received]
    assert (tried, len(subjects), len(set(subjects))) == (12, 12, 12)


def test_a_refusal_for_now_waits(app, smtp, moved_clock):
    put_mail(app)
    smtp.answers = ["451 4.3.0 Try again\r"] * 3
    for attempt, seconds in enumerate((5, 15, 45), start=1):
        assert deliver(app, smtp.url) == 1
        mail = only_mail(app)
        assert (mail.state, mail.attempts) == (MailState.QUEUED, attempt)
        assert mail.last_error is not None
        assert mail.last_error.startswith("451")
        with app.app_context():
            due = db.session.get_one(Job, mail.id).run_at
        assert due == moved_clock.time + timedelta(seconds=seconds)
        moved_clock.move(seconds=seconds - 0.001)
        assert deliver(app, smtp.url) == 0
        moved_clock.move(seconds=0.001)
    assert deliver(app, smtp.url) == 1
    assert (only_mail(app).state, only_mail(app).last_error) == (MailState.SENT, None)


def test_a_refusal_for_good_can_be_tried_again_by_hand(app, smtp):
    put_mail(app)
    smtp.answers = ["550 5.1.1 No such person"]
    deliver(app, smtp.url)
    mail = only_mail(app)
    assert (mail.state, mail.last_error) == (MailState.FAILED, "550 5.1.1 No such person")
    table = run_well(app, "mail", "list")
    assert "failed" in table
    assert "550 5.1.1 No such person" in table
    assert run_json(app, "mail", "retry", mail.id) == {"queued": 1}
    assert deliver(app, smtp.url) == 1
    assert only_mail(app).state == MailState.SENT
    again = run(app, "mail", "retry", mail.id)
    assert (again.exit_code, again.stdout) == (1, "")
    assert f"There is no failed or waiting email with the id {mail.id}." in again.stderr


def test_mail_that_waits_is_dropped_by_hand_and_the_record_says_so(app):
    put_mail(app)
    mail = only_mail(app)
    run_well(app, "mail", "retry", mail.id)
    run_well(app, "mail", "drop", mail.id)
    assert run(app, "mail", "drop", mail.id).exit_code == 1
    assert run_well(app, "mail", "list") == "The outbox is empty.\n"
    told = run_well(app, "activity", "list")
    assert "The operator (mail retry) retried waiting email: 1" in told
    assert "The operator (mail drop) dropped unsent email: 1" in told


def test_a_server_that_is_away_is_given_up_at_last(app, moved_clock):
    put_mail(app)
    url = f"smtp://127.0.0.1:{free_port()}"
    for attempt in range(1, KINDS[SEND].attempts + 1):
        assert deliver(app, url) == 1
        assert only_mail(app).attempts == attempt
        moved_clock.move(hours=6)
    assert only_mail(app).state == MailState.FAILED
    assert deliver(app, url) == 0


def test_without_a_server_mail_is_printed(app, caplog):
    caplog.set_level("INFO", "testimonials.mail")
    put_mail(app)
    assert deliver(app, "") == 1
    assert "mail to owner@example.com (SMTP_URL is not set" in caplog.text
    assert "Grüße" in caplog.text
    mail = only_mail(app)
    assert mail.state == MailState.PRINTED
    assert "Grüße" in run_well(app, "mail", "show", mail.id)


def test_the_worker_sends_what_comes_and_outlives_a_fault(app, client, smtp, monkeypatch):
    change_settings(app, smtp_url=smtp.url)
    sweeps = []

    def sweep() -> None:
        sweeps.append(clock.now())
        raise RuntimeError("the sweep fails")

    monkeypatch.setitem(OWN_WORK, "jobs", [sweep])
    worker = BackgroundWorker(app, {"mail": 0.01, "jobs": 0.01})
    worker.start()
    wait_for(lambda: len(sweeps) > 2, what="the third sweep")
    init(client)
    smtp.wait()
    worker.stop()
    assert smtp.received[0].recipients == ["new@example.com"]


def test_the_address_of_the_server_says_how_to_speak_to_it():
    for url, found in (
        ("smtp://h", (25, False, False)), ("smtp://h?starttls=1", (587, False, True)),
        ("smtps://h", (465, True, False)), ("smtp://h:2525", (2525, False, False)),
    ):  # fmt: skip
        transport = SmtpTransport(url, SENDER)
        assert (transport.port, transport.is_tls, transport.is_starttls) == found
    transport = SmtpTransport("smtp://a%40b:p%2Fw%3A@h", SENDER)
    assert (transport.user, transport.password) == ("a@b", "p/w:")


def test_mail_of_a_clock_that_was_ahead_leaves_when_it_is_put_back(app, smtp, moved_clock):
    moved_clock.move(days=3000)
    put_mail(app)
    put_mail(app, recipient="other@example.com")
    with app.app_context():
        assert _take_next("mail") is not None
    # The worker that has leased it dies, and the clock is set right.
    moved_clock.move(days=-3000)
    assert deliver(app, smtp.url) == 2
    assert [mail.state for mail in mails(app)] == [MailState.SENT] * 2
    # A mail with the longest delay keeps its time.
    put_mail(app)
    with app.app_context():
        values = {"run_at": clock.now() + MAX_DELAY}
        db.session.execute(update(Job).where(Job.kind == SEND).values(values))
        db.session.commit()
    assert deliver(app, smtp.url) == 0


def received_by(app: Flask, smtp: MailSink) -> MailSink:
    deliver_mail(app, smtp.url)
    return smtp


def test_a_mail_has_text_html_and_headers(app, client, smtp):
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


def test_the_mail_says_its_time(app, client, moved_clock):
    init(client)
    moved_clock.move(days=7)
    until = f"{moved_clock.time.day} {moved_clock.time:%b %Y, %H:%M} UTC"
    for part in (mails(app)[0].text, mails(app)[0].html):
        assert "7 days" in part
        assert until in part


@pytest.mark.parametrize(
    ("days", "label"), [(1, "1 day,"), (0.5, "12 hours,"), (0.001, "1 minute,")]
)
def test_times_and_links_are_told_by_the_settings(make_app, days, label):
    app = make_app(claim_days=days, app_url="https://app.example.org")
    init(app.test_client())
    text = mails(app)[0].text
    assert f"The link works for {label}" in text
    assert "https://app.example.org/claim/" in text
    assert "testimonials.example.com" not in text


def test_the_mail_shows_the_projects(app, client):
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


def test_neither_an_address_nor_another_field_brings_headers_or_further_receivers():
    encoded = "=?utf-8?q?=0D=0ABcc=3Ab=40x.com?=@example.com"
    for recipient in ("a@example.com\nBcc: b@example.com", "a@x.com, b@x.com", encoded, "@", ""):
        with pytest.raises(ValueError, match=r"is not an email address"):
            write_message(make_mail(recipient=recipient), SENDER)
    for character in ("\r", "\n", "\r\n", "\0", "\x0b", "\x7f"):
        for field in ("subject", "list_unsubscribe"):
            with pytest.raises(ValueError, match="has a control character"):
                write_message(make_mail(**{field: f"S{character}Bcc: b@example.com"}), SENDER)
    # Without an address that a header can hold, a reply goes nowhere else.
    assert b"Reply-To" not in write_message(make_mail(reply_to=encoded), SENDER)


@pytest.mark.parametrize(
    "recipient", ["o'neil+tag@example.com", "ünï@example.com", "a@bücher.example"]
)
def test_addresses_of_the_whole_world_get_their_mail(app, client, smtp, recipient):
    init(client, recipient)
    (mail,) = received_by(app, smtp).received
    assert mail.recipients == [recipient]
    assert [found.state for found in mails(app)] == ["sent"]
