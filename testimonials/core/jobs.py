"""The job queue: jobs as rows, repeated jobs, and the threads that run both."""

import contextlib
import logging
import os
import socket
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any, TypeVar, cast

from flask import Flask, current_app, g
from sqlalchemy import JSON, ColumnElement, Index, Select, Text, and_, exists, func, or_, select
from sqlalchemy import update as plain_update
from sqlalchemy.orm import InstrumentedAttribute, Mapped, aliased, mapped_column

from testimonials.core import clock
from testimonials.core.db.engine import Base, Timestamp, insert_if_missing, insert_into
from testimonials.core.db.identifiers import new_identifier
from testimonials.core.db.outages import log_fault
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db
from testimonials.core.late import load_all
from testimonials.core.settings.table import current_settings

# A job is enqueued in the transaction that causes it, and runs at least once. A process leases it
# for two minutes and renews the lease while it works; if the process dies, the lease expires and
# another process takes the job.

logger = logging.getLogger("testimonials")

EXTENSION = "testimonials_worker"
# The threads of a process, with the seconds between their rounds. They are separate, so email waits
# neither for long jobs, such as backups, nor for other people's servers.
THREADS = {"mail": 1.0, "imports": 1.0, "webhooks": 1.0, "jobs": 60.0, "backups": 60.0}
FIRST_ROUND = 0.5
LEASE = timedelta(minutes=2)
# So several renewals may fail before the lease expires.
RENEWED_AFTER = LEASE / 6
# The delay triples with each retry, so 20 attempts outlast a weekend without a mail server.
FIRST_DELAY = timedelta(seconds=5)
MAX_DELAY = timedelta(hours=6)
MAX_ERROR_LENGTH = 500
CUT_OFF = "its process ended before it was done"

Work = TypeVar("Work", bound=Callable[..., object])


class Job(Base):
    """A job that is waiting or running, or the last run of a repeated job."""

    __table_args__ = (Index("ix_job_kind", "kind", "run_at"), Index("ix_job_lane", "lane", "id"))

    # The id of the row that the job is about, if there is one. A repeated job has its kind as id.
    id: Mapped[str] = mapped_column(primary_key=True, default=new_identifier)
    kind: Mapped[str]
    payload: Mapped[dict[str, Any]] = mapped_column(JSON, default=dict)
    # Jobs in the same lane run one after another.
    lane: Mapped[str | None]
    account_id: Mapped[str | None]
    # None for a repeated job.
    run_at: Mapped[datetime | None] = mapped_column(Timestamp)
    attempts: Mapped[int] = mapped_column(default=0)
    # The process that runs it, or ran it last.
    leased_by: Mapped[str | None]
    leased_until: Mapped[datetime | None] = mapped_column(Timestamp)
    started_at: Mapped[datetime | None] = mapped_column(Timestamp)
    finished_at: Mapped[datetime | None] = mapped_column(Timestamp)
    # Both are None if the last run succeeded.
    failed_at: Mapped[datetime | None] = mapped_column(Timestamp)
    error: Mapped[str | None] = mapped_column(Text)


IsDue = Callable[[Job], bool]


class JobFailed(Exception):
    """A job failed for an expected reason, so the log needs no traceback."""

    what = "nothing"


class Retry(Exception):
    """The job should be retried later, for the reason in the message.

    With `is_outage`, other jobs of the thread would fail too, so they wait for the next round.
    """

    def __init__(self, reason: str, *, is_outage: bool = False) -> None:
        super().__init__(reason)
        self.is_outage = is_outage


class Interrupted(Exception):
    """The job must stop: the process is ending, or another process has leased the job."""


@dataclass(frozen=True)
class Kind:
    """A declared kind of job, repeated if it has `is_due`."""

    work: Callable[..., object]
    thread: str
    # A job that takes longer is assumed to hang, and its lease expires.
    longest: timedelta = timedelta(minutes=10)
    attempts: int = 20
    # How many jobs of an account may run at once; 0 for any number.
    account_limit: int = 0
    # Called in a transaction after the last failed attempt, with `error` and the payload.
    give_up: Callable[..., object] = lambda **_: None
    is_due: IsDue | None = None


