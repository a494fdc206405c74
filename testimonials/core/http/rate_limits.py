"""Rate limits, with counters in the database (exact across processes and restarts) or in Redis."""

import functools
import ipaddress
import logging
import math
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NoReturn

import flask_limiter
from flask import Flask, current_app, request
from limits import RateLimitItemPerHour
from limits.errors import StorageError
from limits.storage import Storage
from limits.strategies import RateLimiter as Strategy
from sqlalchemy import Connection, Delete, delete, or_, select, text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Mapped, Session, mapped_column

from testimonials.core.db.engine import Base
from testimonials.core.db.outages import log_fault
from testimonials.core.http.errors import RateLimited
from testimonials.core.settings.table import current_settings

# Rate limits counted in the database: exact across threads, processes and restarts.


class RateLimitCounter(Base):
    """The count of one window, deleted after `expires_at` (seconds since the epoch)."""

    key: Mapped[str] = mapped_column(primary_key=True)
    hits: Mapped[int]
    expires_at: Mapped[float] = mapped_column(index=True)


# No window is longer than a day. One that ends later was opened before the clock was set back, and
# would lock somebody out for as long as the clock had been ahead.
MAX_SECONDS = 2 * 86_400

# Counts a hit, in a new window if the old one has passed. It is one statement, so that no hits of
# concurrent processes are lost.
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
    """Counts in the service's own database, each hit in its own transaction."""

    STORAGE_SCHEME = ["testimonials"]  # noqa: RUF012 - the library's own class attribute

    def __init__(self, uri: str | None = None, **_options: object) -> None:
        # The options are for Redis. Database errors are passed on unchanged.
        super().__init__(uri)

    @property
    def base_exceptions(self) -> type[Exception]:
        return SQLAlchemyError

    def incr(self, key: str, expiry: int, amount: int = 1) -> int:
        """Count `amount` hits; return the window's total."""
        now = time.time()
        values = {"key": key, "amount": amount, "now": now, "expires_at": now + expiry}
        values["last"] = now + MAX_SECONDS
        with _connect(sqlite_begin="IMMEDIATE") as connection, _unhurried(connection):
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
    """Return a separate connection, after closing the one of the request's session.

    Requests that hold one connection while they wait for another could deadlock.
    """
    extension = current_app.extensions["sqlalchemy"]
    extension.session.close()
    connection: Connection = extension.engine.connect().execution_options(**options)
    return connection


@contextmanager
def _unhurried(connection: Connection) -> Iterator[None]:
    """Let SQLite sync a count to the disk with a later write, such as the next testimonial.

    A form is counted three times, and would wait for the disk each time. A power cut loses at most
    the newest counts.
    """
    if connection.dialect.name != "sqlite":
        yield
        return
    driver: Any = connection.connection.driver_connection
    driver.execute("PRAGMA synchronous=NORMAL")
    try:
        yield
    finally:
        # The PRAGMA has no effect within a transaction.
        connection.rollback()
        driver.execute("PRAGMA synchronous=FULL")


logger = logging.getLogger("testimonials.ratelimit")

EXTENSION = "testimonials_ratelimit"
# Redis answers within milliseconds; if it doesn't, it must not hold up all threads. A query in the
# setting's URL, such as `?socket_timeout=5`, has precedence.
REDIS_SECONDS = 2
# For how long after a failure Redis isn't used for limits `for_load`.
PAUSE_SECONDS = 5


@dataclass(frozen=True)
class Limit:
    """A number of requests per hour, or per `hours`, for each key of one scope.

    `subject` is part of the error message. While Redis is away, requests with a limit `for_load`
    are allowed uncounted; others are refused.
    """

    scope: str
    per_hour: int
    subject: str
    hours: int = 1
    for_load: bool = False

    @property
    def item(self) -> RateLimitItemPerHour:
        return RateLimitItemPerHour(self.per_hour, self.hours)


@dataclass
class _Counting:
    """How an application counts, and when Redis last failed."""

    strategy: Strategy
    failed_at: float = float("-inf")


