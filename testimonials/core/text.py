"""Text from outside: allowed characters, normalization, safe output, and comparing two texts."""

import hashlib
import json
import json.scanner
import re
import unicodedata
from collections.abc import Iterable, Sequence
from itertools import groupby, pairwise
from typing import Any, Literal

# Python and JSON Schema (ECMA 262) agree on these character classes, but not on \s and \w.

Form = Literal["NFC", "NFD", "NFKC", "NFKD"]

_CONTROL = r"\u0000-\u0008\u000b-\u001f"
_BREAK = r"\n\u0085\u2028\u2029"
# The white space that `str.strip` removes.
_SPACE = r"\t\n \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"

LINE_BREAK = re.compile(f"[{_BREAK}]")
# Lone surrogates too: JSON can hold them (half of a cut emoji, for example); databases can't.
UNUSABLE = re.compile(rf"[{_CONTROL}\ud800-\udfff]")

# Combining characters are neither letters nor white space, except for two half-width marks.
# Unicode's limit for normalizing streams is 30 of them on one letter (UAX 15).
_SIGNS = re.compile(r"(?:[^\w\s]|[\uff9e\uff9f]){30}")

# The rules of `fields.Text` by (is_one_line, blank). White space at both ends may include line
# breaks, since it is trimmed. A text that must not be blank has at least one other character.
TEXT_PATTERNS = {
    (False, True): f"^[^{_CONTROL}]*$",
    (False, False): f"^[{_SPACE}]*[^{_SPACE}{_CONTROL}][^{_CONTROL}]*$",
    (True, True): f"^[{_SPACE}]*[^{_BREAK}{_CONTROL}]*[{_SPACE}]*$",
    (True, False): f"^[{_SPACE}]*[^{_SPACE}{_CONTROL}][^{_BREAK}{_CONTROL}]*[{_SPACE}]*$",
}

TAG_LENGTH = 40
# Separators of tags in one line of text, with the commas of other scripts.
TAG_SEPARATORS = ",،、，"
TAG_PATTERN = (
    f"^[{_SPACE}]*[^{_SPACE}{_CONTROL}{TAG_SEPARATORS}]"
    f"[^{_BREAK}{_CONTROL}{TAG_SEPARATORS}]*[{_SPACE}]*$"
)

# A label of a host name: ASCII letters, digits, - and _ (no - at either end), and any non-ASCII
# character that is visible; registries decide which they allow.
_UNSEEN = r"\u007f-\u00a0\u1680\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff"
# These normalize to / ? # @ or :, so `urlsplit` refuses them.
_DISGUISED = (
    r"\u2047-\u2049\u2100\u2101\u2105\u2106\u2a74\ufe13\ufe16\ufe55\ufe56\ufe5f\ufe6b\uff03\uff0f"
    r"\uff1a\uff1f\uff20"
)
_EDGE = rf"[^\u0000-/:-@\[-\^`{{-\u007e{_UNSEEN}{_DISGUISED}]"
_INNER = rf"[^\u0000-,./:-@\[-\^`{{-\u007e{_UNSEEN}{_DISGUISED}]"
_LABEL = rf"{_EDGE}(?:{_INNER}{{0,61}}{_EDGE})?"
_HOST = rf"{_LABEL}(?:\.{_LABEL})*\.?"
PORT = r"(?:[0-5]?[0-9]{1,4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])"
# After the host: no characters that a URL has to escape, or that could break out of markup.
_REST = rf"""(?:[/?#][^\u0000- "<>\\\^`{{|}}\u007f-\u009f{_SPACE}]*)?"""
_ADDRESS = rf"{_HOST}(?::{PORT})?{_REST}"
_SCHEME = "[Hh][Tt][Tt][Pp][Ss]?://"

# For the OpenAPI document. A website may be empty or lack the scheme.
URL_PATTERN = f"^[{_SPACE}]*{_SCHEME}{_ADDRESS}[{_SPACE}]*$"
WEBSITE_PATTERN = f"^[{_SPACE}]*(?:(?:{_SCHEME})?{_ADDRESS})?[{_SPACE}]*$"
COLOR_PATTERN = f"^[{_SPACE}]*#[0-9A-Fa-f]{{6}}[{_SPACE}]*$"

_URL = re.compile(_SCHEME + _ADDRESS)


def normalize(form: Form, text: str) -> str:
    """Return the normalized text, in linear time.

    `unicodedata` takes quadratic time for the marks on one letter, so at most 30 are normalized at
    a time. That can only change the order of those after the 30th.
    """
    ends = [each.end() for each in _SIGNS.finditer(text)]
    parts = (text[start:end] for start, end in pairwise([0, *ends, len(text)]))
    return "".join(unicodedata.normalize(form, part) for part in parts)


def bare(text: str) -> str:
    """Return the casefolded letters and digits of a text, or all of it if it has none."""
    folded = normalize("NFKC", text).casefold()
    return "".join(letter for letter in folded if letter.isalnum()) or folded.strip()


