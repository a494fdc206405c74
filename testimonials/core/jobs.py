"""Leases of background jobs, the delivery of mail, and work that is repeated."""

import contextlib
import logging
import os
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any

from flask import Flask, current_app
from sqlalchemy import Text, select, update
from sqlalchemy.orm import Mapped, mapped_column

from testimonials.core import clock
from testimonials.core.db.engine import Base, Timestamp, insert_if_missing
from testimonials.core.db.identifiers import new_identifier
from testimonials.core.db.outages import log_fault
from testimonials.core.extensions import begin_write, db
from testimonials.core.mail.outbox import (
    OutboxMail,
    has_due_mail,
    lease_mail,
    settle_failure,
    settle_sent,
)
from testimonials.core.mail.smtp import DeliveryFailed, Transport, make_transport
from testimonials.core.settings.current import current_settings

# The background threads of `serve`: for the mail in the outbox, the jobs, webhooks and imports.

mail_logger = logging.getLogger("testimonials.mail")


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
            mail_logger.warning("mail %s not sent (%s): %s", mail.id, mail.state, reason)
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
                    log_fault(mail_logger, "background work failed; it is tried again", error)
            self._stop.wait(seconds)


# Repeating a small task in the background of a long one.


@contextlib.contextmanager
def repeating(work: Callable[[], object], seconds: float, name: str) -> Iterator[None]:
    """Do `work` every `seconds` in a thread called `name` until the block ends.

    What `work` raises ends the thread, not the block.
    """
    is_done = threading.Event()

    def repeat() -> None:
        while not is_done.wait(seconds):
            work()

    thread = threading.Thread(target=repeat, name=name, daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_done.set()
        thread.join()


# Background jobs as rows: which process is doing one, and how its last run ended.
#
# All processes on the database share the jobs. One leases a job for two minutes and renews the
# lease while it works; if it dies, the lease runs out and another takes over.

logger = logging.getLogger("testimonials")

EXTENSION = "testimonials_worker"
MOST_ERROR = 500
LEASE = timedelta(minutes=2)
# Several renewals may fail before a lease is over.
RENEWED_AFTER = LEASE / 6
CUT_OFF = "its process ended in the middle of it"


class BackgroundJob(Base):
    """A background job, shared by all processes on the database."""

    __tablename__ = "background_job"

    name: Mapped[str] = mapped_column(primary_key=True)
    leased_until: Mapped[datetime | None] = mapped_column(Timestamp)
    # The process that does it, or did it last.
    leased_by: Mapped[str | None]
    started_at: Mapped[datetime | None] = mapped_column(Timestamp)
    finished_at: Mapped[datetime | None] = mapped_column(Timestamp)
    # Both are empty when the last run succeeded.
    failed_at: Mapped[datetime | None] = mapped_column(Timestamp)
    error: Mapped[str | None] = mapped_column(Text)


IsDue = Callable[[BackgroundJob], bool]


def take_job(name: str, is_due: IsDue) -> bool:
    """Take a job if it is due and free, and return whether it was; commit."""
    # Checking first without a lock keeps an idle service from holding up writers.
    row = db.session.get(BackgroundJob, name, populate_existing=True)
    can_take = row is None or (_is_free(row) and is_due(row))
    db.session.rollback()
    if not can_take:
        return False
    begin_write()
    row = _lock_job(name)
    if not (_is_free(row) and is_due(row)):
        db.session.rollback()
        return False
    now = clock.now()
    if row.leased_until is not None:
        # Its process died before settling it. A run that succeeds clears this.
        row.failed_at, row.error = now, CUT_OFF
    row.leased_until, row.leased_by, row.started_at = now + LEASE, _worker_name(), now
    db.session.commit()
    return True


@contextlib.contextmanager
def keep_job(name: str, longest: timedelta) -> Iterator[None]:
    """Renew the lease of a job of this process until the block ends.

    After `longest` the job is assumed to hang, and its lease runs out.
    """
    app = current_app._get_current_object()  # type: ignore[attr-defined]
    end = time.monotonic() + longest.total_seconds()

    def renew() -> None:
        if time.monotonic() > end:
            return
        try:
            with app.app_context():
                _renew_lease(name)
        except Exception as error:
            # The job goes on: there is another attempt before the lease ends.
            log_fault(logger, f"the lease of the job {name} was not renewed; again soon", error)

    with repeating(renew, RENEWED_AFTER.total_seconds(), f"lease-{name}"):
        yield


def _renew_lease(name: str) -> None:
    begin_write()
    db.session.execute(
        update(BackgroundJob)
        .where(
            BackgroundJob.name == name,
            BackgroundJob.leased_by == _worker_name(),
            BackgroundJob.leased_until.is_not(None),
        )
        .values(leased_until=clock.now() + LEASE)
    )
    db.session.commit()


def settle_job(name: str, error: str | None) -> None:
    """Record how a job ended, unless another process has taken it over; commit."""
    begin_write()
    row = _lock_job(name)
    if row.leased_by == _worker_name():
        row.leased_until = None
        if error is None:
            row.finished_at, row.failed_at, row.error = clock.now(), None, None
        else:
            row.failed_at, row.error = clock.now(), error[:MOST_ERROR]
    db.session.commit()


def is_over(time: datetime | None, length: timedelta) -> bool:
    """Return whether `length` has passed since `time`.

    Hosts' clocks may differ by seconds; a time far in the future means that one was put back.
    """
    return time is None or not -length <= clock.now() - time < length


def find_other_place(job: BackgroundJob | None) -> str:
    """Return which other host and instance folder did a job last; "" if it was this one."""
    if job is None or job.leased_by is None or current_settings().is_sqlite:
        return ""
    place = job.leased_by.rsplit(":", 2)[0]
    return "" if place == _name_place() else place


def _name_place() -> str:
    return f"{socket.gethostname()}:{current_settings().instance_path.absolute()}"


def _worker_name() -> str:
    """Return the name under which this application takes jobs: place, process, random letters."""
    name = f"{_name_place()}:{os.getpid()}:{new_identifier()[-6:]}"
    found: str = current_app.extensions.setdefault(EXTENSION, name)
    return found


def _is_free(row: BackgroundJob) -> bool:
    # A lease that ends far in the future was taken before the clock was put back.
    until, now = row.leased_until, clock.now()
    return until is None or until <= now or until > now + 2 * LEASE


def _lock_job(name: str) -> BackgroundJob:
    """Return the row of a job, created if it is missing, locked until the commit."""
    query = select(BackgroundJob).where(BackgroundJob.name == name).with_for_update()
    row = db.session.scalars(query).one_or_none()
    if row is None:
        insert_if_missing(db.session(), BackgroundJob, name=name)
        row = db.session.scalars(query).one()
    return row
