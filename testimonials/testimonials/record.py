"""A project's public record: what each of its entries says, and the record of one testimonial."""

import contextlib
import hashlib
import json
import secrets
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import timedelta
from functools import partial
from typing import Any

from sqlalchemy import ColumnElement, Select, exists, func, select, update

from testimonials.core import clock
from testimonials.core.audit import Actor, Event, record_changes
from testimonials.core.chain import Log, hash_entry, write_canonical
from testimonials.core.db.identifiers import new_identifier
from testimonials.core.db.transactions import in_batches, write
from testimonials.core.extensions import db
from testimonials.core.images.uploads import Image
from testimonials.core.jobs import enqueue, every, job
from testimonials.projects.models import Project
from testimonials.testimonials.media.recordings import path_of
from testimonials.testimonials.models import REASONS, Recording, Testimonial

# Entries. None has words or names, only their salted hash: the salt goes with the testimonial.

# Column of the words that are shown to what they are called.
WORDS = {
    "text": "text",
    "author_name": "name",
    "author_role": "role",
    "author_company": "company",
}
# What is told by a hash; media by that of their own digests.
HASHED = {*WORDS, "avatar_id", "kind"}
TOLD = {*HASHED, "rating", "status", "set_aside", "deleted_at", "submitted_at"}
# The digests of a testimonial's `photo` and `recording`, as far as it has them.
Digests = Mapping[str, str]