def fingerprint(text: str) -> str:
    """Return a hash of the text that ignores case, spaces and punctuation."""
    return hashlib.sha256(bare(text).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def is_web_url(text: str) -> bool:
    """Return whether `text` is an http(s) URL with a valid host and port, without credentials."""
    return _URL.fullmatch(text) is not None


# Not printable by Unicode, but harmless: they shape letters and emoji.
JOINERS = "\u200c\u200d"


def is_right_to_left(text: str) -> bool:
    """Return whether the first letter with a direction is written from right to left."""
    kinds = (unicodedata.bidirectional(letter) for letter in text)
    return next((kind != "L" for kind in kinds if kind in ("L", "R", "AL")), False)


def to_snake(name: str) -> str:
    """Return a class name in snake case: `AccessToken` is access_token."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def cut(text: str, length: int) -> str:
    """Return the text, shortened to `length` characters with an ellipsis if it is longer."""
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"


def split_text(text: str, ranges: Iterable[Sequence[int]] | None) -> list[tuple[str, bool]]:
    """Return the text in parts, each with whether it is one of the ordered `ranges`."""
    parts, end = [], 0
    for first, last in ranges or ():
        parts += [(text[end:first], False), (text[first:last], True)]
        end = last
    return [part for part in [*parts, (text[end:], False)] if part[0]]


def make_printable(text: str, longest: int | None = None) -> str:
    """Return a text on one line, without terminal control characters, cut to `longest`."""
    line = " ".join(text.split())
    line = "".join(each if each.isprintable() or each in JOINERS else "\ufffd" for each in line)
    return line if longest is None or len(line) <= longest else line[: longest - 1] + "…"


def write_json(value: object) -> str:
    """Return indented JSON with readable letters and escaped control characters."""

    def escape(match: re.Match[str]) -> str:
        is_shown = match[0].isprintable() or match[0] in JOINERS
        return match[0] if is_shown else json.dumps(match[0]).strip('"')

    return re.sub(r"[^\n -~]", escape, json.dumps(value, ensure_ascii=False, indent=2))


# The usual parser reads this much in a few milliseconds, during which no other thread runs.
SHORT = 64 * 1024
# The fewest characters of a long text per list or object, and per value: millions of tiny ones
# would fill the memory and slow down the garbage collector.
MIN_PART, MIN_VALUE = 16, 8


class _YieldingDecoder(json.JSONDecoder):
    """The parser in pure Python (except for strings), which lets other threads run in between."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.scan_once = vars(json.scanner)["py_make_scanner"](self)


def load_json(text: str, **options: Any) -> Any:
    """Parse JSON; if it is long, let other threads run. Raises `ValueError`, `RecursionError`."""
    if len(text) <= SHORT:
        return json.loads(text, **options)
    if (text.count("[") + text.count("{")) * MIN_PART > len(text):
        raise ValueError("too many lists and objects for so little text")
    if text.count(",") * MIN_VALUE > len(text):
        raise ValueError("too many values for so little text")
    return json.loads(text, cls=_YieldingDecoder, **options)


# Each part of a text, with whether it differs.
Parts = list[tuple[str, bool]]

# If two texts share less than this, marking single words would only confuse.
ALIKE = 0.35
# Longer texts are shown whole, side by side.
MAX_WORDS = 2_000


def compare_texts(before: str, after: str) -> tuple[Parts, Parts]:
    """Return both texts in parts, each with whether the other text lacks it."""
    old, new = (re.findall(r"\w+|\s+|[^\w\s]", text) for text in (before, after))
    if max(len(old), len(new)) > MAX_WORDS:
        return [(before, True)], [(after, True)]
    # A common beginning needs no search.
    begin = next((n for n, (was, now) in enumerate(zip(old, new, strict=False)) if was != now), 0)
    pairs = _find_common(old[begin:], new[begin:])
    if 2 * (begin + len(pairs)) < ALIKE * (len(old) + len(new)):
        return [(before, True)], [(after, True)]
    kept, also = ({*range(begin), *(begin + pair[side] for pair in pairs)} for side in (0, 1))
    return _join(old, kept), _join(new, also)


def _find_common(old: list[str], new: list[str]) -> list[tuple[int, int]]:
    """Return the index pairs of the longest common subsequence, the last pair first.

    A number has a bit for each old word, so each new word is compared with all of them at once
    (Crochemore et al., 2001): the time depends only on how many there are.
    """
    places: dict[str, int] = {}
    for place, word in enumerate(old):
        places[word] = places.get(word, 0) | 1 << place
    every = (1 << len(old)) - 1
    # One row per new word: an unset bit means that the common subsequence grows at that old word.
    rows = [every]
    for word in new:
        here = rows[-1] & places.get(word, 0)
        rows.append(((rows[-1] + here) | (rows[-1] - here)) & every)
    pairs, at, place = [], len(old), len(new)
    while at and place:
        if rows[place] >> at - 1 & 1:
            at -= 1
        elif not rows[place - 1] >> at - 1 & 1:
            place -= 1
        else:
            at, place = at - 1, place - 1
            pairs.append((at, place))
    return pairs


def _join(words: list[str], kept: set[int]) -> Parts:
    """Join the words into parts, each with whether its words are missing from `kept`."""
    runs = groupby(enumerate(words), key=lambda each: each[0] not in kept)
    return [("".join(word for _, word in run), differs) for differs, run in runs]
