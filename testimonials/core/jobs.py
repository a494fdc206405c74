"""The queue: jobs as rows, work that is repeated, and the threads that do both."""

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
from sqlalchemy.orm import Mapped, aliased, mapped_column

from testimonials.core import clock
from testimonials.core.db.engine import Base, Timestamp, insert_if_missing, insert_into
from testimonials.core.db.identifiers import new_identifier
from testimonials.core.db.outages import log_fault
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db
from testimonials.core.late import load_all
from testimonials.core.settings.current import current_settings

# A job is written in the transaction of what it follows from, and done at least once. A process on
# the database leases it for two minutes, and renews the lease while it works; if that process dies,
# the lease runs out and another takes over.

logger = logging.getLogger("testimonials")

EXTENSION = "testimonials_worker"
# Each thread of a process, and the seconds between its rounds: nobody's mail waits for a long job,
# such as a backup, nor for somebody else's server.
THREADS = {"mail": 1.0, "imports": 1.0, "webhooks": 1.0, "jobs": 60.0, "backups": 60.0}
FIRST_ROUND = 0.5
LEASE = timedelta(minutes=2)
# Several renewals may fail before a lease is over.
RENEWED_AFTER = LEASE / 6
# Until the next try, three times as long each time: 20 tries outlast a weekend without mail server.
FIRST_DELAY = timedelta(seconds=5)
LONGEST_DELAY = timedelta(hours=6)
MOST_ERROR = 500
CUT_OFF = "its process ended in the middle of it"

Work = TypeVar("Work", bound=Callable[..., object])


class Job(Base):
    """A job that waits or is being done, or how the last run of a repeated one went."""

    __table_args__ = (Index("ix_job_kind", "kind", "run_at"), Index("ix_job_lane", "lane", "id"))

    # That of what it is about, if it is about one row; a repeated one's is its kind.
    id: Mapped[str] = mapped_column(primary_key=True, default=new_identifier)
    kind: Mapped[str]
    payload: Mapped[dict[str, Any]] = mapped_column(JSON, default=dict)
    # Those of a lane are done one after the other.
    lane: Mapped[str | None]
    account_id: Mapped[str | None]
    # A repeated one has none.
    run_at: Mapped[datetime | None] = mapped_column(Timestamp)
    attempts: Mapped[int] = mapped_column(default=0)
    # The process that does it, or did it last.
    leased_by: Mapped[str | None]
    leased_until: Mapped[datetime | None] = mapped_column(Timestamp)
    started_at: Mapped[datetime | None] = mapped_column(Timestamp)
    finished_at: Mapped[datetime | None] = mapped_column(Timestamp)
    # Both are empty when the last run succeeded.
    failed_at: Mapped[datetime | None] = mapped_column(Timestamp)
    error: Mapped[str | None] = mapped_column(Text)


IsDue = Callable[[Job], bool]


class JobFailed(Exception):
    """A job didn't do what it is for; the message says why, so the log needs no traceback."""

    what = "nothing"


class Retry(Exception):
    """The job is to be tried again after a while; the message says why.

    With `is_outage`, others of its thread would fail too, so they rest for a round.
    """

    def __init__(self, reason: str, *, is_outage: bool = False) -> None:
        super().__init__(reason)
        self.is_outage = is_outage


class Interrupted(Exception):
    """The job is another process's now, or of whichever is next: this one ends."""


@dataclass(frozen=True)
class Kind:
    """What is declared of jobs of a kind: only a repeated one has `is_due`."""

    work: Callable[..., object]
    thread: str
    # One that takes longer is assumed to hang, and is left to another process.
    longest: timedelta = timedelta(minutes=10)
    attempts: int = 20
    # How many of an account are done at once; 0 for any number.
    account_limit: int = 0
    # Called in a transaction when all attempts were in vain, with `error` and what was enqueued.
    give_up: Callable[..., object] = lambda **_: None
    is_due: IsDue | None = None


KINDS: dict[str, Kind] = {}
# By thread, what every process does in each round, since it is about the process's own memory.
OWN_WORK: dict[str, list[Callable[[], object]]] = defaultdict(list)


def job(kind: str, thread: str, **options: Any) -> Callable[[Work], Work]:
    """Declare the work of jobs of a kind, with the options of `Kind`.

    It gets what was enqueued, and begins outside any transaction.
    """

    def declare(work: Work) -> Work:
        KINDS[kind] = Kind(work, thread, **options)
        return work

    return declare


