"""Signed heads of public records: keys, signing, logs as files, and checking them."""

import hashlib
import json
import secrets
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import select

from testimonials.core import clock
from testimonials.core.audit import Event, find_newest_entry
from testimonials.core.chain import Log, LogInvalid, hash_entry, write_canonical
from testimonials.core.db.engine import insert_into
from testimonials.core.db.identifiers import first_identifier
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db
from testimonials.core.faults import refusing
from testimonials.core.http.signing import require_key
from testimonials.core.jobs import every, has_passed
from testimonials.testimonials.counts import BILLION, average
from testimonials.testimonials.models import OVERDUE_DAYS, RecordHead, SigningKey
from testimonials.testimonials.record import hash_salted

# Keys are in the database, so that all hosts and backups have the same.

PURPOSE = b"testimonials: signing the public record"
NONCE_LENGTH = 12


def rotate_key() -> SigningKey:
    """Create the key to sign with from now on; the caller commits."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    for each in db.session.scalars(select(SigningKey).where(SigningKey.retired_at.is_(None))):
        each.retired_at = clock.now()
    private = Ed25519PrivateKey.generate()
    public, nonce = private.public_key().public_bytes_raw(), secrets.token_bytes(NONCE_LENGTH)
    sealed = nonce + _make_cipher().encrypt(nonce, private.private_bytes_raw(), None)
    name = hashlib.sha256(public).hexdigest()[:16]
    key = SigningKey(id=name, public_key=public.hex(), private_key=sealed.hex())
    db.session.add(key)
    db.session.flush()
    return key


def list_keys() -> list[SigningKey]:
    return list(db.session.scalars(select(SigningKey).order_by(SigningKey.created_at.desc())))


def _make_cipher() -> Any:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    derived = HKDF(algorithm=SHA256(), length=32, salt=None, info=PURPOSE)
    return AESGCM(derived.derive(require_key().encode()))


def _open_key() -> tuple[SigningKey, Any]:
    """Return the current key to sign with; if the secret key has changed, a new one."""
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    newest = select(SigningKey).where(SigningKey.retired_at.is_(None))
    key = db.session.scalars(newest.order_by(SigningKey.created_at.desc()).limit(1)).first()
    key = key or rotate_key()
    try:
        private = _unseal(key)
    except InvalidTag:
        private = _unseal(key := rotate_key())
    return key, Ed25519PrivateKey.from_private_bytes(private)


def _unseal(key: SigningKey) -> bytes:
    sealed = bytes.fromhex(key.private_key)
    opened: bytes = _make_cipher().decrypt(sealed[:NONCE_LENGTH], sealed[NONCE_LENGTH:], None)
    return opened


@every("record.sign", "webhooks", lambda row: has_passed(row.started_at, timedelta(seconds=10)))
def sign_heads() -> None:
    """Sign the heads of the records that have new entries."""
    # Long enough for a late run; older heads are signed on request.
    since = first_identifier(clock.now() - timedelta(minutes=2))
    query = select(Event.project_id).where(Event.id >= since, Event.entry.is_not(None)).distinct()
    for project_id in db.session.scalars(query).all():
        find_head(str(project_id))


def find_head(project_id: str) -> RecordHead | None:
    """Return the signed head of a project's record, signing it if necessary; None if empty."""
    head, entry = _read_head(project_id)
    if entry is None:
        return head
    with write():
        # Others may have written in the meantime.
        if (entry := db.session.scalar(find_newest_entry(project_id))) is None:
            return None
        values = _make_head(project_id, entry)
        insert = insert_into(db.session(), RecordHead).values(**values)
        insert = insert.on_conflict_do_update(index_elements=[RecordHead.project_id], set_=values)
        db.session.execute(insert)
        return db.session.get_one(RecordHead, project_id, populate_existing=True)


def read_head(project_id: str) -> RecordHead | None:
    """Return the signed head within the caller's snapshot, without storing it."""
    head, entry = _read_head(project_id)
    return head if entry is None else RecordHead(**_make_head(project_id, entry))


def _read_head(project_id: str) -> tuple[RecordHead | None, str | None]:
    """Return the stored head, and the newest entry if the head isn't for that."""
    entry = db.session.scalar(find_newest_entry(project_id))
    head = db.session.get(RecordHead, project_id)
    is_newest = entry is None or (head is not None and head.hash == hash_entry(entry))
    return head, None if is_newest else entry


