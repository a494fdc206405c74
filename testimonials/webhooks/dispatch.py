"""The background thread of webhooks: it reads the record, and sends what is due, 20 at a time.

A receiver never holds up anything but its own deliveries: sending happens in threads without the
database, and mail has a thread of its own.
"""

import logging
import queue
import threading
import time
from collections.abc import Callable

from sqlalchemy import exists, func, insert, select

from testimonials.activity.models import Event
from testimonials.core import clock
from testimonials.core.data.identifiers import new_identifier
from testimonials.core.data.outages import log_fault
from testimonials.core.public_addresses import Check
from testimonials.extensions import begin_write, db
from testimonials.projects.models import Project
from testimonials.webhooks.attempts import Busy, Leased, has_due, lease, settle
from testimonials.webhooks.emails import send_left_mail
from testimonials.webhooks.events import expand
from testimonials.webhooks.leaving import is_any_left, may_hear, pause_left
from testimonials.webhooks.models import IS_DUE, WebhookDelivery, WebhookEndpoint
from testimonials.webhooks.sending import Outcome, may_connect, send

logger = logging.getLogger("testimonials.webhooks")

AT_ONCE = 20
READ_SECONDS = 1.0
# How long to wait for an answer before looking for something else to send.
LOOK_SECONDS = 0.25
EVENTS_AT_ONCE = 100
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

    def run(self, is_ending: Callable[[], bool] = lambda: False) -> None:
        """Read and send until nothing is left to do now; commits after each step."""
        is_allowed = may_connect()
        while True:
            if time.monotonic() >= self._next_read and not is_ending():
                self._next_read = time.monotonic() + READ_SECONDS
                pause_endpoints()
                read_events()
            self._collect()
            self._settle_and_lease(is_allowed, is_ending())
            if not self._under_way:
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
        begin_write()
        settle(self._done)
        db.session.flush()
        leased = lease(room, busy) if room else []
        db.session.commit()
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


def pause_endpoints() -> None:
    """Pause the endpoints of whoever has left a project, and mail its owner; commits."""
    # Looking first, without a lock, keeps an idle service from blocking writers.
    is_any = is_any_left()
    db.session.rollback()
    if is_any:
        begin_write()
        for project, hosts in pause_left().items():
            send_left_mail(project, hosts)
        db.session.commit()


def read_events() -> None:
    """Write deliveries of what has happened since each endpoint was last told; commits each."""
    unread = exists().where(
        Event.project_id == WebhookEndpoint.project_id, Event.id > WebhookEndpoint.read_to
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
    begin_write()
    # Whoever holds it is reading too, or changing it: there is another round in a second.
    same = db.session.scalars(
        select(WebhookEndpoint)
        .where(
            WebhookEndpoint.id == endpoint.id,
            WebhookEndpoint.read_to == endpoint.read_to,
            WebhookEndpoint.is_active,
        )
        .with_for_update(skip_locked=True)
    ).one_or_none()
    if same is not None:
        same.read_to = read_to
        db.session.flush()
        if rows:
            db.session.execute(insert(WebhookDelivery), rows)
    db.session.commit()


def _list_unread(endpoint: WebhookEndpoint) -> tuple[list[dict[str, object]], str]:
    """Return rows of deliveries in the order of the events, and the last event that was read."""
    rows: list[dict[str, object]] = []
    now, read_to = clock.now(), endpoint.read_to
    events = db.session.scalars(
        select(Event)
        .where(Event.project_id == endpoint.project_id, Event.id > read_to)
        .order_by(Event.id)
        .limit(EVENTS_AT_ONCE)
    )
    for event in events:
        rows += [
            {
                "id": new_identifier(),
                "endpoint_id": endpoint.id,
                "event_id": told.event_id,
                "event_type": told.type,
                "subject": told.subject,
                "next_try_at": now,
            }
            for told in expand(event, endpoint.read_to)
            if not endpoint.events or told.type in endpoint.events
        ]
        read_to = event.id
        if len(rows) >= MOST_WAITING:
            break
    return rows, read_to
