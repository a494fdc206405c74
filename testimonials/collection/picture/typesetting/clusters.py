"""Letters with what belongs to them: the parts of a text that are never broken."""

import functools
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

from testimonials.collection.picture.typesetting.fonts import EMOJI, is_unseen, load
from testimonials.core.text_rules import normalize

WIDE = ("CJK", "HIRAGANA", "KATAKANA", "IDEOGRAPHIC", "FULLWIDTH")
# More of them are a prank: they would run over what stands around.
MOST_MARKS, LONGEST_EMOJI = 4, 12
FLAG_LETTERS = range(0x1F1E6, 0x1F200)


@dataclass(frozen=True)
class Cluster:
    """A letter with its marks, or an emoji: what is never broken."""

    text: str
    face: str = ""
    is_marked: bool = False

    @property
    def is_break(self) -> bool:
        return self.text == "\n"

    @property
    def is_space(self) -> bool:
        return self.text == " "


Line = tuple[Cluster, ...]


def split_clusters(text: str) -> Iterable[tuple[int, str]]:
    """Yield letters with what belongs to them, and where each begins in the text."""
    start = 0
    for at in range(1, len(text) + 1):
        if at == len(text) or not _belongs(text, start, at):
            yield start, text[start:at]
            start = at


def compose(cluster: str) -> str:
    """Return a letter with its first marks, as one character where there is one."""
    composed = normalize("NFC", cluster)
    marks = [at for at, each in enumerate(composed) if unicodedata.combining(each)]
    return composed[: marks[MOST_MARKS]] if len(marks) > MOST_MARKS else composed


def _belongs(text: str, start: int, at: int) -> bool:
    letter, before = text[at], text[at - 1]
    if before == "\u200d" and unicodedata.category(letter) in ("So", "Sm"):
        return at - start < LONGEST_EMOJI
    if ord(letter) in FLAG_LETTERS:
        return at - start == 1 and ord(before) in FLAG_LETTERS
    return (
        unicodedata.category(letter)[0] == "M"
        or is_unseen(letter)
        or 0x1160 <= ord(letter) < 0x1200
    )


def is_right_to_left(text: str) -> bool:
    """Tell a text's direction by its first letter that has one."""
    kinds = (unicodedata.bidirectional(letter) for letter in text)
    return next((kind != "L" for kind in kinds if kind in ("L", "R", "AL")), False)


def measure(line: Iterable[Cluster], size: int) -> float:
    """Return the width of some letters."""
    parts = groupby(line, key=lambda each: each.face)
    return sum(_length(face, size, "".join(each.text for each in run)) for face, run in parts)


@functools.lru_cache(maxsize=20_000)
def _length(face: str, size: int, text: str) -> float:
    return float(load(face, size).getlength(text))


def is_wide(cluster: Cluster) -> bool:
    return unicodedata.name(cluster.text[0], "").startswith(WIDE)


def add_space(clusters: list[Cluster], space: str) -> None:
    """Add a space or a break, unless there is one."""
    if not clusters:
        return
    if space in ("\n", "\r", "\u2028", "\u2029"):
        if clusters[-1].is_space:
            clusters.pop()
        if not clusters[-1].is_break:
            clusters.append(Cluster("\n"))
    elif not clusters[-1].is_space and not clusters[-1].is_break:
        clusters.append(Cluster(" "))


def give_spaces_fonts(clusters: list[Cluster]) -> Iterable[Cluster]:
    """A space belongs to the word before it, and is highlighted between highlighted words."""
    for at, each in enumerate(clusters):
        if not each.is_space:
            yield each
            continue
        before, after = clusters[at - 1], clusters[at + 1]
        face = after.face if before.face == EMOJI else before.face
        yield Cluster(" ", face, before.is_marked and after.is_marked)
