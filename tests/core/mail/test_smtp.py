"""What mail servers may do, what becomes of the mail, and `testimonials mail test`."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from testimonials.core import clock
from testimonials.core.mail import smtp
from testimonials.core.mail.outbox import MailState, OutboxMail
from testimonials.core.mail.smtp import DeliveryFailed, SmtpTransport
from tests.auth.links import mails
from tests.conftest import MakeApp
from tests.support.mail_servers import (
    DIE,
    HANG,
    PASSWORD,
    URL_USER,
    USER,
    OddServer,
    make_certificate,
    secure_server,
)
from tests.support.rows import deliver_mail, put_mail
from tests.support.servers import PATIENCE

SENDER = "Testimonials <mail@example.com>"


def make_mail(recipient: str = "owner@example.com") -> OutboxMail:
    texts = {"subject": "Hello", "text": "Words", "html": "<p>Words</p>"}
    return OutboxMail(
        id="0" * 24, purpose="test", recipient=recipient, created_at=clock.now(), **texts
    )


# A certificate and its key.
Pair = tuple[Path, Path]
# Seconds to wait for a server that never answers.
SOON = 0.6


def send(url: str, *, timeout: float = PATIENCE) -> tuple[DeliveryFailed | None, SmtpTransport]:
    """Send one mail; return what went wrong."""
    transport = SmtpTransport(url, SENDER, timeout=timeout)
    try:
        assert transport.send(make_mail()) is MailState.SENT
    except DeliveryFailed as error:
        return error, transport
    return None, transport


def send_to(answers: dict[str, str]) -> tuple[DeliveryFailed, SmtpTransport]:
    """Send to a server that answers like this and takes no mail; return what went wrong."""
    server = OddServer(**answers)
    try:
        failed, transport = send(server.url, timeout=SOON if HANG in answers.values() else PATIENCE)
    finally:
        server.stop()
    assert failed is not None
    assert server.taken == 0
    return failed, transport


OF_THE_SERVER = [
    ({"GREETING": "421 4.3.2 Busy"}, "421 4.3.2 Busy"),
    ({"GREETING": "HTTP/1.1 400 Bad Request"}, "-1"), ({"GREETING": HANG}, "timed out"),
    ({"GREETING": DIE}, "Connection unexpectedly closed"), ({"EHLO": HANG}, "timed out"),
    ({"EHLO": "550 no", "HELO": "550 no"}, "550 no"),
    ({"MAIL": "550 5.7.1 Not your address"}, "550 5.7.1 Not your address"),
    ({"MAIL": "530 5.7.0 Must issue a STARTTLS command first"}, "530 5.7.0 Must issue"),
    ({"MAIL": "451 4.7.0 Later"}, "451 4.7.0 Later"),
    ({"MAIL": DIE}, "Connection unexpectedly closed"),
    ({"RCPT": "530 5.7.1 Authentication required"}, "530 5.7.1 Authentication required"),
    ({"DATA": HANG}, "timed out"), ({"END": DIE}, "while sending the email, which may arrive"),
]  # fmt: skip


@pytest.mark.parametrize(("answers", "problem"), OF_THE_SERVER)
def test_what_is_wrong_with_the_server_is_tried_again_and_ends_the_round(answers, problem):
    failed, _ = send_to(answers)
    assert (failed.is_permanent, failed.is_outage) == (False, True)
    assert problem in str(failed)


OF_THE_MAIL = [
    ({"RCPT": "450 4.2.0 Greylisted"}, False), ({"RCPT": "421 4.7.0 Too many"}, False),
    ({"RCPT": "550 5.1.1 No such person"}, True), ({"RCPT": "554 5.7.1 Relay access denied"}, True),
    ({"DATA": "451 4.3.0 Later"}, False), ({"END": "452 4.3.1 Disk full"}, False),
    ({"END": "554 5.7.1 Spam"}, True),
]  # fmt: skip


@pytest.mark.parametrize(("answers", "is_permanent"), OF_THE_MAIL)
def test_a_wrong_mail_holds_up_no_other(answers, is_permanent):
    failed, _ = send_to(answers)
    assert (failed.is_permanent, failed.is_outage) == (is_permanent, False)
    assert str(failed) == next(iter(answers.values()))


@pytest.mark.parametrize("goodbye", ["421 too late", "500 what?", DIE, HANG])
def test_a_mail_that_was_taken_is_sent_whatever_follows(goodbye):
    server = OddServer(QUIT=goodbye)
    failed, _ = send(server.url)
    server.stop()
    assert (failed, server.taken) == (None, 1)


def test_a_server_that_scans_the_mail_is_waited_for(monkeypatch):
    # Longer than for any other answer: to give up early would send the mail twice.
    monkeypatch.setattr(smtp, "PATIENCE_WITH_MAIL", 2)
    begun = time.monotonic()
    failed, _ = send_to({"END": HANG})
    assert time.monotonic() - begun >= 2 * SOON
    assert "may arrive twice" in str(failed)


def test_an_outage_costs_only_one_mail_an_attempt(app):
    server = OddServer(GREETING=DIE)
    put_mail(app, 3)
    try:
        assert deliver_mail(app, server.url) == 1
    finally:
        server.stop()
    assert server.connections == 1
    assert sorted(mail.attempts for mail in mails(app)) == [0, 0, 1]


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Pair:
    return make_certificate(tmp_path_factory.mktemp("certificate"))


@pytest.fixture
def trusted(certificate: Pair, monkeypatch: pytest.MonkeyPatch) -> Iterator[Pair]:
    """The same, trusted by SSL_CERT_FILE."""
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
    return certificate


def test_mail_leaves_by_starttls_or_tls_with_a_password(trusted):
    with secure_server(trusted, has_login=True) as (sink, port):
        url = f"smtp://{URL_USER}@127.0.0.1:{port}?starttls=1"
        # Looking whether mail works sends none.
        SmtpTransport(url, SENDER).check()
        assert sink.received == []
        failed, transport = send(url)
    assert (failed, sink.received[0].recipients) == (None, ["owner@example.com"])
    assert transport.dialogue.is_encrypted
    said = "\n".join(transport.dialogue.lines)
    for words in ("C: STARTTLS", "C: AUTH PLAIN (hidden)", "(the email, "):
        assert words in said, words
    for secret in (PASSWORD, USER, "AHNob3BAZXhhbXBsZS5jb20"):
        assert secret not in said
    with secure_server(trusted, is_tls=True, has_login=True) as (sink, port):
        failed, transport = send(f"smtps://{URL_USER}@127.0.0.1:{port}")
    assert (failed, len(sink.received)) == (None, 1)
    assert any("encrypted with TLS" in line for line in transport.dialogue.lines)


def refuse(url: str) -> str:
    """Return the words of a failure, and check that nothing contains a secret."""
    failed, transport = send(url)
    assert failed is not None
    assert (failed.is_permanent, failed.is_outage) == (False, True)
    for text in (str(failed), *transport.dialogue.lines):
        assert PASSWORD not in text
        assert USER not in text
    return str(failed)


def test_a_certificate_for_another_name_or_of_nobody_is_refused(tmp_path, monkeypatch, certificate):
    with secure_server(certificate) as (sink, port):
        assert "self-signed certificate" in refuse(f"smtp://127.0.0.1:{port}?starttls=1")
    assert sink.received == []
    other = make_certificate(tmp_path, "DNS:mail.example.com")
    monkeypatch.setenv("SSL_CERT_FILE", str(other[0]))
    with secure_server(other, is_tls=True) as (sink, port):
        assert "not valid for '127.0.0.1'" in refuse(f"smtps://127.0.0.1:{port}")
    assert sink.received == []


def test_what_is_refused_is_told_in_the_words_of_the_server(trusted):
    with secure_server(trusted, has_login=True) as (_, port):
        problem = refuse(f"smtp://shop%40example.com:wrong@127.0.0.1:{port}?starttls=1")
        missing = refuse(f"smtp://127.0.0.1:{port}?starttls=1")
        # No password is sent in the clear where it isn't taken; without one MAIL FROM is refused.
        assert "AUTH" in refuse(f"smtp://{URL_USER}@127.0.0.1:{port}")
        assert refuse(f"smtp://127.0.0.1:{port}").startswith("530 ")
    assert (problem[:4], missing[:4]) == ("535 ", "530 ")
    # TLS at a port that begins in the clear is named, and so is a server without STARTTLS.
    with secure_server(trusted) as (_, port):
        assert f"127.0.0.1:{port}: [SSL" in refuse(f"smtps://127.0.0.1:{port}")
    with secure_server(None) as (sink, port):
        assert "STARTTLS" in refuse(f"smtp://127.0.0.1:{port}?starttls=1")
    assert sink.received == []


def run(make_app: MakeApp, url: str, *arguments: str) -> tuple[int, str, str]:
    """Run the command with this SMTP_URL; return exit code, output and errors."""
    runner = make_app(smtp_url=url).test_cli_runner()
    done = runner.invoke(args=["mail", "test", "operator@example.com", *arguments])
    return done.exit_code, done.stdout, done.stderr


def test_the_conversation_is_shown_and_ends_with_the_words_of_the_server(make_app):
    server = OddServer(RCPT="451 4.7.1 Greylisted, come back")
    code, output, errors = run(make_app, server.url)
    server.stop()
    assert code == 1
    assert "C: mail FROM:<testimonials@testimonials.example.com>" in output
    assert "S: 451 4.7.1 Greylisted, come back" in output
    assert "was not sent: 451 4.7.1 Greylisted" in errors
    # A program reads the same as JSON.
    server = OddServer(MAIL="550 5.7.1 No")
    code, output, _ = run(make_app, server.url, "--json")
    server.stop()
    outcome = json.loads(output)
    assert (code, outcome["sent"], outcome["problem"]) == (1, False, "550 5.7.1 No")
    assert outcome["warning"] is None
    assert "S: 550 5.7.1 No" in outcome["dialogue"]


def test_a_password_in_the_clear_works_and_is_warned_of(make_app):
    with secure_server(None, has_login=True, may_login_in_the_clear=True) as (sink, port):
        code, output, _ = run(make_app, f"smtp://{URL_USER}@127.0.0.1:{port}")
    assert (code, len(sink.received)) == (0, 1)
    assert "The password travelled unencrypted" in output
    assert PASSWORD not in output


def test_a_server_steers_no_terminal(make_app):
    server = OddServer(RCPT="550 \x1b[31mred\x1b]0;owned\x07")
    code, output, errors = run(make_app, server.url)
    server.stop()
    assert code == 1
    assert "[31mred" in output
    assert "[31mred" in errors
    assert not {"\x1b", "\x07"} & set(output + errors)


def test_a_mail_that_was_accepted_is_not_kept(make_app, smtp):
    """Services that rate mail use disposable addresses, which can't sign up."""
    app = make_app(smtp_url=smtp.url)
    arguments = ["mail", "test", "Test-X1@mailinator.com", "--json"]
    outcome = json.loads(app.test_cli_runner().invoke(args=arguments).stdout)
    assert (outcome["recipient"], outcome["sent"]) == ("test-x1@mailinator.com", True)
    assert "C: rcpt TO:<test-x1@mailinator.com>" in outcome["dialogue"]
    assert outcome["dialogue"][-2:] == ["S: 250 OK", "C: quit"]
    (mail,) = smtp.wait()
    assert mail.message["Subject"] == "Test email from Testimonials"
    assert mails(app) == []
