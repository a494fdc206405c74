"""The words of a search, and where a text has them: as the index finds them."""

import itertools
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from testimonials.core.text_rules import normalize

# What a search asks for more than these is left out.
MAX_WORDS = 10

# Scripts without spaces, as the index has them: Thai, Lao, Burmese, Khmer, Japanese, Chinese.
SCRIPTS = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\U00020000-\U0003134f"
)
UNSPACED = re.compile(f"([{SCRIPTS}])")


@dataclass(frozen=True)
class Word:
    """A word to find; one with signs inside is several in a row, and the last may go on.

    `pattern` finds it in a folded text; None if it has no letters, so that no index knows it.
    """

    said: str
    pattern: re.Pattern[str] | None
    # A single letter of a script with spaces, with which too much begins.
    is_short: bool = False

    def find(self, folded: str) -> Iterator[tuple[int, int]]:
        """Yield where a folded text has the word."""
        if self.pattern is None:
            yield from (each.span() for each in re.finditer(re.escape(self.said), folded))
            return
        for found in self.pattern.finditer(folded):
            start = found.start()
            if not start or not is_letter(folded[start - 1]) or _is_apart(folded, start):
                yield found.span()


def read_words(text: str) -> list[Word]:
    """Return the words of a search."""
    return [_read_word(each) for each in text.replace("\0", " ").split()[:MAX_WORDS]]


def find_places(words: list[Word], text: str) -> list[tuple[int, int]]:
    """Return the parts of a text that have some of the words, in order and apart."""
    letters = list(map(fold, text))
    places = [place for place, folded in enumerate(letters) for _ in folded]
    whole = "".join(letters)
    spans = sorted(span for word in words for span in word.find(whole))
    found: list[tuple[int, int]] = []
    for first, last in spans:
        start, end = places[first], places[last - 1] + 1
        while end < len(text) and not letters[end]:
            # Its accent is a letter of its own.
            end += 1
        if found and start <= found[-1][1]:
            start, end = found[-1][0], max(end, found.pop()[1])
        found.append((start, end))
    return found


def mark_words(words: list[Word], text: str) -> list[tuple[str, bool]]:
    """Return a text in parts, each with whether it is one of the words."""
    parts, place = [], 0
    for first, last in find_places(words, text) if words else ():
        parts += [(text[place:first], False), (text[first:last], True)]
        place = last
    return [part for part in [*parts, (text[place:], False)] if part[0]]


def fold(text: str) -> str:
    """Return a text without capitals and accents."""
    return text.lower() if text.isascii() else "".join(map(_fold_letter, text))


@lru_cache(maxsize=10_000)
def is_letter(letter: str) -> bool:
    """Tell whether something is part of a word: a letter, a digit, or a sign that goes with one."""
    category = unicodedata.category(letter)
    return category[0] in "LN" or category in ("Co", "Mn", "Mc")


@lru_cache(maxsize=10_000)
def _fold_letter(letter: str) -> str:
    parts = normalize("NFD", letter)
    plain = "".join(part for part in parts if not "\u0300" <= part <= "\u036f")
    return normalize("NFC", plain).lower()


def _read_word(said: str) -> Word:
    apart = UNSPACED.sub(r" \1 ", fold(said))
    parts = "".join(each if is_letter(each) else " " for each in apart).split()
    if not parts:
        return Word(said, None)
    pattern = re.escape(parts[0])
    for before, part in itertools.pairwise(parts):
        is_near = UNSPACED.match(before) or UNSPACED.match(part)
        pattern += (r"[\W_]*" if is_near else r"[\W_]+") + re.escape(part)
    is_short = len(pattern) == 1 and not UNSPACED.match(pattern)
    return Word(said, re.compile(pattern), is_short)


def _is_apart(folded: str, place: int) -> bool:
    """Tell whether a letter begins a word, since it or the one before it is of such a script."""
    return bool(UNSPACED.match(folded, place) or UNSPACED.match(folded, place - 1))
