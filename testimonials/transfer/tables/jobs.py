"""Imports as rows: drafts, the job that runs them, and undoing them."""

import logging
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any, NamedTuple

from sqlalchemy import delete, exists, func, select, update
from sqlalchemy.exc import DBAPIError

from testimonials.auth.sessions import SignedIn, SignInMethod
from testimonials.core import clock
from testimonials.core.audit import IS_HISTORY, Actor, ActorKind, Event, current_actor
from testimonials.core.db.outages import log_fault
from testimonials.core.db.transactions import delete_rows, find_row, write
from testimonials.core.extensions import db, let_others_write
from testimonials.core.http.errors import NotFound, ServiceError, require_found
from testimonials.core.http.i18n import gettext_noop
from testimonials.core.http_client import Check
from testimonials.core.images.uploads import Image
from testimonials.core.jobs import Interrupted, current_job, hold_job, job
from testimonials.projects.access import Role, find_access
from testimonials.projects.models import Project
from testimonials.projects.projects import lock_project, mark_changed
from testimonials.testimonials.history import Part, in_parts
from testimonials.testimonials.models import Testimonial
from testimonials.testimonials.moderation import DELETE, apply_action
from testimonials.testimonials.record import note_photos
from testimonials.transfer.models import TableImport
from testimonials.transfer.tables.columns import change_mapping, guess_mapping
from testimonials.transfer.tables.files import MAX_LINES, read_table
from testimonials.transfer.tables.plan import (
    AT_ONCE,
    BATCH_ROWS,
    Problems,
    copy_photos,
    finish_import,
    is_website,
    plan_import,
    write_batch,
)
from testimonials.transfer.tables.rows import STATUSES, NewTestimonial, Reading

DRAFT, RUNNING, STOPPED, DONE, UNDONE = "draft", "running", "stopped", "done", "undone"
LISTED = 20
# How a file is read unless a person chooses otherwise; `columns` has the choices by field.
DEFAULT_OPTIONS: dict[str, Any] = {
    "columns": {},
    "order": None,
    "status": STATUSES[0],
    "encoding": "utf-8",
    "repairs": [],
    "photos": True,
}


def pack(content: bytes) -> bytes:
    """Compress a file for storing; slow, so call it before locking anything."""
    return zlib.compress(content, 6)


def add_draft(
    project: Project, who: SignedIn, file_name: str, packed: bytes, options: dict[str, Any]
) -> TableImport:
    """Store a packed file in the locked project until somebody starts the import.

    A project has at most five drafts; older ones are deleted.
    """
    is_draft = (TableImport.project_id == project.id, TableImport.state == DRAFT)
    newest = (TableImport.created_at.desc(), TableImport.id.desc())
    kept = db.session.scalars(
        select(TableImport.id).where(*is_draft).order_by(*newest).limit(4)
    ).all()
    db.session.execute(delete(TableImport).where(*is_draft, TableImport.id.not_in(kept)))
    row = TableImport(
        project_id=project.id,
        account_id=who.account_id,
        actor=who.email,
        file_name=file_name,
        state=DRAFT,
        options=DEFAULT_OPTIONS | options,
        content=packed,
    )
    db.session.add(row)
    db.session.flush()
    return row


def find_import(project_id: str, import_id: str, *, for_update: bool = False) -> TableImport:
    """Return an import of a project, which `for_update` locks; raise `NotFound`."""
    is_own = TableImport.project_id == project_id
    row = find_row(TableImport, import_id, is_own, for_update=for_update)
    return require_found(row, "There is no such import in this project.")


def list_imports(project_id: str) -> Sequence[TableImport]:
    """Return the newest imports of a project, without drafts."""
    return db.session.scalars(
        select(TableImport)
        .where(TableImport.project_id == project_id, TableImport.state != DRAFT)
        .order_by(TableImport.created_at.desc(), TableImport.id.desc())
        .limit(LISTED)
    ).all()


def read_content(import_id: str) -> bytes | None:
    """Return the file of an import, if it is still stored."""
    content = db.session.scalar(select(TableImport.content).where(TableImport.id == import_id))
    # Its size was checked when it was uploaded.
    return zlib.decompress(content) if content else None


def read_file(content: bytes, options: dict[str, Any], most_lines: int = MAX_LINES) -> Reading:
    """Read a file with these options; raise `TableUnreadable` and `MappingWrong`."""
    table = read_table(content, options["encoding"], most_lines)
    guessed = guess_mapping(table.headings)
    mapping = change_mapping(guessed, table.headings, options["columns"])
    repairs = frozenset(options["repairs"])
    return Reading(table, mapping, options["order"], options["status"], repairs)


