"""Background jobs as rows: which process does one now, and how its last run ended.

All processes on the database share the work. One takes a job for a short while and renews that
for as long as it works; if it dies, its lease runs out within minutes and another takes over.
"""

import contextlib
import logging
import os
import socket
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta

from flask import current_app
from sqlalchemy import Text, select, update
from sqlalchemy.orm import Mapped, mapped_column

from testimonials.core import clock
from testimonials.core.data.database import Base, Timestamp, insert_if_missing
from testimonials.core.data.identifiers import new_identifier
from testimonials.core.data.outages import log_fault
from testimonials.core.repeated_work import doing_meanwhile
from testimonials.extensions import begin_write, db

logger = logging.getLogger("testimonials")

EXTENSION = "testimonials_worker"
MOST_ERROR = 500
LEASE = timedelta(minutes=2)
# Several renewals may fail (a database that restarts, a lock that is held) before a lease is over.
RENEWALS = 6
# How the last run is described whose process ended in the middle of it.
CUT_OFF = "its process ended in the middle of it"


class BackgroundJob(Base):
    """One job of the background work, shared by all processes on the database."""

    __tablename__ = "background_job"

    name: Mapped[str] = mapped_column(primary_key=True)
    # A process that died leaves its lease behind; it ends by itself.
    leased_until: Mapped[datetime | None] = mapped_column(Timestamp)
    # Who has it, or had it last.
    leased_by: Mapped[str | None]
    started_at: Mapped[datetime | None] = mapped_column(Timestamp)
    finished_at: Mapped[datetime | None] = mapped_column(Timestamp)
    # Of the last run alone: both are empty when it ended well.
    failed_at: Mapped[datetime | None] = mapped_column(Timestamp)
    error: Mapped[str | None] = mapped_column(Text)


IsDue = Callable[[BackgroundJob], bool]


def worker_name() -> str:
    """Return the name under which this application takes jobs: host, process,
    and random letters."""
    found: str = current_app.extensions.setdefault(
        EXTENSION, f"{socket.gethostname()}:{os.getpid()}:{new_identifier()[-6:]}"
    )
    return found


def take_job(name: str, lease: timedelta, is_due: IsDue) -> bool:
    """Take a job if it is due and nobody else has it; commits. Tells whether it was taken."""
    # Looking first, without a lock, keeps an idle service from holding up those who write.
    row = db.session.get(BackgroundJob, name, populate_existing=True)
    can_take = row is None or (_is_free(row, lease) and is_due(row))
    db.session.rollback()
    if not can_take:
        return False
    begin_write()
    row = _lock_job(name)
    if not (_is_free(row, lease) and is_due(row)):
        db.session.rollback()
        return False
    now = clock.now()
    if row.leased_until is not None:
        # Who had it has noted no end. A run that ends well takes this away again.
        row.failed_at, row.error = now, CUT_OFF
    row.leased_until, row.leased_by, row.started_at = now + lease, worker_name(), now
    db.session.commit()
    return True


@contextlib.contextmanager
def keep_job(name: str, lease: timedelta, longest: timedelta) -> Iterator[None]:
    """Renew the lease of a job that this process has taken, again and again, until the block ends.

    What takes longer than `longest` is taken to hang: its lease is left to run out.
    """
    app = current_app._get_current_object()  # type: ignore[attr-defined]
    end = time.monotonic() + longest.total_seconds()

    def renew() -> None:
        if time.monotonic() > end:
            return
        try:
            with app.app_context():
                renew_lease(name, lease)
        except Exception as error:
            log_fault(logger, f"the lease of the job {name} was not renewed; again soon", error)

    with doing_meanwhile(renew, lease.total_seconds() / RENEWALS, f"lease-{name}"):
        yield


def renew_lease(name: str, lease: timedelta) -> None:
    """Begin the lease of a job anew, unless it is no longer this process's; commits."""
    begin_write()
    db.session.execute(
        update(BackgroundJob)
        .where(
            BackgroundJob.name == name,
            BackgroundJob.leased_by == worker_name(),
            BackgroundJob.leased_until.is_not(None),
        )
        .values(leased_until=clock.now() + lease)
    )
    db.session.commit()


def settle_job(name: str, error: str | None) -> None:
    """Note how a job ended that this process took, and return it back; commits.

    Notes nothing where another process has taken it over meanwhile.
    """
    begin_write()
    row = _lock_job(name)
    if row.leased_by == worker_name():
        row.leased_until = None
        if error is None:
            row.finished_at, row.failed_at, row.error = clock.now(), None, None
        else:
            row.failed_at, row.error = clock.now(), error[:MOST_ERROR]
    db.session.commit()


def is_over(time: datetime | None, length: timedelta) -> bool:
    """Tell whether `length` has passed since `time`.

    Hosts may differ by seconds, but a time that lies far ahead means that the clock was put back.
    """
    return time is None or not -length <= clock.now() - time < length


def _is_free(row: BackgroundJob, lease: timedelta) -> bool:
    # Asked for late: waiting for the row's lock takes its time too. A lease far longer than they
    # are was taken before the clock was put back.
    until, now = row.leased_until, clock.now()
    return until is None or until <= now or until > now + 2 * lease


def _lock_job(name: str) -> BackgroundJob:
    """Return the row of a job, locked until the commit, and made where it is missing."""
    query = select(BackgroundJob).where(BackgroundJob.name == name).with_for_update()
    row = db.session.scalars(query).one_or_none()
    if row is None:
        insert_if_missing(db.session(), BackgroundJob, name=name)
        row = db.session.scalars(query).one()
    return row
