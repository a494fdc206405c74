"""Rate limits, counted in the database or in Redis; exact over threads, processes and restarts."""

import functools
import ipaddress
import math
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass

from flask import Flask, current_app, request
from flask.typing import ResponseReturnValue
from limits import RateLimitItemPerHour, WindowStats
from limits.storage import Storage, storage_from_string
from limits.strategies import FixedWindowRateLimiter
from sqlalchemy import ColumnElement, Delete, Engine, delete, func, or_, select, text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Mapped, mapped_column

from testimonials.core.data.counting_failed import (
    CountingFailed,
    has_just_failed,
    telling_of_failure,
)
from testimonials.core.data.database import Base
from testimonials.core.web.errors import RateLimited
from testimonials.settings.current import current_settings

# Redis answers within milliseconds; one that doesn't must not hold up all threads. What the address
# of the setting says of it, such as `?socket_timeout=5`, counts instead.
REDIS_SECONDS = 2

View = Callable[..., ResponseReturnValue]


class RateLimitCounter(Base):
    """One counter of one window; rows past `expires_at` (seconds since the epoch) are swept."""

    __tablename__ = "rate_limit_counter"

    key: Mapped[str] = mapped_column(primary_key=True)
    hits: Mapped[int]
    expires_at: Mapped[float] = mapped_column(index=True)


# No window is longer than a day. One that ends later was opened before the clock was put back, and
# would keep somebody out for as long as the clock had been ahead.
MOST_SECONDS = 2 * 86_400

# One statement counts a hit and opens a new window where the old one has passed, so that any
# number of processes counting at once lose none.
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
    """Counts in the service's own database, each hit a transaction of its own."""

    STORAGE_SCHEME = ["testimonials"]  # noqa: RUF012 - the library's own class attribute

    @property
    def base_exceptions(self) -> type[Exception]:
        """Name the errors that mean that the storage failed."""
        return SQLAlchemyError

    @property
    def _engine(self) -> Engine:
        engine: Engine = current_app.extensions["sqlalchemy"].engine
        return engine

    def incr(self, key: str, expiry: int, amount: int = 1) -> int:
        """Count `amount` hits; return the window's sum."""
        now = time.time()
        values = {"key": key, "amount": amount, "now": now, "expires_at": now + expiry}
        values["last"] = now + MOST_SECONDS
        with self._engine.connect().execution_options(sqlite_begin="IMMEDIATE") as connection:
            hits = int(connection.execute(_COUNT, values).scalar_one())
            connection.commit()
        return hits

    def get(self, key: str) -> int:
        """Return the present window's sum."""
        return self._read(key)[0]

    def get_expiry(self, key: str) -> float:
        """Return the time at which the window ends, in seconds since the epoch."""
        return self._read(key)[1]

    def check(self) -> bool:
        """Tell whether the database answers."""
        with self._engine.connect() as connection:
            return bool(connection.execute(select(1)).scalar_one() == 1)

    def reset(self) -> int | None:
        """Forget every counter; return how many there were."""
        return self._delete(delete(RateLimitCounter))

    def clear(self, key: str) -> None:
        """Forget one counter."""
        self._delete(delete(RateLimitCounter).where(RateLimitCounter.key == key))

    def remove_expired(self) -> int:
        """Forget the windows that have passed; return how many there were."""
        return self._delete(delete(RateLimitCounter).where(_has_passed()))

    def count_expired(self) -> int:
        """Return how many windows have passed."""
        query = select(func.count()).select_from(RateLimitCounter).where(_has_passed())
        with self._engine.connect() as connection:
            return int(connection.execute(query).scalar_one())

    def _read(self, key: str) -> tuple[int, float]:
        query = select(RateLimitCounter.hits, RateLimitCounter.expires_at).where(
            RateLimitCounter.key == key
        )
        now = time.time()
        with self._engine.connect() as connection:
            row = connection.execute(query).one_or_none()
        is_open = row is not None and now < row.expires_at <= now + MOST_SECONDS
        return (row.hits, row.expires_at) if row and is_open else (0, now)

    def _delete(self, statement: Delete) -> int:
        with self._engine.connect().execution_options(sqlite_begin="IMMEDIATE") as connection:
            count = connection.execute(statement).rowcount
            connection.commit()
        return int(count)


@dataclass(frozen=True)
class Limit:
    """So many requests an hour for each key of one scope; `subject` is named in the refusal.

    The hour may be `hours` long. What is only `for_load` is not counted while Redis is away;
    anything else is refused then.
    """

    scope: str
    per_hour: int
    subject: str
    hours: int = 1
    for_load: bool = False

    @property
    def item(self) -> RateLimitItemPerHour:
        """The limit as the library knows it."""
        return RateLimitItemPerHour(self.per_hour, self.hours)


