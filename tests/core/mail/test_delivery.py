"""Mail as it leaves a running service, over a real SMTP server."""

import html
import json
import re
import signal
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from testimonials import create_app
from testimonials.extensions import db
from testimonials.settings.table import load_settings
from tests.conftest import StartService
from tests.process import Service
from tests.rows import fill_outbox
from tests.servers import MailSink, free_port, wait_for

pytestmark = pytest.mark.process

EMAIL = "owner@example.com"


def _mails(service: Service) -> list[dict[str, Any]]:
    """Return what `mail list` prints, run in this process: some wait for it again and again."""
    app = create_app(load_settings(service.environment, {"base_url": service.url}))
    done = app.test_cli_runner().invoke(args=["mail", "list", "--limit", "1000", "--json"])
    with app.app_context():
        db.engine.dispose()
    assert done.exit_code == 0, done.output
    return list(json.loads(done.stdout))


def _wait_for_log(service: Service, words: str) -> None:
    wait_for(lambda: words in "".join(service.output), what=words)


def _claim_path(service: Service, text: str) -> str:
    found = re.search(rf"{re.escape(service.url)}(/claim/\S+)", text)
    assert found, text
    return found[1]


def test_the_claim_mail_arrives_in_two_forms_with_a_link_that_works(
    start: StartService, smtp: MailSink
) -> None:
    service = start(smtp_url=smtp.url, mail_from="Hello <hello@example.com>")
    service.sign_up(EMAIL)
    (mail,) = smtp.wait()
    assert (mail.sender, mail.recipients) == ("hello@example.com", [EMAIL])
    assert mail.message.get_content_type() == "multipart/alternative"
    headers = {name.lower(): str(value) for name, value in mail.message.items()}
    assert headers["from"] == "Hello <hello@example.com>"
    assert headers["to"] == EMAIL
    assert headers["subject"] == "Claim your testimonials account"
    assert headers["auto-submitted"] == "auto-generated"
    assert re.fullmatch(r"<[0-9a-f]{24}@example\.com>", headers["message-id"])
    assert headers["date"]
    path = _claim_path(service, mail.text)
    for form in (mail.text, html.unescape(mail.html)):
        assert service.url + path in form
        assert "7 days" in form
        assert EMAIL in form
    assert service.call("GET", path).status == 200
    # What a mail scanner opens is not redeemed by that.
    form_body = b"password=three+blue+wardrobes&key=keep"
    form_headers = {"Content-Type": "application/x-www-form-urlencoded"}
    assert service.call("POST", path, form_body, form_headers).status == 200
    answer = service.call("POST", "/v1/auth/agent-init", {"email": EMAIL})
    assert answer.data["accountExists"] is True
    wait_for(lambda: _mails(service)[0]["state"] == "sent", what="the state")
    (sent,) = _mails(service)
    assert sent["attempts"] == 1


def test_a_refusal_for_now_is_tried_again_and_delivered_once(
    start: StartService, smtp: MailSink, tmp_path: Path
) -> None:
    smtp.answers.append("451 4.3.0 Try again later")
    service = start(smtp_url=smtp.url)
    service.sign_up(EMAIL)
    _wait_for_log(service, "not sent (queued): 451")
    # Read from the file itself: a command takes longer than the pause on a busy machine.
    noted = ("queued", 1, "451 4.3.0 Try again later", 1)
    with closing(sqlite3.connect(tmp_path / "service" / "testimonials.db")) as database:
        query = "SELECT state, attempts, last_error, next_attempt_at > created_at FROM outbox_mail"
        assert database.execute(query).fetchall() == [noted]
    # Some seconds later it goes by itself.
    smtp.wait()
    wait_for(lambda: _mails(service)[0]["state"] == "sent", what="the state")
    (sent,) = _mails(service)
    assert (sent["attempts"], sent["lastError"], sent["nextAttemptAt"]) == (2, None, None)
    assert len(smtp.received) == 1


def test_a_refusal_for_good_is_failed_and_can_be_tried_again_by_hand(
    start: StartService, smtp: MailSink
) -> None:
    smtp.answers.append("550 5.1.1 No such user")
    service = start(smtp_url=smtp.url)
    service.sign_up(EMAIL)
    _wait_for_log(service, "not sent (failed): 550")
    (failed,) = _mails(service)
    assert (failed["state"], failed["lastError"]) == ("failed", "550 5.1.1 No such user")
    table = service.run("mail", "list").stdout
    assert "failed" in table
    assert "550 5.1.1 No such user" in table
    done = service.run("mail", "retry", failed["id"], "--json")
    assert json.loads(done.stdout) == {"queued": 1}
    assert smtp.wait()[0].recipients == [EMAIL]
    wait_for(lambda: _mails(service)[0]["state"] == "sent", what="the state")
    again = service.run("mail", "retry", failed["id"])
    assert again.returncode != 0
    assert "no failed, waiting or unconfirmed mail" in again.stderr


def test_mail_waits_for_a_server_that_is_down_at_first(start: StartService, smtp: MailSink) -> None:
    port = free_port()
    service = start(smtp_url=f"smtp://127.0.0.1:{port}")
    headers = service.sign_up(EMAIL)
    _wait_for_log(service, f"127.0.0.1:{port}: [Errno 111] Connection refused")
    # The caller has the answer and the key works, whatever the mail server does.
    assert service.call("GET", "/v1/me", headers=headers).status == 200
    (waiting,) = _mails(service)
    assert waiting["state"] == "queued"
    assert service.stop() == 0
    again = start(smtp_url=smtp.url)
    assert again.run("mail", "retry").returncode == 0
    smtp.wait()
    wait_for(lambda: _mails(again)[0]["state"] == "sent", what="the state")
    assert len(smtp.received) == 1


