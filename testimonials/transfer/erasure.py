"""Erasing again what was erased, after a restore or an import brings it back."""

import contextlib
import json
import logging
import os
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from sqlalchemy import delete, select

from testimonials.collection.models import hash_email
from testimonials.core import clock
from testimonials.core.db.erasure import (
    ACCOUNT,
    ADDRESS,
    KINDS,
    PERSON,
    PROJECT,
    RECORDING,
    TESTIMONIAL,
    Erased,
    ErasedPeople,
)
from testimonials.core.db.sqlite import list_recordings, open_file
from testimonials.core.db.transactions import delete_rows
from testimonials.core.extensions import db
from testimonials.core.faults import refusing
from testimonials.core.settings.current import current_settings
from testimonials.core.settings.instance import give_to_owner, sync
from testimonials.projects.models import Project
from testimonials.testimonials.events import DISOWNED
from testimonials.testimonials.media.recordings import FOLDER
from testimonials.testimonials.media.removal import remove_after_commit
from testimonials.transfer.archives.format import Row
from testimonials.transfer.archives.reading import Archive, Stored

# The list of erased ids, as a file beside the data and beside its backups.

logger = logging.getLogger("testimonials")

NAME = "erased.json"
FORMAT = "testimonials-erased"

# The time of erasure in milliseconds, by kind and id.
ErasedList = dict[tuple[str, str], int]


class ListDamaged(Exception):
    """The file is not a valid list."""


def read_list(file: Path) -> ErasedList:
    """Return the list in a file, empty if there is no file; raise `ListDamaged`."""
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
    """Return the rows of a query, none if the SQLite database can't be read."""
    with contextlib.suppress(sqlite3.Error), open_file(database, wait=1) as opened:
        return opened.execute(query).fetchall()
    return []


