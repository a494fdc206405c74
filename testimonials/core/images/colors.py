"""Contrast, OKLCH, colors derived from a brand's; initials of names; QR codes."""

import io
import math
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

# The contrast that texts and graphics need (WCAG 2.2, 1.4.3 and 1.4.11).
TEXT, GRAPHICS = 4.5, 3.0
WHITE = "#FFFFFF"
# Nearly black looks better, but on a few grays only black is readable.
TEXTS = (WHITE, "#18181B", "#000000")


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colors `#RRGGBB`, from 1 (equal) to 21."""
    dark, light = sorted(map(_luminance, (one, other)))
    return (light + 0.05) / (dark + 0.05)


def find_text(ground: str, text: str = WHITE) -> str:
    """Return `text`, or white or black if it isn't readable on `ground`.

    This keeps a brand's color as it is: coral gets dark text instead of becoming brown.
    """
    return next(each for each in (text, *TEXTS) if contrast(ground, each) >= TEXT)


def _luminance(color: str) -> float:
    red, green, blue = _to_light(color)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


# OKLCH describes colors by lightness, chroma and hue as people perceive them (CSS Color 4).

Components = tuple[float, float, float]

# How far a channel may be out of range, which rounding hides.
_EDGE = 0.0005
_CHROMA_STEP = 0.002


def from_hex(color: str) -> Components:
    """Return the lightness (0 to 1), chroma and hue (degrees) of `#RRGGBB`."""
    red, green, blue = _to_light(color)
    long = math.cbrt(0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue)
    medium = math.cbrt(0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue)
    short = math.cbrt(0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue)
    a = 1.9779984951 * long - 2.428592205 * medium + 0.4505937099 * short
    b = 0.0259040371 * long + 0.7827717662 * medium - 0.808675766 * short
    lightness = 0.2104542553 * long + 0.793617785 * medium - 0.0040720468 * short
    return lightness, math.hypot(a, b), math.degrees(math.atan2(b, a)) % 360


def to_hex(lightness: float, chroma: float, hue: float) -> str:
    """Return the color as `#RRGGBB`, with as much of its chroma as sRGB allows."""
    while True:
        channels = _to_linear(lightness, chroma, hue)
        if chroma <= 0 or all(-_EDGE <= each <= 1 + _EDGE for each in channels):
            break
        chroma = max(0.0, chroma - _CHROMA_STEP)
    # Halves are rounded up, as in browsers.
    return "#" + "".join(f"{int(_to_channel(each) * 255 + 0.5):02X}" for each in channels)


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


def _to_light(color: str) -> Components:
    """Return the linear light of each channel, from 0 to 1."""
    red, green, blue = (
        channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4
        for channel in (int(color[at : at + 2], 16) / 255 for at in (1, 3, 5))
    )
    return red, green, blue


def _to_channel(light: float) -> float:
    light = min(1.0, max(0.0, light))
    return light * 12.92 if light <= 0.0031308 else 1.055 * light ** (1 / 2.4) - 0.055


# All colors of a widget, a page or an email derive from the brand's. Whatever that is, in both
# themes every text has a contrast of at least 4.5 to its background, and stars of 3.

# In the order of the feed.
_GROUPS = (
    "card text muted line control empty soft tint mark accent star solid on solidmark",
    "back0 fore0 back1 fore1 back2 fore2",
)
NAMES = tuple(" ".join(_GROUPS).split())
DARK_STAR = "#FBBF24"

STEP = 0.005
# By how many degrees the hues of authors' initials differ from the brand's.
_TURNS = (0, 30, -20)

Colors = dict[str, str]


@dataclass(frozen=True)
class Derived:
    """The colors of both themes by name, as `#RRGGBB`."""

    light: Colors
    dark: Colors


@lru_cache(maxsize=1000)
def derive_colors(brand: str) -> Derived:
    """Return all colors for a brand's `#RRGGBB`; this takes about half a millisecond."""
    return Derived(_derive_light(brand), _derive_dark(brand))


def _derive_light(brand: str) -> Colors:
    lightness, chroma, hue = from_hex(brand)
    leaning = _lean(hue)
    trace = _trace(chroma)
    colors = {
        "card": WHITE,
        "text": to_hex(0.22, trace, leaning),
        "muted": to_hex(0.47, trace * 1.4, leaning),
        "line": to_hex(0.915, trace, leaning),
        "control": to_hex(0.58, trace * 1.4, leaning),
        "empty": to_hex(0.87, trace, leaning),
        "soft": to_hex(0.968, min(chroma * 0.14, 0.024), leaning),
        "tint": to_hex(0.93, min(chroma * 0.28, 0.05), leaning),
        "mark": to_hex(0.91, min(chroma * 0.5, 0.085), leaning),
    }
    card, soft, tint = (colors[name] for name in ("card", "soft", "tint"))
    accent = (min(lightness, 0.56), chroma, hue)
    colors["accent"] = adjust(accent, -STEP, (card, soft, tint), TEXT)
    colors["star"] = adjust((0.72, 0.18, 54), -STEP, (card, soft), GRAPHICS)
    colors |= _fill(brand)
    return colors | _initials(chroma, leaning, back=(0.92, 0.05), fore=(0.38, 0.1))