def delete_old_files() -> int:
    """Delete files that nobody has imported within a day; return how many drafts had one."""
    until = clock.now() - timedelta(days=1)
    is_old = TableImport.created_at <= until
    drafts = delete_rows(TableImport, TableImport.state == DRAFT, is_old)
    db.session.execute(
        update(TableImport)
        .where(TableImport.state == STOPPED, TableImport.content.is_not(None), is_old)
        .values(content=None)
    )
    return drafts


# Undoing an import moves what it added to the trash, in parts.

# Actions after which a testimonial is as it was imported.
UNCHANGED = ("import", "delete", "restore", "undo")


class NothingToUndo(ServiceError):
    status = 409
    meaning = "Nothing that the import added is left to remove."
    remedy = "Nothing to do."
    default_message = gettext_noop("There is nothing left to undo.")


@dataclass(frozen=True)
class Undone:
    """The batch of events that undid an import, and how many testimonials were removed and kept."""

    batch: str
    removed: int
    kept: int


def undo_import(
    project: Project, row: TableImport, actor: str, *, also_changed: bool = False
) -> Undone:
    """Move what an import of the locked project added to the trash; stop it if it still runs.

    What somebody has changed since stays, unless `also_changed`. Only the last part (`in_parts`)
    marks the import as undone, so that an interrupted undo can be continued. Raises
    `NothingToUndo`.
    """
    import_id = row.id
    conditions = _of(row) if also_changed else (*_of(row), ~_is_changed())
    ids = db.session.scalars(select(Testimonial.id).where(*conditions)).all()
    if not ids or row.state == DRAFT:
        raise NothingToUndo
    count = count_here(row)

    def work(some: Sequence[str], part: Part) -> int:
        row = find_import(project.id, import_id, for_update=True)
        added = select(Testimonial).where(*conditions, Testimonial.id.in_(some))
        _, removed = apply_action(project, db.session.scalars(added).all(), DELETE, actor, part)
        row.outcome = row.outcome | {"removed": row.outcome.get("removed", 0) + removed}
        if row.state == RUNNING:
            row.state = STOPPED
        if ids[-1] in some:
            row.state, row.undone_at, row.content, row.problem = UNDONE, clock.now(), None, None
        db.session.flush()
        return removed

    batch, removed = in_parts(ids, work)
    return Undone(batch, removed, count - removed)


def list_changed(row: TableImport) -> Sequence[Testimonial]:
    """Return at most 100 testimonials that an import added and somebody has changed since."""
    return list_here(row, _is_changed())


def count_here(row: TableImport) -> int:
    return db.session.scalar(select(func.count()).where(*_of(row))) or 0


def list_here(row: TableImport, *conditions: Any) -> Sequence[Testimonial]:
    """Return at most 100 testimonials of an import that aren't in the trash."""
    return db.session.scalars(
        select(Testimonial)
        .where(*_of(row), *conditions)
        .order_by(Testimonial.created_at.desc(), Testimonial.id.desc())
        .limit(100)
    ).all()


def _of(row: TableImport) -> tuple[Any, ...]:
    return Testimonial.import_id == row.id, Testimonial.deleted_at.is_(None)


def _is_changed() -> Any:
    return exists().where(
        Event.testimonial_id == Testimonial.id, IS_HISTORY, Event.action.not_in(UNCHANGED)
    )


# Copying the photos of imported testimonials, a few at a time.


class Copied(NamedTuple):
    """The next testimonials with links to photos, and the copies of these."""

    links: Sequence[tuple[str, str]]
    photos: dict[str, Image]
    problems: Problems

    def write(self, row: TableImport) -> None:
        """Set the photos of the testimonials, except those that somebody has replaced since."""
        project, of = db.session.get_one(Project, row.project_id), Testimonial
        changed = []
        for testimonial_id, url in self.links:
            if (photo := self.photos.get(url)) is None:
                continue
            is_same = (of.id == testimonial_id, of.author_avatar == url, of.avatar_id.is_(None))
            change = update(of).where(*is_same).values(author_avatar=None, avatar_id=photo.id)
            if testimonial := db.session.scalar(change.returning(of)):
                db.session.add(photo)
                changed.append(testimonial)
        note_photos(project, changed)
        mark_changed(project)
        problems = [*row.outcome.get("photos", []), *map(list, self.problems)][:50]
        row.outcome = row.outcome | {"photos": problems}
        row.photos_done = min(row.photos, row.photos_done + len(self.links))
        row.photos_to = self.links[-1][0]


