"""Delivering events to webhooks: due attempts, signatures, retries."""

import logging
import math
import queue
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from http import HTTPStatus
from itertools import groupby
from typing import Any

from sqlalchemy import Select, exists, func, insert, or_, select, update
from sqlalchemy.orm import aliased

from testimonials.core import clock
from testimonials.core.audit import IS_SINGLE, Event, EventType, record
from testimonials.core.clock import iso
from testimonials.core.db.identifiers import new_identifier
from testimonials.core.db.outages import log_fault
from testimonials.core.db.transactions import write
from testimonials.core.event_lists import read_after
from testimonials.core.extensions import db, kept
from testimonials.core.http_client import Check, may_connect
from testimonials.core.jobs import every_process, is_ending
from testimonials.integrations.events import WEBHOOK_STOPPED
from testimonials.integrations.webhooks.endpoints import (
    is_any_left,
    may_hear,
    name_host,
    pause_left,
    send_left_mail,
    send_stopped_mail,
    stop_endpoint,
)
from testimonials.integrations.webhooks.models import (
    BUILD,
    IS_DUE,
    WebhookDelivery,
    WebhookEndpoint,
    is_due,
)
from testimonials.integrations.webhooks.payloads import TEST, Message, Outcome, send, write_bodies
from testimonials.projects.models import Project

# A process leases what it sends, so that no other sends it too. When it dies, the lease runs out
# and the delivery is sent again, with the same id: at least once.

# Longer than a try takes, with the slowest look-up of a name.
LEASE = timedelta(minutes=1)
DELAYS = tuple(
    timedelta(seconds=each)
    for each in (5, 300, 1800, *(hours * 3600 for hours in (2, 5, 10, 14, 20, 24)))
)
LONGEST = timedelta(days=3)
# So that a row of decisions starts one build of a website.
BUILD_AFTER = timedelta(seconds=30)
# After so many tries of one about a testimonial, later ones no longer wait for it.
TRIES_IN_ORDER = 3
# How many at once to an endpoint that accepts nothing, so that others don't wait for it.
MOST_TO_FAILING = 2
# How many at once of one account: while others wait, and at all, so that a slow receiver never
# keeps the others' from the first free place.
MOST_OF_ACCOUNT, MOST_OF_ONE = 5, 15
MOST_ATTEMPTS = 20
# A delivery, its endpoint, and the account that both belong to.
Due = tuple[WebhookDelivery, WebhookEndpoint, str]
Row = dict[str, object]
GONE = "Its server answered 410 Gone."


@dataclass(frozen=True)
class Leased:
    """A delivery that this process is to send."""

    delivery_id: str
    endpoint_id: str
    account_id: str
    message: Message


class Busy:
    """How many are under way to each endpoint and of each account."""

    def __init__(self, under_way: Iterable[Leased] = ()) -> None:
        self.endpoints = Counter(each.endpoint_id for each in under_way)
        self.accounts = Counter(each.account_id for each in under_way)

    def has_room(self, endpoint: WebhookEndpoint, account_id: str, most: int) -> bool:
        is_full = self.endpoints[endpoint.id] >= MOST_TO_FAILING
        is_held = endpoint.failing_since is not None and is_full
        return self.accounts[account_id] < most and not is_held

    def list_full(self, most: int) -> list[str]:
        return [each for each, count in self.accounts.items() if count >= most]


def has_due(busy: Busy) -> bool:
    """Tell whether `lease` would find anything, without a lock."""
    query = _select_due(busy, MOST_OF_ONE).with_only_columns(WebhookDelivery.id).limit(1)
    found = db.session.scalar(query) is not None
    db.session.rollback()
    return found


def lease(most: int, busy: Busy) -> list[Leased]:
    """Take at most `most` of what is due; after a commit no other process sends it.

    `busy` is what is under way, and counts what is taken too.
    """
    taken: list[Due] = []
    for share in (MOST_OF_ACCOUNT, MOST_OF_ONE):
        while (wanted := most - len(taken)) > 0:
            query = _select_due(busy, share).limit(wanted)
            query = query.order_by(WebhookDelivery.next_try_at, WebhookDelivery.id)
            locked = query.with_for_update(of=WebhookDelivery, skip_locked=True)
            rows = db.session.execute(locked).all()
            found = [(row, to, of) for row, to, of in rows if _take(row, to, of, busy, share)]
            db.session.flush()
            taken += found
            if not found or len(rows) < wanted:
                break
        if not busy.list_full(share):
            # Nobody was held back.
            break
    return _write_messages(taken)


