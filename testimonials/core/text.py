"""Which characters texts and addresses may have, text for terminals, and how two texts differ."""

import hashlib
import json
import json.scanner
import re
import unicodedata
from collections.abc import Iterable, Sequence
from itertools import groupby, pairwise
from typing import Any, Literal

# Which characters a text may have, how texts are normalized, and which are web URLs.
#
# Python and JSON Schema (ECMA 262) read the classes here alike; their \s and \w differ.

Form = Literal["NFC", "NFD", "NFKC", "NFKD"]

_CONTROL = r"\u0000-\u0008\u000b-\u001f"
_BREAK = r"\n\u0085\u2028\u2029"
# What `str.strip` removes.
_SPACE = r"\t\n \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"

LINE_BREAK = re.compile(f"[{_BREAK}]")
# Lone surrogates too: JSON can hold them, for example of an emoji that was cut; databases can't.
UNUSABLE = re.compile(rf"[{_CONTROL}\ud800-\udfff]")

# Whatever combines is neither a letter nor white space, but for two marks of half width. Unicode's
# own limit for what is normalized in a stream is this many on one letter (UAX 15).
_SIGNS = re.compile(r"(?:[^\w\s]|[\uff9e\uff9f]){30}")

# By (is_one_line, blank): the rules of `fields.Text`. Outer white space is trimmed, so it may hold
# line breaks; a text that must not be blank keeps at least one character.
TEXT_PATTERNS = {
    (False, True): f"^[^{_CONTROL}]*$",
    (False, False): f"^[{_SPACE}]*[^{_SPACE}{_CONTROL}][^{_CONTROL}]*$",
    (True, True): f"^[{_SPACE}]*[^{_BREAK}{_CONTROL}]*[{_SPACE}]*$",
    (True, False): f"^[{_SPACE}]*[^{_SPACE}{_CONTROL}][^{_BREAK}{_CONTROL}]*[{_SPACE}]*$",
}

TAG_LENGTH = 40
# Between tags in one line of text, in the scripts that have a comma of their own too.
TAG_SEPARATORS = ",،、，"
TAG_PATTERN = (
    f"^[{_SPACE}]*[^{_SPACE}{_CONTROL}{TAG_SEPARATORS}]"
    f"[^{_BREAK}{_CONTROL}{TAG_SEPARATORS}]*[{_SPACE}]*$"
)

# A label of a host name: ASCII letters, digits, - and _, not - at its ends, and any character
# outside ASCII but white space and invisible ones: registries decide which of those they allow.
_UNSEEN = r"\u007f-\u00a0\u1680\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff"
# What becomes / ? # @ or : in the form of names, so that `urlsplit` refuses it.
_DISGUISED = (
    r"\u2047-\u2049\u2100\u2101\u2105\u2106\u2a74\ufe13\ufe16\ufe55\ufe56\ufe5f\ufe6b\uff03\uff0f"
    r"\uff1a\uff1f\uff20"
)
_EDGE = rf"[^\u0000-/:-@\[-\^`{{-\u007e{_UNSEEN}{_DISGUISED}]"
_INNER = rf"[^\u0000-,./:-@\[-\^`{{-\u007e{_UNSEEN}{_DISGUISED}]"
_LABEL = rf"{_EDGE}(?:{_INNER}{{0,61}}{_EDGE})?"
_HOST = rf"{_LABEL}(?:\.{_LABEL})*\.?"
PORT = r"(?:[0-5]?[0-9]{1,4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])"
# After the host: nothing that must be escaped in a URL, or that could break out of markup.
_REST = rf"""(?:[/?#][^\u0000- "<>\\\^`{{|}}\u007f-\u009f{_SPACE}]*)?"""
_ADDRESS = rf"{_HOST}(?::{PORT})?{_REST}"
_SCHEME = "[Hh][Tt][Tt][Pp][Ss]?://"

# For the OpenAPI document; the one with an optional scheme may be empty too.
URL_PATTERN = f"^[{_SPACE}]*{_SCHEME}{_ADDRESS}[{_SPACE}]*$"
WEBSITE_PATTERN = f"^[{_SPACE}]*(?:(?:{_SCHEME})?{_ADDRESS})?[{_SPACE}]*$"
COLOUR_PATTERN = f"^[{_SPACE}]*#[0-9A-Fa-f]{{6}}[{_SPACE}]*$"

_URL = re.compile(_SCHEME + _ADDRESS)


def normalize(form: Form, text: str) -> str:
    """Return a text normalized, in time in proportion to its length.

    The library takes the square of the number of marks on a letter. Here 30 signs in a row are
    normalized at once, so that only those after the 30th may stand in another order.
    """
    ends = [each.end() for each in _SIGNS.finditer(text)]
    parts = (text[start:end] for start, end in pairwise([0, *ends, len(text)]))
    return "".join(unicodedata.normalize(form, part) for part in parts)


def bare(text: str) -> str:
    """Return the letters and digits of a text, folded; of one without any, what there is."""
    folded = normalize("NFKC", text).casefold()
    return "".join(letter for letter in folded if letter.isalnum()) or folded.strip()


