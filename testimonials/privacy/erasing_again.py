"""Erasing from a database that is being restored what was erased after it was backed up.

The database is an SQLite file that nothing has open, and may be of an older revision.
"""

import json
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from testimonials.collection.models import hash_email
from testimonials.core.data.erased import (
    ACCOUNT,
    ADDRESS,
    PERSON,
    PROJECT,
    RECORDING,
    TESTIMONIAL,
    ErasedPeople,
)
from testimonials.core.data.sqlite_file import list_recordings, open_file
from testimonials.media.store import FOLDER
from testimonials.privacy.erased_list import ErasedList
from testimonials.testimonials.events import DISOWNED

TABLES = (ACCOUNT, PROJECT, TESTIMONIAL)
# Where the addresses of authors are. Other mails to an address are an account's.
ADDRESSES = (
    ("testimonial", "author_email", "author_email NOTNULL"),
    ("invitation", "email", "1"),
    ("outbox_mail", "recipient", "purpose IN ('author-link', 'invitation', 'invitation-reminder')"),
)
UNWANTED = (
    "INSERT OR IGNORE INTO unsubscribed_address (account_id, email_hash, created_at) "
    "VALUES (?, ?, ?)"
)
DISOWNED_MAILS = (
    "DELETE FROM outbox_mail WHERE purpose = 'author-link' AND recipient = ? AND created_at <= ?"
)


def erase_again(work: Path, database: Path, erased: ErasedList) -> int:
    """Erase what the list names from an unpacked backup; return how many rows it had of it."""
    if not erased:
        return 0
    with open_file(database) as opened:
        # What is erased must not be legible in the file.
        opened.execute("PRAGMA secure_delete=ON")
        opened.execute("PRAGMA foreign_keys=ON")
        opened.execute("BEGIN IMMEDIATE")
        count = _erase_rows(opened, erased) + _erase_recordings(opened, erased)
        count += _erase_addresses(opened, erased) + _erase_people(opened, erased)
        _keep(opened, erased)
        opened.execute("COMMIT")
        if count:
            # The index of words is kept in pieces, which hold what was removed until merged.
            _merge_words(opened)
    kept = set(list_recordings(database))
    for file in list((work / FOLDER).iterdir()):
        if file.name not in kept:
            file.unlink()
    return count


def _erase_rows(opened: sqlite3.Connection, erased: ErasedList) -> int:
    return sum(
        _delete(opened, kind, [id for each, id in erased if each == kind]) for kind in TABLES
    )


def _erase_recordings(opened: sqlite3.Connection, erased: ErasedList) -> int:
    """Remove recordings; a testimonial that had no words yet goes with its own."""
    if not _has_table(opened, "recording"):
        return 0
    rows = [(id, at) for (kind, id), at in erased.items() if kind == RECORDING]
    own = "(SELECT testimonial_id FROM recording WHERE testimonial_id = ? AND created_at <= ?)"
    wordless = f"DELETE FROM testimonial WHERE text = '' AND id IN {own}"  # noqa: S608
    spoken = f"UPDATE testimonial SET kind = 'written' WHERE id IN {own}"  # noqa: S608
    recording = "DELETE FROM recording WHERE testimonial_id = ? AND created_at <= ?"
    count = _run(opened, wordless, rows)
    _run(opened, spoken, rows)
    return count + _run(opened, recording, rows)


def _erase_addresses(opened: sqlite3.Connection, erased: ErasedList) -> int:
    """Do again what somebody wished who hadn't written a testimonial: see `disown`."""
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
            _run(opened, DISOWNED_MAILS, [(email, at)])
            unwanted = [(account_id, hash_email(account_id, email), at)]
            _run(opened, UNWANTED, unwanted)
    return count


def _hold(opened: sqlite3.Connection, id: str, at: int) -> int:
    """Hold a testimonial as spam, without its address."""
    columns = {row[1] for row in opened.execute("PRAGMA table_info(testimonial)")}
    values = {"author_email": "NULL", "email_verified_at": "NULL", "updated_at": str(at)}
    values["held_for"] = f"CASE status WHEN 'withdrawn' THEN held_for ELSE '{DISOWNED}' END"
    values["status"] = "CASE status WHEN 'withdrawn' THEN status ELSE 'spam' END"
    changes = ", ".join(f"{name} = {value}" for name, value in values.items() if name in columns)
    return _run(opened, f"UPDATE testimonial SET {changes} WHERE id = ?", [(id,)])  # noqa: S608


def _erase_people(opened: sqlite3.Connection, erased: ErasedList) -> int:
    people = ErasedPeople((id, at) for (kind, id), at in erased.items() if kind == PERSON)
    if people.is_empty:
        return 0
    # Who answered a request need not have given an address again.
    query = "SELECT testimonial_id, email, created_at FROM invitation WHERE testimonial_id NOTNULL"
    found = {
        "testimonial": [row[0] for row in opened.execute(query) if people.covers(row[1], row[2])]
    }
    for table, column, condition in ADDRESSES:
        query = f"SELECT id, {column}, created_at FROM {table} WHERE {condition}"  # noqa: S608
        found.setdefault(table, []).extend(
            row[0] for row in opened.execute(query) if people.covers(row[1], row[2])
        )
    _forget_in_history(opened, people.covers)
    return sum(_delete(opened, table, ids) for table, ids in found.items())


def _forget_in_history(
    opened: sqlite3.Connection,
    is_erased: Callable[[str | None, int], bool],
    testimonial_id: str | None = None,
) -> None:
    """Remove addresses from what one testimonial, or any, said before."""
    query = "SELECT id, before, created_at FROM testimonial_change WHERE before LIKE ?"
    values = ['%"author_email"%']
    if testimonial_id is not None:
        query += " AND testimonial_id = ?"
        values.append(testimonial_id)
    for id, text, created_at in opened.execute(query, values).fetchall():
        before = json.loads(text)
        if is_erased(before.get("author_email"), created_at):
            before.pop("author_email")
            change = (json.dumps(before), id)
            opened.execute("UPDATE testimonial_change SET before = ? WHERE id = ?", change)


def _delete(opened: sqlite3.Connection, table: str, ids: Iterable[str]) -> int:
    return _run(opened, f"DELETE FROM {table} WHERE id = ?", [(each,) for each in ids])  # noqa: S608


def _run(opened: sqlite3.Connection, statement: str, rows: Sequence[tuple[Any, ...]]) -> int:
    return opened.executemany(statement, rows).rowcount if rows else 0


def _keep(opened: sqlite3.Connection, erased: ErasedList) -> None:
    """Have the restored database know it too; one that is older learns it from the file."""
    if _has_table(opened, "erased"):
        rows = [(kind, id, at) for (kind, id), at in erased.items()]
        opened.executemany(
            "INSERT OR REPLACE INTO erased (kind, id, erased_at) VALUES (?, ?, ?)", rows
        )


def _merge_words(opened: sqlite3.Connection) -> None:
    if _has_table(opened, "testimonial_search"):
        opened.execute("INSERT INTO testimonial_search (testimonial_search) VALUES ('optimize')")


def _has_table(opened: sqlite3.Connection, name: str) -> bool:
    query = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"
    return opened.execute(query, [name]).fetchone() is not None
