"""A project's public record: what each of its entries says, and the record of one testimonial."""

import hashlib
import json
import secrets
from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import partial
from typing import Any

from sqlalchemy import exists, select

from testimonials.core import clock
from testimonials.core.audit import Actor, Event, record_changes
from testimonials.core.chain import Log, hash_entry, write_canonical
from testimonials.core.db.identifiers import new_identifier
from testimonials.core.db.transactions import in_batches, write
from testimonials.core.extensions import db
from testimonials.core.jobs import enqueue, every, job
from testimonials.projects.models import Project
from testimonials.testimonials.models import Testimonial

# Entries. None has words or names, only their salted hash: the salt goes with the testimonial.

# What an entry says of a testimonial, whatever happened to it.
STATE = (
    Testimonial.source,
    Testimonial.rating,
    Testimonial.set_aside,
    Testimonial.purchase_verified_at,
    Testimonial.email_verified_at,
)
# Column of the words that are shown to what they are called.
WORDS = {
    "text": "text",
    "author_name": "name",
    "author_role": "role",
    "author_company": "company",
}
TOLD = {*WORDS, "rating", "status", "set_aside", "deleted_at"}


def write_entry(
    row: Any, kind: str, *proofs: str, has_words: bool = False, **more: Any
) -> dict[str, Any]:
    """Return the `entry` of an event, and the `salt` of its hash of the words.

    `proofs` are those that the testimonial itself doesn't tell of.
    """
    if row.status == "demo":
        return {}
    stars = row.rating
    known = {"order": row.purchase_verified_at, "email": row.email_verified_at}
    entry = {
        "kind": kind,
        "testimonial": row.id,
        "source": row.source,
        "status": row.status,
        "stars": int(stars) if stars is not None and stars == int(stars) else stars,
        "proofs": sorted({*proofs, *(name for name, at in known.items() if at is not None)}),
    }
    entry |= {"reason": row.set_aside} if row.set_aside else {}
    entry |= {"deleted": True} if row.deleted_at is not None else {}
    if not has_words:
        return {"entry": entry | more}
    salt = secrets.token_hex(16)
    entry["words"] = hash_words(salt, describe_words(row))
    return {"entry": entry | more, "salt": salt}


def follow_change(row: Any, before: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entry of a change that was just made, by what the columns were before.

    Nothing for what concerns neither the words nor the numbers.
    """
    changed = TOLD.intersection(before)
    if not changed:
        return {}
    has_words = not changed.isdisjoint(WORDS)
    is_shorter = "text" in changed and len(row.text) < len(before["text"] or "")
    more = {"shortened": True} if is_shorter else {}
    return write_entry(row, _name_kind(row, changed), has_words=has_words, **more)


def _name_kind(row: Any, changed: set[str]) -> str:
    if "deleted_at" in changed:
        return "deleted" if row.deleted_at is not None else "restored"
    if "set_aside" in changed and row.set_aside is not None:
        return "set-aside"
    return "changed" if changed - {"status", "set_aside"} else "decided"


def describe_words(row: Any) -> dict[str, str]:
    return {name: getattr(row, column) or "" for column, name in WORDS.items()}


def hash_words(salt: str, words: Mapping[str, Any]) -> str:
    return hashlib.sha256((salt + write_canonical(words)).encode()).hexdigest()


def list_entries(row: Testimonial) -> list[dict[str, Any]]:
    """Return the entries of a testimonial, the oldest first, each with its `hash`.

    Those whose words are shown now have their `salt`; earlier words stay with who wrote them.
    """
    query = select(Event.entry, Event.salt).where(
        Event.testimonial_id == row.id, Event.project_id == row.project_id, Event.entry.is_not(None)
    )
    words, found = describe_words(row), []
    for text, salt in db.session.execute(query.order_by(Event.number)).all():
        entry = json.loads(str(text))
        is_shown = salt and hash_words(salt, words) == entry["words"]
        told = {"entry": entry, "hash": hash_entry(str(text))}
        found.append(told | ({"salt": salt} if is_shown else {}))
    return found


# What was there before there was a record, and what comes with an archive.

BEGIN = "record.begin"


@every("record.begin-each", is_due=lambda row: row.finished_at is None)
def begin_all() -> None:
    """Let the records of all projects begin, once."""
    with write():
        for project_id in db.session.scalars(select(Project.id)).all():
            enqueue(BEGIN, project_id=project_id)


@job(BEGIN, "jobs", longest=timedelta(hours=1))
def begin_record(project_id: str) -> None:
    """Write an entry for each testimonial of a project that has none yet, with its own time."""
    row = Testimonial
    is_noted = exists().where(Event.testimonial_id == row.id, Event.entry.is_not(None))
    wanted = row.project_id == project_id, row.status != "demo", ~is_noted
    in_order = row.created_at, row.id
    ids = db.session.scalars(select(row.id).where(*wanted).order_by(*in_order)).all()
    if not ids:
        return
    with write(partial(db.session.get, Project, project_id, with_for_update=True)) as project:
        for some in in_batches(ids):
            if project is None:
                return
            found = select(row).where(*wanted, row.id.in_(some)).order_by(*in_order)
            add_entries(project, db.session.scalars(found).all())


def continue_record(project: Project, log: Log | None) -> None:
    """Begin the record of a locked project that came from elsewhere, after the head of that one."""
    if log is not None:
        entry = {"kind": "continued", "by": "service", "head": log.head, "key": log.key}
        row = {"type": "", "before": None, "created_at": clock.now(), "entry": entry}
        record_changes(project, [row], batch_id=new_identifier())
    enqueue(BEGIN, project_id=project.id)
    db.session.flush()


def add_entries(project: Project, rows: Sequence[Testimonial]) -> None:
    """Write what is known of testimonials of the locked project from before their record began."""
    entries = [
        {"testimonial_id": row.id, "type": "", "before": None, "created_at": row.created_at}
        | write_entry(row, "received", has_words=True, backfilled=True, by=_guess_sender(row))
        for row in rows
    ]
    if entries:
        record_changes(project, entries, batch_id=new_identifier())


def _guess_sender(row: Testimonial) -> str:
    return "author" if row.source == "public_page" else "owner"


def note(
    project: Project, row: Testimonial, kind: str, by: Actor | None = None, **more: Any
) -> None:
    """Write an entry about a testimonial of which nobody else is told; see `write_entry`."""
    entry = {"testimonial_id": row.id, "type": "", "before": None, "created_at": clock.now()}
    entry |= write_entry(row, kind, **more)
    record_changes(project, [entry], by, batch_id=new_identifier())