KINDS: dict[str, Kind] = {}
# By thread: work that each process does on its own memory in each round of the thread.
OWN_WORK: dict[str, list[Callable[[], object]]] = defaultdict(list)


def job(kind: str, thread: str, **options: Any) -> Callable[[Work], Work]:
    """Declare a kind of job, with the options of `Kind`.

    The function gets the payload, and runs outside of transactions.
    """

    def declare(work: Work) -> Work:
        KINDS[kind] = Kind(work, thread, **options)
        return work

    return declare


def every(
    name: str,
    thread: str = "jobs",
    is_due: IsDue = lambda row: has_passed(row.started_at, timedelta(seconds=50)),
    **options: Any,
) -> Callable[[Work], Work]:
    """Declare a job that one process runs each minute, or when it `is_due`."""
    return job(name, thread, is_due=is_due, **options)


def every_process(thread: str = "jobs") -> Callable[[Work], Work]:
    """Declare work that every process does in each round of the thread."""

    def declare(work: Work) -> Work:
        OWN_WORK[thread].append(work)
        return work

    return declare


def enqueue(
    kind: str,
    *,
    id: str | None = None,
    lane: str | None = None,
    account_id: str | None = None,
    run_at: datetime | None = None,
    **payload: object,
) -> None:
    """Run a job once the transaction is committed, or at `run_at` within the next 12 hours."""
    values = {"lane": lane, "account_id": account_id, "run_at": run_at or clock.now()}
    db.session.add(Job(id=id or new_identifier(), kind=kind, payload=payload, **values))


def enqueue_anew(kind: str, ids: Sequence[str], run_at: datetime | None = None) -> None:
    """Run jobs with these ids now or at `run_at`; waiting ones count attempts from zero again."""
    if ids:
        values = {"run_at": run_at or clock.now(), "attempts": 0}
        insert = insert_into(db.session(), Job)
        db.session.execute(
            insert.on_conflict_do_update(index_elements=[Job.id], set_=values),
            [{"id": each, "kind": kind, "payload": {}, **values} for each in ids],
        )


def current_job() -> Job:
    """Return the running job as it was when leased."""
    return cast(Job, g.job)


def is_ending() -> bool:
    return bool(g.get("is_ending", lambda: False)())


def hold_job(id: str) -> None:
    """Renew the lease; raise `Interrupted` if it is lost or the process is ending.

    In a command, which isn't a job, delay the start of a waiting job instead.
    """
    if "job" not in g:
        later = clock.now() + LEASE
        db.session.execute(plain_update(Job).where(Job.id == id).values(run_at=later))
    elif is_ending() or not _renew_lease(id):
        raise Interrupted


def run_due(thread: str, ending: Callable[[], bool] = lambda: False) -> int:
    """Run the due jobs of a thread; return how many were tried. Commits."""
    g.is_ending = ending
    load_all()
    do_own_work(thread)
    for name, kind in KINDS.items():
        if kind.thread == thread and kind.is_due is not None:
            _attempt(partial(_repeat_due, name, kind.is_due))
    count = 0
    while not ending() and (row := _take_next(thread)) is not None:
        count += 1
        if not _do(row):
            break
    return count


def do_own_work(thread: str) -> None:
    """Do the work on this process's own memory; also called before the process ends."""
    for work in OWN_WORK[thread]:
        _attempt(work)


