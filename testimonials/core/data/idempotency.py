"""Answers of writes that carried an Idempotency-Key, kept for a day to be given again."""

from datetime import datetime

from sqlalchemy import LargeBinary, String
from sqlalchemy.orm import Mapped, mapped_column

from testimonials.core.data.database import Base, Timestamp, present


class IdempotencyKey(Base):
    """One key of one account, with the answer that it got; written with what it did."""

    __tablename__ = "idempotency_key"

    owner: Mapped[str] = mapped_column(String(64), primary_key=True)
    key: Mapped[str] = mapped_column(String(255), primary_key=True)
    # A hash of method, path and body: the same key for something else is refused.
    fingerprint: Mapped[str] = mapped_column(String(64))
    status: Mapped[int]
    body: Mapped[bytes] = mapped_column(LargeBinary)
    created_at: Mapped[datetime] = mapped_column(Timestamp, default=present, index=True)
