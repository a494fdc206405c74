"""The only source of the current time, so that tests can change it."""

from datetime import UTC, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MILLISECOND = timedelta(milliseconds=1)


def now() -> datetime:
    """Return the current time in UTC, in whole milliseconds."""
    time = datetime.now(UTC)
    return time.replace(microsecond=time.microsecond // 1000 * 1000)


def expired_until(days: float) -> datetime:
    """Return the time `days` ago; older data has expired. 0 days keep everything."""
    return now() - timedelta(days=days) if days else EPOCH


def to_milliseconds(time: datetime) -> int:
    return (time - EPOCH) // MILLISECOND


def from_milliseconds(count: int) -> datetime:
    return EPOCH + count * MILLISECOND


def iso(time: datetime) -> str:
    """Return `time` as the API writes it: UTC, ISO 8601, milliseconds and Z."""
    return time.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def day(time: datetime) -> str:
    """Return the date as people read it: 12 Mar 2026."""
    return f"{time.day} {time:%b %Y}"