class BackgroundWorker:
    """The threads of a process that run due jobs, each at its own pace."""

    def __init__(self, app: Flask, threads: dict[str, float] = THREADS) -> None:
        self._app = app
        self._stop = threading.Event()
        self._threads = [
            threading.Thread(target=self._run, args=each, name=each[0], daemon=True)
            for each in threads.items()
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

    def _run(self, thread: str, seconds: float) -> None:
        # The first round imports the rest of the product, so let the first requests go ahead.
        self._stop.wait(FIRST_ROUND)
        while not self._stop.is_set():
            with self._app.app_context():
                # The thread must survive a full disk and an outage of the database.
                _attempt(lambda: run_due(thread, self._stop.is_set))
            self._stop.wait(seconds)
        # What is under way, such as requests to webhooks, would be repeated by another process.
        with self._app.app_context():
            g.is_ending = self._stop.is_set
            do_own_work(thread)


@contextlib.contextmanager
def repeating(work: Callable[[], object], seconds: float, name: str) -> Iterator[None]:
    """Call `work` every `seconds` in a thread until the block ends.

    An exception ends the thread, but not the block.
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


def take_job(name: str, is_due: IsDue) -> bool:
    """Lease a repeated job if it is due and not leased, and return whether it was; commit."""
    # Checked without a lock first, so that an idle service doesn't block writers.
    row = db.session.get(Job, name, populate_existing=True)
    can_take = row is None or (_is_free(row) and is_due(row))
    db.session.rollback()
    if not can_take:
        return False
    with write():
        insert_if_missing(db.session(), Job, id=name, kind=name, payload={}, attempts=0)
        row = _lock(name)
        if row is None or not (_is_free(row) and is_due(row)):
            return False
        _lease(row)
    return True


@contextlib.contextmanager
def keep_job(id: str, longest: timedelta) -> Iterator[None]:
    """Keep renewing the lease of a job until the block ends, but at most for `longest`."""
    app = current_app._get_current_object()  # type: ignore[attr-defined]
    end = time.monotonic() + longest.total_seconds()

    def renew() -> None:
        if time.monotonic() > end:
            return
        try:
            with app.app_context(), write():
                _renew_lease(id)
        except Exception as error:
            # The job goes on: the next renewal comes before the lease expires.
            log_fault(logger, f"the lease of the job {id} was not renewed yet", error)

    with repeating(renew, RENEWED_AFTER.total_seconds(), f"lease-{id}"):
        yield


def settle_job(name: str, error: str | None) -> None:
    """Record the result of a repeated job, unless another process has taken it; commit."""
    with write(lambda: _lock_mine(name)) as row:
        if row is None:
            return
        row.leased_until, row.error = None, error
        row.failed_at = clock.now() if error else None
        row.finished_at = row.finished_at if error else clock.now()


def has_passed(time: datetime | None, length: timedelta) -> bool:
    """Return whether `length` has passed since `time`.

    The clocks of hosts may differ by seconds; a time far in the future means one was set back.
    """
    return time is None or not -length <= clock.now() - time < length


def has_no_lease(until: InstrumentedAttribute[datetime | None]) -> ColumnElement[bool]:
    """Return the condition that there is no lease, or that it has expired."""
    now = clock.now()
    # A lease that ends far in the future was taken before the clock was set back.
    return or_(until.is_(None), until <= now, until > now + 2 * LEASE)


def find_other_place(job: Job | None) -> str:
    """Return the host and instance folder where a job ran last, or "" if it was here."""
    if job is None or job.leased_by is None or current_settings().is_sqlite:
        return ""
    place = job.leased_by.rsplit(":", 2)[0]
    return "" if place == _name_place() else place


def _repeat_due(name: str, is_due: IsDue) -> None:
    if take_job(name, is_due):
        repeat_job(name)


def repeat_job(name: str) -> object:
    """Run and settle a leased repeated job; return the result of its work."""
    kind = KINDS[name]
    try:
        with keep_job(name, kind.longest):
            result = kind.work()
    except Exception as error:
        db.session.rollback()
        settle_job(name, _describe(error))
        raise
    settle_job(name, None)
    return result


def _take_next(thread: str) -> Job | None:
    """Lease the job of a thread that has been due for longest, if there is one; commit."""
    query = _select_due(thread)
    is_any = db.session.scalar(query.with_only_columns(Job.id)) is not None
    db.session.rollback()
    if not is_any:
        return None
    query = query.with_for_update(of=Job, skip_locked=True)
    with write(lambda: db.session.scalars(query).one_or_none()) as row:
        if row is not None:
            _lease(row)
    # The job's work must not change this row.
    db.session.expunge_all()
    return row


def _select_due(thread: str) -> Select[Job]:
    now = clock.now()
    kinds = {name: it for name, it in KINDS.items() if it.thread == thread and it.is_due is None}
    earlier, other = aliased(Job), aliased(Job)
    # A time beyond the longest delay means that the clock was set back since.
    is_time = or_(Job.run_at <= now, Job.run_at > now + 2 * MAX_DELAY)
    is_first = ~exists().where(earlier.lane == Job.lane, earlier.id < Job.id)
    of_account = and_(other.account_id == Job.account_id, other.kind == Job.kind)
    running = select(func.count()).where(of_account, other.leased_until > now).scalar_subquery()
    limits: list[ColumnElement[bool]] = [
        or_(Job.kind != name, running < kind.account_limit)
        for name, kind in kinds.items()
        if kind.account_limit
    ]
    is_free = has_no_lease(Job.leased_until)
    query = select(Job).where(Job.kind.in_(kinds), is_time, is_free, is_first, *limits)
    return query.order_by(Job.run_at, Job.id).limit(1)


def _do(row: Job) -> bool:
    """Run and settle a leased job; return whether the next one may run at once."""
    kind, error, can_go_on = KINDS[row.kind], CUT_OFF, False
    g.job = row
    try:
        # With more attempts, each has crashed its process.
        if row.attempts <= kind.attempts:
            with keep_job(row.id, kind.longest):
                kind.work(**row.payload)
            error = ""
        can_go_on = True
    except Interrupted:
        with write(lambda: _lock_mine(row.id)) as mine:
            if mine is not None:
                mine.leased_until, mine.attempts = None, mine.attempts - 1
        return can_go_on
    except Retry as reason:
        error, can_go_on = str(reason), not reason.is_outage
    except Exception as fault:
        log_fault(logger, f"the job {row.kind} failed; it will be retried", fault)
        error = _describe(fault)
    with write(lambda: _lock_mine(row.id)) as mine:
        if mine is None:
            pass
        elif mine.attempts != row.attempts:
            # It was enqueued again meanwhile.
            mine.leased_until = None
        elif error and mine.attempts < kind.attempts:
            delay: timedelta = FIRST_DELAY * 3 ** (mine.attempts - 1)
            mine.run_at = clock.now() + min(delay, MAX_DELAY)
            mine.leased_until, mine.failed_at, mine.error = None, clock.now(), error
        else:
            if error:
                kind.give_up(error=error, **mine.payload)
            db.session.delete(mine)
    g.pop("job", None)
    return can_go_on


def _lease(row: Job) -> None:
    now = clock.now()
    if row.leased_until is not None:
        # Its process died before settling it; a successful run clears this.
        row.failed_at, row.error = now, CUT_OFF
    row.leased_until, row.leased_by, row.started_at = now + LEASE, _worker_name(), now
    row.attempts += 1


def _renew_lease(id: str) -> bool:
    """Renew the lease if this process still has it; the caller commits."""
    is_mine = (Job.id == id, Job.leased_by == _worker_name(), Job.leased_until.is_not(None))
    query = plain_update(Job).where(*is_mine).values(leased_until=clock.now() + LEASE)
    return db.session.scalar(query.returning(Job.id)) is not None


def _attempt(work: Callable[[], object]) -> None:
    try:
        work()
    except JobFailed as error:
        logger.error("background work failed; it will be retried: %s, %s", error.what, error)
    except Exception as error:
        db.session.rollback()
        log_fault(logger, "background work failed; it will be retried", error)


def _describe(error: Exception) -> str:
    # Later lines may contain people's data, since databases quote values there.
    first = str(error).strip().partition("\n")[0]
    kind = "" if isinstance(error, JobFailed) else f"{type(error).__name__}: "
    return f"{kind}{first}".removesuffix(": ")[:MAX_ERROR_LENGTH]


def _name_place() -> str:
    return f"{socket.gethostname()}:{current_settings().instance_path.absolute()}"


def _worker_name() -> str:
    """Return the name under which this application leases jobs."""
    name = f"{_name_place()}:{os.getpid()}:{new_identifier()[-6:]}"
    return str(current_app.extensions.setdefault(EXTENSION, name))


def _is_free(row: Job) -> bool:
    until, now = row.leased_until, clock.now()
    return until is None or until <= now or until > now + 2 * LEASE


def _lock(id: str) -> Job | None:
    return db.session.scalars(select(Job).where(Job.id == id).with_for_update()).one_or_none()


def _lock_mine(id: str) -> Job | None:
    row = _lock(id)
    return row if row is not None and row.leased_by == _worker_name() else None
