"""Delivering webhooks: reading events, leasing what is due, sending and retrying it."""

import logging
import math
import queue
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Any

from sqlalchemy import Select, exists, func, insert, or_, select, update
from sqlalchemy.orm import aliased

from testimonials.core import clock
from testimonials.core.audit import IS_SINGLE, Event
from testimonials.core.clock import iso
from testimonials.core.db.identifiers import new_identifier
from testimonials.core.db.outages import log_fault
from testimonials.core.db.transactions import write
from testimonials.core.event_lists import read_after
from testimonials.core.extensions import db, kept
from testimonials.core.http_client import Check, may_connect
from testimonials.core.jobs import every_process, has_no_lease, is_ending
from testimonials.integrations.webhooks.endpoints import (
    gets_events,
    name_host,
    pause_all_left,
    send_stopped_mail,
    stop_endpoint,
)
from testimonials.integrations.webhooks.models import (
    BUILD,
    IS_DUE,
    Due,
    WebhookDelivery,
    WebhookEndpoint,
    is_due,
)
from testimonials.integrations.webhooks.payloads import TEST, Message, Outcome, send, write_messages
from testimonials.projects.models import Project

# A process leases what it sends. If it dies, the lease expires and another sends the delivery
# again with the same id: at least once.

# Longer than any attempt, with the slowest DNS lookup.
LEASE = timedelta(minutes=1)
HOUR = 3600
DELAYS = tuple(
    timedelta(seconds=seconds)
    for seconds in (5, 300, 1800, *(hours * HOUR for hours in (2, 5, 10, 14, 20, 24)))
)
DEADLINE = timedelta(days=3)
# So that several decisions in a row start one build.
BUILD_AFTER = timedelta(seconds=30)
# After so many attempts, later deliveries about the same testimonial no longer wait.
TRIES_IN_ORDER = 3
# Concurrent deliveries to a failing endpoint, so that others don't wait for it.
MAX_TO_FAILING = 2
# Concurrent deliveries of one account, so that its slow receivers leave places for others: while
# others wait, and at most.
SHARE_OF_ACCOUNT, MAX_OF_ACCOUNT = 5, 15
MAX_ATTEMPTS = 20
Row = dict[str, object]
ROWS = (
    select(WebhookDelivery, WebhookEndpoint, Project)
    .join(WebhookEndpoint, WebhookEndpoint.id == WebhookDelivery.endpoint_id)
    .join(Project, Project.id == WebhookEndpoint.project_id)
)


@dataclass(frozen=True)
class Leased:
    """A delivery that this process has leased."""

    delivery_id: str
    endpoint_id: str
    account_id: str
    message: Message


class Busy:
    """Deliveries under way to each endpoint and of each account."""

    def __init__(self, under_way: Iterable[Leased] = ()) -> None:
        self.endpoints = Counter(leased.endpoint_id for leased in under_way)
        self.accounts = Counter(leased.account_id for leased in under_way)

    def take(self, endpoint: WebhookEndpoint, account_id: str, most: int) -> bool:
        """Count one more delivery, unless there is no room for it."""
        is_full = endpoint.failing_since and self.endpoints[endpoint.id] >= MAX_TO_FAILING
        if is_full or self.accounts[account_id] >= most:
            return False
        self.endpoints[endpoint.id] += 1
        self.accounts[account_id] += 1
        return True


def has_due(busy: Busy) -> bool:
    """Return whether `lease` has anything to do, without a lock."""
    query = _select_due(busy).with_only_columns(WebhookDelivery.id).limit(1)
    is_any = db.session.scalar(query) is not None
    db.session.rollback()
    return is_any


