"""A running service that ends while it sends mail."""

import json
import signal
import sqlite3
from contextlib import closing
from typing import Any

import pytest

from testimonials import create_app
from testimonials.core.extensions import db
from testimonials.core.settings.table import load_settings
from tests.support.process import Service
from tests.support.rows import fill_outbox
from tests.support.servers import wait_for

pytestmark = [pytest.mark.process, pytest.mark.thorough]


def _mails(service: Service) -> list[dict[str, Any]]:
    """Return what `mail list` prints; run in this process, because it is polled."""
    app = create_app(load_settings(service.environment, {"base_url": service.url}))
    done = app.test_cli_runner().invoke(args=["mail", "list", "--limit", "1000", "--json"])
    with app.app_context():
        db.engine.dispose()
    assert done.exit_code == 0, done.output
    return list(json.loads(done.stdout))


def test_an_end_in_the_middle_of_many_mails_sends_none_of_them_twice(start, smtp, tmp_path):
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


def test_an_unheard_mail_is_sent_again(start, smtp, tmp_path):
    service = start(smtp_url=smtp.url)
    # The server has the mail, and the process dies before it gets the answer.
    smtp.before_answer = service.kill
    fill_outbox(tmp_path / "service", 1)
    smtp.wait()
    wait_for(lambda: service.process.poll() is not None, what="the kill")
    smtp.before_answer = lambda: None
    with closing(sqlite3.connect(tmp_path / "service" / "testimonials.db")) as database, database:
        ended = database.execute("UPDATE job SET leased_until = 1 WHERE kind = 'mail.send'")
        assert ended.rowcount == 1
    again = start(smtp_url=smtp.url)
    first, second = smtp.wait(2)
    assert first.message["Message-ID"] == second.message["Message-ID"]
    wait_for(lambda: _mails(again)[0]["state"] == "sent", what="the state")
