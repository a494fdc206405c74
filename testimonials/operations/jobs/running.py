"""What the background thread does now and then, beside sending mail.

Each job is done by one process of all that share the database, except what a process alone knows.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from testimonials.core.data.leases import (
    LEASE,
    IsDue,
    is_own_turn,
    keep_job,
    release_jobs,
    settle_job,
    take_job,
)
from testimonials.core.data.outages import log_fault
from testimonials.extensions import db
from testimonials.operations.backup.making import BackupFailed
from testimonials.operations.backup.scheduled import (
    BACKUP_JOB,
    LONGEST_BACKUP,
    is_backup_due,
    is_backup_wanted,
    make_scheduled_backup,
)
from testimonials.operations.jobs.expiry import sweep
from testimonials.operations.jobs.request_mail import send_due_requests
from testimonials.operations.jobs.seen_websites import write_seen_websites
from testimonials.operations.jobs.submission_mail import send_gathered_mail

logger = logging.getLogger("testimonials")

# Each process asks once a minute; one that is late by half is taken for dead.
EACH_ROUND = is_own_turn(timedelta(seconds=90))
LONGEST = timedelta(minutes=10)


@dataclass(frozen=True)
class Job:
    """One shared job: what is done, and when it is due; `longest` is more than it ever takes."""

    name: str
    work: Callable[[], object]
    is_due: IsDue = EACH_ROUND
    longest: timedelta = LONGEST
    is_wanted: Callable[[], bool] = lambda: True


JOBS: tuple[Job, ...] = (
    Job("gathered-mail", send_gathered_mail),
    Job("requests", send_due_requests),
    Job("sweep", sweep),
    Job(BACKUP_JOB, make_scheduled_backup, is_backup_due, LONGEST_BACKUP, is_backup_wanted),
)
# What is only in this process's memory can't be left to another one.
OWN_WORK: tuple[Callable[[], object], ...] = (write_seen_websites,)


def run_jobs() -> None:
    """Do each job whose turn it is; one that fails is tried again and keeps none other up."""
    for work in OWN_WORK:
        _attempt(work)
    for job in JOBS:
        _attempt(lambda job=job: _run(job))  # type: ignore[misc]


def hand_over_jobs() -> None:
    """Leave the jobs of this process, which is about to end, to the others."""
    release_jobs([job.name for job in JOBS if job.is_due is EACH_ROUND])


def _run(job: Job) -> None:
    if not job.is_wanted() or not take_job(job.name, LEASE, job.is_due):
        return
    try:
        with keep_job(job.name, LEASE, job.longest):
            job.work()
    except Exception as error:
        db.session.rollback()
        settle_job(job.name, _describe(error))
        raise
    settle_job(job.name, None)


def _attempt(work: Callable[[], object]) -> None:
    try:
        work()
    except BackupFailed as error:
        # Its reason is a sentence; where in the program it was found out helps nobody.
        logger.error("background work failed; it is tried again: no backup, %s", error)
    except Exception as error:
        db.session.rollback()
        log_fault(logger, "background work failed; it is tried again", error)


def _describe(error: Exception) -> str:
    # The lines after the first one may hold what people wrote, which the databases like to repeat.
    first = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}: {first}" if first else type(error).__name__
