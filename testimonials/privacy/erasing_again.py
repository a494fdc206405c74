"""Erasing from a database that is being restored what was erased after it was backed up.

The database is an SQLite file that nothing has open, and may be of an older revision.
"""

import json
import sqlite3
from collections.abc import Iterable
from pathlib import Path

from testimonials.core.data.erased import ACCOUNT, PERSON, PROJECT, TESTIMONIAL, ErasedPeople
from testimonials.core.data.sqlite_file import list_recordings, open_file
from testimonials.media.store import FOLDER
from testimonials.privacy.erased_list import ErasedList

TABLES = (ACCOUNT, PROJECT, TESTIMONIAL)
# Where the addresses of authors are. Other mails to an address are an account's.
ADDRESSES = (
    ("testimonial", "author_email", "author_email NOTNULL"),
    ("invitation", "email", "1"),
    ("outbox_mail", "recipient", "purpose IN ('author-link', 'invitation', 'invitation-reminder')"),
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
        count = _erase_rows(opened, erased) + _erase_people(opened, erased)
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
    _forget_in_history(opened, people)
    return sum(_delete(opened, table, ids) for table, ids in found.items())


def _forget_in_history(opened: sqlite3.Connection, people: ErasedPeople) -> None:
    """Remove the addresses from what other testimonials said before."""
    query = "SELECT id, before, created_at FROM testimonial_change WHERE before LIKE ?"
    for id, text, created_at in opened.execute(query, ['%"author_email"%']).fetchall():
        before = json.loads(text)
        if people.covers(before.get("author_email"), created_at):
            before.pop("author_email")
            values = (json.dumps(before), id)
            opened.execute("UPDATE testimonial_change SET before = ? WHERE id = ?", values)


def _delete(opened: sqlite3.Connection, table: str, ids: Iterable[str]) -> int:
    rows = [(each,) for each in ids]
    return opened.executemany(f"DELETE FROM {table} WHERE id = ?", rows).rowcount if rows else 0  # noqa: S608


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
