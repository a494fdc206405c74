"""A record of what was erased, so that no backup or archive brings it back.

It contains only ids; a person's id is a salted hash of the email address.
"""

import hashlib
import secrets
from collections.abc import Iterable
from datetime import datetime

from sqlalchemy import delete, select
from sqlalchemy.orm import Mapped, Session, mapped_column
from sqlalchemy.types import String

from testimonials.core.db.engine import Base, Timestamp, insert_if_missing, present

TESTIMONIAL, PROJECT, ACCOUNT, PERSON = "testimonial", "project", "account", "person"
# The recording, or the author's address, of a testimonial that stays; by the testimonial's id.
RECORDING, ADDRESS = "recording", "address"
# The request that an erased testimonial answered.
REQUEST = "request"
KINDS = (TESTIMONIAL, PROJECT, ACCOUNT, PERSON, RECORDING, ADDRESS, REQUEST)
SALT_LENGTH = 16


class Erased(Base):
    """Something that was erased, added in the transaction that erased it."""

    kind: Mapped[str] = mapped_column(String(20), primary_key=True)
    # For a person `salt:hash`.
    id: Mapped[str] = mapped_column(String(100), primary_key=True)
    erased_at: Mapped[datetime] = mapped_column(Timestamp, default=present, index=True)


def note_erased(session: Session, kind: str, ids: Iterable[str]) -> None:
    """Record what this transaction erases; the caller commits."""
    now = present()
    for each in sorted(ids):
        insert_if_missing(session, Erased, kind=kind, id=each, erased_at=now)


def is_erased(session: Session, kind: str, id: str) -> bool:
    return session.get(Erased, (kind, id)) is not None


def note_erased_person(session: Session, email: str) -> None:
    """Record that everything about an address until now is erased."""
    other = session.scalar(select(Erased.id).where(Erased.kind == PERSON).limit(1))
    # All share a salt, so that restoring a backup hashes each address only once.
    salt = other.partition(":")[0] if other else secrets.token_hex(SALT_LENGTH // 2)
    name = hash_person(salt, email)
    session.execute(delete(Erased).where(Erased.kind == PERSON, Erased.id == name))
    insert_if_missing(session, Erased, kind=PERSON, id=name, erased_at=present())


def hash_person(salt: str, email: str) -> str:
    digest = hashlib.sha256(f"{salt}:{email.lower()}".encode("utf-8", "surrogatepass")).hexdigest()
    return f"{salt}:{digest}"


class ErasedPeople:
    """The people who were erased, by address."""

    def __init__(self, rows: Iterable[tuple[str, int]]) -> None:
        self._until = dict(rows)
        self._salts = {name.partition(":")[0] for name in self._until}

    @property
    def is_empty(self) -> bool:
        return not self._until

    def find(self, email: str | None) -> int | None:
        """Return until when, in milliseconds, everything about the address is erased."""
        if not email:
            return None
        times = (self._until.get(hash_person(salt, email)) for salt in self._salts)
        return max((time for time in times if time is not None), default=None)

    def covers(self, email: str | None, created_at: int) -> bool:
        until = self.find(email)
        return until is not None and created_at <= until
