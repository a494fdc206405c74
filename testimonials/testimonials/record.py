"""A project's public record: its entries, and the record of one testimonial."""

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

# Entries hold no words or names, only a salted hash; the salt is deleted with the testimonial.

# The columns with words, and their names in entries.
WORDS = {"text": "text", "author_name": "name", "author_role": "role", "author_company": "company"}
# Recorded as a hash: of the words together, and of the digest of each file.
HASHED = {*WORDS, "avatar_id", "kind"}
RECORDED = {*HASHED, "rating", "status", "set_aside", "deleted_at", "submitted_at"}
# The digests of a testimonial's `photo` and `recording`, if it has them.
Digests = Mapping[str, str]


def write_entry(
    row: Any, kind: str, *proofs: str, hashes: Digests | None = None, **more: Any
) -> dict[str, Any]:
    """Return the `entry` of an event, and a `salt` if it has hashes: of the words and of `hashes`.

    `proofs` are those that aren't stored with the testimonial itself.
    """
    if row.status == "demo":
        return {}
    stars = row.rating
    verified = {"order": row.purchase_verified_at, "email": row.email_verified_at}
    entry = {
        "kind": kind,
        "testimonial": row.id,
        "source": row.source,
        "status": row.status,
        "stars": int(stars) if stars is not None and stars == int(stars) else stars,
        "proofs": sorted({*proofs, *(name for name, at in verified.items() if at is not None)}),
    }
    flags = {"insider": row.is_insider, "rewarded": row.is_rewarded}
    entry |= {"marks": marks} if (marks := [name for name in flags if flags[name]]) else {}
    day = row.submitted_at.date()
    entry |= {"day": day.isoformat()} if day != row.created_at.date() else {}
    entry |= {"reason": row.set_aside} if row.set_aside else {}
    entry |= {"deleted": True} if row.deleted_at is not None else {}
    if hashes is None:
        return {"entry": entry | more}
    salt = secrets.token_hex(16)
    entry["words"] = hash_salted(salt, describe_words(row))
    if hashes:
        entry["media"] = {name: hash_salted(salt, digest) for name, digest in hashes.items()}
    return {"entry": entry | more, "salt": salt}


def follow_change(row: Any, before: Mapping[str, Any], digests: Digests) -> dict[str, Any]:
    """Return the entry of a change that was just made, given the values `before`.

    It is empty if neither words nor numbers changed.
    """
    changed = RECORDED.intersection(before)
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


def hash_salted(salt: str, value: Any) -> str:
    return hashlib.sha256((salt + write_canonical(value)).encode()).hexdigest()


def find_digests(rows: Iterable[Any]) -> dict[str, dict[str, str]]:
    """Return the digests of testimonials' media, by testimonial id."""
    rows = list(rows)
    digests, avatars = dict[str, dict[str, str]](), {row.avatar_id for row in rows if row.avatar_id}
    recorded = [row.id for row in rows if row.kind != "written"]
    # Most rows have neither, and building a statement takes longer than running it on SQLite.
    photos, recordings = dict[str, str](), dict[str, str]()
    if avatars:
        photos = _read_digests(select(Image.id, Image.digest).where(Image.id.in_(avatars)))
    if recorded:
        query = select(Recording.testimonial_id, Recording.digest)
        recordings = _read_digests(query.where(Recording.testimonial_id.in_(recorded)))
    for row in rows:
        media = {"photo": photos.get(row.avatar_id), "recording": recordings.get(row.id)}
        digests[row.id] = {name: digest for name, digest in media.items() if digest}
    return digests


def _read_digests(query: Select[*tuple[Any, ...]]) -> dict[str, str]:
    return {id: digest for id, digest in db.session.execute(query) if digest}


def list_entries(row: Testimonial) -> list[dict[str, Any]]:
    """Return the entries of a testimonial, oldest first, each with its `hash`.

    An entry has its `salt` if its words and media are those shown now. If the author agrees,
    earlier entries have theirs too, with the words.
    """
    is_own = Event.testimonial_id == row.id, Event.project_id == row.project_id
    query = select(Event.entry, Event.salt, Event.before).where(*is_own)
    words, digests, entries = describe_words(row), find_digests([row])[row.id], []
    then = words
    for text, salt, before in db.session.execute(query.order_by(Event.number.desc())).all():
        if text is not None:
            entry = json.loads(str(text))
            item = {"entry": entry, "hash": hash_entry(str(text))}
            if salt and hash_salted(salt, words) == entry["words"] and _match(digests, entry, salt):
                item["salt"] = salt
            elif salt and row.shows_earlier and hash_salted(salt, then) == entry["words"]:
                item |= {"salt": salt, "words": then}
            entries.append(item)
        then = then | {
            WORDS[name]: old or "" for name, old in (before or {}).items() if name in WORDS
        }
    return entries[::-1]


def _match(digests: Digests, entry: Mapping[str, Any], salt: str) -> bool:
    media = entry.get("media", {}).items()
    return all(hash_salted(salt, digests.get(name, "")) == hashed for name, hashed in media)


def group_entries(log: Log) -> dict[str, list[dict[str, Any]]]:
    entries: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for entry in log.entries:
        if "testimonial" in entry:
            entries[entry["testimonial"]].append(entry)
    return entries


