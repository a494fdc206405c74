"""Answers of writes that carried an Idempotency-Key, kept for a day to be given again."""

from datetime import datetime, timedelta

from sqlalchemy import LargeBinary, String, delete, select, tuple_, update
from sqlalchemy.orm import Mapped, Session, mapped_column

from testimonials.core import clock
from testimonials.core.data.database import Base, Timestamp, insert_into, present

KEPT = timedelta(hours=24)


class IdempotencyKey(Base):
    """One key of one caller, with the answer that it got; written with what it did."""

    __tablename__ = "idempotency_key"

    owner: Mapped[str] = mapped_column(String(64), primary_key=True)
    key: Mapped[str] = mapped_column(String(255), primary_key=True)
    # A hash of method, path and body: the same key for something else is refused.
    fingerprint: Mapped[str] = mapped_column(String(64))
    status: Mapped[int]
    # Empty: the answer held a secret, or was forgotten.
    body: Mapped[bytes] = mapped_column(LargeBinary)
    created_at: Mapped[datetime] = mapped_column(Timestamp, default=present, index=True)


def take_key(session: Session, owner: str, key: str, fingerprint: str) -> IdempotencyKey | None:
    """Take a key for the call that this transaction carries out, or return the call that had it.

    PostgreSQL waits for a transaction that took the key just now. SQLite lets nobody else write.
    """
    now = clock.now()
    values = {"fingerprint": fingerprint, "status": 0, "body": b"", "created_at": now}
    taken = session.execute(
        insert_into(session, IdempotencyKey, owner=owner, key=key, **values)
        .on_conflict_do_update(
            index_elements=["owner", "key"],
            set_=values,
            where=IdempotencyKey.created_at <= now - KEPT,
        )
        .returning(IdempotencyKey.key)
    ).all()
    return None if taken else session.get(IdempotencyKey, (owner, key))


def keep_answer(session: Session, owner: str, key: str, status: int, body: bytes) -> None:
    """Keep the answer of the call that took a key."""
    row = update(IdempotencyKey).where(IdempotencyKey.owner == owner, IdempotencyKey.key == key)
    session.execute(row.values(status=status, body=body))


def leave_key(session: Session, owner: str, key: str) -> None:
    """Let go of a key that was taken in this transaction, as its call is not done yet."""
    row = delete(IdempotencyKey).where(IdempotencyKey.owner == owner, IdempotencyKey.key == key)
    session.execute(row)


def forget_answers(session: Session, account_id: str) -> None:
    """Empty the answers kept for an account: what was erased could be in them.

    The keys stay, so that a repeat doesn't make again what was erased.
    """
    own = IdempotencyKey.owner.startswith(f"{account_id}.")
    session.execute(update(IdempotencyKey).where(own).values(body=b""))


def delete_old_keys(session: Session, limit: int) -> int:
    """Delete at most `limit` keys that are no longer valid; return how many."""
    name = tuple_(IdempotencyKey.owner, IdempotencyKey.key)
    old = select(*name).where(IdempotencyKey.created_at <= clock.now() - KEPT).limit(limit)
    deletion = delete(IdempotencyKey).where(name.in_(old)).returning(IdempotencyKey.key)
    return len(session.scalars(deletion).all())
