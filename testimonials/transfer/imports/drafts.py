"""Imports as rows: the file, what its columns are and how it is read, until it is imported."""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from sqlalchemy import delete, select, update
from sqlalchemy.orm import undefer

from testimonials.auth.sign_in.sessions import SignedIn
from testimonials.core import clock
from testimonials.core.data.identifiers import is_identifier
from testimonials.core.web.errors import NotFound
from testimonials.extensions import db
from testimonials.projects.models import Project
from testimonials.transfer.models import TableImport, WaitingArchive
from testimonials.transfer.tables.headings import ColumnMapping, change_mapping, guess_mapping
from testimonials.transfer.tables.rows import STATUSES, ReadingOptions
from testimonials.transfer.tables.table_files import MAX_LINES, Table, read_table

DRAFT, RUNNING, STOPPED, DONE, UNDONE = "draft", "running", "stopped", "done", "undone"
# Files are kept for so long, and so many that nobody has decided about for each project.
KEPT_FOR = timedelta(days=1)
MOST_DRAFTS = 5
LISTED = 20
# How a file is read until a person says otherwise; `columns` has what they chose for a field.
USUAL: dict[str, Any] = {
    "columns": {},
    "order": None,
    "status": STATUSES[0],
    "encoding": "utf-8",
    "repairs": [],
    "photos": True,
}


@dataclass(frozen=True)
class Reading:
    """A file as a table, and how its lines become testimonials."""

    table: Table
    options: ReadingOptions

    @property
    def mapping(self) -> ColumnMapping:
        return self.options.mapping


def pack(content: bytes) -> bytes:
    """Compress a file to be kept; it takes a moment, so before anything is locked."""
    return zlib.compress(content, 6)


def add_draft(
    project: Project, who: SignedIn, file_name: str, packed: bytes, options: dict[str, Any]
) -> TableImport:
    """Keep a packed file of the locked project until somebody says to import it."""
    old = select(TableImport.id).where(
        TableImport.project_id == project.id, TableImport.state == DRAFT
    )
    old = old.order_by(TableImport.created_at.desc(), TableImport.id.desc())
    kept = db.session.scalars(old.limit(MOST_DRAFTS - 1)).all()
    db.session.execute(
        delete(TableImport).where(
            TableImport.project_id == project.id,
            TableImport.state == DRAFT,
            TableImport.id.not_in(kept),
        )
    )
    row = TableImport(
        project_id=project.id,
        account_id=who.account_id,
        actor=who.email,
        file_name=file_name,
        state=DRAFT,
        options=USUAL | options,
        content=packed,
    )
    db.session.add(row)
    db.session.flush()
    return row


def find_import(project_id: str, import_id: str, *, for_update: bool = False) -> TableImport:
    """Return an import of a project, locked if asked for; raise `NotFound`."""
    query = select(TableImport).where(
        TableImport.id == import_id, TableImport.project_id == project_id
    )
    query = query.execution_options(populate_existing=True)
    row = None
    if is_identifier(import_id):
        row = db.session.scalars(query.with_for_update() if for_update else query).one_or_none()
    if row is None:
        raise NotFound("There is no such import in this project.")
    return row


def list_imports(project_id: str) -> Sequence[TableImport]:
    """Return the newest imports of a project, without those that nobody has started."""
    return db.session.scalars(
        select(TableImport)
        .where(TableImport.project_id == project_id, TableImport.state != DRAFT)
        .order_by(TableImport.created_at.desc(), TableImport.id.desc())
        .limit(LISTED)
    ).all()


def read_content(import_id: str) -> bytes | None:
    """Return the file of an import, if it is still kept."""
    query = (
        select(TableImport).where(TableImport.id == import_id).options(undefer(TableImport.content))
    )
    row = db.session.scalars(query.execution_options(populate_existing=True)).one_or_none()
    # It was within the limits when it was uploaded.
    return zlib.decompress(row.content) if row is not None and row.content else None


def read_file(content: bytes, options: dict[str, Any], most_lines: int = MAX_LINES) -> Reading:
    """Read a file as it was said to be; raise `TableUnreadable` and `MappingWrong`."""
    table = read_table(content, options["encoding"], most_lines)
    guessed = guess_mapping(table.headings)
    mapping = change_mapping(guessed, table.headings, options["columns"])
    repairs = frozenset(options["repairs"])
    return Reading(table, ReadingOptions(mapping, options["order"], options["status"], repairs))


def delete_old_files() -> int:
    """Forget files that nobody has decided about for a day; return how many."""
    is_old = TableImport.created_at <= clock.now() - KEPT_FOR
    drafts = db.session.scalars(
        delete(TableImport).where(TableImport.state == DRAFT, is_old).returning(TableImport.id)
    ).all()
    db.session.execute(
        update(TableImport)
        .where(TableImport.state == STOPPED, TableImport.content.is_not(None), is_old)
        .values(content=None)
    )
    archives = db.session.scalars(
        delete(WaitingArchive)
        .where(WaitingArchive.created_at <= clock.now() - KEPT_FOR)
        .returning(WaitingArchive.account_id)
    ).all()
    return len(drafts) + len(archives)
