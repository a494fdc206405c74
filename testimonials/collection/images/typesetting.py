"""Typesetting of drawn texts: fonts, line breaks and directions."""

import ctypes
import platform
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import accumulate, groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from testimonials.core.text import is_right_to_left, normalize

if TYPE_CHECKING:
    from PIL import Image as Pictures

FILES = Path(__file__).with_name("font_files")
SANS, SERIF = "inter", "fraunces"
EMOJI = str(FILES / "twemoji.woff2")
ARABIC, HEBREW, JAPANESE, KOREAN, SIMPLIFIED, TRADITIONAL = (
    str(FILES / f"noto-sans-{script}.woff2")
    for script in ("arabic", "hebrew", "jp", "kr", "sc", "tc")
)
# Sans-serif fonts of common systems, for scripts that our own files lack.
SYSTEM_FONTS = (
    "/usr/share/fonts/truetype/noto/NotoSans-Bold.ttf",
    "/usr/share/fonts/noto/NotoSans-Bold.ttf",
    "/usr/share/fonts/google-noto/NotoSans-Bold.ttf",
    "/usr/share/fonts/truetype/noto/NotoSansDevanagari-Bold.ttf",
    "/usr/share/fonts/truetype/noto/NotoSansBengali-Bold.ttf",
    "/usr/share/fonts/truetype/noto/NotoSansThai-Bold.ttf",
    "/usr/share/fonts/opentype/noto/NotoSansCJK-Bold.ttc",
    "/usr/share/fonts/noto-cjk/NotoSansCJK-Bold.ttc",
    "/usr/share/fonts/google-noto-cjk/NotoSansCJK-Bold.ttc",
    "/usr/share/fonts/truetype/dejavu/DejaVuSans-Bold.ttf",
    "/usr/share/fonts/dejavu/DejaVuSans-Bold.ttf",
    "/usr/share/fonts/dejavu-sans-fonts/DejaVuSans-Bold.ttf",
    "/usr/share/fonts/TTF/DejaVuSans-Bold.ttf",
    "/System/Library/Fonts/Supplemental/Arial Unicode.ttf",
)
# Line heights in em; fonts of these scripts need more than Latin ones.
LINE_HEIGHT = 1.2
LINE_HEIGHTS = {
    ARABIC: 1.6, HEBREW: 1.3, JAPANESE: 1.4, KOREAN: 1.4, SIMPLIFIED: 1.4, TRADITIONAL: 1.4,
}  # fmt: skip
# Not a character, so fonts draw it like any character that they lack.
NO_LETTER = "\U0010fffe"
# From Hebrew to Khmer: right to left, or with letters whose shape depends on their neighbors.
SHAPED = range(0x0590, 0x1800)
EMOJI_SELECTOR = "\ufe0f"
# Joiners and variation selectors, for which fonts need no glyph.
UNSEEN = {"\u200c", "\u200d", "\ufe0e", EMOJI_SELECTOR, "\u20e3"}
PROBE_SIZE = 24


class Undrawable(Exception):
    """No font has these letters."""

    def __init__(self, letters: Iterable[str]) -> None:
        self.letters = "".join(dict.fromkeys(letters))[:10]
        super().__init__(self.letters)


def choose_faces(text: str, family: str, use: str) -> tuple[str, ...]:
    """Return the paths of the fonts for a text; `use` is `display` for large letters or `text`.

    The first font that has a letter draws it. A serif font that lacks any of the letters isn't used
    at all. Characters look different in Chinese and Japanese; a text with kana is Japanese.
    """
    own = [str(FILES / f"{each}-{use}.woff2") for each in (family, SANS)]
    composed = normalize("NFC", text)
    letters = [each for each in set(composed) if unicodedata.category(each)[0] in "LM"]
    letters = [each for each in letters if not is_unseen(each)]
    if not has_letters(own[0], letters):
        own = own[1:]
    chinese = [SIMPLIFIED, TRADITIONAL]
    han = [each for each in letters if unicodedata.name(each, "").startswith("CJK")]
    if not has_letters(SIMPLIFIED, han):
        chinese.reverse()
    is_japanese = any("\u3040" <= each <= "\u30ff" for each in letters)
    east = [JAPANESE, *chinese] if is_japanese else [*chinese, JAPANESE]
    system = [path for path in SYSTEM_FONTS if _exists(path)]
    return (*own, ARABIC, HEBREW, KOREAN, *east, EMOJI, *system)


def find_face(faces: Iterable[str], cluster: str) -> str | None:
    """Return the font for a letter with its marks, or for an emoji of several characters."""
    letters = [each for each in cluster if not is_unseen(each)] or [" "]
    is_emoji = len(letters) < len(cluster) and has_letters(EMOJI, letters[:1])
    if is_emoji and (EMOJI_SELECTOR in cluster or unicodedata.category(letters[0]) == "So"):
        return EMOJI
    if not can_shape() and any(ord(each) in SHAPED for each in letters):
        return None
    return next((path for path in faces if has_letters(path, letters)), None)