def write_entry(
    row: Any, kind: str, *proofs: str, hashes: Digests | None = None, **more: Any
) -> dict[str, Any]:
    """Return the `entry` of an event; with `hashes` of words and media, their `salt`, too.

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
    marks = {"insider": row.is_insider, "rewarded": row.is_rewarded}
    entry |= {"marks": found} if (found := [name for name in marks if marks[name]]) else {}
    day = row.submitted_at.date()
    entry |= {"day": day.isoformat()} if day != row.created_at.date() else {}
    entry |= {"reason": row.set_aside} if row.set_aside else {}
    entry |= {"deleted": True} if row.deleted_at is not None else {}
    if hashes is None:
        return {"entry": entry | more}
    salt = secrets.token_hex(16)
    entry["words"] = hash_told(salt, describe_words(row))
    if hashes:
        entry["media"] = {name: hash_told(salt, digest) for name, digest in hashes.items()}
    return {"entry": entry | more, "salt": salt}


def follow_change(row: Any, before: Mapping[str, Any], digests: Digests) -> dict[str, Any]:
    """Return the entry of a change that was just made, by what the columns were before.

    Nothing for what concerns neither the words nor the numbers.
    """
    changed = TOLD.intersection(before)
    if not changed:
        return {}
    hashes = None if changed.isdisjoint(HASHED) else digests
    is_shorter = "text" in changed and len(row.text) < len(before["text"] or "")
    more = {"shortened": True} if is_shorter else {}
    return write_entry(row, _name_kind(row, changed), hashes=hashes, **more)


def _name_kind(row: Any, changed: set[str]) -> str:
    if "deleted_at" in changed:
        return "deleted" if row.deleted_at is not None else "restored"
    if "set_aside" in changed and row.set_aside is not None:
        return "set-aside"
    return "changed" if changed - {"status", "set_aside"} else "decided"


def describe_words(row: Any) -> dict[str, str]:
    return {name: getattr(row, column) or "" for column, name in WORDS.items()}


def hash_told(salt: str, value: Any) -> str:
    return hashlib.sha256((salt + write_canonical(value)).encode()).hexdigest()


def find_digests(rows: Iterable[Any]) -> dict[str, dict[str, str]]:
    """Return the digests of the media of testimonials, by their ids."""
    rows = list(rows)
    found, faces = dict[str, dict[str, str]](), {row.avatar_id for row in rows if row.avatar_id}
    spoken = [row.id for row in rows if row.kind != "written"]
    # Building a statement takes longer than SQLite needs for one, and most rows have neither.
    photos, recordings = dict[str, str](), dict[str, str]()
    if faces:
        photos = _read_known(select(Image.id, Image.digest).where(Image.id.in_(faces)))
    if spoken:
        of_spoken = select(Recording.testimonial_id, Recording.digest)
        recordings = _read_known(of_spoken.where(Recording.testimonial_id.in_(spoken)))
    for row in rows:
        media = {"photo": photos.get(row.avatar_id), "recording": recordings.get(row.id)}
        found[row.id] = {name: digest for name, digest in media.items() if digest}
    return found


def _read_known(query: Select[*tuple[Any, ...]]) -> dict[str, str]:
    return {id: digest for id, digest in db.session.execute(query) if digest}


def list_entries(row: Testimonial) -> list[dict[str, Any]]:
    """Return the entries of a testimonial, the oldest first, each with its `hash`.

    Those whose words and media are shown now have their `salt`; earlier words stay with who wrote
    them, unless they agree: then they stand beside their entry.
    """
    of = Event.testimonial_id == row.id, Event.project_id == row.project_id
    query = select(Event.entry, Event.salt, Event.before).where(*of).order_by(Event.number.desc())
    words, digests, found = describe_words(row), find_digests([row])[row.id], []
    then = words
    for text, salt, before in db.session.execute(query).all():
        if text is not None:
            entry = json.loads(str(text))
            told = {"entry": entry, "hash": hash_entry(str(text))}
            if salt and hash_told(salt, words) == entry["words"] and _are(digests, entry, salt):
                told["salt"] = salt
            elif salt and row.shows_earlier and hash_told(salt, then) == entry["words"]:
                told |= {"salt": salt, "words": then}
            found.append(told)
        then = then | {
            WORDS[name]: old or "" for name, old in (before or {}).items() if name in WORDS
        }
    return found[::-1]


def _are(digests: Digests, entry: Mapping[str, Any], salt: str) -> bool:
    """Tell whether the media of an entry are these, as far as it has some."""
    told = entry.get("media", {})
    return all(hash_told(salt, digests.get(name, "")) == told[name] for name in told)


def group_entries(log: Log) -> dict[str, list[dict[str, Any]]]:
    """Return the entries of each testimonial of a log, oldest first."""
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for entry in log.entries:
        if "testimonial" in entry:
            found[entry["testimonial"]].append(entry)
    return found


def is_kept(entry: Mapping[str, Any]) -> bool:
    """Tell whether the rating of a testimonial with this newest entry counts once it is gone."""
    is_genuine = "reason" not in entry and entry["status"] not in ("withdrawn", "spam")
    return is_genuine and entry["source"] == "public_page" and entry["stars"] is not None


def find_gone(project_id: str) -> dict[str, list[dict[str, Any]]]:
    """Return the entries of the record, oldest first, of what was set aside and is gone."""
    query = select(Event.testimonial_id, Event.entry).where(*_are_gone(project_id))
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for id, entry in db.session.execute(query.order_by(Event.number)):
        found[str(id)].append(json.loads(str(entry)))
    return {id: entries for id, entries in found.items() if "reason" in entries[-1]}


def count_gone(project_id: str) -> dict[str, int]:
    """Return how many of these there are, by the reasons of their newest entries."""
    of, gone = Event, _are_gone(project_id)
    newest = select(func.max(of.number)).where(*gone).group_by(of.testimonial_id)
    # Canonical JSON, in which nobody's words are.
    named = (of.entry.contains(f'"reason":"{each}"', autoescape=True) for each in REASONS)
    counts = (func.count().filter(each) for each in named)
    query = select(*counts).where(of.project_id == project_id, of.number.in_(newest))
    return dict(zip(REASONS, db.session.execute(query).one(), strict=True))


def read_brought(project_id: str) -> dict[str, int]:
    """Return the same of those that were gone where the project came from, as its log says."""
    query = select(Event.entry).where(Event.project_id == project_id, Event.entry.is_not(None))
    first = db.session.scalar(query.order_by(Event.number).limit(1))
    brought: dict[str, int] = json.loads(str(first)).get("aside", {}) if first else {}
    return brought


def _are_gone(project_id: str) -> Sequence[ColumnElement[bool]]:
    of = Event
    aside = select(of.testimonial_id).where(of.project_id == project_id, of.reason.is_not(None))
    return (
        of.project_id == project_id,
        of.entry.is_not(None),
        of.testimonial_id.in_(aside),
        ~exists().where(Testimonial.id == of.testimonial_id),
    )


# What was there before there was a record, and what comes with an archive.

BEGIN = "record.begin"


@every("record.begin-each", is_due=lambda row: row.finished_at is None)
def begin_all() -> None:
    """Let the records of all projects begin, once."""
    with write():
        for project_id in db.session.scalars(select(Project.id)).all():
            enqueue(BEGIN, project_id=project_id)


@job(BEGIN, "jobs", longest=timedelta(hours=1))
def begin_record(project_id: str, asked: Sequence[str] = ()) -> None:
    """Write an entry for each testimonial of a project that has none yet, with its own time.

    `asked` are the ids of those that answer a request, as the record says that they came with.
    """
    fill_digests(project_id)
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
            add_entries(project, db.session.scalars(found).all(), set(asked))


def fill_digests(project_id: str) -> None:
    """Note the digests of a project's pictures and recordings from before there were any."""
    of, missing = Testimonial.project_id == project_id, Image.digest.is_(None)
    faces = select(Image.id).join(Testimonial, Testimonial.avatar_id == Image.id)
    for id in db.session.scalars(faces.where(of, missing)).all():
        content = db.session.scalar(select(Image.content).where(Image.id == id))
        _set_digest(Image, id, hashlib.sha256(content or b"").hexdigest())
    spoken = Recording.project_id == project_id, Recording.state == "ready"
    query = select(Recording.id).where(*spoken, Recording.digest.is_(None))
    for id in db.session.scalars(query).all():
        with contextlib.suppress(FileNotFoundError), path_of(id).open("rb") as file:
            _set_digest(Recording, id, hashlib.file_digest(file, "sha256").hexdigest())


