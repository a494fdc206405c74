"""Fonts for drawn texts: those in `font_files`, then those of the machine."""

import ctypes
import platform
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from testimonials.core.text import normalize

FILES = Path(__file__).with_name("font_files")
SANS, SERIF = "inter", "fraunces"
EMOJI = str(FILES / "twemoji.woff2")
ARABIC, HEBREW, JAPANESE, KOREAN, SIMPLIFIED, TRADITIONAL = (
    str(FILES / f"noto-sans-{script}.woff2")
    for script in ("arabic", "hebrew", "jp", "kr", "sc", "tc")
)
# For other scripts: sans-serif fonts of common systems.
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
# How tall a line is, in ems, where a font needs more than Latin.
LINE_HEIGHT = 1.2
LINE_HEIGHTS = {
    ARABIC: 1.6, HEBREW: 1.3, JAPANESE: 1.4, KOREAN: 1.4, SIMPLIFIED: 1.4, TRADITIONAL: 1.4,
}  # fmt: skip
# Not a character: a font draws it like any character that it lacks.
NO_LETTER = "\U0010fffe"
# From Hebrew to Khmer: right to left, or letters whose shape depends on their neighbours.
SHAPED = range(0x0590, 0x1800)
EMOJI_SELECTOR = "\ufe0f"
# No font needs a glyph for what joins letters or chooses how they look.
UNSEEN = {"\u200c", "\u200d", "\ufe0e", EMOJI_SELECTOR, "\u20e3"}
PROBE_SIZE = 24


class Undrawable(Exception):
    """No font here can draw some letters, which are given."""

    def __init__(self, letters: Iterable[str]) -> None:
        self.letters = "".join(dict.fromkeys(letters))[:10]
        super().__init__(self.letters)


@dataclass(frozen=True)
class Faces:
    """The fonts for one text, as paths; the first one that has a letter draws it."""

    paths: tuple[str, ...]

    def find(self, cluster: str) -> str | None:
        """Return the font for a letter with its marks, or for an emoji of several characters."""
        letters = [each for each in cluster if not is_unseen(each)] or [" "]
        is_emoji = len(letters) < len(cluster) and has_letters(EMOJI, letters[:1])
        if is_emoji and (EMOJI_SELECTOR in cluster or unicodedata.category(letters[0]) == "So"):
            return EMOJI
        if not can_shape() and any(ord(each) in SHAPED for each in letters):
            return None
        return next((path for path in self.paths if has_letters(path, letters)), None)


def choose_faces(text: str, family: str, use: str) -> Faces:
    """Return the fonts for a text; `use` is `display` for large letters or `text`.

    A serif that lacks some of the letters isn't used at all. The same characters look different
    in Chinese and Japanese: kana tell that a text is Japanese.
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
    machine = [path for path in SYSTEM_FONTS if _exists(path)]
    return Faces((*own, ARABIC, HEBREW, KOREAN, *east, EMOJI, *machine))


def is_unseen(letter: str) -> bool:
    """Tell whether a character only joins or changes others: joiners, skin tones, tags."""
    return (
        letter in UNSEEN or "\U0001f3fb" <= letter <= "\U0001f3ff" or letter >= "\U000e0000"
    ) and letter < "\U000f0000"


def has_letters(path: str, letters: Iterable[str]) -> bool:
    return all(letter.isspace() or _has_letter(path, letter) for letter in letters)


@cache
def fribidi() -> ctypes.CDLL | None:
    """Load FriBiDi, without which Pillow can't shape letters.

    Ours has the name by which Pillow asks the system for it, so this comes before `ImageFont`.
    """
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
    """Return the font in a size in pixels."""
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
