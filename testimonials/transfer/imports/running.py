"""Working through imports in the background: short transactions, so that others can write.

A process leases an import and renews the lease with each part. When it dies, another goes on once
the lease has run out; what is there already is not added again.
"""

import logging
from collections.abc import Callable, Sequence
from datetime import timedelta

from sqlalchemy import or_, select, update
from sqlalchemy.exc import DBAPIError

from testimonials.activity.actors import Actor, ActorKind, current_actor
from testimonials.activity.event_types import EventType
from testimonials.activity.recording import add_event
from testimonials.auth.sign_in.sessions import SignedIn, SignInMethod
from testimonials.core import clock
from testimonials.core.data.identifiers import new_identifier
from testimonials.core.data.outages import log_fault
from testimonials.core.web.errors import NotFound, ServiceError
from testimonials.extensions import begin_write, db, let_others_write
from testimonials.projects.access import Role, find_access
from testimonials.projects.models import Project
from testimonials.projects.services import lock_project
from testimonials.transfer.imports.copying import copy_some, count_photos
from testimonials.transfer.imports.drafts import (
    DONE,
    RUNNING,
    STOPPED,
    find_import,
    read_content,
    read_file,
)
from testimonials.transfer.models import TableImport
from testimonials.transfer.tables.importing import (
    BATCH_ROWS,
    finish_import,
    plan_import,
    write_batch,
)
from testimonials.transfer.tables.rows import NewTestimonial

logger = logging.getLogger("testimonials")

LEASE = timedelta(minutes=2)
GONE = "The file is no longer kept. Import it again: nothing is added twice."
DELETED = "The project was deleted."
FAULT = "Something went wrong on our side."


class Interrupted(Exception):
    """Nothing more is to be done now: it was stopped, or this process ends."""


def run_imports(is_ending: Callable[[], bool] = lambda: False) -> None:
    """Work through the imports that are due, one after the other; commits each part."""
    while not is_ending() and (import_id := _take()) is not None:
        try:
            _run(import_id, is_ending)
        except Interrupted:
            _let_go(import_id)
        except DBAPIError:
            # Another process, or this one, goes on when the lease is over.
            raise
        except ServiceError as error:
            stop(import_id, DELETED if isinstance(error, NotFound) else error.message)
        except Exception as error:
            log_fault(logger, "an import was stopped", error)
            stop(import_id, FAULT)


def work_through(
    import_id: str, found: Sequence[NewTestimonial], is_ending: Callable[[], bool] = lambda: False
) -> None:
    """Add testimonials and copy their photos, part by part; commits each.

    Raises `Interrupted`, and `ServiceError` for who may no longer import.
    """
    for start in range(0, len(found), BATCH_ROWS):
        if start:
            let_others_write()
        project, row = _begin_part(import_id, is_ending)
        batch, batch_id = found[start : start + BATCH_ROWS], new_identifier()
        remaining = len(found) - start - len(batch)
        count = write_batch(project, batch, remaining, batch_id, row.actor, import_id)
        row.added += count
        row.done = row.total - remaining
        if count:
            done = {"count": count, "batch": batch_id}
            type = EventType.TESTIMONIALS_IMPORTED
            add_event(type, project.account_id, project.id, _actor_of(row), None, done)
        db.session.commit()
    while True:
        _, row = _begin_part(import_id, is_ending)
        if not row.options["photos"]:
            break
        if row.photos_to is None:
            row.photos, row.photos_to = count_photos(import_id), ""
        tried = row.photos_to
        db.session.commit()
        copied = copy_some(import_id, tried)
        if copied is None:
            break
        _, row = _begin_part(import_id, is_ending)
        copied.write(row)
        db.session.commit()
        let_others_write()
    _finish(import_id)


def stop(import_id: str, problem: str | None) -> None:
    """Stop an import where it is, with the reason if nobody stopped it; commits."""
    begin_write()
    db.session.execute(
        update(TableImport)
        .where(TableImport.id == import_id, TableImport.state == RUNNING)
        .values(state=STOPPED, problem=problem, leased_until=None)
    )
    db.session.commit()


def _take() -> str | None:
    """Lease the import that has waited longest, if any; commits."""
    now = clock.now()
    is_free = or_(TableImport.leased_until.is_(None), TableImport.leased_until <= now)
    query = select(TableImport.id).where(TableImport.state == RUNNING, is_free)
    query = query.order_by(TableImport.created_at).limit(1)
    # Looking first, without a lock, keeps an idle service from blocking writers.
    found = db.session.scalar(query)
    db.session.rollback()
    if found is None:
        return None
    begin_write()
    found = db.session.scalar(query.with_for_update(skip_locked=True))
    db.session.execute(
        update(TableImport).where(TableImport.id == found).values(leased_until=now + LEASE)
    )
    db.session.commit()
    return found


def _run(import_id: str, is_ending: Callable[[], bool]) -> None:
    content, row = read_content(import_id), db.session.get(TableImport, import_id)
    if row is None:
        raise Interrupted
    if content is None:
        raise ServiceError(GONE)
    reading = read_file(content, row.options)
    plan = plan_import(row.project_id, reading.table, reading.options)
    db.session.rollback()
    work_through(import_id, plan.new, is_ending)


def _begin_part(import_id: str, is_ending: Callable[[], bool]) -> tuple[Project, TableImport]:
    """Begin a transaction; return the locked project and the import, leased for longer."""
    if is_ending():
        raise Interrupted
    begin_write()
    row = db.session.get(TableImport, import_id)
    if row is None:
        raise NotFound
    project = _lock_project(row)
    row = find_import(project.id, import_id, for_update=True)
    if row.state != RUNNING:
        db.session.rollback()
        raise Interrupted
    row.leased_until = clock.now() + LEASE
    return project, row


def _lock_project(row: TableImport) -> Project:
    """Return the project, if whoever imports may still do so."""
    if row.account_id is None:
        return lock_project(row.project_id)
    who = SignedIn("", row.account_id, row.actor, None, method=SignInMethod.EARLIER)
    return find_access(who, row.project_id, Role.ADMIN, for_update=True).project


def _actor_of(row: TableImport) -> Actor:
    return Actor(ActorKind.PERSON, row.account_id) if row.account_id else current_actor()


def _let_go(import_id: str) -> None:
    db.session.rollback()
    begin_write()
    db.session.execute(
        update(TableImport).where(TableImport.id == import_id).values(leased_until=None)
    )
    db.session.commit()


def _finish(import_id: str) -> None:
    row = db.session.get_one(TableImport, import_id)
    row.state, row.finished_at, row.leased_until = DONE, clock.now(), None
    row.content, row.problem = None, None
    finish_import(row.added)
    db.session.commit()