def test_two_processes_on_one_outbox_send_each_mail_once(
    start: StartService, smtp: MailSink, tmp_path: Path
) -> None:
    services = [start(smtp_url=smtp.url), start(smtp_url=smtp.url)]
    fill_outbox(tmp_path / "service", 40)
    smtp.wait(40)
    wait_for(lambda: {mail["state"] for mail in _mails(services[0])} == {"sent"}, what="all states")
    assert {mail["attempts"] for mail in _mails(services[0])} == {1}
    recipients = [mail.recipients[0] for mail in smtp.received]
    assert len(recipients) == len(set(recipients)) == 40


def test_an_end_in_the_middle_of_many_mails_sends_none_of_them_twice(
    start: StartService, smtp: MailSink, tmp_path: Path
) -> None:
    first = start(smtp_url=smtp.url)

    def end() -> None:
        # The service waits for this answer, so the end comes in the middle.
        if len(smtp.received) == 5:
            first.process.send_signal(signal.SIGTERM)
            wait_for(lambda: not first.is_listening, what="the signal to reach the worker")

    smtp.before_answer = end
    fill_outbox(tmp_path / "service", 80)
    assert first.wait() == 0
    assert len(smtp.received) == 5
    second = start(smtp_url=smtp.url)
    wait_for(lambda: len(smtp.received) >= 80, what="the rest of the mails")
    wait_for(lambda: {mail["state"] for mail in _mails(second)} == {"sent"}, what="all states")
    recipients = [mail.recipients[0] for mail in smtp.received]
    assert len(recipients) == len(set(recipients)) == 80


def test_without_a_server_mail_is_printed_to_the_log_and_kept(start: StartService) -> None:
    service = start()
    service.sign_up(EMAIL)
    _wait_for_log(service, "Sent by Testimonials")
    log = "".join(service.output)
    assert f"mail to {EMAIL} (no SMTP_URL is set" in log
    path = _claim_path(service, log)
    wait_for(lambda: _mails(service)[0]["state"] == "printed", what="the state")
    (mail,) = _mails(service)
    assert (mail["purpose"], mail["to"]) == ("claim", EMAIL)
    shown = service.run("mail", "show", mail["id"])
    assert path in shown.stdout
    full = json.loads(service.run("mail", "show", mail["id"], "--json").stdout)
    assert path in full["text"]
    assert path in html.unescape(full["html"])
    assert service.call("GET", path).status == 200


def test_mail_test_says_whether_the_server_took_it(start: StartService, smtp: MailSink) -> None:
    service = start(smtp_url=smtp.url)
    done = service.run("mail", "test", "Operator@Example.com", "--json")
    outcome = json.loads(done.stdout)
    assert (outcome["recipient"], outcome["sent"]) == ("operator@example.com", True)
    assert "C: rcpt TO:<operator@example.com>" in outcome["dialogue"]
    assert outcome["dialogue"][-2:] == ["S: 250 OK", "C: quit"]
    (mail,) = smtp.wait()
    assert mail.message["Subject"] == "Test mail from Testimonials"
    smtp.answers.append("550 5.7.1 Not from you")
    refused = service.run("mail", "test", "operator@example.com")
    assert refused.returncode == 1
    assert "S: 550 5.7.1 Not from you" in refused.stdout
    assert "Error: The mail did not leave: 550 5.7.1 Not from you" in refused.stderr
    assert "SPF, DKIM and DMARC" in refused.stderr
    assert _mails(service) == []


def test_a_mail_whose_answer_nobody_heard_is_not_sent_again(
    start: StartService, smtp: MailSink, tmp_path: Path
) -> None:
    service = start(smtp_url=smtp.url)
    # The server has the mail, and the process ends before it can hear so.
    smtp.before_answer = service.kill
    fill_outbox(tmp_path / "service", 1)
    smtp.wait()
    wait_for(lambda: service.process.poll() is not None, what="the kill")
    smtp.before_answer = lambda: None
    service = start(smtp_url=smtp.url)
    fill_outbox(tmp_path / "service", 1)
    smtp.wait(2)
    states = {"sent", "unconfirmed"}
    wait_for(lambda: {mail["state"] for mail in _mails(service)} == states, what="both states")
    assert len(smtp.received) == 2
    (mail,) = json.loads(service.run("mail", "list", "--state", "unconfirmed", "--json").stdout)
    assert mail["lastError"] == "The service ended before the mail server's answer."
    assert "took 1 mail(s); they have most likely arrived" in service.run("doctor").stdout
    # Without its id, `mail retry` leaves it alone.
    assert json.loads(service.run("mail", "retry", "--json").stdout) == {"queued": 0}
    assert json.loads(service.run("mail", "retry", mail["id"], "--json").stdout) == {"queued": 1}
    ids = [str(received.message["Message-ID"]) for received in smtp.wait(3)]
    assert ids[2] == ids[0]


def test_killed_again_and_again_each_mail_comes_once(
    start: StartService, smtp: MailSink, tmp_path: Path
) -> None:
    kills, count = 6, 60
    service = start(smtp_url=smtp.url)
    fill_outbox(tmp_path / "service", count)
    for number in range(kills):
        smtp.wait((number + 1) * 5)
        service.kill()
        service = start(smtp_url=smtp.url)
    # What was in hand goes on at once, without waiting for the lease of a process that died.
    done = {"sent", "unconfirmed"}
    wait_for(lambda: {mail["state"] for mail in _mails(service)} <= done, what="all states")
    came = [received.recipients[0] for received in smtp.received]
    states = {mail["to"]: mail["state"] for mail in _mails(service)}
    assert len(came) == len(set(came)) == len(states) == count
    assert list(states.values()).count("unconfirmed") <= kills