def join_lists(lists: Iterable[ErasedList]) -> ErasedList:
    """Return the union of the lists, with the latest time of each id."""
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
    """Add to the database what only the files have; the caller commits.

    They have more after a restore of a backup without the table, and on a new machine.
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
    """Write the list in the database to the files beside it and beside its backups."""
    erased = read_known()
    for folder in _list_folders():
        try:
            if folder.is_dir() and _read_or_empty(folder / NAME) != erased:
                write_list(folder, erased)
        except OSError as error:
            # A full or missing disk must not stop the sweep.
            logger.warning("%s can't be written to %s: %s", NAME, folder, error.strerror)


def delete_old_erasures() -> int:
    """Forget ids erased so long ago that no backup has them; return how many."""
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
    """Return the list in a file; a damaged one is replaced later."""
    try:
        return read_list(file)
    except (ListDamaged, OSError):
        return {}


# Erasing from a backup that is being restored what was erased after it was made. The database is an
# SQLite file that nothing else has open, maybe of an older revision.

TABLES = (ACCOUNT, PROJECT, TESTIMONIAL)
# Where the addresses of authors are. Other mail to an address is to an account.
ADDRESSES = (
    ("testimonial", "author_email", "author_email NOTNULL"),
    ("invitation", "email", "1"),
    ("outbox_mail", "recipient", "purpose IN ('author-link', 'invitation', 'invitation-reminder')"),
)
UNWANTED = (
    "INSERT OR IGNORE INTO unsubscribed_address (account_id, email_hash, created_at) "
    "VALUES (?, ?, ?)"
)
# Where testimonials are quoted: a table, a column that older revisions lack, and the statement that
# removes the words.
_NOTE = "An author has deleted a testimonial that was in this mail."
QUOTES = (
    (
        "proposal",
        "result",
        "DELETE FROM proposal WHERE ?1 IN (target_id, json_extract(result, '$.testimonialId'))",
    ),
    ("webhook_delivery", "subject", "UPDATE webhook_delivery SET body = '' WHERE subject = ?"),
    (
        "idempotency_key",
        "body",
        "UPDATE idempotency_key SET body = x'' WHERE instr(body, CAST(? AS BLOB))",
    ),
    (
        "outbox_mail",
        "html",
        f"UPDATE outbox_mail SET subject = 'News in your inbox', text = '{_NOTE}', "  # noqa: S608 - our own words
        f"html = '<p>{_NOTE}</p>' WHERE purpose = 'submissions' AND instr(text, '/' || ?)",
    ),
    (
        "outbox_mail",
        "html",
        "DELETE FROM outbox_mail WHERE purpose = 'author-link' AND recipient = "
        "(SELECT author_email FROM testimonial WHERE id = ?)",
    ),
)
DISOWNED_MAILS = (
    "DELETE FROM outbox_mail WHERE purpose = 'author-link' AND recipient = ? AND created_at <= ?"
)


def erase_again(work: Path, database: Path, erased: ErasedList) -> int:
    """Erase what is on the list from an unpacked backup; return the number of rows."""
    if not erased:
        return 0
    with open_file(database) as opened:
        # Overwrites what it deletes.
        opened.execute("PRAGMA secure_delete=ON")
        opened.execute("PRAGMA foreign_keys=ON")
        opened.execute("BEGIN IMMEDIATE")
        ids = {kind: [id for each, id in erased if each == kind] for kind in TABLES}
        count = sum(_delete(opened, kind, ids[kind]) for kind in TABLES)
        count += _erase_recordings(opened, erased)
        count += _erase_addresses(opened, erased) + _erase_people(opened, erased)
        known = [(kind, id, at) for (kind, id), at in erased.items()]
        insert = "INSERT OR REPLACE INTO erased (kind, id, erased_at) VALUES (?, ?, ?)"
        opened.executemany(insert, known)
        opened.execute("COMMIT")
        if count:
            # The segments of the search index contain deleted words until they are merged.
            merge = "INSERT INTO testimonial_search (testimonial_search) VALUES ('optimize')"
            opened.execute(merge)
    kept = set(list_recordings(database))
    for file in list((work / FOLDER).iterdir()):
        if file.name not in kept:
            file.unlink()
    return count


def _erase_recordings(opened: sqlite3.Connection, erased: ErasedList) -> int:
    """Delete recordings, and testimonials that have no text."""
    rows = [(id, at) for (kind, id), at in erased.items() if kind == RECORDING]
    own = "(SELECT testimonial_id FROM recording WHERE testimonial_id = ? AND created_at <= ?)"
    wordless = f"DELETE FROM testimonial WHERE text = '' AND id IN {own}"  # noqa: S608 - our own names
    others = f"UPDATE testimonial SET kind = 'written' WHERE id IN {own}"  # noqa: S608 - our own names
    recording = "DELETE FROM recording WHERE testimonial_id = ? AND created_at <= ?"
    count = _run(opened, wordless, rows)
    _run(opened, others, rows)
    return count + _run(opened, recording, rows)


def _erase_addresses(opened: sqlite3.Connection, erased: ErasedList) -> int:
    """Disown testimonials again for people whose address somebody else used; see `disown`."""
    rows = [(id, at) for (kind, id), at in erased.items() if kind == ADDRESS]
    query = (
        "SELECT author_email, account_id FROM testimonial JOIN project "
        "ON project.id = project_id WHERE testimonial.id = ? AND author_email NOTNULL "
        "AND testimonial.updated_at <= ?"
    )
    count = 0
    for id, at in rows:
        _forget_in_history(opened, lambda _email, created_at, at=at: created_at <= at, id)  # type: ignore[misc]
        for email, account_id in opened.execute(query, [id, at]).fetchall():
            count += _hold(opened, id, at)
            opened.execute(DISOWNED_MAILS, (email, at))
            opened.execute(UNWANTED, (account_id, hash_email(account_id, email), at))
    return count


def _hold(opened: sqlite3.Connection, id: str, at: int) -> int:
    """Hold a testimonial as spam, without its address."""
    values = {"author_email": "NULL", "email_verified_at": "NULL", "updated_at": str(at)}
    values["held_for"] = f"CASE status WHEN 'withdrawn' THEN held_for ELSE '{DISOWNED}' END"
    values["status"] = "CASE status WHEN 'withdrawn' THEN status ELSE 'spam' END"
    changes = ", ".join(f"{name} = {value}" for name, value in values.items())
    return _run(opened, f"UPDATE testimonial SET {changes} WHERE id = ?", [(id,)])  # noqa: S608 - our own names


def _erase_people(opened: sqlite3.Connection, erased: ErasedList) -> int:
    people = ErasedPeople((id, at) for (kind, id), at in erased.items() if kind == PERSON)
    if people.is_empty:
        return 0

    def list_ids(query: str) -> list[str]:
        return [row[0] for row in opened.execute(query) if people.covers(row[1], row[2])]

    # The author of an answer to a request may have given no address of their own.
    query = "SELECT testimonial_id, email, created_at FROM invitation WHERE testimonial_id NOTNULL"
    ids = {"testimonial": list_ids(query)}
    for table, column, condition in ADDRESSES:
        query = f"SELECT id, {column}, created_at FROM {table} WHERE {condition}"  # noqa: S608 - our own names
        ids[table] = ids.get(table, []) + list_ids(query)
    _forget_in_history(opened, people.covers)
    return sum(_delete(opened, table, rows) for table, rows in ids.items())


def _forget_in_history(
    opened: sqlite3.Connection,
    is_erased: Callable[[str | None, int], bool],
    testimonial_id: str | None = None,
) -> None:
    """Remove erased addresses from the history of one testimonial, or of all."""
    table = next(each for each in ("testimonial_change", "event") if _has_table(opened, each))
    query = f"SELECT id, before, created_at FROM {table} WHERE before LIKE ?"  # noqa: S608 - our own names
    values = ['%"author_email"%']
    if testimonial_id is not None:
        query += " AND testimonial_id = ?"
        values.append(testimonial_id)
    for id, text, created_at in opened.execute(query, values).fetchall():
        before = json.loads(text)
        if is_erased(before.get("author_email"), created_at):
            before.pop("author_email")
            change = (json.dumps(before), id)
            opened.execute(f"UPDATE {table} SET before = ? WHERE id = ?", change)  # noqa: S608 - our own names


def _delete(opened: sqlite3.Connection, table: str, ids: Iterable[str]) -> int:
    rows = [(each,) for each in ids]
    for quoting, column, statement in QUOTES if table == TESTIMONIAL else ():
        query = "SELECT 1 FROM pragma_table_info(?) WHERE name = ?"
        if opened.execute(query, [quoting, column]).fetchone() is not None:
            _run(opened, statement, rows)
    if table == TESTIMONIAL and _has_table(opened, "kept_rating"):
        # Without a reason, a trigger would keep counting the rating.
        _run(opened, "UPDATE testimonial SET set_aside = 'withdrawn' WHERE id = ?", rows)
    return _run(opened, f"DELETE FROM {table} WHERE id = ?", rows)  # noqa: S608 - our own names


def _run(opened: sqlite3.Connection, statement: str, rows: Sequence[tuple[Any, ...]]) -> int:
    return opened.executemany(statement, rows).rowcount if rows else 0


def _has_table(opened: sqlite3.Connection, name: str) -> bool:
    query = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"
    return opened.execute(query, [name]).fetchone() is not None


# Leaving out of an archive what was erased here after it was made.


def leave_out_erased(archive: Archive, stored: Stored) -> int:
    """Remove testimonials and requests that their authors had erased; return how many.

    A project that its owner deleted is no longer erased: its archive may bring it back.
    """
    own = (Erased.kind == PROJECT, Erased.id == archive.project["id"])
    db.session.execute(delete(Erased).where(*own))
    kinds = (TESTIMONIAL, PERSON, RECORDING, ADDRESS)
    erased = db.session.scalars(select(Erased).where(Erased.kind.in_(kinds))).all()
    gone = archive.differences.erased
    if not (erased or gone):
        return 0
    unrecorded = {row.id for row in erased if row.kind == RECORDING}
    gone |= {row.id for row in erased if row.kind == TESTIMONIAL}
    gone |= {
        row["id"]
        for row in archive.lists["testimonials"]
        if row["id"] in unrecorded and row["kind"] != "written" and not row["text"]
    }
    people = ErasedPeople(
        (row.id, clock.to_milliseconds(row.erased_at)) for row in erased if row.kind == PERSON
    )
    lists = archive.lists
    requests = [row for row in lists["invitations"] if _is_covered(people, row, "email")]
    gone |= {row["testimonial_id"] for row in requests if row["testimonial_id"]}
    left_out = [
        row
        for row in lists["testimonials"]
        if row["id"] in gone or _is_covered(people, row, "author_email")
    ]
    _remove(lists, left_out, requests)
    _remove_recordings(lists, unrecorded)
    _disown(archive, {row.id: row.erased_at for row in erased if row.kind == ADDRESS})
    kept = {row["id"] for row in lists["recordings"]}
    remove_after_commit(file for old, (file, _) in stored.items() if old not in kept)
    for change in archive.changes:
        if _is_covered(people, change | change["before"], "author_email"):
            change["before"].pop("author_email")
    return len(left_out) + len(requests)


def _remove_recordings(lists: dict[str, list[Row]], ids: set[str]) -> None:
    for row in lists["testimonials"]:
        if row["id"] in ids:
            row["kind"] = "written"
    posters = {row["poster_id"] for row in lists["recordings"] if row["testimonial_id"] in ids}
    lists["recordings"] = [row for row in lists["recordings"] if row["testimonial_id"] not in ids]
    lists["images"] = [row for row in lists["images"] if row["id"] not in posters]


def _disown(archive: Archive, erased: dict[str, datetime]) -> None:
    """Disown testimonials again for people whose address somebody else used."""
    for row in archive.lists["testimonials"]:
        erased_at = erased.get(row["id"])
        if erased_at is None:
            continue
        for change in row["changes"]:
            change["before"].pop("author_email", None)
        if row["updated_at"] > erased_at or row["author_email"] is None:
            continue
        row["author_email"] = row["email_verified_at"] = None
        if row["status"] != "withdrawn":
            row["status"], row["held_for"] = "spam", DISOWNED


def _is_covered(people: ErasedPeople, row: Row, name: str) -> bool:
    return people.covers(row.get(name), clock.to_milliseconds(row["created_at"]))


def _remove(lists: dict[str, list[Row]], testimonials: list[Row], requests: list[Row]) -> None:
    gone = {row["id"] for row in testimonials}
    request_ids = {row["id"] for row in requests}
    lists["testimonials"] = [row for row in lists["testimonials"] if row["id"] not in gone]
    lists["invitations"] = [row for row in lists["invitations"] if row["id"] not in request_ids]
    for row in lists["invitations"]:
        if row["testimonial_id"] in gone:
            row["testimonial_id"] = None
    pictures = {row["avatar_id"] for row in testimonials}
    pictures |= {row["poster_id"] for row in lists["recordings"] if row["testimonial_id"] in gone}
    lists["recordings"] = [row for row in lists["recordings"] if row["testimonial_id"] not in gone]
    pictures -= {row["avatar_id"] for row in lists["testimonials"]}
    lists["images"] = [row for row in lists["images"] if row["id"] not in pictures]