def _take(
    row: WebhookDelivery, endpoint: WebhookEndpoint, account_id: str, busy: Busy, share: int
) -> bool:
    if not busy.has_room(endpoint, account_id, share):
        return False
    busy.endpoints[endpoint.id] += 1
    busy.accounts[account_id] += 1
    row.leased_until = clock.now() + LEASE
    row.tries += 1
    return True


def settle(outcomes: Iterable[tuple[Leased, Outcome]]) -> None:
    """Note what came of tries."""
    by_id = {leased.delivery_id: (leased, outcome) for leased, outcome in outcomes}
    endpoint_ids = {leased.endpoint_id for leased, _ in by_id.values()}
    # In this order, so that two processes can't deadlock.
    query = select(WebhookEndpoint).where(WebhookEndpoint.id.in_(endpoint_ids))
    query = query.order_by(WebhookEndpoint.id)
    found = db.session.scalars(query).all()
    is_fine = all(outcome.is_accepted for _, outcome in by_id.values())
    if not is_fine or any(each.failing_since for each in found):
        # Only then do they change, and other processes wait.
        changing = query.with_for_update().execution_options(populate_existing=True)
        found = db.session.scalars(changing).all()
    endpoints = {each.id: each for each in found}
    rows = select(WebhookDelivery).where(WebhookDelivery.id.in_(by_id), IS_DUE)
    hopeless: dict[str, str] = {}
    for row in db.session.scalars(rows).all():
        endpoint, outcome = endpoints[row.endpoint_id], by_id[row.id][1]
        _note(row, endpoint, outcome)
        if reason := _find_hopeless(row, endpoint, outcome):
            hopeless[endpoint.id] = reason
    _stop([(endpoints[each], reason) for each, reason in hopeless.items()])


def _select_due(busy: Busy, share: int) -> Select[WebhookDelivery, WebhookEndpoint, str]:
    """Find what is due, but of no account that has its share already."""
    now = clock.now()
    earlier = aliased(WebhookDelivery)
    is_behind = exists().where(
        earlier.endpoint_id == WebhookDelivery.endpoint_id,
        earlier.subject == WebhookDelivery.subject,
        earlier.event_id < WebhookDelivery.event_id,
        earlier.tries < TRIES_IN_ORDER,
        is_due(earlier),
    )
    full = [each for each, count in busy.endpoints.items() if count >= MOST_TO_FAILING]
    is_full = WebhookEndpoint.id.in_(full) & WebhookEndpoint.failing_since.is_not(None)
    return (
        select(WebhookDelivery, WebhookEndpoint, Project.account_id)
        .join(WebhookEndpoint, WebhookEndpoint.id == WebhookDelivery.endpoint_id)
        .join(Project, Project.id == WebhookEndpoint.project_id)
        .where(
            IS_DUE,
            WebhookDelivery.next_try_at <= now,
            or_(WebhookDelivery.leased_until.is_(None), WebhookDelivery.leased_until <= now),
            or_(WebhookEndpoint.is_active, WebhookDelivery.event_type == TEST),
            Project.deleted_at.is_(None),
            ~Project.is_suspended,
            may_hear(),
            ~is_behind,
            ~is_full,
            Project.account_id.not_in(busy.list_full(share)),
        )
    )


def _write_messages(taken: Sequence[Due]) -> list[Leased]:
    messages = []
    ordered = sorted(taken, key=lambda each: (each[1].project_id, each[0].id))
    for project_id, group in groupby(ordered, key=lambda each: each[1].project_id):
        found = list(group)
        bodies = write_bodies([row for row, _, _ in found], project_id)
        for row, endpoint, account_id in found:
            body = b"{}" if endpoint.template == BUILD else bodies[row.id]
            row.body = body.decode()
            message = Message(endpoint.url, row.message_id, body, _list_secrets(endpoint))
            messages.append(Leased(row.id, endpoint.id, account_id, message))
    return messages


def _list_secrets(endpoint: WebhookEndpoint) -> list[str]:
    if endpoint.template == BUILD:
        return []
    until = endpoint.old_secret_until
    is_old_valid = endpoint.old_secret and until and until > clock.now()
    return [endpoint.secret, *([str(endpoint.old_secret)] if is_old_valid else [])]


