"""Contrast, colors in OKLCH, and initials on a color."""

import math
import re
import unicodedata

# Whether text can be read on a colour, and which text can (WCAG 2.2, 1.4.3).

ENOUGH = 4.5
# Nearly black looks better; on a few greys only black can be read.
TEXTS = ("#FFFFFF", "#18181B", "#000000")

Channels = tuple[int, int, int]


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours written as `#RRGGBB`: 1 for equal ones, at most 21."""
    lights = sorted((_luminance(_read(one)), _luminance(_read(other))))
    return (lights[1] + 0.05) / (lights[0] + 0.05)


def find_text(ground: str, text: str = TEXTS[0]) -> str:
    """Return `text`, or white or black if it can't be read on `ground`.

    So a brand's colour stays as it is: coral with dark text rather than a brown with white.
    """
    return next(each for each in (text, *TEXTS) if contrast(ground, each) >= ENOUGH)


def _read(colour: str) -> Channels:
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return red, green, blue


def _luminance(channels: Channels) -> float:
    red, green, blue = (
        share / 12.92 if (share := channel / 255) <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4
        for channel in channels
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


# Colours by lightness, chroma and hue as people see them (OKLCH, CSS Color 4).

Components = tuple[float, float, float]

# What rounding of a channel hides.
_EDGE = 0.0005
_CHROMA_STEP = 0.002


def from_hex(colour: str) -> Components:
    """Return lightness (0 to 1), chroma and hue (degrees) of `#RRGGBB`."""
    red, green, blue = (_linear(int(colour[at : at + 2], 16) / 255) for at in (1, 3, 5))
    long = math.cbrt(0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue)
    medium = math.cbrt(0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue)
    short = math.cbrt(0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue)
    a = 1.9779984951 * long - 2.428592205 * medium + 0.4505937099 * short
    b = 0.0259040371 * long + 0.7827717662 * medium - 0.808675766 * short
    lightness = 0.2104542553 * long + 0.793617785 * medium - 0.0040720468 * short
    return lightness, math.hypot(a, b), math.degrees(math.atan2(b, a)) % 360


def to_hex(lightness: float, chroma: float, hue: float) -> str:
    """Return the colour as `#RRGGBB`, with as much of its chroma as a screen can show."""
    while True:
        channels = _to_linear(lightness, chroma, hue)
        if chroma <= 0 or all(-_EDGE <= each <= 1 + _EDGE for each in channels):
            break
        chroma = max(0.0, chroma - _CHROMA_STEP)
    # Halves are rounded up, as browsers do.
    return "#" + "".join(f"{int(_shown(each) * 255 + 0.5):02X}" for each in channels)


def _to_linear(lightness: float, chroma: float, hue: float) -> Components:
    a, b = chroma * math.cos(math.radians(hue)), chroma * math.sin(math.radians(hue))
    long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    medium = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3
    return (
        4.0767416621 * long - 3.3077115913 * medium + 0.2309699292 * short,
        -1.2684380046 * long + 2.6097574011 * medium - 0.3413193965 * short,
        -0.0041960863 * long - 0.7034186147 * medium + 1.707614701 * short,
    )


def _linear(channel: float) -> float:
    return channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4


def _shown(linear: float) -> float:
    linear = min(1.0, max(0.0, linear))
    return linear * 12.92 if linear <= 0.0031308 else 1.055 * linear ** (1 / 2.4) - 0.055


# What is shown for people without a picture: initials, on a colour made from the name.
#
# `static/widget/core` does the same in the browser, and a test holds the two together.

COLOURS = 8

# A word begins with a letter or a digit, and ends at what JavaScript takes for white space.
_WORD = re.compile(r"[^\W_](?:[^\s\ufeff]|\u0085)*")
# What belongs to the letter before it beside marks: joiners, the vowels and ends of a Korean
# syllable, and the colours of skin. After a virama, so does the next consonant.
_BELONGS = re.compile(r"[\u200c\u200d\u1160-\u11ff\U0001f3fb-\U0001f3ff]")
_VIRAMA = re.compile(r"[\u094d\u09cd\u0acd\u0b4d\u0c4d\u0d4d]\u200d?$")


def initials_of(name: str) -> str:
    """Return the first letters of a name's first and last word, or a star if it has none."""
    words = _WORD.findall(name) or ["★"]
    return "".join(_first_letter(word) for word in [words[0], *words[1:][-1:]]).upper()


def colour_of(name: str) -> int:
    """Return which of the colours is behind a name's initials."""
    number = 0
    for letter in name:
        number = (number * 3 + ord(letter)) % COLOURS
    return number


def _first_letter(word: str) -> str:
    """Return a word's first letter with the marks that belong to it."""
    end = 1
    while end < len(word) and (
        unicodedata.category(word[end]).startswith("M")
        or _BELONGS.match(word[end])
        or (_VIRAMA.search(word[:end]) and word[end].isalpha())
    ):
        end += 1
    return word[:end]
