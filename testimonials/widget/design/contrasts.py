"""What became of a brand's colour, and why, as the widget editor tells it."""

from collections.abc import Iterator
from dataclasses import dataclass

from testimonials.core.pictures.colours import contrast
from testimonials.core.web.languages import gettext_noop
from testimonials.widget.design.colours import (
    GRAPHICS,
    PAIRS,
    TEXT,
    WHITE,
    Colours,
    derive_colours,
)

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