def _note(row: WebhookDelivery, endpoint: WebhookEndpoint, outcome: Outcome) -> None:
    attempt = {"at": iso(outcome.at), "ms": outcome.ms, "status": outcome.status}
    attempt |= {"error": outcome.error, "answer": outcome.answer}
    row.attempts = [*row.attempts, attempt][-MOST_ATTEMPTS:]
    row.leased_until = None
    if outcome.is_accepted:
        row.state = "sent"
        if endpoint.failing_since is not None:
            endpoint.failing_since = None
            _move(endpoint, WebhookDelivery.next_try_at > clock.now(), clock.now())
    elif row.event_type == TEST or outcome.status == HTTPStatus.GONE:
        row.state = "failed"
    else:
        endpoint.failing_since = endpoint.failing_since or outcome.at
        _plan(row, endpoint, outcome)


def _plan(row: WebhookDelivery, endpoint: WebhookEndpoint, outcome: Outcome) -> None:
    """Let a delivery be tried again after a while, or give it up after three days."""
    now, end = clock.now(), row.created_at + LONGEST
    if now >= end:
        row.state = "failed"
        return
    asked = timedelta(seconds=min(outcome.retry_after, LONGEST.total_seconds()))
    delay = DELAYS[min(row.tries, len(DELAYS)) - 1]
    row.next_try_at = min(now + delay, end)
    if asked:
        # It is the endpoint that wants to be left alone, so this delivery and all others.
        _move(endpoint, WebhookDelivery.next_try_at < now + asked, now + asked)


def _move(endpoint: WebhookEndpoint, which: Any, time: datetime) -> None:
    """Let all that waits for an endpoint, and meets a condition, be tried at another time."""
    db.session.flush()
    waiting = (WebhookDelivery.endpoint_id == endpoint.id, WebhookDelivery.leased_until.is_(None))
    db.session.execute(
        update(WebhookDelivery)
        .where(IS_DUE, *waiting, which)
        .values(next_try_at=time)
        .execution_options(synchronize_session=False)
    )


def _find_hopeless(row: WebhookDelivery, endpoint: WebhookEndpoint, outcome: Outcome) -> str:
    """Return why nothing more should be sent to an endpoint, if so."""
    if outcome.is_accepted or row.event_type == TEST or not endpoint.is_active:
        return ""
    if outcome.status == HTTPStatus.GONE:
        return GONE
    since = endpoint.failing_since
    if since is None or clock.now() - since < LONGEST:
        return ""
    return f"It has accepted nothing for three days. The last try: {outcome.problem}"


def _stop(hopeless: Sequence[tuple[WebhookEndpoint, str]]) -> None:
    """Switch endpoints off, and mail their owners."""
    stopped = []
    for endpoint, reason in hopeless:
        project = db.session.get_one(Project, endpoint.project_id)
        stop_endpoint(endpoint, reason)
        send_stopped_mail(project, name_host(endpoint), reason)
        stopped.append((project, endpoint))
    # In the order of the records, which other processes lock too.
    for project, endpoint in sorted(stopped, key=lambda pair: (pair[0].account_id, pair[0].id)):
        record(WEBHOOK_STOPPED, project, url=name_host(endpoint))


# The background thread of webhooks: it reads the record, and sends what is due, 20 at a time.
#
# A receiver never holds up anything but its own deliveries: sending happens in threads without the
# database, mail has a thread of its own, and what else this thread does gets its turn.

logger = logging.getLogger("testimonials.webhooks")

EXTENSION = "testimonials_webhooks"
AT_ONCE = 20
READ_SECONDS = 1.0
# How long to wait for an answer before looking for something else to send.
LOOK_SECONDS = 0.25
# How long what is under way is waited for before the thread's other work.
TURN_SECONDS = 3.0
# While so many wait for an endpoint, no more are written: the record itself keeps them.
MOST_WAITING = 1000


