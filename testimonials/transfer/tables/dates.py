"""Dates as other services and table programs write them.

Nothing is guessed: 03/04/2026 is a question as long as nothing in the file answers it.
"""

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta, timezone

from testimonials.core import clock

# A day without a time is noon, so that it is the same day for most of the world.
NOON = (12, 0, 0, 0)
EARLIEST = datetime(1990, 1, 1, tzinfo=UTC)
LONGEST = 80
ORDERS = ("dmy", "mdy")
UNCLEAR = "Is the day or the month first? Nothing in the file says it."
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")

# All of them read a text with single spaces: each `\s*` beside another would double the work.
_TIME = (
    r"(?:(?:(?:,|T| at) ?| )(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})"
    r"(?:[.,](?P<fraction>\d{1,9}))?)? ?(?P<half>[ap]\.?m\.?)?"
    r" ?(?P<zone>Z|(?:UTC|GMT)?[+-]\d{2}:?\d{2}|UTC|GMT)?(?: ?\([^)]*\))?)?"
)
_DAY = r"(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*\.?,? )?"
_NTH = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_MONTH = r"(?P<name>[a-z]{3,9})\.?"
_YEAR = r"(?P<year>\d{4})"
_YEAR_FIRST = re.compile(rf"{_YEAR}[-/.](?P<month>\d{{1,2}})[-/.](?P<day>\d{{1,2}}){_TIME}", re.I)
_PAIR = r"(?P<one>\d{1,2})(?P<mark>[-/.])(?P<two>\d{1,2})(?P=mark)"
_NUMBERS = re.compile(rf"{_PAIR}{_YEAR}{_TIME}", re.I)
_DAY_FIRST = re.compile(rf"{_DAY}{_NTH}\.?[ -]+{_MONTH},?[ -]+{_YEAR}{_TIME}", re.I)
_MONTH_FIRST = re.compile(rf"{_DAY}{_MONTH} {_NTH},? {_YEAR}{_TIME}", re.I)
_SECONDS = re.compile(r"\d{10}(?:\d{3})?")


class DateWrong(Exception):
    """The text is no date that can be read; the message says what to do."""


def find_order(texts: Iterable[str]) -> str | None:
    """Tell by the dates of a whole column whether the day (dmy) or the month (mdy) comes first.

    Gives None where nothing says it, or both are said.
    """
    orders = set()
    for text in texts:
        if found := _NUMBERS.fullmatch(_tidy(text)):
            one, two = int(found["one"]), int(found["two"])
            if one > 12 >= two:
                orders.add("dmy")
            if two > 12 >= one:
                orders.add("mdy")
    return orders.pop() if len(orders) == 1 else None


def read_date(text: str, order: str | None) -> datetime:
    """Return the time that a text names; raise `DateWrong`."""
    text = _tidy(text)
    if len(text) > LONGEST:
        raise DateWrong("It is no date.")
    if _SECONDS.fullmatch(text):
        return _check(clock.from_milliseconds(int(text.ljust(13, "0"))))
    if found := _YEAR_FIRST.fullmatch(text):
        return _build(found, int(found["month"]), int(found["day"]))
    for pattern in (_DAY_FIRST, _MONTH_FIRST):
        if (found := pattern.fullmatch(text)) and found["name"][:3].lower() in MONTHS:
            return _build(found, MONTHS.index(found["name"][:3].lower()) + 1, int(found["day"]))
    if found := _NUMBERS.fullmatch(text):
        return _read_numbers(found, order)
    raise DateWrong("Write the date like 2026-03-12.")


def _tidy(text: str) -> str:
    """Return a text with single spaces, cut where it is no date any more."""
    return " ".join(text.split())[: LONGEST + 1]


def _read_numbers(found: re.Match[str], order: str | None) -> datetime:
    one, two = int(found["one"]), int(found["two"])
    if found["mark"] == ".":
        # Only the day stands before a point.
        order = "dmy"
    if order is None and one != two and max(one, two) <= 12:
        raise DateWrong(UNCLEAR)
    if order is None:
        order = "dmy" if one > 12 else "mdy"
    day, month = (one, two) if order == "dmy" else (two, one)
    return _build(found, month, day)


def _build(found: re.Match[str], month: int, day: int) -> datetime:
    try:
        hour, minute, second, micro = _read_time(found)
        time = datetime(int(found["year"]), month, day, hour, minute, second, micro, UTC)
        return _check(time - _read_zone(found["zone"]))
    except (ValueError, OverflowError):
        raise DateWrong("There is no such day or time.") from None


def _read_time(found: re.Match[str]) -> tuple[int, int, int, int]:
    if found["hour"] is None:
        return NOON
    hour = int(found["hour"])
    if half := found["half"]:
        if not 1 <= hour <= 12:
            raise ValueError
        hour = hour % 12 + (12 if half[0].lower() == "p" else 0)
    milliseconds = int((found["fraction"] or "0").ljust(3, "0")[:3])
    return hour, int(found["minute"]), int(found["second"] or 0), milliseconds * 1000


def _read_zone(zone: str | None) -> timedelta:
    """Return how far a zone is ahead of UTC; without one the time is UTC."""
    digits = re.sub(r"[^0-9]", "", zone or "")
    if not digits:
        return timedelta()
    offset = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    # Raises ValueError for more than a day.
    timezone(offset)
    return -offset if "-" in (zone or "") else offset


def _check(time: datetime) -> datetime:
    if time < EARLIEST:
        raise DateWrong("The date lies before 1990.")
    if time > clock.now() + timedelta(days=1):
        raise DateWrong("The date lies in the future.")
    return min(time, clock.now())