def _set_digest(model: Any, id: str, digest: str) -> None:
    with write():
        db.session.execute(update(model).where(model.id == id).values(digest=digest))


def continue_record(project: Project, log: Log | None, asked: Sequence[str], **more: Any) -> None:
    """Begin the record of a locked project that came from elsewhere, after the head of that one.

    `more` is what that one doesn't say, as far as there is any.
    """
    entry = {name: value for name, value in more.items() if value}
    if log is not None:
        entry |= {"head": log.head, "key": log.key}
    if entry:
        entry |= {"kind": "continued", "by": "service"}
        row = {"type": "", "before": None, "created_at": clock.now(), "entry": entry}
        record_changes(project, [row], batch_id=new_identifier())
    enqueue(BEGIN, project_id=project.id, asked=asked)
    db.session.flush()


def add_entries(project: Project, rows: Sequence[Testimonial], asked: Collection[str] = ()) -> None:
    """Write what is known of testimonials of the locked project from before their record began."""
    digests = find_digests(rows)
    entries = [
        {"testimonial_id": row.id, "type": "", "before": None, "created_at": row.created_at}
        | write_entry(
            row,
            "received",
            *(["request"] if row.id in asked else []),
            hashes=digests[row.id],
            backfilled=True,
            by="author" if row.source == "public_page" else "owner",
        )
        for row in rows
    ]
    if entries:
        record_changes(project, entries, batch_id=new_identifier())


def note(
    project: Project, row: Testimonial, kind: str, by: Actor | None = None, **more: Any
) -> None:
    """Write an entry about a testimonial of which nobody else is told; see `write_entry`."""
    entry = {"testimonial_id": row.id, "type": "", "before": None, "created_at": clock.now()}
    entry |= write_entry(row, kind, **more)
    record_changes(project, [entry], by, batch_id=new_identifier())


def note_photos(project: Project, rows: Sequence[Testimonial]) -> None:
    """Write an entry for each of the testimonials that were just given a copy of their photo."""
    db.session.flush()
    digests, common = find_digests(rows), {"type": "", "before": None, "created_at": clock.now()}
    entries = [
        common | {"testimonial_id": row.id} | write_entry(row, "changed", hashes=digests[row.id])
        for row in rows
    ]
    if entries:
        record_changes(project, entries, batch_id=new_identifier())
