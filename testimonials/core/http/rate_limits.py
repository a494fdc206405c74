"""Rate limits, with counters in the database or in Redis."""

import functools
import ipaddress
import logging
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar, cast

from flask import Flask, current_app, request
from sqlalchemy import Connection, delete, or_, select, text
from sqlalchemy.orm import Mapped, Session, mapped_column

from testimonials.core.db.engine import Base
from testimonials.core.db.outages import CountingFailed, log_fault
from testimonials.core.http.errors import RateLimited
from testimonials.core.settings.current import current_settings

View = TypeVar("View", bound=Callable[..., Any])

# Rate limits counted in the database: exact across threads, processes and restarts.


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
    INSERT INTO rate_limit_counter (key, hits, expires_at) VALUES (:key, 1, :expires_at)
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


class DatabaseCounts:
    """Counts in the service's own database, each hit in a transaction of its own."""

    def add(self, key: str, seconds: int) -> int:
        """Count a hit; return the window's total."""
        now = time.time()
        values = {"key": key, "now": now, "expires_at": now + seconds, "last": now + MAX_SECONDS}
        with _connect(sqlite_begin="IMMEDIATE") as connection:
            hits = int(connection.execute(_COUNT, values).scalar_one())
            connection.commit()
        return hits

    def read(self, key: str) -> tuple[int, float]:
        """Return the window's total, and when it ends, in seconds since the epoch."""
        query = select(RateLimitCounter.hits, RateLimitCounter.expires_at).where(
            RateLimitCounter.key == key
        )
        now = time.time()
        with _connect() as connection:
            row = connection.execute(query).one_or_none()
        is_open = row is not None and now < row.expires_at <= now + MAX_SECONDS
        return (row.hits, row.expires_at) if row and is_open else (0, now)

    def forget(self, key: str) -> None:
        with _connect(sqlite_begin="IMMEDIATE") as connection:
            connection.execute(delete(RateLimitCounter).where(RateLimitCounter.key == key))
            connection.commit()


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


logger = logging.getLogger("testimonials.ratelimit")

EXTENSION = "testimonials_ratelimit"
# Redis answers within milliseconds; one that doesn't must not hold up all threads. A query in the
# setting's URL, such as `?socket_timeout=5`, has precedence.
REDIS_SECONDS = 2
# How long after a failure Redis isn't asked for counts that aren't essential.
PAUSE_SECONDS = 5


# In one step, so that no window is left without an end.
_COUNT_IN_REDIS = """
local hits = redis.call("INCR", KEYS[1])
if hits == 1 then redis.call("EXPIRE", KEYS[1], ARGV[1]) end
return hits
"""


class RedisCounts:
    """Counts in Redis; raises `CountingFailed`."""

    def __init__(self, url: str) -> None:
        # Its driver is an extra.
        from redis import Redis, RedisError

        self._error = RedisError
        self.client = Redis.from_url(
            url, socket_timeout=REDIS_SECONDS, socket_connect_timeout=REDIS_SECONDS
        )

    def add(self, key: str, seconds: int) -> int:
        return int(self._ask("EVAL", _COUNT_IN_REDIS, 1, f"LIMITS:{key}", seconds))

    def read(self, key: str) -> tuple[int, float]:
        hits, seconds = self._ask("GET", f"LIMITS:{key}"), self._ask("TTL", f"LIMITS:{key}")
        return int(hits or 0), time.time() + max(0, seconds)

    def forget(self, key: str) -> None:
        self._ask("DEL", f"LIMITS:{key}")

    def _ask(self, *command: str | int) -> Any:
        try:
            return self.client.execute_command(*command)  # type: ignore[no-untyped-call]
        except self._error as error:
            raise CountingFailed(str(error)) from error


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
    def seconds(self) -> int:
        return self.hours * 3600

    def name(self, key: str) -> str:
        """Return what the counter of a key is called."""
        return f"LIMITER/{key}/{self.scope}/{self.per_hour}/{self.hours}/hour"


@dataclass
class _Counting:
    """How one application counts, and when Redis last failed."""

    counts: DatabaseCounts | RedisCounts
    failed_at: float = float("-inf")


class RateLimiter:
    """Counts requests by keys.

    While Redis is away, methods raise `CountingFailed`, which is answered with 503, unless they say
    otherwise.
    """

    def init_app(self, app: Flask) -> None:
        url = current_settings(app).ratelimit_storage_url
        app.extensions[EXTENSION] = _Counting(RedisCounts(url) if url else DatabaseCounts())

    @property
    def _counting(self) -> _Counting:
        counting: _Counting = current_app.extensions[EXTENSION]
        return counting

    @property
    def counts(self) -> DatabaseCounts | RedisCounts:
        return self._counting.counts

    def per_address(self, limit: Limit, *, ipv6_bits: int = 64) -> Callable[[View], View]:
        """Return a decorator that counts each request by the client's address before the view."""

        def decorate(view: View) -> View:
            @functools.wraps(view)
            def count_first(*arguments: Any, **values: Any) -> Any:
                self.count(limit, client_key(ipv6_bits=ipv6_bits))
                return view(*arguments, **values)

            return cast(View, count_first)

        return decorate

    def count(self, limit: Limit, key: str) -> int:
        """Count one request and return how many there were within the limit's hours.

        Raises `RateLimited` (429 with Retry-After) past the limit. Call it before a door's writing
        transaction, since counting in the database closes the session.
        """
        if limit.for_load and self._has_just_failed():
            return 0
        try:
            count = self.counts.add(limit.name(key), limit.seconds)
        except CountingFailed as error:
            if not limit.for_load:
                raise
            self._note_failure(error)
            return 0
        if count > limit.per_hour:
            _refuse(limit, self.counts.read(limit.name(key))[1])
        return count

    def allows(self, limit: Limit, key: str) -> bool:
        """Count one event; return whether it was counted and is within the limit."""
        if self._has_just_failed():
            return False
        try:
            return self.counts.add(limit.name(key), limit.seconds) <= limit.per_hour
        except CountingFailed as error:
            self._note_failure(error)
            return False

    def has_room(self, limit: Limit, key: str) -> bool:
        """Return whether one more would be within the limit, without counting it."""
        return self.counts.read(limit.name(key))[0] < limit.per_hour

    def forget(self, limit: Limit, key: str) -> None:
        self.counts.forget(limit.name(key))

    def can_count(self) -> bool:
        """Return whether counting works, as it doesn't in a Redis that is full or a replica."""
        if isinstance(self.counts, DatabaseCounts):
            return True
        try:
            return self.counts.add("check", REDIS_SECONDS) > 0
        except CountingFailed as error:
            self._note_failure(error)
            return False

    def _has_just_failed(self) -> bool:
        return time.monotonic() < self._counting.failed_at + PAUSE_SECONDS

    def _note_failure(self, error: CountingFailed) -> None:
        self._counting.failed_at = time.monotonic()
        log_fault(logger, "Redis did not count a request", error)


def _refuse(limit: Limit, reset_time: float) -> NoReturn:
    # Rounded up: a client that waits for exactly this long must be let in.
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
            # As draft-ietf-httpapi-ratelimit-headers-10 has them.
            "RateLimit-Policy": f'"{limit.scope}";q={limit.per_hour};w={limit.hours * 3600}',
            "RateLimit": f'"{limit.scope}";r=0;t={wait}',
        },
    )


def client_key(*, ipv6_bits: int = 64) -> str:
    """Return the client's address as a rate-limit key, or for IPv6 its network.

    A customer has at least a /64, and many have a /48.
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
