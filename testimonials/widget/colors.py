"""The colors of a widget, and what became of the brand's."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from testimonials.core.http.i18n import gettext_noop
from testimonials.core.images.colors import (
    GRAPHICS,
    NAMES,
    PAIRS,
    STEP,
    TEXT,
    WHITE,
    Colours,
    Derived,
    contrast,
    derive_colours,
    from_hex,
    walk,
)

# A palette is a brand's colour with a name.
PALETTES = {
    "neutral": "#27272A",
    "indigo": "#4F46E5",
    "emerald": "#047857",
    "amber": "#B45309",
    "rose": "#E11D48",
    "sky": "#0369A1",
}


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
    star = walk((min(lightness, 0.72), chroma, hue), -STEP, grounds, GRAPHICS)
    dark = {**found.dark, "star": found.dark["accent"]}
    return Derived({**found.light, "star": star}, dark)


def write_colours(colours: Derived) -> dict[str, str]:
    """Return the colours as the feed has them: in the order of `list_colours`, without `#`."""
    return {
        theme: " ".join(each[1:].lower() for each in listed)
        for theme, listed in list_colours(colours).items()
    }


def list_colours(colours: Derived) -> dict[str, list[str]]:
    """Return those of `NAMES` for each theme, then the cards' shadow and the quotation mark."""
    light, dark = ([each[name] for name in NAMES] for each in (colours.light, colours.dark))
    return {
        "light": [*light, colours.light["text"] + "12", colours.light["mark"]],
        "dark": [*dark, "#0000", colours.dark["tint"]],
    }


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