def copy_some(import_id: str, after: str, is_allowed: Check = is_website) -> Copied | None:
    """Fetch the next photos, without a transaction; return None if there are no more."""
    query = _select(import_id, Testimonial.id, Testimonial.author_avatar)
    query = query.where(Testimonial.id > after).order_by(Testimonial.id).limit(2 * AT_ONCE)
    links = [(each.id, each.author_avatar) for each in db.session.execute(query)]
    db.session.rollback()
    if not links:
        return None
    photos, problems = copy_photos([url for _, url in links], is_allowed)
    return Copied(links, photos, problems)


def _select(import_id: str, *columns: Any) -> Any:
    return select(*columns).where(
        Testimonial.import_id == import_id,
        Testimonial.author_avatar.is_not(None),
        Testimonial.avatar_id.is_(None),
    )


# Running imports in the background, in short transactions, so that others can write. An import is a
# job with the same id. If its process dies, another one continues after the lease has expired, and
# adds nothing twice.

logger = logging.getLogger("testimonials")

IMPORT = "import"
GONE = "The file is no longer kept. Import it again: nothing is added twice."
DELETED = "The project was deleted."
FAULT = "Something went wrong on our side."


class ImportEnded(Exception):
    """The import was stopped, or is done."""


@job(
    IMPORT,
    "imports",
    longest=timedelta(days=1),
    give_up=lambda error: _stop(current_job().id, FAULT),
)
def run_import() -> None:
    """Run the import of the current job; after an error of the database, the job is retried."""
    import_id = current_job().id
    try:
        content, row = read_content(import_id), db.session.get(TableImport, import_id)
        if row is None:
            return
        if content is None:
            raise ServiceError(GONE)
        plan = plan_import(row.project_id, read_file(content, row.options))
        db.session.rollback()
        work_through(import_id, plan.new)
    except (DBAPIError, Interrupted):
        raise
    except ImportEnded:
        return
    except ServiceError as error:
        stop(import_id, DELETED if isinstance(error, NotFound) else error.message)
    except Exception as error:
        log_fault(logger, "an import was stopped", error)
        stop(import_id, FAULT)


def work_through(import_id: str, testimonials: Sequence[NewTestimonial]) -> None:
    """Add testimonials and copy their photos, in several transactions.

    Raises `ImportEnded`, and `ServiceError` if the importing person has lost their role.
    """
    lock = partial(_lock_import, import_id)
    for start in range(0, len(testimonials), BATCH_ROWS):
        if start:
            let_others_write()
        batch = testimonials[start : start + BATCH_ROWS]
        remaining = len(testimonials) - start - len(batch)
        with write(lock) as (project, row):
            by = Actor(ActorKind.PERSON, row.account_id) if row.account_id else current_actor()
            count = write_batch(project, batch, remaining, row.actor, import_id, by)
            row.added += count
            row.done = row.total - remaining
    while True:
        with write(lock) as (_, row):
            if row.options["photos"] and row.photos_to is None:
                count = db.session.scalar(_select(import_id, func.count()))
                row.photos, row.photos_to = count or 0, ""
        copied = copy_some(import_id, row.photos_to) if row.photos_to is not None else None
        if copied is None:
            break
        with write(lock) as (_, row):
            copied.write(row)
        let_others_write()
    with write(lock) as (_, row):
        row.state, row.finished_at, row.content, row.problem = DONE, clock.now(), None, None
        finish_import(row.added)


def stop(import_id: str, problem: str | None) -> None:
    """Stop an import, because of a `problem` if there is one."""
    with write():
        _stop(import_id, problem)


def _stop(import_id: str, problem: str | None) -> None:
    db.session.execute(
        update(TableImport)
        .where(TableImport.id == import_id, TableImport.state == RUNNING)
        .values(state=STOPPED, problem=problem)
    )


def _lock_import(import_id: str) -> tuple[Project, TableImport]:
    """Lock the project and its import, if this process still runs it."""
    row = require_found(db.session.get(TableImport, import_id))
    if row.account_id is None:
        project = lock_project(row.project_id)
    else:
        # The person may have lost the role.
        who = SignedIn("", row.account_id, row.actor, None, method=SignInMethod.EARLIER)
        project = find_access(who, row.project_id, Role.ADMIN, for_update=True).project
    row = find_import(project.id, import_id, for_update=True)
    if row.state != RUNNING:
        raise ImportEnded
    hold_job(import_id)
    return project, row
