"""The background work of `serve`: sends what is in the outbox, and does jobs now and then."""

import logging
import re
import threading
import time
from collections.abc import Callable

from flask import Flask

from testimonials.core.data.outages import log_fault
from testimonials.core.mail.handover import HandOver, Stage
from testimonials.core.mail.outbox import (
    OutboxMail,
    has_due_mail,
    lease_mail,
    settle_failure,
    settle_remains,
    settle_sent,
)
from testimonials.core.mail.transports import DeliveryFailed, Transport, make_transport
from testimonials.extensions import begin_write, db
from testimonials.settings.current import current_settings

logger = logging.getLogger("testimonials.mail")


def deliver_due_mail(
    transport: Transport,
    hand_over: HandOver | None = None,
    is_ending: Callable[[], bool] = lambda: False,
) -> int:
    """Send every mail that is due; return how many were tried. Commits after each step.

    The network is used between the two transactions of a mail, never inside one; `hand_over` keeps
    for that time where it is. No other mail is begun once `is_ending` says so. Nor is one after
    the server could not be reached or spoken to, which keeps the thread free for its other work.
    """
    hand_over = hand_over or HandOver()
    _settle_remains(hand_over)
    tried = 0
    # Asking first keeps an idle service from taking the write lock every second.
    while not is_ending() and has_due_mail(db.session()):
        begin_write()
        mail = lease_mail(db.session())
        if mail is None:
            break
        tried += 1
        # Before the commit: killed after it, the next start need not wait for the lease to run out.
        hand_over.take(mail.id, mail.attempts)
        db.session.commit()
        failure: DeliveryFailed | None = None
        try:
            state = transport.send(mail, hand_over.note)
        except DeliveryFailed as error:
            hand_over.note(Stage.BEFORE_THE_END)
            failure = error
        begin_write()
        mail = db.session.merge(mail)
        if failure is None:
            settle_sent(mail, state)
        else:
            settle_failure(mail, str(failure), is_permanent=failure.is_permanent)
        db.session.commit()
        hand_over.put_down()
        if failure is not None:
            # After the commit: who reads this line finds the mail as it says.
            reason = _anonymous(mail, failure)
            logger.warning("mail %s not sent (%s): %s", mail.id, mail.state, reason)
            if failure.is_outage:
                break
    db.session.rollback()
    return tried


def _settle_remains(hand_over: HandOver) -> None:
    """Note for the mails that killed processes had in hand how far they got."""
    with hand_over.remains() as remains:
        if not remains:
            return
        begin_write()
        states = {found.mail_id: settle_remains(db.session(), found) for found in remains}
        db.session.commit()
    for mail_id, state in states.items():
        if state is not None:
            logger.warning("mail %s was in hand of a killed process: %s", mail_id, state)


def _anonymous(mail: OutboxMail, failure: DeliveryFailed) -> str:
    """Return the server's words without the address, which servers like to repeat."""
    return re.sub(re.escape(mail.recipient), "(recipient)", str(failure), flags=re.IGNORECASE)


class BackgroundWorker:
    """Two threads: one delivers mail every `mail_seconds`, one sweeps every `sweep_seconds`.

    Mail must not wait for a job that takes long, such as a backup. `write_mail` is done each time
    before mail is sent, `at_end` once, when the worker is asked to stop.
    """

    def __init__(
        self,
        app: Flask,
        sweep: Callable[[], object],
        *,
        mail_seconds: float = 1.0,
        sweep_seconds: float = 60.0,
        write_mail: Callable[[], object] = lambda: None,
        at_end: Callable[[], object] = lambda: None,
    ) -> None:
        self._app = app
        self._sweep = sweep
        self._write_mail = write_mail
        self._at_end = at_end
        self._mail_seconds = mail_seconds
        self._sweep_seconds = sweep_seconds
        self._stop = threading.Event()
        self._threads = [
            threading.Thread(target=target, name=target.__name__.strip("_"), daemon=True)
            for target in (self._deliver_mail, self._work)
        ]

    def start(self) -> None:
        """Start the threads."""
        for thread in self._threads:
            thread.start()

    def stop(self, timeout: float = 3.0) -> None:
        """Ask the threads to end and wait for them; what is unfinished is tried again later."""
        self._stop.set()
        deadline = time.monotonic() + timeout
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))

    def _deliver_mail(self) -> None:
        settings = current_settings(self._app)
        transport = make_transport(settings.smtp_url, settings.mail_from)
        hand_over = HandOver(settings.instance_path)
        while not self._stop.is_set():
            self._attempt(self._write_mail)
            self._attempt(lambda: deliver_due_mail(transport, hand_over, self._stop.is_set))
            self._stop.wait(self._mail_seconds)
        hand_over.close()

    def _work(self) -> None:
        while not self._stop.is_set():
            self._attempt(self._sweep)
            self._stop.wait(self._sweep_seconds)
        self._attempt(self._at_end)

    def _attempt(self, work: Callable[[], object]) -> None:
        try:
            with self._app.app_context():
                work()
        except Exception as error:
            # The thread must outlive a full disk or a database that is away for a while.
            log_fault(logger, "background work failed; it is tried again", error)
