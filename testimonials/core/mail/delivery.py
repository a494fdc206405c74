"""The background threads of `serve`: for the mail in the outbox, the jobs, webhooks and imports."""

import logging
import re
import threading
import time
from collections.abc import Callable
from typing import Any

from flask import Flask

from testimonials.core.data.outages import log_fault
from testimonials.core.mail.outbox import (
    OutboxMail,
    has_due_mail,
    lease_mail,
    settle_failure,
    settle_sent,
)
from testimonials.core.mail.transports import DeliveryFailed, Transport, make_transport
from testimonials.extensions import begin_write, db
from testimonials.settings.current import current_settings

logger = logging.getLogger("testimonials.mail")


def deliver_due_mail(
    transport: Transport,
    is_ending: Callable[[], bool] = lambda: False,
    is_wanted: Callable[[OutboxMail], bool] = lambda _mail: True,
) -> int:
    """Send the mail that is due; return how many were tried. Commits after each step.

    The network is used between the two transactions of a mail, never inside one. Stops early when
    `is_ending` says so, and after a failure that would affect every other mail. A mail that isn't
    wanted any more by the time it would leave is deleted.
    """
    tried = 0
    # Asking first keeps an idle service from taking the write lock every second.
    while not is_ending() and has_due_mail(db.session()):
        begin_write()
        mail = lease_mail(db.session())
        if mail is None:
            break
        if not is_wanted(mail):
            db.session.delete(mail)
            db.session.commit()
            continue
        db.session.commit()
        tried += 1
        failure: DeliveryFailed | None = None
        try:
            state = transport.send(mail)
        except DeliveryFailed as error:
            failure = error
        begin_write()
        mail = db.session.merge(mail)
        if failure is None:
            settle_sent(mail, state)
        else:
            settle_failure(mail, str(failure), is_permanent=failure.is_permanent)
        db.session.commit()
        if failure is not None:
            reason = _hide_recipient(mail, failure)
            logger.warning("mail %s not sent (%s): %s", mail.id, mail.state, reason)
            if failure.is_outage:
                break
    db.session.rollback()
    return tried


def _hide_recipient(mail: OutboxMail, failure: DeliveryFailed) -> str:
    """Return the server's answer without the address, which servers often repeat."""
    return re.sub(re.escape(mail.recipient), "(recipient)", str(failure), flags=re.IGNORECASE)


class BackgroundWorker:
    """Threads of their own, so that mail waits neither for a long job, such as a backup, nor for
    somebody else's server.

    One calls `write_mail` and then sends mail every `mail_seconds`, but what `is_mail_wanted` says
    no to; one calls `sweep` every `sweep_seconds`, and two call `send_webhooks` and `run_imports`
    each second, which end soon once what they are given says so. `back_up`, if given, is called
    every `sweep_seconds`.
    """

    def __init__(
        self,
        app: Flask,
        sweep: Callable[[], object],
        *,
        mail_seconds: float = 1.0,
        sweep_seconds: float = 60.0,
        write_mail: Callable[[], object] = lambda: None,
        is_mail_wanted: Callable[[OutboxMail], bool] = lambda _mail: True,
        send_webhooks: Callable[[Callable[[], bool]], object] = lambda _is_ending: None,
        run_imports: Callable[[Callable[[], bool]], object] = lambda _is_ending: None,
        back_up: Callable[[], object] | None = None,
    ) -> None:
        self._app = app
        self._stop = threading.Event()
        self._is_mail_wanted = is_mail_wanted
        settings = current_settings(app)
        self._transport = make_transport(settings.smtp_url, settings.mail_from)
        more: list[tuple[Any, ...]] = []
        if back_up is not None:
            more.append(("backups", sweep_seconds, back_up))
        self._threads = [
            threading.Thread(target=self._repeat, args=arguments, name=name, daemon=True)
            for name, *arguments in (
                ("mail", mail_seconds, write_mail, self._deliver),
                ("jobs", sweep_seconds, sweep),
                ("webhooks", 1.0, lambda: send_webhooks(self._stop.is_set)),
                ("imports", 1.0, lambda: run_imports(self._stop.is_set)),
                *more,
            )
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self, timeout: float = 3.0) -> None:
        """Ask the threads to end, and wait at most `timeout` seconds for them."""
        self._stop.set()
        deadline = time.monotonic() + timeout
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))

    def _deliver(self) -> None:
        deliver_due_mail(self._transport, self._stop.is_set, self._is_mail_wanted)

    def _repeat(self, seconds: float, *works: Callable[[], object]) -> None:
        while not self._stop.is_set():
            for work in works:
                try:
                    with self._app.app_context():
                        work()
                except Exception as error:
                    # The thread must outlive a full disk or an outage of the database.
                    log_fault(logger, "background work failed; it is tried again", error)
            self._stop.wait(seconds)