def _derive_dark(brand: str) -> Colors:
    lightness, chroma, hue = from_hex(brand)
    trace = _trace(chroma)
    colors = {
        "card": to_hex(0.212, trace * 0.9, hue),
        "text": to_hex(0.965, trace * 0.4, hue),
        "muted": to_hex(0.74, trace, hue),
        "line": to_hex(0.325, trace, hue),
        "control": to_hex(0.62, trace, hue),
        "empty": to_hex(0.42, trace, hue),
        "soft": to_hex(0.262, min(chroma * 0.2, 0.042), hue),
        "tint": to_hex(0.325, min(chroma * 0.4, 0.09), hue),
        "mark": to_hex(0.42, min(chroma * 0.55, 0.11), hue),
        "star": DARK_STAR,
    }
    card, soft, tint = (colors[name] for name in ("card", "soft", "tint"))
    accent = (max(lightness, 0.76), min(chroma, 0.15), hue)
    colors["accent"] = adjust(accent, STEP, (card, soft, tint), TEXT)
    is_visible = contrast(brand, card) >= GRAPHICS
    solid = brand if is_visible else adjust((lightness, chroma, hue), STEP, (card,), GRAPHICS)
    colors |= _fill(solid)
    return colors | _initials(chroma, _lean(hue), back=(0.36, 0.07), fore=(0.92, 0.05))


def _fill(solid: str) -> Colors:
    """Return the color of a filled area, of text on it, and of highlights in that text.

    A light color gets dark text instead of being darkened. Only if neither white nor dark text is
    readable does it become a little darker, for white text.
    """
    lightness, chroma, hue = from_hex(solid)
    on = WHITE
    if contrast(WHITE, solid) < TEXT:
        on = to_hex(0.2, min(chroma, 0.04), hue)
        if contrast(on, solid) < TEXT:
            on, solid = WHITE, adjust((lightness, chroma, hue), -STEP, (WHITE,), TEXT)
    lightness, chroma, hue = from_hex(solid)
    shift = -0.1 if on == WHITE else 0.07
    return {"solid": solid, "on": on, "solidmark": to_hex(lightness + shift, chroma, hue)}


def _initials(
    chroma: float, hue: float, *, back: tuple[float, float], fore: tuple[float, float]
) -> Colors:
    """Return the colors of initials; `back` and `fore` are a lightness and the highest chroma."""
    colors = {}
    for number, turn in enumerate(_TURNS):
        colors[f"back{number}"] = to_hex(back[0], min(chroma * 0.4, back[1]), hue + turn)
        colors[f"fore{number}"] = to_hex(fore[0], min(chroma, fore[1]), hue + turn)
    return colors


def adjust(start: Components, step: float, grounds: Sequence[str], ratio: float) -> str:
    """Lighten or darken a color in steps until it has the contrast `ratio` to all `grounds`."""
    lightness, chroma, hue = start
    while True:
        color = to_hex(lightness, chroma, hue)
        if all(contrast(color, ground) >= ratio for ground in grounds):
            return color
        lightness += step


def _trace(chroma: float) -> float:
    return 0.12 * min(chroma, 0.1)


def _lean(hue: float) -> float:
    """Return the hue for light tints: those of orange would look pink, so move them to yellow."""
    return (hue + 40 * max(0.0, 1 - abs(hue - 54) / 38)) % 360


# People without a picture get their initials on a color that depends on the name.

COLORS = 8

# A word begins with a letter or a digit and ends at white space, as browsers define it.
_WORD = re.compile(r"[^\W_](?:[^\s\ufeff]|\u0085)*")
# Like combining marks, these belong to the letter before them: joiners, the vowels and finals of a
# Korean syllable, and skin tones. After a virama, so does the next consonant.
_BELONGS = re.compile(r"[\u200c\u200d\u1160-\u11ff\U0001f3fb-\U0001f3ff]")
_VIRAMA = re.compile(r"[\u094d\u09cd\u0acd\u0b4d\u0c4d\u0d4d]\u200d?$")


def initials_of(name: str) -> str:
    """Return the first letters of a name's first and last words, or a star if it has none."""
    words = _WORD.findall(name) or ["★"]
    return "".join(_first_letter(word) for word in [words[0], *words[1:][-1:]]).upper()


def colour_of(name: str) -> int:
    """Return the number of the color behind a name's initials."""
    number = 0
    for letter in name:
        number = (number * 3 + ord(letter)) % COLORS
    return number


def draw_face(name: str) -> tuple[str, int]:
    """Return the initials for a name, and which of the widget's three colors they have."""
    return initials_of(name), colour_of(name) % 3


def _first_letter(word: str) -> str:
    """Return a word's first letter with its marks."""
    end = 1
    while end < len(word) and (
        unicodedata.category(word[end]).startswith("M")
        or _BELONGS.match(word[end])
        or (_VIRAMA.search(word[:end]) and word[end].isalpha())
    ):
        end += 1
    return word[:end]


# Many scanners need a margin of four modules on each side.
QUIET_ZONE = 4
DARK, LIGHT = "#000000", "#FFFFFF"
# Pixels of a module. A PNG is for print, so at least 1,000 pixels wide.
SCALES = {"svg": 10, "png": 25}


def make_qr_code(link: str) -> Any:
    """Return a QR code that stays readable with 15% of it dirty or torn (error level M)."""
    from segno import make_qr

    return make_qr(link, error="m", boost_error=False)


def draw_inline(link: str) -> str:
    """Return a QR code as an `svg` element that fills its container."""
    look = {"border": QUIET_ZONE, "dark": DARK, "light": LIGHT, "svgclass": "qr"}
    return str(make_qr_code(link).svg_inline(**look, omitsize=True, lineclass=None))


def draw_file(link: str, kind: str) -> bytes:
    """Return a QR code as the content of a file, "svg" or "png"."""
    file = io.BytesIO()
    code = make_qr_code(link)
    code.save(file, kind=kind, scale=SCALES[kind], border=QUIET_ZONE, dark=DARK, light=LIGHT)
    return file.getvalue()