def is_unseen(letter: str) -> bool:
    """Return whether a character only joins or modifies others: joiners, skin tones, tags."""
    return (
        letter in UNSEEN or "\U0001f3fb" <= letter <= "\U0001f3ff" or letter >= "\U000e0000"
    ) and letter < "\U000f0000"


def has_letters(path: str, letters: Iterable[str]) -> bool:
    return all(letter.isspace() or _has_letter(path, letter) for letter in letters)


@cache
def fribidi() -> ctypes.CDLL | None:
    """Load FriBiDi, which Pillow needs to shape letters, before `ImageFont` looks for it."""
    for name in (str(FILES / f"libfribidi-{platform.machine()}.so.0"), "libfribidi.so.0"):
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None


@cache
def can_shape() -> bool:
    is_loaded = fribidi() is not None
    from PIL import features

    return is_loaded and bool(features.check("raqm"))


@cache
def load(path: str, size: int) -> Any:
    fribidi()
    from PIL import ImageFont

    return ImageFont.truetype(path, size)


@cache
def _exists(path: str) -> bool:
    return Path(path).is_file()


@cache
def _probe(path: str) -> Any:
    fribidi()
    from PIL import ImageFont

    # The basic layout adds nothing to a single mark, such as a dotted circle.
    return ImageFont.truetype(path, PROBE_SIZE, layout_engine=ImageFont.Layout.BASIC)


@cache
def _has_letter(path: str, letter: str) -> bool:
    font = _probe(path)
    return bool(bytes(font.getmask(letter)) != bytes(font.getmask(NO_LETTER)))


# Clusters, which are letters with their marks, are never split.

WIDE = ("CJK", "HIRAGANA", "KATAKANA", "IDEOGRAPHIC", "FULLWIDTH")
# More would be a prank, and overlap other lines.
MOST_MARKS, LONGEST_EMOJI = 4, 12
FLAG_LETTERS = range(0x1F1E6, 0x1F200)


@dataclass(frozen=True)
class Cluster:
    """A letter with its marks, or an emoji."""

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
    """Yield the start of each cluster of a text, and the cluster."""
    start = 0
    for at in range(1, len(text) + 1):
        if at == len(text) or not _belongs(text, start, at):
            yield start, text[start:at]
            start = at


def compose(cluster: str) -> str:
    """Return a letter with its first marks, as one character if possible."""
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


def measure(line: Iterable[Cluster], size: int) -> float:
    parts = groupby(line, key=lambda each: each.face)
    return sum(_length(face, size, "".join(each.text for each in run)) for face, run in parts)


@lru_cache(maxsize=20_000)
def _length(face: str, size: int, text: str) -> float:
    return float(load(face, size).getlength(text))


def is_wide(cluster: Cluster) -> bool:
    return unicodedata.name(cluster.text[0], "").startswith(WIDE)


def add_space(clusters: list[Cluster], space: str) -> None:
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
    """Give each space the font of the word before, and a highlight if it is between highlights."""
    for at, each in enumerate(clusters):
        if not each.is_space:
            yield each
            continue
        before, after = clusters[at - 1], clusters[at + 1]
        face = after.face if before.face == EMOJI else before.face
        yield Cluster(" ", face, before.is_marked and after.is_marked)


# In Chinese and Japanese, lines may break between any two characters except before or after these.
NOT_FIRST = set(
    "、。，．・：；？！）］｝」』】〉》〕”’ーぁぃぅぇぉっゃゅょァィゥェォッャュョ々…‥,.!?:;)]}%"
)
NOT_LAST = set("（［｛「『【〈《〔“‘([{$¥")


def wrap(clusters: Iterable[Cluster], size: int, width: float) -> list[Line]:
    """Break into lines of a width: at spaces, between wide letters, and anywhere in long words."""
    lines: list[list[Cluster]] = [[]]
    length = 0.0
    for word in _words(clusters):
        word_length = 0.0 if word[0].is_break else measure(_trim(word), size)
        if word[0].is_break or (lines[-1] and length + word_length > width):
            lines.append([])
            length = 0.0
        if word[0].is_break:
            continue
        for part in [word] if word_length <= width else zip(word, strict=True):
            part_length = measure(part, size)
            if word_length > width and lines[-1] and length + part_length > width:
                lines.append([])
                length = 0.0
            lines[-1] += part
            length += part_length
    return [_trim(tuple(line)) for line in lines]


def _words(clusters: Iterable[Cluster]) -> Iterable[Line]:
    """Yield words with the space that follows, single wide letters, and line breaks."""
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


def balance(clusters: Line, lines: list[Line], size: int, width: float) -> list[Line]:
    """Return the same number of lines, as narrow as possible."""
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


# What is removed before an ellipsis.
ENDS = " .,;:…。、،"
# FriBiDi's constants for directions.
LEFT_TO_RIGHT, RIGHT_TO_LEFT = 0x110, 0x111


