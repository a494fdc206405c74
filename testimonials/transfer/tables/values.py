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
from testimonials.testimonials.fields import Rating, begin_day

# Dates. Nothing is guessed: the order of 03/04/2026 must follow from other dates, or a person has
# to say what it is.

EARLIEST = datetime(1990, 1, 1, tzinfo=UTC)
ORDERS = ("dmy", "mdy")
UNCLEAR = gettext_noop("The file doesn’t say whether the day or the month comes first.")
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")

# These match text with single spaces, since adjacent `\s*` would multiply the backtracking.
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
    """The text isn't a readable date; the message says what to do."""


def find_order(texts: Iterable[str]) -> str | None:
    """Return the order of dates in a column, `dmy` or `mdy`; None if it is unclear."""
    orders = set()
    for text in texts:
        if match := _NUMBERS.fullmatch(_tidy(text)):
            one, two = int(match["one"]), int(match["two"])
            if one > 12 >= two:
                orders.add("dmy")
            if two > 12 >= one:
                orders.add("mdy")
    return orders.pop() if len(orders) == 1 else None


def read_date(text: str, order: str | None) -> datetime:
    """Return the time or day that a text names, in UTC unless it has a zone; raise `DateWrong`."""
    text = _tidy(text)
    if _SECONDS.fullmatch(text):
        return _check(clock.from_milliseconds(int(text.ljust(13, "0"))))
    if match := _NUMBERS.fullmatch(text):
        return _build(match, *_order_numbers(match, order))
    for pattern in _OTHERS:
        if match := pattern.fullmatch(text):
            parts = match.groupdict()
            name = parts.get("name")
            month = MONTHS.index(name.lower()) + 1 if name else int(parts["month"])
            return _build(match, month, int(parts["day"]))
    raise DateWrong(gettext("Use a date like 2026-03-12."))


def _tidy(text: str) -> str:
    # No date is longer.
    return " ".join(text.split())[:81]


def _order_numbers(match: re.Match[str], order: str | None) -> tuple[int, int]:
    """Return the month and the day."""
    one, two = int(match["one"]), int(match["two"])
    if match["mark"] == ".":
        # Dates with dots begin with the day.
        order = "dmy"
    if order is None and one != two and max(one, two) <= 12:
        raise DateWrong(translate(UNCLEAR))
    if order is None:
        order = "dmy" if one > 12 else "mdy"
    return (two, one) if order == "dmy" else (one, two)


def _build(match: re.Match[str], month: int, day: int) -> datetime:
    hour, half = int(match["hour"] or 12), match["half"]
    zone = re.sub("[^0-9:+-]", "", match["zone"] or "") or "Z"
    year, minute, second = (int(match[name] or 0) for name in ("year", "minute", "second"))
    milliseconds = int(f"{match['fraction'] or '':0<3}"[:3])
    try:
        if half and not 1 <= hour <= 12:
            raise ValueError
        if half:
            hour = hour % 12 + (12 if half[0].lower() == "p" else 0)
        text = f"{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}"
        time = datetime.fromisoformat(f"{text}.{milliseconds:03}{zone}")
        time = _check(time.astimezone(UTC))
        return time if match["hour"] else begin_day(time)
    except (ValueError, OverflowError):
        raise DateWrong(gettext("This date or time doesn’t exist.")) from None


def _check(time: datetime) -> datetime:
    if not EARLIEST <= time <= clock.now() + timedelta(days=1):
        raise DateWrong(gettext("Use a day from 1990 until today."))
    return min(time, clock.now())


# Ratings, such as 5, 4,5, 9/10, 80%, ★★★★☆, FIVE, 5 Sterne.

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
    """Return a rating on any scale as stars, perhaps below 1 or above 5; None if it is unclear."""
    text = text.strip().lower()
    if match := _SHAPES.fullmatch(text):
        return len(re.findall("[★⭐]", text)) + (0.5 if match[1] else 0)
    if match := _WORD.fullmatch(text):
        return _WORDS[match[1]]
    match = _NUMERIC.fullmatch(text)
    if match is None:
        return None
    value = float(match[1].replace(",", "."))
    most = 100 if match[2] else int(match[3] or STARS)
    return round(value * STARS / most, 2) if most else None


# Texts.

# Longer cells are cut.
LONGEST_TEXT = 20_000

# Only known tags are removed, since <3 is part of the text.
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
    """Return a text without HTML; plain text stays as it is."""
    if "<" in text:
        text = _TAG.sub("", _BREAK.sub("\n", _UNSEEN.sub("", text[:LONGEST_TEXT])))
        text = _BLANKS.sub("\n\n", text)
    if "&" in text:
        text = _ENTITY.sub(lambda match: html.unescape(match[0]), text[:LONGEST_TEXT])
        text = text.replace("\xa0", " ")
    return text.strip()


def drop_translation(text: str) -> str:
    """Return the original of a text with Google's translation before or after it."""
    if text.startswith(_TRANSLATED):
        text = text.partition(_ORIGINAL)[2].strip() or text.removeprefix(_TRANSLATED)
    return text.partition(_TRANSLATED)[0].strip()


def shorten(text: str, length: int) -> str:
    """Return at most `length` characters: whole sentences or words, and an ellipsis."""
    if len(text) <= length:
        return text
    # If the last whole sentence ends too early, the text is cut after a word.
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


# What each status is called in the files of other services.
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
    """A date in any common form; `order` is that of day and month."""

    def __init__(self, order: str | None, **options: Any) -> None:
        super().__init__(**options)
        self.order = order

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        try:
            return read_date(value, self.order)
        except DateWrong as error:
            raise ValidationError(f"“{value[:40]}”. {error}") from None


class WrittenStatus(RuleField):
    """A status as any service writes it; `approved` is what approved testimonials get."""

    def __init__(self, approved: str, **options: Any) -> None:
        super().__init__(**options)
        self.approved = approved

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        if value.lower() in _NOT_IMPORTED:
            raise ValidationError(
                gettext("Testimonials that are “%(status)s” are not imported.", status=value)
            )
        for status, words in _STATES.items():
            if value.lower() in words:
                return self.approved if status == "approved" else status
        raise ValidationError(
            gettext(
                "“%(status)s” is not a known status. Use approved, pending or rejected.",
                status=value[:40],
            )
        )
