"""Erasing again what a restore or an import has brought back after it was erased."""

import contextlib
import json
import logging
import os
import re
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from sqlalchemy import exists, select
from sqlalchemy.orm import InstrumentedAttribute

from testimonials.auth.models import Account
from testimonials.collection.author_erasure import (
    disown,
    erase,
    erase_request,
    forget_email,
    record_erased,
)
from testimonials.collection.author_rights import AUTHOR_MAIL, OwnTestimonial, remove_recording
from testimonials.collection.models import MailedRequest
from testimonials.collection.request_mail import PURPOSES
from testimonials.core import clock
from testimonials.core.audit import IS_HISTORY, Event
from testimonials.core.db.erasure import (
    ACCOUNT,
    ADDRESS,
    KINDS,
    PERSON,
    PROJECT,
    RECORDING,
    REQUEST,
    TESTIMONIAL,
    Erased,
    ErasedPeople,
)
from testimonials.core.db.sqlite import open_file
from testimonials.core.db.transactions import delete_rows
from testimonials.core.extensions import db
from testimonials.core.faults import refusing
from testimonials.core.mail.outbox import OutboxMail
from testimonials.core.settings.instance import give_to_owner, sync
from testimonials.core.settings.table import current_settings
from testimonials.projects.models import Project, Proposal
from testimonials.testimonials.history import in_chunks
from testimonials.testimonials.models import Testimonial

# The list of erased ids, as a file beside the data and beside its backups.

logger = logging.getLogger("testimonials")

NAME = "erased.json"
FORMAT = "testimonials-erased"
_QUOTED_EMAIL = re.compile(r'"([^"\s@]+@[^"\s@]+)"')

# The time of erasure in milliseconds, by kind and id.
ErasedList = dict[tuple[str, str], int]


class ListDamaged(Exception):
    """The file doesn't contain a valid list."""


def read_list(file: Path) -> ErasedList:
    """Return the list in a file, which is empty if there is no file; raise `ListDamaged`."""
    try:
        return parse_list(file.read_bytes(), str(file))
    except FileNotFoundError:
        return {}


def parse_list(content: bytes, name: str) -> ErasedList:
    with refusing(lambda _fault: ListDamaged(f"{name} is damaged")):
        values = json.loads(content)
        if values["format"] != FORMAT:
            raise ValueError(FORMAT)
        rows = [(str(row["kind"]), str(row["id"]), int(row["at"])) for row in values["erased"]]
    return {(kind, id): at for kind, id, at in rows if kind in KINDS}


def read_table(database: Path) -> ErasedList:
    rows = _read_rows(database, "SELECT kind, id, erased_at FROM erased")
    return {(kind, id): at for kind, id, at in rows}


def find_projects(database: Path) -> set[str]:
    return {row[0] for row in _read_rows(database, "SELECT id FROM project")}


def _read_rows(database: Path, query: str) -> list[Any]:
    """Return the rows of a query; none if the SQLite database can't be read."""
    with contextlib.suppress(sqlite3.Error), open_file(database, wait=1) as opened:
        return opened.execute(query).fetchall()
    return []


def join_lists(lists: Iterable[ErasedList]) -> ErasedList:
    """Return the union of the lists; each id has its latest time."""
    joined: ErasedList = {}
    for each in lists:
        for key, at in each.items():
            joined[key] = max(at, joined.get(key, at))
    return joined


def write_list(folder: Path, erased: ErasedList) -> None:
    """Write the file into a folder atomically."""
    rows = [{"kind": key[0], "id": key[1], "at": at} for key, at in sorted(erased.items())]
    draft = folder / f".{NAME}.{os.getpid()}"
    try:
        draft.write_text(json.dumps({"format": FORMAT, "erased": rows}, indent=0))
        draft.chmod(0o600)
        give_to_owner(draft, folder)
        sync(draft)
        draft.replace(folder / NAME)
    finally:
        draft.unlink(missing_ok=True)


def learn_files() -> None:
    """Add what only the files contain to the database; the caller commits.

    They contain more after restoring a backup without the table, and on a new machine.
    """
    since = clock.to_milliseconds(clock.expired_until(current_settings().erased_days))
    known = read_known()
    lists = (_read_or_empty(folder / NAME) for folder in _list_folders())
    for (kind, id), at in join_lists(lists).items():
        is_back = kind == PROJECT and db.session.get(Project, id) is not None
        if at > max(since, known.get((kind, id), 0)) and not is_back:
            db.session.merge(Erased(kind=kind, id=id, erased_at=clock.from_milliseconds(at)))
    db.session.flush()


def write_lists() -> None:
    """Write the database's list to the files beside the database and beside its backups."""
    erased = read_known()
    for folder in _list_folders():
        try:
            if folder.is_dir() and _read_or_empty(folder / NAME) != erased:
                write_list(folder, erased)
        except OSError as error:
            # A full or missing disk must not stop the sweep.
            logger.warning("%s can't be written to %s: %s", NAME, folder, error.strerror)


