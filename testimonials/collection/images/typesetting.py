"""Lines and directions of drawn texts."""

import ctypes
import functools
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

from testimonials.collection.images.fonts import (
    EMOJI,
    LINE_HEIGHT,
    LINE_HEIGHTS,
    SANS,
    Undrawable,
    can_shape,
    choose_faces,
    fribidi,
    is_unseen,
    load,
)
from testimonials.core.text import normalize

if TYPE_CHECKING:
    from PIL import Image as Pictures


# Letters with what belongs to them: the parts of a text that are never broken.

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


# Breaking a text into lines.

# Chinese and Japanese break between any two characters, but for these.
NOT_FIRST = set(
    "、。，．・：；？！）］｝」』】〉》〕”’ーぁぃぅぇぉっゃゅょァィゥェォッャュョ々…‥,.!?:;)]}%"
)
NOT_LAST = set("（［｛「『【〈《〔“‘([{$¥")


def wrap(clusters: Iterable[Cluster], size: int, width: float) -> list[Line]:
    """Break into lines of a width: at spaces, between wide letters, or anywhere."""
    lines: list[Line] = []
    line: list[Cluster] = []
    length = 0.0
    for word in _words(clusters):
        if word[0].is_break:
            lines.append(tuple(line))
            line, length = [], 0.0
            continue
        own = measure(word, size)
        seen = measure(word[:-1], size) if word[-1].is_space else own
        if line and length + seen > width:
            lines.append(tuple(line))
            line, length = [], 0.0
        if seen > width:
            *full, last = _break_word(word, size, width)
            lines += full
            word, own = last, measure(last, size)
        line += word
        length += own
    lines.append(tuple(line))
    return [_trim(line) for line in lines]


def _words(clusters: Iterable[Cluster]) -> Iterable[Line]:
    """Yield what stays together: words with the space after them, single wide letters, breaks."""
    word: list[Cluster] = []
    for each in clusters:
        if word and (each.is_break or word[-1].is_break or _may_break(word[-1], each)):
            yield tuple(word)
            word = []
        word.append(each)
    if word:
        yield tuple(word)


def _may_break(before: Cluster, after: Cluster) -> bool:
    if before.is_space:
        return not after.is_space
    if before.text in "-–—/" and after.text.isalpha():
        return True
    if after.is_space or after.text in NOT_FIRST or before.text in NOT_LAST:
        return False
    return is_wide(before) or is_wide(after)


def _break_word(word: Line, size: int, width: float) -> list[Line]:
    lines: list[Line] = []
    line: list[Cluster] = []
    length = 0.0
    for each in word:
        own = measure((each,), size)
        if line and length + own > width:
            lines.append(tuple(line))
            line, length = [], 0.0
        line.append(each)
        length += own
    return [*lines, tuple(line)]


def balance(clusters: Line, lines: list[Line], size: int, width: float) -> list[Line]:
    """Return as many lines of the least width."""
    low, best = width / 2, lines
    while width - low > size / 8:
        middle = (low + width) / 2
        tried = wrap(clusters, size, middle)
        if len(tried) > len(lines):
            low = middle
        else:
            width, best = middle, tried
    return best


def _trim(line: Line) -> Line:
    return line[:-1] if line and line[-1].is_space else line


# Texts set in lines: directions, and where highlighted words lie.

ELLIPSIS = "…"
# What isn't left before an ellipsis.
ENDS = " .,;:…。、،"
# FriBiDi's names of directions.
LEFT_TO_RIGHT, RIGHT_TO_LEFT = 0x110, 0x111


@dataclass(frozen=True)
class Block:
    """Lines in one size of letters."""

    lines: tuple[Line, ...]
    size: int
    line_height: int
    width: int
    is_right_to_left: bool

    @property
    def height(self) -> int:
        return self.line_height * len(self.lines)