class Dispatcher:
    """What this process has under way."""

    def __init__(self) -> None:
        self._answers: queue.SimpleQueue[tuple[Leased, Outcome]] = queue.SimpleQueue()
        self._under_way: dict[str, Leased] = {}
        # Kept until they are written down, also if the database fails meanwhile.
        self._done: list[tuple[Leased, Outcome]] = []
        self._next_read = 0.0

    def run(self, is_ending: Callable[[], bool] = lambda: False, seconds: float = math.inf) -> None:
        """Read and send until nothing is left to do now; commits after each step.

        What is under way after `seconds` is left to the next run, unless the process ends.
        """
        is_allowed, end = may_connect(), time.monotonic() + seconds
        while True:
            if time.monotonic() >= self._next_read and not is_ending():
                self._next_read = time.monotonic() + READ_SECONDS
                pause_endpoints()
                read_events()
            self._collect()
            self._settle_and_lease(is_allowed, is_ending())
            if not self._under_way or (time.monotonic() >= end and not is_ending()):
                return

    def _collect(self) -> None:
        """Take the answers that have come; wait a moment for the first."""
        if not self._under_way:
            return
        try:
            self._done.append(self._answers.get(timeout=LOOK_SECONDS))
            while True:
                self._done.append(self._answers.get_nowait())
        except queue.Empty:
            return

    def _settle_and_lease(self, is_allowed: Check, is_ending: bool) -> None:
        finished = {leased.delivery_id for leased, _ in self._done}
        under_way = [each for name, each in self._under_way.items() if name not in finished]
        busy = Busy(under_way)
        room = 0 if is_ending else AT_ONCE - len(under_way)
        # Looking first, without a lock, keeps an idle service from blocking writers.
        if not self._done and not (room and has_due(busy)):
            return
        with write():
            settle(self._done)
            db.session.flush()
            leased = lease(room, busy) if room else []
        self._done = []
        self._under_way = {each.delivery_id: each for each in (*under_way, *leased)}
        for each in leased:
            arguments = (each, is_allowed)
            threading.Thread(target=self._send, args=arguments, daemon=True).start()

    def _send(self, leased: Leased, is_allowed: Check) -> None:
        try:
            outcome = send(leased.message, is_allowed)
        except Exception as error:
            # A fault of ours; without an outcome, the delivery would count as under way for ever.
            log_fault(logger, "a webhook was not sent; it is tried again", error)
            outcome = Outcome(clock.now(), 0, error="It was not sent, for a reason of our own.")
        self._answers.put((leased, outcome))


@every_process("webhooks")
def deliver_webhooks() -> None:
    """Read and send until nothing is left to do now, or others of the thread have waited long."""
    kept(EXTENSION, Dispatcher).run(is_ending, TURN_SECONDS)


def pause_endpoints() -> None:
    """Pause the endpoints of whoever has left a project, and mail its owner; commits."""
    # Looking first, without a lock, keeps an idle service from blocking writers.
    is_any = is_any_left()
    db.session.rollback()
    if is_any:
        with write():
            for project, hosts in pause_left().items():
                send_left_mail(project, hosts)


def read_events() -> None:
    """Write deliveries of what has happened since each endpoint was last told; commits each."""
    unread = exists().where(
        Event.project_id == WebhookEndpoint.project_id,
        Event.id > WebhookEndpoint.read_to,
        IS_SINGLE,
    )
    query = (
        select(WebhookEndpoint)
        .join(Project, Project.id == WebhookEndpoint.project_id)
        .where(
            WebhookEndpoint.is_active,
            Project.deleted_at.is_(None),
            ~Project.is_suspended,
            may_hear(),
            unread,
        )
    )
    behind = db.session.scalars(query).all()
    db.session.expunge_all()
    for endpoint in behind:
        _read(endpoint)
    db.session.rollback()


def _read(endpoint: WebhookEndpoint) -> None:
    """Write deliveries and the place to go on from, unless another process has done so."""
    waiting = select(func.count()).where(WebhookDelivery.endpoint_id == endpoint.id, IS_DUE)
    if (db.session.scalar(waiting) or 0) >= MOST_WAITING:
        return
    rows, read_to = _list_unread(endpoint)
    db.session.rollback()
    # Whoever holds it is reading too, or changing it: there is another round in a second.
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
    """Return the one call of a build hook for all that happened; none while one waits to start."""
    waiting = (IS_DUE, WebhookDelivery.tries == 0, WebhookDelivery.leased_until.is_(None))
    query = select(WebhookDelivery.id).where(WebhookDelivery.endpoint_id == endpoint.id, *waiting)
    if not rows or db.session.scalar(query.limit(1)) is not None:
        return []
    return [rows[-1] | {"subject": None, "next_try_at": clock.now() + BUILD_AFTER}]


def _list_unread(endpoint: WebhookEndpoint) -> tuple[list[Row], str]:
    """Return rows of deliveries in the order of the events, and the last event that was read."""
    rows: list[Row] = []
    now, read_to = clock.now(), endpoint.read_to
    for event in read_after(endpoint.project_id, read_to, MOST_WAITING):
        name = EventType.known[event.type].webhook
        if name and (not endpoint.events or name in endpoint.events):
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