class RateLimiter(flask_limiter.Limiter):
    """Flask-Limiter with a storage per application, and counts by keys that only a view knows.

    Unless they say otherwise, methods raise `StorageError` (503) while Redis is unavailable.
    """

    def __init__(self) -> None:
        options: dict[str, str | int] = {
            "socket_timeout": REDIS_SECONDS,
            "socket_connect_timeout": REDIS_SECONDS,
            "wrap_exceptions": True,
        }
        super().__init__(client_key, storage_options=options)

    def init_app(self, app: Flask) -> None:
        url = current_settings(app).ratelimit_storage_url
        if url.startswith("unix://"):
            # The library's scheme for Redis on a unix socket.
            url = f"redis+{url}"
        app.config["RATELIMIT_STORAGE_URI"] = url or f"{DatabaseStorage.STORAGE_SCHEME[0]}://"
        # Keeps the library from adding hooks, which would take a tenth of a millisecond of every
        # request. Only decorated views have limits.
        app.extensions["limiter"] = {self}
        super().init_app(app)
        app.extensions[EXTENSION] = _Counting(super().limiter)

    @property
    def _counting(self) -> _Counting:
        counting: _Counting = current_app.extensions[EXTENSION]
        return counting

    @property
    def limiter(self) -> Strategy:
        return self._counting.strategy

    @property
    def storage(self) -> Storage:
        return self.limiter.storage

    def per_address(self, limit: Limit, *, ipv6_bits: int = 64) -> flask_limiter.RouteLimit:
        """Return a decorator that counts requests by the client's address before the view runs."""
        return self.shared_limit(
            f"{limit.per_hour} per {limit.hours} hour",
            limit.scope,
            key_func=functools.partial(client_key, ipv6_bits=ipv6_bits),
            exempt_when=self._is_away if limit.for_load else None,
            on_breach=lambda breach: _refuse(limit, breach.window.reset_time),
        )

    def count(self, limit: Limit, key: str) -> int:
        """Count one request; return how many there were within the limit's hours.

        Raises `RateLimited` past the limit. Call it before the writing transaction, since counting
        in the database closes the session.
        """
        item = limit.item
        if limit.for_load and self._has_just_failed():
            return 0
        try:
            count = self.storage.incr(item.key_for(key, limit.scope), item.get_expiry())
        except StorageError as error:
            if not limit.for_load:
                raise
            self._note_failure(error)
            return 0
        if count > item.amount:
            _refuse(limit, self.limiter.get_window_stats(item, key, limit.scope).reset_time)
        return count

    def allows(self, limit: Limit, key: str) -> bool:
        """Count one event; return whether it was counted and is within the limit."""
        if self._has_just_failed():
            return False
        try:
            return self.limiter.hit(limit.item, key, limit.scope)
        except StorageError as error:
            self._note_failure(error)
            return False

    def has_room(self, limit: Limit, key: str) -> bool:
        """Return whether one more would be within the limit, without counting."""
        return self.limiter.test(limit.item, key, limit.scope)

    def forget(self, limit: Limit, key: str) -> None:
        self.limiter.clear(limit.item, key, limit.scope)

    def can_count(self) -> bool:
        """Return whether counting works; a Redis that is full or a replica can't count."""
        if isinstance(self.storage, DatabaseStorage):
            return True
        try:
            return self.storage.incr("LIMITS:check", REDIS_SECONDS) > 0
        except StorageError as error:
            self._note_failure(error)
            return False

    def _is_away(self) -> bool:
        return self._has_just_failed() or not self.can_count()

    def _has_just_failed(self) -> bool:
        return time.monotonic() < self._counting.failed_at + PAUSE_SECONDS

    def _note_failure(self, error: StorageError) -> None:
        self._counting.failed_at = time.monotonic()
        log_fault(logger, "Redis did not count a request", error)


def _refuse(limit: Limit, reset_time: float) -> NoReturn:
    # Rounded up, so that a client that waits exactly this long is let in.
    wait = max(1, math.ceil(reset_time - time.time()))
    minutes = -(-wait // 60)
    hours = "an hour" if limit.hours == 1 else f"in {limit.hours} hours"
    raise RateLimited(
        f"Rate limit exceeded: at most {limit.per_hour} requests {hours} {limit.subject}. "
        f"Try again in {minutes} minute{'s' if minutes > 1 else ''}.",
        headers={
            "Retry-After": str(wait),
            "RateLimit-Limit": str(limit.per_hour),
            "RateLimit-Remaining": "0",
            "RateLimit-Reset": str(wait),
            # As in draft-ietf-httpapi-ratelimit-headers-10.
            "RateLimit-Policy": f'"{limit.scope}";q={limit.per_hour};w={limit.hours * 3600}',
            "RateLimit": f'"{limit.scope}";r=0;t={wait}',
        },
    )


def client_key(*, ipv6_bits: int = 64) -> str:
    """Return the client's address as a rate-limit key, or its network for IPv6.

    A customer has at least a /64, and many have a /48.
    """
    address = request.remote_addr or "unknown"
    return (find_network(address, 32, ipv6_bits) or address[:64]).removesuffix("/32")


_WITH_PORT = re.compile(r"\[([^\]]+)\](?::[0-9]+)?|([^:]+):[0-9]+")


@functools.lru_cache(maxsize=256)
def find_network(address: str, ipv4_bits: int, ipv6_bits: int) -> str | None:
    """Return an address's network of this many bits, or None if it isn't an address."""
    # Some proxies append the port, which would make each connection count as another client.
    if found := _WITH_PORT.fullmatch(address):
        address = found[1] or found[2]
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return None
    if isinstance(parsed, ipaddress.IPv6Address):
        parsed = parsed.ipv4_mapped or parsed
    bits = ipv4_bits if parsed.version == 4 else ipv6_bits
    return str(ipaddress.ip_network((parsed, bits), strict=False))
