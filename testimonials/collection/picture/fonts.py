"""Fonts for drawn texts: Pillow's own for Latin, those of the machine for other scripts."""

import unicodedata
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

# Bold sans-serif fonts of common systems; the first that has every letter of a text is used.
SYSTEM_FONTS = (
    "/usr/share/fonts/truetype/noto/NotoSans-Bold.ttf",
    "/usr/share/fonts/noto/NotoSans-Bold.ttf",
    "/usr/share/fonts/google-noto/NotoSans-Bold.ttf",
    "/usr/share/fonts/truetype/dejavu/DejaVuSans-Bold.ttf",
    "/usr/share/fonts/dejavu/DejaVuSans-Bold.ttf",
    "/usr/share/fonts/dejavu-sans-fonts/DejaVuSans-Bold.ttf",
    "/usr/share/fonts/TTF/DejaVuSans-Bold.ttf",
    "/usr/share/fonts/truetype/liberation/LiberationSans-Bold.ttf",
    "/usr/share/fonts/opentype/noto/NotoSansCJK-Bold.ttc",
    "/usr/share/fonts/noto-cjk/NotoSansCJK-Bold.ttc",
    "/usr/share/fonts/google-noto-cjk/NotoSansCJK-Bold.ttc",
    "/usr/share/fonts/truetype/noto/NotoSansArabic-Bold.ttf",
    "/usr/share/fonts/truetype/noto/NotoSansHebrew-Bold.ttf",
    "/usr/share/fonts/truetype/noto/NotoSansDevanagari-Bold.ttf",
    "/usr/share/fonts/truetype/noto/NotoSansBengali-Bold.ttf",
    "/usr/share/fonts/truetype/noto/NotoSansThai-Bold.ttf",
    "/System/Library/Fonts/Supplemental/Arial Bold.ttf",
    "/System/Library/Fonts/Supplemental/Arial Unicode.ttf",
    "C:/Windows/Fonts/arialbd.ttf",
    "C:/Windows/Fonts/msgothic.ttc",
)
# Not a character: a font draws it like any character that it lacks.
NO_LETTER = "\U0010fffe"
# Symbols, and what joins or colours emoji: none of it is needed to understand a text.
SYMBOLS = {"So", "Sk", "Cn", "Co", "Cf", "Cc"}
SELECTORS = {chr(code) for code in (*range(0xFE00, 0xFE10), 0x20E3)}
# Joins letters in Persian and in Indic scripts.
JOINERS = {"\u200c", "\u200d"}
RIGHT_TO_LEFT = ("R", "AL")
# From Hebrew to Khmer: right to left, or letters whose shape depends on their neighbours.
SHAPED = range(0x0590, 0x1800)

FontOf = Callable[[int], tuple[Any, int]]


def without_symbols(text: str) -> str:
    """Return the text on one line without emoji."""
    kept = []
    for before, letter in zip(" " + text, text, strict=False):
        is_symbol = unicodedata.category(letter) in SYMBOLS or letter in SELECTORS
        if letter.isspace():
            kept.append(" ")
        elif not is_symbol or (letter in JOINERS and before.isalpha()):
            kept.append(letter)
    return " ".join("".join(kept).split())


def is_right_to_left(text: str) -> bool:
    for letter in text:
        direction = unicodedata.bidirectional(letter)
        if direction in ("L", *RIGHT_TO_LEFT):
            return direction in RIGHT_TO_LEFT
    return False


def find_font(text: str) -> FontOf | None:
    """Return a function from size to font and extra stroke width for this text.

    None if no font has all of its letters, or if they need shaping that isn't available here.
    """
    letters = {letter for letter in text if not letter.isspace() and letter not in JOINERS}
    if any(ord(letter) in SHAPED for letter in letters) and not _can_shape():
        return None
    for path in ("", *SYSTEM_FONTS):
        if (not path or _exists(path)) and all(_has_letter(path, each) for each in letters):
            return lambda size: (_load(path, size), max(1, size // 34) if not path else 0)
    return None


def _can_shape() -> bool:
    from PIL import features

    return bool(features.check("raqm") and features.check("fribidi"))


@cache
def _exists(path: str) -> bool:
    return Path(path).is_file()


def _load(path: str, size: int) -> Any:
    from PIL import ImageFont

    # Pillow's own font, in a single weight, has no path.
    return ImageFont.truetype(path, size) if path else ImageFont.load_default(size)


@cache
def _probe(path: str) -> Any:
    return _load(path, 24)


def _has_letter(path: str, letter: str) -> bool:
    font = _probe(path)
    return bool(bytes(font.getmask(letter)) != bytes(font.getmask(NO_LETTER)))
