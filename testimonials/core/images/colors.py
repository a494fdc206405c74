"""Contrast, colors in OKLCH, all colors of a brand; initials and QR codes, drawn as SVG."""

import io
import math
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

# Whether text can be read on a colour, and which text can (WCAG 2.2, 1.4.3).

ENOUGH = 4.5
# Nearly black looks better; on a few greys only black can be read.
TEXTS = ("#FFFFFF", "#18181B", "#000000")


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours written as `#RRGGBB`: 1 for equal ones, at most 21."""
    lights = sorted(map(_luminance, (one, other)))
    return (lights[1] + 0.05) / (lights[0] + 0.05)


def find_text(ground: str, text: str = TEXTS[0]) -> str:
    """Return `text`, or white or black if it can't be read on `ground`.

    So a brand's colour stays as it is: coral with dark text rather than a brown with white.
    """
    return next(each for each in (text, *TEXTS) if contrast(ground, each) >= ENOUGH)


def _luminance(colour: str) -> float:
    red, green, blue = _read(colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


# Colours by lightness, chroma and hue as people see them (OKLCH, CSS Color 4).

Components = tuple[float, float, float]

# What rounding of a channel hides.
_EDGE = 0.0005
_CHROMA_STEP = 0.002


def from_hex(colour: str) -> Components:
    """Return lightness (0 to 1), chroma and hue (degrees) of `#RRGGBB`."""
    red, green, blue = _read(colour)
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


def _read(colour: str) -> Components:
    """Return the light of each channel, from 0 to 1."""
    red, green, blue = (
        share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4
        for share in (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    )
    return red, green, blue


def _shown(linear: float) -> float:
    linear = min(1.0, max(0.0, linear))
    return linear * 12.92 if linear <= 0.0031308 else 1.055 * linear ** (1 / 2.4) - 0.055


# All colours of a widget, a page or a mail, derived from one: the brand's.
#
# Every text keeps a contrast of 4.5 to 1 to what it stands on, and stars 3 to 1 (WCAG 2.2, 1.4.3
# and 1.4.11), in the light and the dark theme, whatever the brand's colour is, and the editor
# says what that changed.

# The order in which the feed has them.
_GROUPS = (
    "card text muted line control empty soft tint mark accent star solid on solidmark",
    "back0 fore0 back1 fore1 back2 fore2",
)
NAMES = tuple(" ".join(_GROUPS).split())
TEXT, GRAPHICS = 4.5, 3.0
WHITE = "#FFFFFF"
DARK_STAR = "#FBBF24"

STEP = 0.005
# How far the hues of authors' initials are from the brand's.
_TURNS = (0, 30, -20)

Colours = dict[str, str]


@dataclass(frozen=True)
class Derived:
    """The colours of both themes by their names, as `#RRGGBB`."""

    light: Colours
    dark: Colours


@lru_cache(maxsize=1000)
def derive_colours(brand: str) -> Derived:
    """Return all colours for a brand's `#RRGGBB`; takes about half a millisecond."""
    return Derived(_derive_light(brand), _derive_dark(brand))


