"""All colors of a widget, made from the brand's."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from testimonials.core.http.i18n import gettext_noop
from testimonials.core.images.colors import Components, contrast, from_hex, to_hex

# All colours of a widget, derived from one: the brand's.
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
# A palette is a brand's colour with a name.
PALETTES = {
    "neutral": "#27272A",
    "indigo": "#4F46E5",
    "emerald": "#047857",
    "amber": "#B45309",
    "rose": "#E11D48",
    "sky": "#0369A1",
}
TEXT, GRAPHICS = 4.5, 3.0
# What each colour stands on, and the least contrast between the two.
PAIRS = {
    "text": (("card", "soft", "tint", "mark"), TEXT),
    "muted": (("card", "soft", "tint"), TEXT),
    "accent": (("card", "soft", "tint"), TEXT),
    "on": (("solid", "solidmark"), TEXT),
    "fore0": (("back0",), TEXT),
    "fore1": (("back1",), TEXT),
    "fore2": (("back2",), TEXT),
    "star": (("card", "soft"), GRAPHICS),
    "control": (("card", "soft"), GRAPHICS),
}
WHITE = "#FFFFFF"
DARK_STAR = "#FBBF24"

_STEP = 0.005
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


def choose_brand(config: Mapping[str, Any], design: Mapping[str, Any]) -> str:
    """Return the brand's colour: the design's own, or that of the configured palette."""
    return str(design.get("brandColor") or PALETTES[config["palette"]])


def read_colours(config: Mapping[str, Any], design: Mapping[str, Any]) -> Derived:
    """Return the colours of a widget with these settings."""
    brand = choose_brand(config, design)
    found = derive_colours(brand)
    if design.get("starColor") != "brand":
        return found
    # Stars need less contrast than words, so that those of a light brand don't turn to mud.
    lightness, chroma, hue = from_hex(brand)
    grounds = (found.light["card"], found.light["soft"], found.light["tint"])
    star = _walk((min(lightness, 0.72), chroma, hue), -_STEP, grounds, GRAPHICS)
    dark = {**found.dark, "star": found.dark["accent"]}
    return Derived({**found.light, "star": star}, dark)


def write_colours(colours: Derived) -> dict[str, str]:
    """Return the colours as the feed has them: in the order of `NAMES`, without `#`."""
    return {
        theme: " ".join(each[name][1:].lower() for name in NAMES)
        for theme, each in (("light", colours.light), ("dark", colours.dark))
    }


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
    found["accent"] = _walk(accent, -_STEP, (card, soft, tint), TEXT)
    found["star"] = _walk((0.72, 0.18, 54), -_STEP, (card, soft), GRAPHICS)
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
    found["accent"] = _walk(accent, _STEP, (card, soft, tint), TEXT)
    is_seen = contrast(brand, card) >= GRAPHICS
    found |= _fill(brand if is_seen else _walk((lightness, chroma, hue), _STEP, (card,), GRAPHICS))
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
            on, solid = WHITE, _walk((lightness, chroma, hue), -_STEP, (WHITE,), TEXT)
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


def _walk(start: Components, step: float, grounds: Sequence[str], ratio: float) -> str:
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


# What became of a brand's colour, and why, as the widget editor tells it.

_DARKER_LINKS = gettext_noop("Darkened, so that links can be read on white and on tinted cards.")
_LIGHTER_LINKS = gettext_noop("Lightened, so that links can be read on dark cards.")
_CALMER_LINKS = gettext_noop("A little less strong, so that links don’t glare on dark cards.")
_DARKER_BUTTONS = gettext_noop(
    "Darkened a little, since neither white nor dark words could be read on it."
)
_LIGHTER_BUTTONS = gettext_noop("Lightened, so that buttons stand out from dark cards.")
_DARK_WORDS = gettext_noop("Dark words on buttons, since white ones can’t be read on this colour.")


@dataclass(frozen=True)
class Change:
    """One colour that is not the one asked for.

    `name` and `theme` say which; `before` and `contrast` are how much the colour asked for, and the
    one used, stand out from `ground`, where it is hardest to read.
    """

    theme: str
    name: str
    asked: str
    used: str
    ground: str
    before: float
    contrast: float
    reason: str


def explain_changes(brand: str) -> list[Change]:
    """Return what had to differ from the brand's `#RRGGBB`, the light theme first."""
    derived = derive_colours(brand)
    themes = (("light", derived.light), ("dark", derived.dark))
    return [change for theme in themes for change in _list_changes(brand, *theme)]


def _list_changes(brand: str, theme: str, colours: Colours) -> Iterator[Change]:
    ground = _hardest(colours, "accent")
    reason = _DARKER_LINKS if theme == "light" else _LIGHTER_LINKS
    if contrast(brand, ground) >= TEXT:
        reason = _CALMER_LINKS
    solid = (_DARKER_BUTTONS, colours["on"])
    if theme == "dark" and contrast(brand, colours["card"]) < GRAPHICS:
        solid = (_LIGHTER_BUTTONS, colours["card"])
    for name, asked, why, on in (
        ("accent", brand, reason, ground),
        ("solid", brand, *solid),
        ("on", WHITE, _DARK_WORDS, colours["solid"]),
    ):
        if (used := colours[name]) != asked:
            yield Change(theme, name, asked, used, on, _ratio(asked, on), _ratio(used, on), why)


def measure_contrasts(colours: Colours) -> dict[str, float]:
    """Return how much each colour of a theme stands out, at the least, from what it is on."""
    return {name: _ratio(colours[name], _hardest(colours, name)) for name in PAIRS}


def _hardest(colours: Colours, name: str) -> str:
    grounds = (colours[ground] for ground in PAIRS[name][0])
    return min(grounds, key=lambda ground: contrast(colours[name], ground))


def _ratio(one: str, other: str) -> float:
    # Rounded down: 4.499 is not 4.5.
    return int(contrast(one, other) * 100) / 100
