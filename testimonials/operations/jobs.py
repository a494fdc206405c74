"""The background jobs: what the second thread of `serve` does each minute.

The first thread sends mail, including the links that were asked for (`testimonials.notifications`).
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from testimonials.analytics.counting import current_counts, write_counts
from testimonials.auth.tokens import take_uses, write_uses
from testimonials.collection.request_mail import has_due_mails, write_due_mails
from testimonials.core.db.outages import log_fault
from testimonials.core.extensions import begin_write, db
from testimonials.core.http.errors import NotFound
from testimonials.core.jobs import BackgroundJob, IsDue, is_over, keep_job, settle_job, take_job
from testimonials.operations.backup.creating import (
    BACKUP_JOB,
    COPY_JOB,
    LIST_JOB,
    LONGEST_BACKUP,
    VERIFY_JOB,
    BackupFailed,
    is_backup_due,
    is_backup_wanted,
    make_scheduled_backup,
)
from testimonials.operations.backup.offsite import (
    LONGEST_COPY,
    copy_newest,
    hand_over_list,
    is_copy_due,
    is_copy_wanted,
    is_list_due,
    is_list_wanted,
)
from testimonials.operations.backup.verifying import (
    LONGEST_VERIFY,
    is_verify_due,
    is_verify_wanted,
    verify_newest,
)
from testimonials.operations.expiry import sweep
from testimonials.projects.domains import check_due_domains
from testimonials.projects.models import Project
from testimonials.projects.projects import lock_project
from testimonials.projects.proposals import find_due, tell_of_proposals
from testimonials.testimonials.notifications import find_waiting, tell_waiting
from testimonials.widget.sightings import take_sightings, write_sightings

logger = logging.getLogger("testimonials")

# Less than the minute between the rounds of a process.
PAUSE = timedelta(seconds=50)
LONGEST = timedelta(minutes=10)


def send_gathered_mail() -> int:
    """Write the mail about new testimonials and proposals that is due; return how many.

    Commits each.
    """
    kinds = ((find_waiting, tell_waiting), (find_due, tell_of_proposals))
    return sum(_tell(find, tell) for find, tell in kinds)


def _tell(find: Callable[[], list[tuple[str, str]]], tell: Callable[[Project, str], bool]) -> int:
    # Looking first, without a lock, keeps an idle service from blocking writers.
    waiting = find()
    db.session.rollback()
    count = 0
    for project_id, account_id in waiting:
        begin_write()
        try:
            count += tell(lock_project(project_id), account_id)
        except NotFound:
            # Deleted in the meantime.
            db.session.rollback()
            continue
        db.session.commit()
    return count


def send_due_requests() -> int:
    """Write as many requests as the pace allows into the outbox; return how many. Commits."""
    is_idle = not has_due_mails()
    db.session.rollback()
    if is_idle:
        return 0
    begin_write()
    count = write_due_mails()
    db.session.commit()
    return count


def write_seen_websites() -> None:
    """Store the websites on which this process saw widgets since the last time; commits."""
    if seen := take_sightings():
        begin_write()
        write_sightings(seen)
        db.session.commit()


def write_token_uses() -> None:
    """Store when this process last saw each access token since the last time; commits."""
    if uses := take_uses():
        begin_write()
        write_uses(uses)
        db.session.commit()


def write_insights() -> None:
    """Store what this process has counted since the last time; commits."""
    counts = current_counts()
    taken = counts.take()
    if not taken.numbers:
        return
    try:
        begin_write()
        write_counts(taken)
        db.session.commit()
    except Exception:
        counts.give_back(taken)
        raise


def is_due_each_minute(row: BackgroundJob) -> bool:
    """Return whether no process has begun the job within the last round."""
    return is_over(row.started_at, PAUSE)


@dataclass(frozen=True)
class Job:
    """One shared job: its work, and when it is due; it never takes `longest`."""

    name: str
    work: Callable[[], object]
    is_due: IsDue = is_due_each_minute
    longest: timedelta = LONGEST
    is_wanted: Callable[[], bool] = lambda: True


# Each is done by one of the processes that share the database.
JOBS: tuple[Job, ...] = (
    Job("gathered-mail", send_gathered_mail),
    Job("requests", send_due_requests),
    Job("sweep", sweep),
    Job("domains", check_due_domains),
)
# These may take hours, so a thread of their own does them, one after the other.
BACKUP_JOBS: tuple[Job, ...] = (
    Job(BACKUP_JOB, make_scheduled_backup, is_backup_due, LONGEST_BACKUP, is_backup_wanted),
    Job(COPY_JOB, copy_newest, is_copy_due, LONGEST_COPY, is_copy_wanted),
    Job(LIST_JOB, hand_over_list, is_list_due, LONGEST_COPY, is_list_wanted),
    Job(VERIFY_JOB, verify_newest, is_verify_due, LONGEST_VERIFY, is_verify_wanted),
)
# These read a process's own memory, so every process does them.
OWN_WORK: tuple[Callable[[], object], ...] = (
    write_seen_websites,
    write_token_uses,
    write_insights,
)


def end_jobs() -> None:
    """Store what this process has in memory, before it ends."""
    for work in OWN_WORK:
        _attempt(work)


def run_jobs() -> None:
    """Do each job that is due; one that fails is retried and delays no other."""
    for work in OWN_WORK:
        _attempt(work)
    _run_due(JOBS)


def run_backups() -> None:
    """Make, copy and verify backups that are due."""
    _run_due(BACKUP_JOBS)


def run_backup_job(name: str) -> object:
    """Do a job of backups although it isn't due; return what its work returns.

    Raises `BackupFailed`, also while a process is at it.
    """
    (job,) = (each for each in BACKUP_JOBS if each.name == name)
    if not take_job(job.name, lambda _row: True):
        raise BackupFailed("another process is doing the same; it is in the list soon")
    return _work(job)


def _run_due(jobs: tuple[Job, ...]) -> None:
    for job in jobs:
        _attempt(lambda job=job: _run(job))  # type: ignore[misc]


def _run(job: Job) -> None:
    if job.is_wanted() and take_job(job.name, job.is_due):
        _work(job)


def _work(job: Job) -> object:
    try:
        with keep_job(job.name, job.longest):
            result = job.work()
    except Exception as error:
        db.session.rollback()
        # Later lines may hold what people wrote, which databases often repeat.
        first = str(error).strip().partition("\n")[0]
        settle_job(job.name, f"{type(error).__name__}: {first}".removesuffix(": "))
        raise
    settle_job(job.name, None)
    return result


def _attempt(work: Callable[[], object]) -> None:
    try:
        work()
    except BackupFailed as error:
        # Its reason is a sentence, and a traceback adds nothing.
        logger.error("background work failed; it is tried again: %s, %s", error.what, error)
    except Exception as error:
        db.session.rollback()
        log_fault(logger, "background work failed; it is tried again", error)