def every(
    name: str,
    thread: str = "jobs",
    is_due: IsDue = lambda row: is_over(row.started_at, timedelta(seconds=50)),
    **options: Any,
) -> Callable[[Work], Work]:
    """Declare work that one process does each minute, or when it `is_due`."""
    return job(name, thread, is_due=is_due, **options)


def every_process(thread: str = "jobs") -> Callable[[Work], Work]:
    """Declare work that every process does in each round of a thread."""

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
    """Let a job be done once the transaction is committed, or `run_at` a time within 12 hours."""
    values = {"lane": lane, "account_id": account_id, "run_at": run_at or clock.now()}
    db.session.add(Job(id=id or new_identifier(), kind=kind, payload=payload, **values))


def enqueue_anew(kind: str, ids: Sequence[str], run_at: datetime | None = None) -> None:
    """Let jobs with these ids be done then or now, with all attempts, whether they wait or not."""
    if ids:
        values = {"run_at": run_at or clock.now(), "attempts": 0}
        insert = insert_into(db.session(), Job)
        db.session.execute(
            insert.on_conflict_do_update(index_elements=[Job.id], set_=values),
            [{"id": each, "kind": kind, "payload": {}, **values} for each in ids],
        )


def current_job() -> Job:
    """Return the job that is being done, as it was when it was leased."""
    return cast(Job, g.job)


def is_ending() -> bool:
    return bool(g.get("is_ending", lambda: False)())


def hold_job(id: str) -> None:
    """Keep a job in this transaction; raise `Interrupted` if it is lost, or the process ends.

    A command, which has no job, keeps one that waits from being begun.
    """
    if "job" not in g:
        later = clock.now() + LEASE
        db.session.execute(plain_update(Job).where(Job.id == id).values(run_at=later))
    elif is_ending() or not _renew_lease(id):
        raise Interrupted


def run_due(thread: str, ending: Callable[[], bool] = lambda: False) -> int:
    """Do what is due in a thread; return how many jobs were tried. Commits.

    What fails delays nothing else, but ends this round.
    """
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
    """Do what is about this process's own memory; also before it ends."""
    for work in OWN_WORK[thread]:
        _attempt(work)


class BackgroundWorker:
    """The threads of a process that do what is due, each with its own pace."""

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
        # The first who ask needn't wait for what is loaded then.
        self._stop.wait(FIRST_ROUND)
        while not self._stop.is_set():
            with self._app.app_context():
                # The thread must outlive a full disk or an outage of the database.
                _attempt(lambda: run_due(thread, self._stop.is_set))
            self._stop.wait(seconds)


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


def take_job(name: str, is_due: IsDue) -> bool:
    """Take a repeated job if it is due and free, and return whether it was; commit."""
    # Checking first without a lock keeps an idle service from holding up writers.
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
    """Renew the lease of a job of this process until the block ends, for `longest` at most."""
    app = current_app._get_current_object()  # type: ignore[attr-defined]
    end = time.monotonic() + longest.total_seconds()

    def renew() -> None:
        if time.monotonic() > end:
            return
        try:
            with app.app_context(), write():
                _renew_lease(id)
        except Exception as error:
            # The job goes on: there is another attempt before the lease ends.
            log_fault(logger, f"the lease of the job {id} was not renewed; again soon", error)

    with repeating(renew, RENEWED_AFTER.total_seconds(), f"lease-{id}"):
        yield


def settle_job(name: str, error: str | None) -> None:
    """Record how a repeated job ended, unless another process has taken it over; commit."""
    with write(lambda: _lock_mine(name)) as row:
        if row is None:
            return
        row.leased_until, row.error = None, error
        row.failed_at = clock.now() if error else None
        row.finished_at = row.finished_at if error else clock.now()


def is_over(time: datetime | None, length: timedelta) -> bool:
    """Return whether `length` has passed since `time`.

    Hosts' clocks may differ by seconds; a time far in the future means that one was put back.
    """
    return time is None or not -length <= clock.now() - time < length


def find_other_place(job: Job | None) -> str:
    """Return which other host and instance folder did a job last; "" if it was this one."""
    if job is None or job.leased_by is None or current_settings().is_sqlite:
        return ""
    place = job.leased_by.rsplit(":", 2)[0]
    return "" if place == _name_place() else place


def _repeat_due(name: str, is_due: IsDue) -> None:
    if take_job(name, is_due):
        repeat_job(name)