def lease(count: int, busy: Busy) -> list[Leased]:
    """Lease at most `count` due deliveries, and add them to `busy`."""
    taken: list[Due] = []
    for most in (SHARE_OF_ACCOUNT, MAX_OF_ACCOUNT):
        while (room := count - len(taken)) > 0:
            query = _select_due(busy, most).limit(room)
            query = query.order_by(WebhookDelivery.next_try_at, WebhookDelivery.id)
            locked = query.with_for_update(of=WebhookDelivery, skip_locked=True)
            rows = db.session.execute(locked).all()
            new = [(row, to, of) for row, to, of in rows if busy.take(to, of.account_id, most)]
            for row, _, _ in new:
                row.leased_until = clock.now() + LEASE
                row.tries += 1
            db.session.flush()
            taken += new
            if not new or len(rows) < room:
                break
        if max(busy.accounts.values(), default=0) < most:
            break
    return [
        Leased(row.id, endpoint.id, project.account_id, message)
        for (row, endpoint, project), message in zip(taken, write_messages(taken), strict=True)
    ]


def settle(outcomes: Sequence[tuple[Leased, Outcome]]) -> None:
    """Record the outcomes of attempts; switch off hopeless endpoints, and email their owners."""
    by_id = {leased.delivery_id: outcome for leased, outcome in outcomes}
    query = ROWS.where(WebhookDelivery.id.in_(by_id), IS_DUE)
    # Accounts' records are locked in this order everywhere.
    query = query.order_by(Project.account_id, Project.id)
    rows = db.session.execute(query).all()
    is_fine = all(outcome.is_accepted for outcome in by_id.values())
    if not is_fine or any(endpoint.failing_since for _, endpoint, _ in rows):
        # Locked only if they will change, in this order, so that two processes can't deadlock.
        ids = {leased.endpoint_id for leased, _ in outcomes}
        locked = select(WebhookEndpoint.id).where(WebhookEndpoint.id.in_(ids))
        db.session.execute(locked.order_by(WebhookEndpoint.id).with_for_update())
        rows = db.session.execute(query.execution_options(populate_existing=True)).all()
    for row, endpoint, project in rows:
        if reason := _note(row, endpoint, by_id[row.id]):
            stop_endpoint(project, endpoint, reason)
            send_stopped_mail(project, name_host(endpoint), reason)


def _select_due(
    busy: Busy, most: int = MAX_OF_ACCOUNT
) -> Select[WebhookDelivery, WebhookEndpoint, Project]:
    """Select due deliveries, except those of accounts with `most` under way."""
    earlier = aliased(WebhookDelivery)
    is_behind = exists().where(
        earlier.endpoint_id == WebhookDelivery.endpoint_id,
        earlier.subject == WebhookDelivery.subject,
        earlier.event_id < WebhookDelivery.event_id,
        earlier.tries < TRIES_IN_ORDER,
        is_due(earlier),
    )
    full = [endpoint for endpoint, count in busy.endpoints.items() if count >= MAX_TO_FAILING]
    is_full = WebhookEndpoint.id.in_(full) & WebhookEndpoint.failing_since.is_not(None)
    held = [account for account, count in busy.accounts.items() if count >= most]
    return ROWS.where(
        IS_DUE,
        WebhookDelivery.next_try_at <= clock.now(),
        has_no_lease(WebhookDelivery.leased_until),
        or_(WebhookEndpoint.is_active, WebhookDelivery.event_type == TEST),
        gets_events(),
        ~is_behind,
        ~is_full,
        Project.account_id.not_in(held),
    )


def _note(row: WebhookDelivery, endpoint: WebhookEndpoint, outcome: Outcome) -> str:
    """Record an attempt; return why its endpoint should be switched off, or ""."""
    attempt = {"at": iso(outcome.at), "ms": outcome.ms, "status": outcome.status}
    attempt |= {"error": outcome.error, "answer": outcome.answer}
    row.attempts = [*row.attempts, attempt][-MAX_ATTEMPTS:]
    row.leased_until = None
    if outcome.is_accepted:
        row.state = "sent"
        if endpoint.failing_since is not None:
            endpoint.failing_since = None
            _reschedule(endpoint, WebhookDelivery.next_try_at > clock.now(), clock.now())
        return ""
    if row.event_type == TEST or not endpoint.is_active:
        row.state = "failed"
        return ""
    if outcome.status == HTTPStatus.GONE:
        return "Its server answered 410 Gone."
    since = endpoint.failing_since = endpoint.failing_since or outcome.at
    _retry(row, endpoint, outcome)
    if clock.now() - since < DEADLINE:
        return ""
    return f"It has accepted nothing for three days. The last attempt: {outcome.problem}"