def is_kept(entry: Mapping[str, Any]) -> bool:
    """Return whether a rating still counts once its testimonial is gone, by its newest entry."""
    is_genuine = "reason" not in entry and entry["status"] not in ("withdrawn", "spam")
    return is_genuine and entry["source"] == "public_page" and entry["stars"] is not None


def find_gone(project_id: str) -> dict[str, list[dict[str, Any]]]:
    """Return the entries, oldest first, of each testimonial that was set aside and is gone."""
    query = select(Event.testimonial_id, Event.entry).where(*_are_gone(project_id))
    gone: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for id, entry in db.session.execute(query.order_by(Event.number)):
        gone[str(id)].append(json.loads(str(entry)))
    return {id: entries for id, entries in gone.items() if "reason" in entries[-1]}


def count_gone(project_id: str) -> dict[str, int]:
    """Return how many testimonials were set aside and are gone, by their last reason."""
    row, gone = Event, _are_gone(project_id)
    newest = select(func.max(row.number)).where(*gone).group_by(row.testimonial_id)
    # The entries are canonical JSON without anybody's words.
    named = (row.entry.contains(f'"reason":"{each}"', autoescape=True) for each in REASONS)
    counts = (func.count().filter(each) for each in named)
    query = select(*counts).where(row.project_id == project_id, row.number.in_(newest))
    return dict(zip(REASONS, db.session.execute(query).one(), strict=True))


def count_gone_before(project_id: str) -> dict[str, int]:
    """Return the same numbers for the time before a project was imported, from its first entry."""
    query = select(Event.entry).where(Event.project_id == project_id, Event.entry.is_not(None))
    first = db.session.scalar(query.order_by(Event.number).limit(1))
    counts: dict[str, int] = json.loads(str(first)).get("aside", {}) if first else {}
    return counts


def _are_gone(project_id: str) -> Sequence[ColumnElement[bool]]:
    row = Event
    aside = select(row.testimonial_id).where(row.project_id == project_id, row.reason.is_not(None))
    return (
        row.project_id == project_id,
        row.entry.is_not(None),
        row.testimonial_id.in_(aside),
        ~exists().where(Testimonial.id == row.testimonial_id),
    )


# Entries for testimonials that are older than the record, or were imported.

BEGIN = "record.begin"


@every("record.begin-each", is_due=lambda row: row.finished_at is None)
def begin_all() -> None:
    """Begin the records of all projects; this runs only once."""
    with write():
        for project_id in db.session.scalars(select(Project.id)).all():
            enqueue(BEGIN, project_id=project_id)


@job(BEGIN, "jobs", longest=timedelta(hours=1))
def begin_record(project_id: str, asked: Sequence[str] = ()) -> None:
    """Add an entry for each testimonial of a project that has none, dated when it was created.

    `asked` are the ids of those that answered a request, according to an imported record.
    """
    fill_digests(project_id)
    row = Testimonial
    is_noted = exists().where(Event.testimonial_id == row.id, Event.entry.is_not(None))
    conditions = row.project_id == project_id, row.status != "demo", ~is_noted
    in_order = row.created_at, row.id
    ids = db.session.scalars(select(row.id).where(*conditions).order_by(*in_order)).all()
    if not ids:
        return
    with write(partial(db.session.get, Project, project_id, with_for_update=True)) as project:
        for chunk in in_batches(ids):
            if project is None:
                return
            query = select(row).where(*conditions, row.id.in_(chunk)).order_by(*in_order)
            add_entries(project, db.session.scalars(query).all(), set(asked))


def fill_digests(project_id: str) -> None:
    """Store the missing digests of a project's photos and recordings."""
    photos = select(Image.id).join(Testimonial, Testimonial.avatar_id == Image.id)
    photos = photos.where(Testimonial.project_id == project_id, Image.digest.is_(None))
    for id in db.session.scalars(photos).all():
        content = db.session.scalar(select(Image.content).where(Image.id == id))
        _set_digest(Image, id, hashlib.sha256(content or b"").hexdigest())
    is_ready = Recording.project_id == project_id, Recording.state == "ready"
    query = select(Recording.id).where(*is_ready, Recording.digest.is_(None))
    for id in db.session.scalars(query).all():
        with contextlib.suppress(FileNotFoundError), path_of(id).open("rb") as file:
            _set_digest(Recording, id, hashlib.file_digest(file, "sha256").hexdigest())


def _set_digest(model: Any, id: str, digest: str) -> None:
    with write():
        db.session.execute(update(model).where(model.id == id).values(digest=digest))


def continue_record(project: Project, log: Log | None, asked: Sequence[str], **more: Any) -> None:
    """Begin the record of a locked, imported project, after the head of its old `log`.

    `more` is what the log doesn't say.
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
    """Add the first entries of testimonials that are older than the locked project's record."""
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
    """Add an entry that belongs to no other event (`write_entry`)."""
    entry = {"testimonial_id": row.id, "type": "", "before": None, "created_at": clock.now()}
    entry |= write_entry(row, kind, **more)
    record_changes(project, [entry], by, batch_id=new_identifier())


def note_photos(project: Project, rows: Sequence[Testimonial]) -> None:
    """Add an entry for each testimonial whose photo was just copied."""
    db.session.flush()
    digests, common = find_digests(rows), {"type": "", "before": None, "created_at": clock.now()}
    entries = [
        common | {"testimonial_id": row.id} | write_entry(row, "changed", hashes=digests[row.id])
        for row in rows
    ]
    if entries:
        record_changes(project, entries, batch_id=new_identifier())
