"""The colors of a widget."""

from collections.abc import Mapping
from typing import Any

from testimonials.core.images import colors

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


def read_colours(config: Mapping[str, Any], design: Mapping[str, Any]) -> colors.Derived:
    """Return the colours of a widget with these settings."""
    brand = choose_brand(config, design)
    found = colors.derive_colours(brand)
    if design.get("starColor") != "brand":
        return found
    # Stars need less contrast than words, so that those of a light brand don't turn to mud.
    lightness, chroma, hue = colors.from_hex(brand)
    grounds = (found.light["card"], found.light["soft"], found.light["tint"])
    star = colors.walk((min(lightness, 0.72), chroma, hue), -colors.STEP, grounds, colors.GRAPHICS)
    dark = {**found.dark, "star": found.dark["accent"]}
    return colors.Derived({**found.light, "star": star}, dark)


def write_colours(colours: colors.Derived) -> dict[str, str]:
    """Return the colours as the feed has them: in the order of `list_colours`, without `#`."""
    return {
        theme: " ".join(each[1:].lower() for each in listed)
        for theme, listed in list_colours(colours).items()
    }


def list_colours(colours: colors.Derived) -> dict[str, list[str]]:
    """Return those of `NAMES` for each theme, then the cards' shadow and the quotation mark."""
    light, dark = ([each[name] for name in colors.NAMES] for each in (colours.light, colours.dark))
    return {
        "light": [*light, colours.light["text"] + "12", colours.light["mark"]],
        "dark": [*dark, "#0000", colours.dark["tint"]],
    }
