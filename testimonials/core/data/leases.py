"""Background jobs as rows: which process is doing one, and how its last run ended.

All processes on the database share the jobs. One leases a job for two minutes and renews the lease
while it works; if it dies, the lease runs out and another takes over.
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
from testimonials.core.repeated_work import repeating
from testimonials.extensions import begin_write, db
from testimonials.settings.current import current_settings

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