def repeat_job(name: str) -> object:
    """Do a repeated job that was taken, settle it, and return what its work returns."""
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
    """Lease the job of a thread that has been due longest, if any; commit."""
    query = _select_due(thread)
    is_any = db.session.scalar(query.with_only_columns(Job.id)) is not None
    db.session.rollback()
    if not is_any:
        return None
    query = query.with_for_update(of=Job, skip_locked=True)
    with write(lambda: db.session.scalars(query).one_or_none()) as row:
        if row is not None:
            _lease(row)
    # It stays as it is, whatever its work does with the session.
    db.session.expunge_all()
    return row


def _select_due(thread: str) -> Select[Job]:
    now = clock.now()
    kinds = {name: it for name, it in KINDS.items() if it.thread == thread and it.is_due is None}
    earlier, other = aliased(Job), aliased(Job)
    # One further ahead than any delay was planned before the clock was put back.
    is_time = or_(Job.run_at <= now, Job.run_at > now + 2 * LONGEST_DELAY)
    is_first = ~exists().where(earlier.lane == Job.lane, earlier.id < Job.id)
    of_account = and_(other.account_id == Job.account_id, other.kind == Job.kind)
    under_way = select(func.count()).where(of_account, other.leased_until > now).scalar_subquery()
    limits: list[ColumnElement[bool]] = [
        or_(Job.kind != name, under_way < kind.account_limit)
        for name, kind in kinds.items()
        if kind.account_limit
    ]
    return (
        select(Job)
        .where(Job.kind.in_(kinds), is_time, _has_no_lease(now), is_first, *limits)
        .order_by(Job.run_at, Job.id)
        .limit(1)
    )


def _do(row: Job) -> bool:
    """Do a leased job, and settle it; return whether the next one may be done at once."""
    kind, error, can_go_on = KINDS[row.kind], CUT_OFF, False
    g.job = row
    try:
        # Otherwise each try has ended its process.
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
        log_fault(logger, f"the job {row.kind} failed; it is tried again", fault)
        error = _describe(fault)
    with write(lambda: _lock_mine(row.id)) as mine:
        if mine is None:
            pass
        elif mine.attempts != row.attempts:
            # It was enqueued anew meanwhile.
            mine.leased_until = None
        elif error and mine.attempts < kind.attempts:
            delay: timedelta = FIRST_DELAY * 3 ** (mine.attempts - 1)
            mine.run_at = clock.now() + min(delay, LONGEST_DELAY)
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
        # Its process died before settling it. A run that succeeds clears this.
        row.failed_at, row.error = now, CUT_OFF
    row.leased_until, row.leased_by, row.started_at = now + LEASE, _worker_name(), now
    row.attempts += 1


def _renew_lease(id: str) -> bool:
    """Renew the lease, unless it isn't this process's any more; the caller commits."""
    is_mine = (Job.id == id, Job.leased_by == _worker_name(), Job.leased_until.is_not(None))
    query = plain_update(Job).where(*is_mine).values(leased_until=clock.now() + LEASE)
    return db.session.scalar(query.returning(Job.id)) is not None


def _attempt(work: Callable[[], object]) -> None:
    try:
        work()
    except JobFailed as error:
        logger.error("background work failed; it is tried again: %s, %s", error.what, error)
    except Exception as error:
        db.session.rollback()
        log_fault(logger, "background work failed; it is tried again", error)


def _describe(error: Exception) -> str:
    # Later lines may hold what people wrote, which databases often repeat.
    first = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}: {first}".removesuffix(": ")[:MOST_ERROR]


def _name_place() -> str:
    return f"{socket.gethostname()}:{current_settings().instance_path.absolute()}"


def _worker_name() -> str:
    """Return the name under which this application takes jobs: place, process, random letters."""
    name = f"{_name_place()}:{os.getpid()}:{new_identifier()[-6:]}"
    return str(current_app.extensions.setdefault(EXTENSION, name))


def _has_no_lease(now: datetime) -> ColumnElement[bool]:
    # A lease that ends far in the future was taken before the clock was put back.
    until = Job.leased_until
    return or_(until.is_(None), until <= now, until > now + 2 * LEASE)


def _is_free(row: Job) -> bool:
    until, now = row.leased_until, clock.now()
    return until is None or until <= now or until > now + 2 * LEASE


def _lock(id: str) -> Job | None:
    return db.session.scalars(select(Job).where(Job.id == id).with_for_update()).one_or_none()


def _lock_mine(id: str) -> Job | None:
    row = _lock(id)
    return row if row is not None and row.leased_by == _worker_name() else None