def _derive_light(brand: str) -> Colours:
    lightness, chroma, hue = from_hex(brand)
    leaning = _lean(hue)
    trace = _trace(chroma)
    found = {
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
    card, soft, tint = (found[name] for name in ("card", "soft", "tint"))
    accent = (min(lightness, 0.56), chroma, hue)
    found["accent"] = walk(accent, -STEP, (card, soft, tint), TEXT)
    found["star"] = walk((0.72, 0.18, 54), -STEP, (card, soft), GRAPHICS)
    found |= _fill(brand)
    return found | _initials(chroma, leaning, back=(0.92, 0.05), fore=(0.38, 0.1))


def _derive_dark(brand: str) -> Colours:
    lightness, chroma, hue = from_hex(brand)
    trace = _trace(chroma)
    found = {
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
    card, soft, tint = (found[name] for name in ("card", "soft", "tint"))
    accent = (max(lightness, 0.76), min(chroma, 0.15), hue)
    found["accent"] = walk(accent, STEP, (card, soft, tint), TEXT)
    is_seen = contrast(brand, card) >= GRAPHICS
    found |= _fill(brand if is_seen else walk((lightness, chroma, hue), STEP, (card,), GRAPHICS))
    return found | _initials(chroma, _lean(hue), back=(0.36, 0.07), fore=(0.92, 0.05))


def _fill(solid: str) -> Colours:
    """Return a filled area, what is written on it, and what marks words there.

    A light colour gets dark words rather than becoming mud; the few between the two get a little
    darker, for white words.
    """
    lightness, chroma, hue = from_hex(solid)
    on = WHITE
    if contrast(WHITE, solid) < TEXT:
        on = to_hex(0.2, min(chroma, 0.04), hue)
        if contrast(on, solid) < TEXT:
            on, solid = WHITE, walk((lightness, chroma, hue), -STEP, (WHITE,), TEXT)
    lightness, chroma, hue = from_hex(solid)
    shift = -0.1 if on == WHITE else 0.07
    return {"solid": solid, "on": on, "solidmark": to_hex(lightness + shift, chroma, hue)}


def _initials(
    chroma: float, hue: float, *, back: tuple[float, float], fore: tuple[float, float]
) -> Colours:
    """Return the colours of authors' initials; `back` and `fore` are lightness and most chroma."""
    found = {}
    for number, turn in enumerate(_TURNS):
        found[f"back{number}"] = to_hex(back[0], min(chroma * 0.4, back[1]), hue + turn)
        found[f"fore{number}"] = to_hex(fore[0], min(chroma, fore[1]), hue + turn)
    return found


def walk(start: Components, step: float, grounds: Sequence[str], ratio: float) -> str:
    """Return the first colour on the way to black or white that stands out from all grounds."""
    lightness, chroma, hue = start
    while True:
        colour = to_hex(lightness, chroma, hue)
        if all(contrast(colour, ground) >= ratio for ground in grounds):
            return colour
        lightness += step


def _trace(chroma: float) -> float:
    return 0.12 * min(chroma, 0.1)


def _lean(hue: float) -> float:
    """Return the hue for light tints: those of orange look pink, so they lean towards yellow."""
    return (hue + 40 * max(0.0, 1 - abs(hue - 54) / 38)) % 360


# What is shown for people without a picture: initials, on a colour made from the name.

COLOURS = 8

# A word begins with a letter or a digit, and ends at white space, as also browsers count it.
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


def draw_face(name: str) -> tuple[str, int]:
    """Return the initials that stand for a picture, and which of the widget's three colours."""
    return initials_of(name), colour_of(name) % 3


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


# Four white modules on each side, which many readers need.
QUIET_ZONE = 4
DARK, LIGHT = "#000000", "#FFFFFF"
# Of an SVG, and for print: at least 1,000 pixels wide, whatever the link.
SCALES = {"svg": 10, "png": 25}


def make_qr_code(link: str) -> Any:
    """Return a code that is still readable with 15% of it dirty or torn (error level M)."""
    # Few requests need it.
    from segno import make_qr

    return make_qr(link, error="m", boost_error=False)


def draw_inline(link: str) -> str:
    """Return the code as an `svg` element that fills its container."""
    look = {"border": QUIET_ZONE, "dark": DARK, "light": LIGHT, "svgclass": "qr"}
    return str(make_qr_code(link).svg_inline(**look, omitsize=True, lineclass=None))


def draw_file(link: str, kind: str) -> bytes:
    """Return the code as a file, "svg" or "png"."""
    file = io.BytesIO()
    code = make_qr_code(link)
    code.save(file, kind=kind, scale=SCALES[kind], border=QUIET_ZONE, dark=DARK, light=LIGHT)
    return file.getvalue()
