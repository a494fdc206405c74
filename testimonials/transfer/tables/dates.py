"""Dates as other services and spreadsheet programs write them.

Nothing is guessed: 03/04/2026 is a question until something in the file answers it.
"""

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from testimonials.core import clock
from testimonials.core.web.languages import gettext, gettext_noop, translate

EARLIEST = datetime(1990, 1, 1, tzinfo=UTC)
LONGEST = 80
ORDERS = ("dmy", "mdy")
UNCLEAR = gettext_noop("The file doesn’t say whether the day or the month comes first.")
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")

# They match text with single spaces only: adjacent `\s*` would multiply the work.
_TIME = (
    r"(?:(?:(?:,|T| at) ?| )(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})"
    r"(?:[.,](?P<fraction>\d{1,9}))?)? ?(?P<half>[ap]\.?m\.?)?"
    r" ?(?P<zone>Z|(?:UTC|GMT)?[+-]\d{2}:?\d{2}|UTC|GMT)?(?: ?\([^)]*\))?)?"
)
_DAY = r"(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*\.?,? )?"
_NTH = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_MONTH = rf"(?P<name>{'|'.join(MONTHS)})[a-z]{{0,6}}\.?"
_YEAR = r"(?P<year>\d{4})"
_PAIR = r"(?P<one>\d{1,2})(?P<mark>[-/.])(?P<two>\d{1,2})(?P=mark)"
_NUMBERS = re.compile(rf"{_PAIR}{_YEAR}{_TIME}", re.I)
_OTHERS = [
    re.compile(pattern + _TIME, re.I)
    for pattern in (
        rf"{_YEAR}[-/.](?P<month>\d{{1,2}})[-/.](?P<day>\d{{1,2}})",
        rf"{_DAY}{_NTH}\.?[ -]+{_MONTH},?[ -]+{_YEAR}",
        rf"{_DAY}{_MONTH} {_NTH},? {_YEAR}",
    )
]
_SECONDS = re.compile(r"\d{10}(?:\d{3})?")


class DateWrong(Exception):
    """The text is not a date that can be read; the message says what to do."""


def find_order(texts: Iterable[str]) -> str | None:
    """Return `dmy` or `mdy`, the order in a column's dates; None if that isn't clear."""
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
    """Return the time written in a text, in UTC unless it has a zone; raise `DateWrong`.

    A day without a time becomes noon, which is the same day in most of the world.
    """
    text = _tidy(text)
    if _SECONDS.fullmatch(text):
        return _check(clock.from_milliseconds(int(text.ljust(13, "0"))))
    if found := _NUMBERS.fullmatch(text):
        return _build(found, *_sort_numbers(found, order))
    for pattern in _OTHERS:
        if found := pattern.fullmatch(text):
            parts = found.groupdict()
            name = parts.get("name")
            month = MONTHS.index(name.lower()) + 1 if name else int(parts["month"])
            return _build(found, month, int(parts["day"]))
    raise DateWrong(gettext("Write the date like 2026-03-12."))


def _tidy(text: str) -> str:
    """Return a text with single spaces, cut if it is too long for a date."""
    return " ".join(text.split())[: LONGEST + 1]


def _sort_numbers(found: re.Match[str], order: str | None) -> tuple[int, int]:
    """Return the month and the day."""
    one, two = int(found["one"]), int(found["two"])
    if found["mark"] == ".":
        # Dates with points begin with the day.
        order = "dmy"
    if order is None and one != two and max(one, two) <= 12:
        raise DateWrong(translate(UNCLEAR))
    if order is None:
        order = "dmy" if one > 12 else "mdy"
    return (two, one) if order == "dmy" else (one, two)


def _build(found: re.Match[str], month: int, day: int) -> datetime:
    hour, half = int(found["hour"] or 12), found["half"]
    zone = re.sub("[^0-9:+-]", "", found["zone"] or "") or "Z"
    year, minute, second = (int(found[name] or 0) for name in ("year", "minute", "second"))
    milliseconds = int(f"{found['fraction'] or '':0<3}"[:3])
    try:
        if half and not 1 <= hour <= 12:
            raise ValueError
        if half:
            hour = hour % 12 + (12 if half[0].lower() == "p" else 0)
        written = f"{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}"
        time = datetime.fromisoformat(f"{written}.{milliseconds:03}{zone}")
        return _check(time.astimezone(UTC))
    except (ValueError, OverflowError):
        raise DateWrong(gettext("There is no such day or time.")) from None


def _check(time: datetime) -> datetime:
    if time < EARLIEST:
        raise DateWrong(gettext("The date is before 1990."))
    if time > clock.now() + timedelta(days=1):
        raise DateWrong(gettext("The date is in the future."))
    return min(time, clock.now())
