"""Looks: combinations of settings with a character of their own, to start from.

A look sets how cards, stars and dates are drawn. The brand's colour and the content stay.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from testimonials.projects.configuration.defaults import WIDGET_CONFIG
from testimonials.projects.configuration.widget_design import read_design

Settings = dict[str, Any]

# What each look sets unless it says otherwise.
_CONFIG: Settings = {"cardStyle": "default", "showDates": True}
_DESIGN: Settings = {
    "radius": 16,
    "density": "comfortable",
    "photoSize": 48,
    "starColor": "gold",
    "dateStyle": "relative",
    "featured": "soft",
    "showHeader": False,
    "showHighlights": True,
}


@dataclass(frozen=True)
class Look:
    """The specified settings of a look, and those of the design."""

    title: str
    config: Settings
    design: Settings


def _make(title: str, config: Settings | None = None, **design: Any) -> Look:
    return Look(title, _CONFIG | (config or {}), _DESIGN | design)


LOOKS = {
    "quiet": _make("Quiet"),
    "soft": _make("Soft", {"cardStyle": "quote", "showDates": False}, radius=24, starColor="brand"),
    "editorial": _make(
        "Editorial", {"layout": "list"}, layout="", starColor="brand", dateStyle="month"
    ),
    "marker": _make("Marker", radius=12, showHeader=True),
    "bold": _make("Bold", featured="solid"),
    "outline": _make(
        "Outline",
        {"cardStyle": "outlined"},
        radius=6,
        starColor="brand",
        dateStyle="month",
        density="compact",
        photoSize=40,
    ),
    "glow": _make("Glow", {"theme": "dark", "cardStyle": "gradient", "showDates": False}),
    "playful": _make(
        "Playful",
        {"cardStyle": "gradient"},
        radius=24,
        starColor="brand",
        density="airy",
        photoSize=64,
    ),
}


def apply_look(
    name: str, config: Mapping[str, Any], design: Mapping[str, Any]
) -> tuple[Settings, Settings]:
    """Return a widget's settings and its whole design with a look put on."""
    look = LOOKS[name]
    changed = dict(config)
    if changed["layout"] == "list":
        # Where there are no cards, other looks would not be seen.
        changed["layout"] = WIDGET_CONFIG["layout"]
    if find_look(config, design) == "glow":
        changed["theme"] = WIDGET_CONFIG["theme"]
    return changed | look.config, read_design(design) | look.design


def find_look(config: Mapping[str, Any], design: Mapping[str, Any]) -> str | None:
    """Return the look that a widget has exactly, None if it has one of its own."""
    whole = read_design(design)
    matching = (
        name
        for name, look in LOOKS.items()
        if look.config.items() <= config.items() and _holds(whole, look.design)
    )
    # The one that says most: Editorial has all of another's settings, and the list besides.
    return max(matching, key=lambda name: len(LOOKS[name].config), default=None)


def _holds(whole: Settings, part: Settings) -> bool:
    return all(whole[name] == value for name, value in part.items())
