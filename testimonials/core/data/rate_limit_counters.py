"""Rate limits counted in the database: exact across threads, processes and restarts."""

import time

from flask import current_app
from limits.storage import Storage
from sqlalchemy import Connection, Delete, delete, or_, select, text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Mapped, Session, mapped_column

from testimonials.core.data.database import Base


class RateLimitCounter(Base):
    """The count of one window, swept after `expires_at` (seconds since the epoch)."""

    __tablename__ = "rate_limit_counter"

    key: Mapped[str] = mapped_column(primary_key=True)
    hits: Mapped[int]
    expires_at: Mapped[float] = mapped_column(index=True)


# No window is longer than a day. One that ends later was opened before the clock was put back, and
# would keep somebody out for as long as it was ahead.
MAX_SECONDS = 2 * 86_400

# One statement counts a hit, in a new window if the old one has passed, so that concurrent
# processes lose none.
_COUNT = text(
    """
    INSERT INTO rate_limit_counter (key, hits, expires_at) VALUES (:key, :amount, :expires_at)
    ON CONFLICT (key) DO UPDATE SET
      hits = CASE WHEN rate_limit_counter.expires_at <= :now
                    OR rate_limit_counter.expires_at > :last
                  THEN excluded.hits ELSE rate_limit_counter.hits + excluded.hits END,
      expires_at = CASE WHEN rate_limit_counter.expires_at <= :now
                          OR rate_limit_counter.expires_at > :last
                        THEN excluded.expires_at ELSE rate_limit_counter.expires_at END
    RETURNING hits
    """
)


class DatabaseStorage(Storage):
    """Counts in the service's own database, each hit in a transaction of its own."""

    STORAGE_SCHEME = ["testimonials"]  # noqa: RUF012 - the library's own class attribute

    def __init__(self, uri: str | None = None, **_options: object) -> None:
        # The options are for Redis. Errors of the database are passed on as they are.
        super().__init__(uri)

    @property
    def base_exceptions(self) -> type[Exception]:
        return SQLAlchemyError

    def incr(self, key: str, expiry: int, amount: int = 1) -> int:
        """Count `amount` hits; return the window's total."""
        now = time.time()
        values = {"key": key, "amount": amount, "now": now, "expires_at": now + expiry}
        values["last"] = now + MAX_SECONDS
        with _connect(sqlite_begin="IMMEDIATE") as connection:
            hits = int(connection.execute(_COUNT, values).scalar_one())
            connection.commit()
        return hits

    def get(self, key: str) -> int:
        return self._read(key)[0]

    def get_expiry(self, key: str) -> float:
        """Return the time at which the window ends, in seconds since the epoch."""
        return self._read(key)[1]

    def check(self) -> bool:
        with _connect() as connection:
            return bool(connection.execute(select(1)).scalar_one() == 1)

    def reset(self) -> int | None:
        return self._delete(delete(RateLimitCounter))

    def clear(self, key: str) -> None:
        self._delete(delete(RateLimitCounter).where(RateLimitCounter.key == key))

    def _read(self, key: str) -> tuple[int, float]:
        query = select(RateLimitCounter.hits, RateLimitCounter.expires_at).where(
            RateLimitCounter.key == key
        )
        now = time.time()
        with _connect() as connection:
            row = connection.execute(query).one_or_none()
        is_open = row is not None and now < row.expires_at <= now + MAX_SECONDS
        return (row.hits, row.expires_at) if row and is_open else (0, now)

    def _delete(self, statement: Delete) -> int:
        with _connect(sqlite_begin="IMMEDIATE") as connection:
            count = connection.execute(statement).rowcount
            connection.commit()
        return int(count)


def delete_expired_counters(session: Session) -> int:
    """Delete the counters of past windows; return how many there were."""
    now, expires_at = time.time(), RateLimitCounter.expires_at
    has_passed = or_(expires_at <= now, expires_at > now + MAX_SECONDS)
    deletion = delete(RateLimitCounter).where(has_passed).returning(RateLimitCounter.key)
    return len(session.scalars(deletion).all())


def _connect(**options: str) -> Connection:
    """Return a separate connection, after the request's session has given back its own.

    Requests that hold one connection while they wait for another could deadlock.
    """
    extension = current_app.extensions["sqlalchemy"]
    extension.session.close()
    connection: Connection = extension.engine.connect().execution_options(**options)
    return connection