@dataclass(frozen=True)
class Text:
    """A text whose letters have their fonts; raises `Undrawable` where one has none."""

    clusters: Line
    is_right_to_left: bool

    @classmethod
    def read(cls, text: str, family: str, use: str, marks: Sequence[Sequence[int]] = ()) -> "Text":
        """Choose the fonts; `marks` are ranges of code points of `text`."""
        faces = choose_faces(text, family, use)
        clusters: list[Cluster] = []
        lacking = []
        for start, cluster in split_clusters(text):
            if cluster.isspace():
                add_space(clusters, cluster)
                continue
            if unicodedata.category(cluster[0]) in ("Cc", "Cf"):
                continue
            plain = compose(cluster)
            if (face := faces.find(plain)) is None:
                lacking.append(plain)
            is_marked = any(a <= start < b for a, b in marks)
            clusters.append(Cluster(plain, face or "", is_marked))
        if lacking:
            raise Undrawable(lacking)
        while clusters and (clusters[-1].is_space or clusters[-1].is_break):
            clusters.pop()
        return cls(tuple(give_spaces_fonts(clusters)), is_right_to_left(text))

    @property
    def weight(self) -> int:
        """Return its length in letters, wide ones counted twice."""
        return sum(2 if is_wide(each) else 1 for each in self.clusters)

    @property
    def line_height(self) -> float:
        return max((LINE_HEIGHTS.get(each.face, LINE_HEIGHT) for each in self.clusters), default=1)

    def set(self, size: int, width: float, most: float) -> Block | None:
        """Return the text in lines of a width, balanced, or None if they are taller than `most`."""
        lines = wrap(self.clusters, size, width)
        height = round(size * self.line_height)
        if height * len(lines) > most:
            return None
        return self._block(balance(self.clusters, lines, size, width), size)

    def shorten(self, size: int, width: float, most: float) -> Block:
        """Return the beginning of the text that fits, ending with “…”."""
        count = max(1, int(most // round(size * self.line_height)))
        lines = wrap(self.clusters, size, width)
        if len(lines) <= count:
            return self._block(lines, size)
        last = list(lines[count - 1])
        faces = [each.face for each in last if each.face not in ("", EMOJI)]
        dots = Cluster(ELLIPSIS, faces[-1] if faces else choose_faces("", SANS, "text").paths[0])
        while last and (measure((*last, dots), size) > width or last[-1].text in ENDS):
            last.pop()
        return self._block([*lines[: count - 1], (*last, dots)], size)

    def _block(self, lines: Iterable[Line], size: int) -> Block:
        kept = tuple(lines)
        width = max((measure(line, size) for line in kept), default=0)
        return Block(
            kept, size, round(size * self.line_height), round(width), self.is_right_to_left
        )


def draw_block(
    picture: "Pictures.Image", block: Block, at: tuple[int, int], colour: str, mark: str = ""
) -> None:
    """Draw lines from their top at the start edge; a right-to-left block goes left from it."""
    for number, line in enumerate(block.lines):
        baseline = at[1] + round(block.line_height * (number + 0.5) + block.size * 0.35)
        runs = [
            (run, level, *_measure_run(run, level, block.size))
            for run, level in _runs(line, block.is_right_to_left)
        ]
        x = float(at[0])
        if block.is_right_to_left:
            x -= sum(length for _run, _level, length, _marks in runs)
        _draw_line(picture, runs, x, baseline, block.size, colour, mark)


def _draw_line(
    picture: "Pictures.Image",
    runs: list[Any],
    x: float,
    baseline: int,
    size: int,
    colour: str,
    mark: str,
) -> None:
    from PIL import ImageDraw

    canvas = ImageDraw.Draw(picture)
    lefts = []
    for _run, _level, length, marks in runs:
        lefts.append(x)
        for begin, end in marks if mark else ():
            top, bottom = baseline - round(size * 0.27), baseline + round(size * 0.15)
            canvas.rectangle((x + begin, top, x + end, bottom), mark)
        x += length
    for left, (run, level, _length, _marks) in zip(lefts, runs, strict=True):
        direction = ("rtl" if level % 2 else "ltr") if can_shape() else None
        canvas.text(
            (left, baseline),
            "".join(each.text for each in run),
            colour,
            load(run[0].face, size),
            "ls",
            direction=direction,
            embedded_color=run[0].face == EMOJI,
        )


def _measure_run(run: Line, level: int, size: int) -> tuple[float, list[tuple[float, float]]]:
    """Return a run's width, and from where to where its highlighted words go."""
    font = load(run[0].face, size)

    def reach(count: int) -> float:
        return float(font.getlength("".join(each.text for each in run[:count])))

    length, marks, at = reach(len(run)), [], 0
    for is_marked, part in groupby(run, key=lambda each: each.is_marked):
        end = at + len(list(part))
        if is_marked:
            begin, stop = reach(at), reach(end)
            marks.append((length - stop, length - begin) if level % 2 else (begin, stop))
        at = end
    return length, marks


def _runs(line: Line, is_mirrored: bool) -> list[tuple[Line, int]]:
    """Return a line's parts of one font and direction, from left to right."""
    levels = _levels(line, is_mirrored)
    runs = [
        (tuple(cluster for cluster, _level in part), level)
        for (_face, level), part in groupby(
            zip(line, levels, strict=True), key=lambda each: (each[0].face, each[1])
        )
    ]
    # From the highest level to the lowest odd one, whatever is at least as deep is turned around.
    for least in range(max(levels, default=0), 0, -1):
        turned: list[tuple[Line, int]] = []
        for is_deep, part in groupby(runs, key=lambda run: run[1] >= least):
            found = list(part)
            turned += reversed(found) if is_deep else found
        runs = turned
    return runs


def _levels(line: Line, is_mirrored: bool) -> list[int]:
    """Return how deep each cluster lies in changes of direction; odd is right to left."""
    library = fribidi()
    if library is None:
        return [0] * len(line)
    text = "".join(each.text for each in line)
    count = len(text)
    letters = (ctypes.c_uint32 * count)(*map(ord, text))
    base = ctypes.c_uint32(RIGHT_TO_LEFT if is_mirrored else LEFT_TO_RIGHT)
    levels = (ctypes.c_int8 * count)()
    library.fribidi_log2vis(letters, count, ctypes.byref(base), None, None, None, levels)
    starts, at = [], 0
    for each in line:
        starts.append(at)
        at += len(each.text)
    return [levels[start] for start in starts]