def fingerprint(text: str) -> str:
    """Return a hash of the words, whatever their case, spaces and punctuation."""
    return hashlib.sha256(bare(text).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def is_web_url(text: str) -> bool:
    """Return whether `text` is an http(s) URL with a sound name and port, without credentials."""
    return _URL.fullmatch(text) is not None


# Text from strangers in messages: nothing in it may control the terminal that shows it.

# They shape letters and emoji, and are harmless.
JOINERS = "\u200c\u200d"


def is_right_to_left(text: str) -> bool:
    """Tell a text's direction by its first letter that has one."""
    kinds = (unicodedata.bidirectional(letter) for letter in text)
    return next((kind != "L" for kind in kinds if kind in ("L", "R", "AL")), False)


def to_snake(name: str) -> str:
    """Return the name of a class in snake case: `AccessToken` is access_token."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def cut(text: str, length: int) -> str:
    """Return the text in at most `length` characters, with an ellipsis where it was longer."""
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"


def split_text(text: str, ranges: Iterable[Sequence[int]] | None) -> list[tuple[str, bool]]:
    """Return the text in parts, each with whether it is one of the ranges, which are in order."""
    parts, place = [], 0
    for first, last in ranges or ():
        parts += [(text[place:first], False), (text[first:last], True)]
        place = last
    return [part for part in [*parts, (text[place:], False)] if part[0]]


def make_printable(text: str, longest: int | None = None) -> str:
    """Return a text on one line without control characters, cut at `longest` characters."""
    line = " ".join(text.split())
    line = "".join(each if each.isprintable() or each in JOINERS else "\ufffd" for each in line)
    return line if longest is None or len(line) <= longest else line[: longest - 1] + "…"


def write_json(value: object) -> str:
    """Return indented JSON with readable letters and escaped control characters."""
    text = json.dumps(value, ensure_ascii=False, indent=2)
    return re.sub(r"[^\n -~]", lambda found: _escape(found[0]), text)


def _escape(letter: str) -> str:
    is_shown = letter.isprintable() or letter in JOINERS
    return letter if is_shown else json.dumps(letter).strip('"')


# JSON of megabytes, read so that other threads get their turn.

# The usual parser reads so much in a few milliseconds, during which nothing else runs.
SHORT = 64 * 1024
# On average a long text has so many characters for each list or object, and for each value: of
# smaller ones, millions would have to be kept, and looked through whenever memory is tidied.
LEAST_PART, LEAST_VALUE = 16, 8


class _Patient(json.JSONDecoder):
    """The same parser, but for strings in Python: between any two values others may work."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.scan_once = vars(json.scanner)["py_make_scanner"](self)


def load_json(text: str, **options: Any) -> Any:
    """Return what `json.loads` returns; raise `ValueError` and `RecursionError`."""
    if len(text) <= SHORT:
        return json.loads(text, **options)
    if (text.count("[") + text.count("{")) * LEAST_PART > len(text):
        raise ValueError("too many lists and objects for so little text")
    if text.count(",") * LEAST_VALUE > len(text):
        raise ValueError("too many values for so little text")
    return json.loads(text, cls=_Patient, **options)


# Text, and whether it differs.
Parts = list[tuple[str, bool]]

# Below this, two texts have so little in common that marking words only confuses.
ALIKE = 0.35
# Longer texts are shown whole, side by side.
MOST_WORDS = 2_000


def compare_texts(before: str, after: str) -> tuple[Parts, Parts]:
    """Return both texts in parts, each with whether the other one hasn't got it."""
    old, new = (re.findall(r"\w+|\s+|[^\w\s]", text) for text in (before, after))
    if max(len(old), len(new)) > MOST_WORDS:
        return [(before, True)], [(after, True)]
    # What both begin with needs no search.
    begin = next((n for n, (was, now) in enumerate(zip(old, new, strict=False)) if was != now), 0)
    pairs = _find_common(old[begin:], new[begin:])
    if 2 * (begin + len(pairs)) < ALIKE * (len(old) + len(new)):
        return [(before, True)], [(after, True)]
    kept, also = ({*range(begin), *(begin + pair[side] for pair in pairs)} for side in (0, 1))
    return _join(old, kept), _join(new, also)


def _find_common(old: list[str], new: list[str]) -> list[tuple[int, int]]:
    """Return the places of the longest row of words that both have, the last pair first.

    A number has a bit for each old word, so that a new one is compared with all of them at once
    (Crochemore and others, 2001): the time doesn't depend on what the words are.
    """
    places: dict[str, int] = {}
    for place, word in enumerate(old):
        places[word] = places.get(word, 0) | 1 << place
    every = (1 << len(old)) - 1
    # After each new word: a bit is unset where a row ends that is longer than those before.
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
    """Return the words in parts, each with whether it is not among those that are kept."""
    runs = groupby(enumerate(words), key=lambda each: each[0] not in kept)
    return [("".join(word for _, word in run), differs) for differs, run in runs]