def delete_old_erasures() -> int:
    """Forget ids that were erased so long ago that no backup contains them; return how many."""
    until = clock.expired_until(current_settings().erased_days)
    return delete_rows(Erased, Erased.erased_at <= until)


def _list_folders() -> list[Path]:
    settings = current_settings()
    elsewhere = [Path(settings.backup_to)] if settings.backup_to else []
    return [settings.instance_path, Path(settings.backup_path), *elsewhere]


def read_known() -> ErasedList:
    rows = db.session.scalars(select(Erased))
    return {(row.kind, row.id): clock.to_milliseconds(row.erased_at) for row in rows}


def _read_or_empty(file: Path) -> ErasedList:
    """Return the list in a file, which is empty if it is damaged; that is replaced later."""
    try:
        return read_list(file)
    except (ListDamaged, OSError):
        return {}


# Erasing what a restored backup or an imported archive has brought back.


def erase_again(erased: ErasedList, project_id: str = "") -> int:
    """Erase what is on the list, in all projects or in this one; return how much that was.

    If a testimonial that came back is in the public record, its erasure is recorded there.
    """
    times = {
        kind: {id: clock.from_milliseconds(at) for (each, id), at in erased.items() if each == kind}
        for kind in KINDS
    }
    count = 0
    if not project_id:
        count += _delete(Account, times[ACCOUNT]) + _delete(Project, times[PROJECT])
    for row in _find(Testimonial, times[TESTIMONIAL], project_id):
        _erase(row)
        count += 1
    for row in _find(Testimonial, times[RECORDING], project_id):
        if row.recording and row.recording.created_at <= times[RECORDING][row.id]:
            if row.text:
                remove_recording(_own(row))
            else:
                _erase(row)
            count += 1
    for row in _find(Testimonial, times[ADDRESS], project_id):
        if row.author_email and row.updated_at <= times[ADDRESS][row.id]:
            disown(_own(row))
            count += 1
    for row in _find(MailedRequest, times[REQUEST], project_id):
        erase_request(db.session.get_one(Project, row.project_id), row)
        count += 1
    people = ErasedPeople((id, at) for (kind, id), at in erased.items() if kind == PERSON)
    return count if people.is_empty else count + _erase_people(people, project_id)


def _erase_people(people: ErasedPeople, project_id: str) -> int:
    def find(id: InstrumentedAttribute[Any], email: Any, *conditions: Any) -> list[str]:
        of: Any = id.class_
        query = select(id, email, of.created_at).where(id.is_not(None), email.is_not(None))
        if project_id:
            query = query.where(of.project_id == project_id)
        rows = db.session.execute(query.where(*conditions))
        return [row[0] for row in rows if people.covers(row[1], clock.to_milliseconds(row[2]))]

    # The author may have answered a request without giving an address.
    written = find(MailedRequest.testimonial_id, MailedRequest.email)
    written += find(Testimonial.id, Testimonial.author_email)
    count = 0
    for row in _find(Testimonial, set(written), project_id):
        _erase(row)
        count += 1
    count += _delete(MailedRequest, find(MailedRequest.id, MailedRequest.email))
    if not project_id:
        is_to_author = OutboxMail.purpose.in_((AUTHOR_MAIL, *PURPOSES))
        count += _delete(OutboxMail, find(OutboxMail.id, OutboxMail.recipient, is_to_author))
        count += _delete(Proposal, _find_proposals(people))
    before = Event.before["author_email"].as_string()
    for ids in in_chunks(find(Event.id, before, IS_HISTORY)):
        forget_email(Event.id.in_(ids))
    return count


def _find_proposals(people: ErasedPeople) -> list[str]:
    query = select(Proposal.id, Proposal.created_at, Proposal.values, Proposal.before)
    return [
        id
        for id, created_at, *parts in db.session.execute(query)
        for email in _QUOTED_EMAIL.findall(json.dumps(parts, ensure_ascii=False))
        if people.covers(email, clock.to_milliseconds(created_at))
    ]


def _find(of: Any, ids: Iterable[str], project_id: str) -> Iterator[Any]:
    is_here = [of.project_id == project_id] if project_id else []
    for part in in_chunks(sorted(ids)):
        yield from db.session.scalars(select(of).where(of.id.in_(part), *is_here)).all()


def _own(row: Testimonial) -> OwnTestimonial:
    return OwnTestimonial(row, row.project, is_mailed=True)


def _erase(row: Testimonial) -> None:
    own = _own(row)
    entries = exists().where(Event.testimonial_id == row.id, Event.entry.is_not(None))
    is_known = db.session.scalar(select(entries))
    erase(own)
    if is_known:
        record_erased(own)


def _delete(model: Any, ids: Iterable[str]) -> int:
    return sum(delete_rows(model, model.id.in_(part)) for part in in_chunks(sorted(ids)))