def _retry(row: WebhookDelivery, endpoint: WebhookEndpoint, outcome: Outcome) -> None:
    """Schedule the next attempt of a delivery, or give up on it after three days."""
    now, end = clock.now(), row.created_at + DEADLINE
    if now >= end:
        row.state = "failed"
        return
    row.next_try_at = min(now + DELAYS[min(row.tries, len(DELAYS)) - 1], end)
    if outcome.retry_after:
        # The endpoint asks for this, so all its deliveries wait.
        later = now + timedelta(seconds=min(outcome.retry_after, DEADLINE.total_seconds()))
        _reschedule(endpoint, WebhookDelivery.next_try_at < later, later)


def _reschedule(endpoint: WebhookEndpoint, which: Any, time: datetime) -> None:
    """Change the time of the next attempt of an endpoint's waiting deliveries."""
    db.session.flush()
    waiting = (WebhookDelivery.endpoint_id == endpoint.id, WebhookDelivery.leased_until.is_(None))
    db.session.execute(
        update(WebhookDelivery)
        .where(IS_DUE, *waiting, which)
        .values(next_try_at=time)
        .execution_options(synchronize_session=False)
    )


# The background work: it reads the record of events and sends due deliveries.
#
# A slow receiver delays only its own deliveries: requests are sent in threads without a database
# connection, mail has another thread, and the other work of this thread gets its turn.

logger = logging.getLogger("testimonials.webhooks")

EXTENSION = "testimonials_webhooks"
AT_ONCE = 20
READ_SECONDS = 1.0
# How long to wait for a response before leasing more.
LOOK_SECONDS = 0.25
# How long to wait for responses before the thread's other work.
TURN_SECONDS = 3.0
# Waiting deliveries of an endpoint; further events are read later.
MAX_WAITING = 1000


class Dispatcher:
    """The deliveries that this process has under way."""

    def __init__(self) -> None:
        self._answers: queue.SimpleQueue[tuple[Leased, Outcome]] = queue.SimpleQueue()
        self._under_way: list[Leased] = []
        # Kept until they are committed, even if the database fails meanwhile.
        self._done: list[tuple[Leased, Outcome]] = []
        self._next_read = 0.0

    def run(self, is_ending: Callable[[], bool] = lambda: False, seconds: float = math.inf) -> None:
        """Read and send until nothing is due; commit after each step.

        After `seconds` what is under way is left to the next run, unless the process ends.
        """
        is_allowed, end = may_connect(), time.monotonic() + seconds
        while True:
            if time.monotonic() >= self._next_read and not is_ending():
                self._next_read = time.monotonic() + READ_SECONDS
                pause_all_left()
                read_events()
            self._collect()
            self._settle_and_lease(is_allowed, is_ending())
            if not self._under_way or (time.monotonic() >= end and not is_ending()):
                return

    def _collect(self) -> None:
        """Take the outcomes that are there, after waiting a moment for the first."""
        seconds = LOOK_SECONDS
        with suppress(queue.Empty):
            while self._under_way:
                self._done.append(self._answers.get(timeout=seconds))
                self._under_way.remove(self._done[-1][0])
                seconds = 0

    def _settle_and_lease(self, is_allowed: Check, is_ending: bool) -> None:
        busy = Busy(self._under_way)
        room = 0 if is_ending else AT_ONCE - len(self._under_way)
        # Checked first without a lock, so that an idle service doesn't block writers.
        if not self._done and not (room and has_due(busy)):
            return
        with write():
            settle(self._done)
            db.session.flush()
            new = lease(room, busy) if room else []
        self._done = []
        self._under_way += new
        for leased in new:
            threading.Thread(target=self._send, args=(leased, is_allowed), daemon=True).start()

    def _send(self, leased: Leased, is_allowed: Check) -> None:
        try:
            outcome = send(leased.message, is_allowed)
        except Exception as error:
            # A bug: without an outcome the delivery would stay under way.
            log_fault(logger, "a webhook was not sent; it will be retried", error)
            outcome = Outcome(
                clock.now(), 0, error=("It was not sent because of an error in this service.")
            )
        self._answers.put((leased, outcome))