def _make_head(project_id: str, entry: str) -> dict[str, Any]:
    key, private = _open_key()
    values: dict[str, Any] = {"seq": json.loads(entry)["seq"], "hash": hash_entry(entry)}
    values |= {"project_id": project_id, "time": clock.now(), "key_id": key.id}
    signed = write_canonical(describe_head(RecordHead(**values)))
    return values | {"signature": private.sign(signed.encode()).hex()}


def describe_head(head: RecordHead) -> dict[str, Any]:
    time = clock.iso(head.time)
    return {"project": head.project_id, "seq": head.seq, "hash": head.hash, "time": time}


def write_head(head: RecordHead) -> dict[str, Any]:
    """Return a head with its signature and the key that verifies it."""
    key = db.session.get_one(SigningKey, head.key_id).public_key
    return {"head": describe_head(head), "signature": head.signature, "key": key}


# The log as a file has an entry on each line, and the signed head on the last.

LINES = 1000


def write_log(head: RecordHead) -> Iterator[str]:
    """Yield the lines of a log up to its head."""
    yield from read_entries(head.project_id, head.seq)
    yield write_canonical(write_head(head))


def read_entries(project_id: str, count: int) -> Iterator[str]:
    number: int | None = 0
    while count > 0:
        query = select(Event.number, Event.entry).where(
            Event.project_id == project_id, Event.entry.is_not(None), Event.number > number
        )
        rows = db.session.execute(query.order_by(Event.number).limit(min(count, LINES))).all()
        if not rows:
            return
        yield from (str(entry) for _, entry in rows)
        number, count = rows[-1][0], count - len(rows)


def check_record(log: Log, content: bytes) -> None:
    """Raise `LogInvalid` unless a testimonial's `record.json` matches a log."""
    wrong = LogInvalid("The record is not what the log says.")
    with refusing(lambda _fault: wrong):
        record = json.loads(content)
        name, entries = record["testimonial"], [each["entry"] for each in record["entries"]]
        own = [each for each in log.entries if each.get("testimonial") == name]
        if not own or entries != own:
            raise wrong
        hashed = [each for each in record["entries"] if "words" in each["entry"]]
        # The newest of these must match what is shown; others must if they have a salt.
        if "words" in hashed[-1] or not all(
            _matches(each, record) for each in hashed if each is hashed[-1] or "salt" in each
        ):
            raise wrong


def _matches(item: dict[str, Any], record: dict[str, Any]) -> bool:
    """Return whether an entry's hashes are those of its own words, or of what is shown."""
    entry, salt = item["entry"], item["salt"]
    if "words" in item:
        return bool(hash_salted(salt, item["words"]) == entry["words"])
    shown = {name: hash_salted(salt, each["sha256"]) for name, each in record["media"].items()}
    media = entry.get("media", {}).items()
    is_same = hash_salted(salt, record["words"]) == entry["words"]
    return is_same and bool(media <= shown.items())


def add_up(log: Log) -> tuple[int, float]:
    """Return how many ratings of a log count, and their average, to check the project's numbers."""
    since, newest = dict[str, str](), dict[str, dict[str, Any]]()
    for entry in log.entries:
        if (name := entry.get("testimonial")) is not None:
            since.setdefault(name, entry["time"])
            newest[name] = entry
    long_ago = datetime.fromisoformat(log.head["time"]) - timedelta(days=OVERDUE_DAYS)
    waits = clock.iso(long_ago)
    genuine = [each for name, each in newest.items() if _is_genuine(each, since[name] > waits)]
    stars = [round(each["stars"] * BILLION) for each in genuine if each["stars"] is not None]
    count, total = len(stars), sum(stars)
    for entry in log.entries:
        # Ratings from an archive that lacked their testimonials.
        for rating, number in entry.get("kept", {}).items():
            count, total = count + number, total + number * round(float(rating) * BILLION)
    return count, average(total, count)


def _is_genuine(entry: dict[str, Any], is_new: bool) -> bool:
    """Return whether a testimonial counts, by its newest entry (`STANDING` in the models)."""
    if "reason" in entry or entry["status"] in ("withdrawn", "spam"):
        return False
    if "deleted" in entry:
        return bool(entry["source"] == "public_page")
    return entry["status"] != "pending" or not is_new