class RateLimiter:
    """Counts requests against limits; one for each application."""

    def init_app(self, app: Flask) -> None:
        """Choose the storage that the settings of `app` name."""
        url = current_settings(app).ratelimit_storage_url
        if url.startswith("unix://"):
            # Redis calls it so, the library that counts another way.
            url = f"redis+{url}"
        options = {"socket_timeout": REDIS_SECONDS, "socket_connect_timeout": REDIS_SECONDS}
        storage = storage_from_string(url, **options) if url else DatabaseStorage()
        app.extensions["testimonials_ratelimit"] = FixedWindowRateLimiter(storage)

    @property
    def _strategy(self) -> FixedWindowRateLimiter:
        strategy: FixedWindowRateLimiter = current_app.extensions["testimonials_ratelimit"]
        return strategy

    def count(self, limit: Limit, key: str) -> int:
        """Count one request and return how many there were within the limit's hours.

        Raises `RateLimited` (429 with Retry-After) past the limit, and `CountingFailed`.

        Comes before a door's writing transaction. What was read so far is over, since a request
        that holds one connection while it waits for another can bring all of them to a halt.
        """
        current_app.extensions["sqlalchemy"].session.close()
        item = limit.item
        # What the strategy's own `hit` does, which keeps the number to itself.
        storage = self._strategy.storage
        if limit.for_load and has_just_failed():
            return 0
        try:
            with _told(storage):
                count = int(storage.incr(item.key_for(limit.scope, key), item.get_expiry()))
        except CountingFailed:
            if limit.for_load:
                return 0
            raise
        if count > item.amount:
            raise _refusal(limit, self._strategy.get_window_stats(item, limit.scope, key))
        return count

    def allows(self, limit: Limit, key: str) -> bool:
        """Count one event and tell whether it is within the limit; what can't be counted is not.

        Else as `count`.
        """
        current_app.extensions["sqlalchemy"].session.close()
        if has_just_failed():
            return False
        with suppress(CountingFailed), _told(self._strategy.storage):
            return bool(self._strategy.hit(limit.item, limit.scope, key))
        return False

    def has_room(self, limit: Limit, key: str) -> bool:
        """Tell whether one more would be within the limit, and count nothing."""
        with _told(self._strategy.storage):
            return bool(self._strategy.test(limit.item, limit.scope, key))

    def forget(self, limit: Limit, key: str) -> None:
        """Begin the limit's hours anew for `key`, with nothing counted."""
        current_app.extensions["sqlalchemy"].session.close()
        with _told(self._strategy.storage):
            self._strategy.clear(limit.item, limit.scope, key)

    def can_count(self) -> bool:
        """Return whether Redis takes a count: one that is full, or a copy, still answers."""
        storage = self._strategy.storage
        with suppress(CountingFailed), _told(storage):
            return storage.incr("LIMITS:check", REDIS_SECONDS) > 0
        return False

    def remove_expired(self) -> int:
        """Sweep counters of windows that have passed; Redis does that by itself."""
        storage = self._strategy.storage
        return storage.remove_expired() if isinstance(storage, DatabaseStorage) else 0

    def count_expired(self) -> int:
        """Return how many counters `remove_expired` would sweep."""
        storage = self._strategy.storage
        return storage.count_expired() if isinstance(storage, DatabaseStorage) else 0


def _told(storage: Storage) -> AbstractContextManager[None]:
    return nullcontext() if isinstance(storage, DatabaseStorage) else telling_of_failure(storage)


def _has_passed() -> ColumnElement[bool]:
    now, expires_at = time.time(), RateLimitCounter.expires_at
    return or_(expires_at <= now, expires_at > now + MOST_SECONDS)


def limit_by_address(
    limiter: RateLimiter, limit: Limit, *, ipv6_bits: int = 64
) -> Callable[[View], View]:
    """Make a decorator that counts every request from the client's address before anything else."""

    def decorate(view: View) -> View:
        @functools.wraps(view)
        def wrapper(**arguments: object) -> ResponseReturnValue:
            limiter.count(limit, client_key(ipv6_bits=ipv6_bits))
            return view(**arguments)

        return wrapper

    return decorate


def _refusal(limit: Limit, window: WindowStats) -> RateLimited:
    # Rounded up: whoever comes back after exactly so many seconds must be let in.
    wait = max(1, math.ceil(window.reset_time - time.time()))
    minutes = -(-wait // 60)
    hours = "an hour" if limit.hours == 1 else f"in {limit.hours} hours"
    return RateLimited(
        f"Rate limit exceeded: at most {limit.per_hour} requests {hours} {limit.subject}. "
        f"Try again in {minutes} minute{'s' if minutes > 1 else ''}.",
        headers={
            "Retry-After": str(wait),
            "RateLimit-Limit": str(limit.per_hour),
            "RateLimit-Remaining": "0",
            "RateLimit-Reset": str(wait),
        },
    )


def client_key(*, ipv6_bits: int = 64) -> str:
    """Return the client's address as a rate-limit key; of IPv6 the network of so many bits.

    Somebody with IPv6 holds at least a whole /64, and many hold a /48.
    """
    address = request.remote_addr or "unknown"
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address[:64]
    if isinstance(parsed, ipaddress.IPv6Address):
        if parsed.ipv4_mapped:
            return str(parsed.ipv4_mapped)
        return str(ipaddress.ip_network((parsed, ipv6_bits), strict=False))
    return str(parsed)