@every_process("webhooks")
def deliver_webhooks() -> None:
    """Read and send until nothing is due, or for `TURN_SECONDS`."""
    kept(EXTENSION, Dispatcher).run(is_ending, TURN_SECONDS)


def read_events() -> None:
    """Write deliveries of new events; commits for each endpoint."""
    unread = exists().where(
        Event.project_id == WebhookEndpoint.project_id,
        Event.id > WebhookEndpoint.read_to,
        IS_SINGLE,
    )
    query = select(WebhookEndpoint).join(Project, Project.id == WebhookEndpoint.project_id)
    query = query.where(WebhookEndpoint.is_active, gets_events(), unread)
    behind = db.session.scalars(query).all()
    db.session.expunge_all()
    for endpoint in behind:
        _read(endpoint)
    db.session.rollback()


def _read(endpoint: WebhookEndpoint) -> None:
    """Write deliveries and `read_to`, unless another process has done so."""
    waiting = select(func.count()).where(WebhookDelivery.endpoint_id == endpoint.id, IS_DUE)
    if (db.session.scalar(waiting) or 0) >= MAX_WAITING:
        return
    rows, read_to = _list_unread(endpoint)
    db.session.rollback()
    # If another process has locked it, the next round in a second reads on.
    query = (
        select(WebhookEndpoint)
        .where(
            WebhookEndpoint.id == endpoint.id,
            WebhookEndpoint.read_to == endpoint.read_to,
            WebhookEndpoint.is_active,
        )
        .with_for_update(skip_locked=True)
    )
    with write(lambda: db.session.scalars(query).one_or_none()) as same:
        if same is not None:
            same.read_to = read_to
            db.session.flush()
            if endpoint.template == BUILD:
                rows = _settle_build(endpoint, rows)
            if rows:
                db.session.execute(insert(WebhookDelivery), rows)


def _settle_build(endpoint: WebhookEndpoint, rows: list[Row]) -> list[Row]:
    """Return one delivery to a build hook for all events; none while another waits."""
    of_it = WebhookDelivery.endpoint_id == endpoint.id
    waiting = select(WebhookDelivery.id).where(of_it, IS_DUE, WebhookDelivery.tries == 0)
    if not rows or db.session.scalar(waiting.limit(1)) is not None:
        return []
    return [rows[-1] | {"subject": None, "next_try_at": clock.now() + BUILD_AFTER}]


def _list_unread(endpoint: WebhookEndpoint) -> tuple[list[Row], str]:
    """Return rows of deliveries in the order of the events, and the id of the last event."""
    rows: list[Row] = []
    now, read_to, types = clock.now(), endpoint.read_to, endpoint.types
    for event in read_after(endpoint.project_id, read_to, MAX_WAITING):
        if name := types.get(event.type):
            rows.append(
                {
                    "id": new_identifier(),
                    "endpoint_id": endpoint.id,
                    "event_id": event.id,
                    "event_type": name,
                    "subject": event.testimonial_id,
                    "next_try_at": now,
                }
            )
        read_to = event.id
    return rows, read_to
