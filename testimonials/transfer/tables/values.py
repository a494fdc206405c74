"""Dates, ratings and texts as other services write them."""

import html
import re
import unicodedata
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

from marshmallow import ValidationError

from testimonials.core import clock
from testimonials.core.http.fields import RuleField
from testimonials.core.http.i18n import gettext, gettext_noop, translate
from testimonials.testimonials.fields import Rating

# Nothing is guessed: 03/04/2026 is a question until something in the file answers it.

EARLIEST = datetime(1990, 1, 1, tzinfo=UTC)
LONGEST_DATE = 80
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
    return " ".join(text.split())[: LONGEST_DATE + 1]


def _sort_numbers(found: re.Match[str], order: str | None) -> tuple[int, int]:
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


# Ratings as services and people write them: 5, 4,5, 9/10, 80%, ★★★★☆, FIVE, 5 Sterne.

STARS = 5
_NUMBER = r"(\d{1,3}(?:[.,]\d{1,3})?)"
_OF = r"(?:/|(?:out )?of|von|sur|de|su|van|z|na|av)"
_UNIT = (
    r"(?:stars?|sterne?n?|étoiles?|estrellas?|stell[ae]|estrelas?|ster(?:ren)?|gwiazd\w*|"
    r"stjärn\w*|yıldız|نجوم|نجمة|つ?星|点|★|⭐)"
)
_NUMERIC = re.compile(rf"{_NUMBER}\s*(?:(%)|{_OF}\s*(\d{{1,3}}))?\s*{_UNIT}?")
_SHAPES = re.compile(r"(?:[★⭐]\ufe0f?)+(½)?[☆✩]*|[☆✩]+")
_WORDS = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5}
_WORD = re.compile(rf"(?:(?:star|rating)[ _]+)*({'|'.join(_WORDS)})(?:[ _-]*stars?)?")


def read_rating(text: str) -> float | None:
    """Return the number of stars, whatever the scale it was written in; None if it isn't clear.

    It may be below 1 or above 5, as written.
    """
    text = text.strip().lower()
    if found := _SHAPES.fullmatch(text):
        return len(re.findall("[★⭐]", text)) + (0.5 if found[1] else 0)
    if found := _WORD.fullmatch(text):
        return _WORDS[found[1]]
    found = _NUMERIC.fullmatch(text)
    if found is None:
        return None
    value = float(found[1].replace(",", "."))
    most = 100 if found[2] else int(found[3] or STARS)
    return round(value * STARS / most, 2) if most else None


# Texts as websites keep them: without their markup, and no longer than fits.

# Of a longer cell only the beginning is read.
LONGEST_TEXT = 20_000

# Whatever else stands in angle brackets, such as <3, is what somebody wrote.
_UNSEEN = re.compile(r"<(script|style)\b[^<>]*>[^<]*</\1>", re.I)
_BREAK = re.compile(r"(?:<br\b[^<>]*>|</(?:p|div|li|h[1-6]|blockquote|tr)>)\n?", re.I)
_TAG = re.compile(
    r"</?(?:p|div|span|b|i|u|s|em|strong|a|ul|ol|li|h[1-6]|blockquote|font|img|hr|small|sup|sub|"
    r"table|tbody|tr|td|br|script|style)\b[^<>]*>",
    re.I,
)
_ENTITY = re.compile(r"&(?:#\d{1,7}|#x[0-9a-f]{1,6}|[a-z][a-z0-9]{1,31});", re.I)
_BLANKS = re.compile(r"\n{3,}")
_SENTENCE = re.compile(r"""[.!?…]["'”’»)\]]*(?=\s)|[。！？]["'”’」』）]*""")
_JOINERS = {"\u200d", "\ufe0f"}
_TRANSLATED, _ORIGINAL = "(Translated by Google)", "(Original)"


def read_markup(text: str) -> str:
    """Return the words of a text that a website kept as HTML; other texts stay as they are."""
    if "<" in text:
        text = _TAG.sub("", _BREAK.sub("\n", _UNSEEN.sub("", text[:LONGEST_TEXT])))
        text = _BLANKS.sub("\n\n", text)
    if "&" in text:
        text = _ENTITY.sub(lambda found: html.unescape(found[0]), text[:LONGEST_TEXT])
        text = text.replace("\xa0", " ")
    return text.strip()


def drop_translation(text: str) -> str:
    """Return the words that were written, of a text with Google's translation before or after."""
    if text.startswith(_TRANSLATED):
        text = text.partition(_ORIGINAL)[2].strip() or text.removeprefix(_TRANSLATED)
    return text.partition(_TRANSLATED)[0].strip()


def shorten(text: str, length: int) -> str:
    """Return a text of at most `length` characters: whole sentences or words, and an ellipsis."""
    if len(text) <= length:
        return text
    # Where the last sentence ends early, words that fit would be lost.
    ends = [each.end() for each in _SENTENCE.finditer(text[: length - 2])]
    if ends and ends[-1] > length // 2:
        return f"{text[: ends[-1]]} …"
    end = length - 1
    # Not between a letter and its accent, or within an emoji.
    while end and (unicodedata.combining(text[end]) or {text[end], text[end - 1]} & _JOINERS):
        end -= 1
    cut = text[:end]
    if (space := max(cut.rfind(" "), cut.rfind("\n"))) > length // 2:
        cut = cut[:space]
    return f"{cut.rstrip(' ,;:–—-')}…"


# Fields of a file as services write them.

# The words for each status in the files of other services.
_STATES = {
    "approved": {"approved", "true", "yes", "1", "published", "public", "live", "active", "ok"},
    "pending": {
        *("pending", "false", "no", "0", "unapproved", "unpublished", "draft", "hidden"),
        *("inactive", "not-yet", "new"),
    },
    "rejected": {"rejected", "declined"},
}
_NOT_IMPORTED = {"spam", "withdrawn", "demo", "archived"}


class WrittenRating(Rating):
    form_messages: ClassVar[dict[str, str]] = {
        "invalid": gettext_noop("Must be a number from 1 to 5, or empty for none.")
    }

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        return super()._deserialize(read_rating(value), attr, data, **kwargs)


class WrittenDate(RuleField):
    """A date in any common form; `order` is that of its day and month."""

    def __init__(self, order: str | None, **options: Any) -> None:
        super().__init__(**options)
        self.order = order

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        try:
            return read_date(value, self.order)
        except DateWrong as error:
            raise ValidationError(f"“{value[:40]}”. {error}") from None


class WrittenStatus(RuleField):
    """A status as any service writes it; approved testimonials get the `usual` one."""

    def __init__(self, usual: str, **options: Any) -> None:
        super().__init__(**options)
        self.usual = usual

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        if value.lower() in _NOT_IMPORTED:
            raise ValidationError(
                gettext("Testimonials that are “%(status)s” are not imported.", status=value)
            )
        for status, words in _STATES.items():
            if value.lower() in words:
                return self.usual if status == "approved" else status
        raise ValidationError(
            gettext(
                "“%(status)s” is not a known status. Use approved, pending or rejected.",
                status=value[:40],
            )
        )