@dataclass(frozen=True)
class Block:
    """Lines in one font size."""

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
    """A text with a font for each letter."""

    clusters: Line
    is_right_to_left: bool

    @classmethod
    def read(cls, text: str, family: str, use: str, marks: Sequence[Sequence[int]] = ()) -> "Text":
        """Choose the fonts; `marks` are ranges of code points. Raises `Undrawable`."""
        faces = choose_faces(text, family, use)
        clusters: list[Cluster] = []
        missing = []
        for start, cluster in split_clusters(text):
            if cluster.isspace():
                add_space(clusters, cluster)
                continue
            if unicodedata.category(cluster[0]) in ("Cc", "Cf"):
                continue
            plain = compose(cluster)
            if (face := find_face(faces, plain)) is None:
                missing.append(plain)
            is_marked = any(a <= start < b for a, b in marks)
            clusters.append(Cluster(plain, face or "", is_marked))
        if missing:
            raise Undrawable(missing)
        while clusters and (clusters[-1].is_space or clusters[-1].is_break):
            clusters.pop()
        return cls(tuple(give_spaces_fonts(clusters)), is_right_to_left(text))

    @property
    def weight(self) -> int:
        """The length in letters, of which wide ones count twice."""
        return sum(2 if is_wide(each) else 1 for each in self.clusters)

    @property
    def line_height(self) -> float:
        return max((LINE_HEIGHTS.get(each.face, LINE_HEIGHT) for each in self.clusters), default=1)

    def set(self, size: int, width: float, most: float) -> Block | None:
        """Return balanced lines of a width, or None if they are taller than `most`."""
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
        dots = Cluster("…", faces[-1] if faces else choose_faces("", SANS, "text")[0])
        while last and (measure((*last, dots), size) > width or last[-1].text in ENDS):
            last.pop()
        return self._block([*lines[: count - 1], (*last, dots)], size)

    def _block(self, lines: Iterable[Line], size: int) -> Block:
        lines = tuple(lines)
        width = round(max((measure(line, size) for line in lines), default=0))
        height = round(size * self.line_height)
        return Block(lines, size, height, width, self.is_right_to_left)


def draw_block(
    picture: "Pictures.Image", block: Block, at: tuple[int, int], color: str, mark: str = ""
) -> None:
    """Draw lines from the top of their start edge; right-to-left lines extend to the left."""
    from PIL import ImageDraw

    canvas, size = ImageDraw.Draw(picture), block.size
    for number, line in enumerate(block.lines):
        baseline = at[1] + round(block.line_height * (number + 0.5) + size * 0.35)
        top, bottom = baseline - round(size * 0.27), baseline + round(size * 0.15)
        runs = _runs(line, block.is_right_to_left)
        measured = [_measure_run(run, level, size) for run, level in runs]
        lengths = [length for length, _marks in measured]
        begin = at[0] - (sum(lengths) if block.is_right_to_left else 0.0)
        lefts = list(accumulate(lengths, initial=begin))
        for left, (_length, marks) in zip(lefts, measured, strict=False):
            for start, end in marks if mark else ():
                canvas.rectangle((left + start, top, left + end, bottom), mark)
        for left, (run, level) in zip(lefts, runs, strict=False):
            canvas.text(
                (left, baseline),
                "".join(each.text for each in run),
                color,
                load(run[0].face, size),
                "ls",
                direction=("rtl" if level % 2 else "ltr") if can_shape() else None,
                embedded_color=run[0].face == EMOJI,
            )


def _measure_run(run: Line, level: int, size: int) -> tuple[float, list[tuple[float, float]]]:
    """Return a run's width, and the left and right ends of its highlights."""
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
    """Return a line's runs, each of one font and level, from left to right."""
    levels = _levels(line, is_mirrored)
    alike = groupby(zip(line, levels, strict=True), key=lambda each: (each[0].face, each[1]))
    runs = [(tuple(cluster for cluster, _ in part), level) for (_face, level), part in alike]
    # From the highest level down, reverse all runs of that level or higher (UAX #9, rule L2).
    for least in range(max(levels, default=0), 0, -1):
        reordered: list[tuple[Line, int]] = []
        for is_deep, group in groupby(runs, key=lambda run: run[1] >= least):
            part = list(group)
            reordered += reversed(part) if is_deep else part
        runs = reordered
    return runs


def _levels(line: Line, is_mirrored: bool) -> list[int]:
    """Return the bidirectional level of each cluster; odd levels are right to left."""
    library = fribidi()
    if library is None or not line:
        return [0] * len(line)
    text = [ord(letter) for each in line for letter in each.text]
    count = len(text)
    letters = (ctypes.c_uint32 * count)(*text)
    base = ctypes.c_uint32(RIGHT_TO_LEFT if is_mirrored else LEFT_TO_RIGHT)
    levels = (ctypes.c_int8 * count)()
    library.fribidi_log2vis(letters, count, ctypes.byref(base), None, None, None, levels)
    starts = accumulate((len(each.text) for each in line[:-1]), initial=0)
    return [levels[start] for start in starts]
