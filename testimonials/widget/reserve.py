"""The height that a snippet reserves, so that nothing on the page moves when the widget loads.

The browser applies it before any script runs, so it may depend on the page's width alone. It is a
slightly generous estimate of what is shown now: too little would move the content below, too much
only adds space.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

# Widths of a container for one, two, three and four columns, as in `static/widget/core/widget.js`.
COLUMNS = (560, 900, 1240)
NARROW, MIDDLE, WIDE = 344, 752, 1264
# The part of a browser's window beside a container that fills it.
MARGINS = 16
GAP = 16
CONTROLS = 64  # A row of buttons, with the space above it.
BUTTON, PHONE = 56, 400
LONG_NAMES = 28
MARGIN = 1.04
# The average width of a letter in a wide font.
LETTER = 8.2
# Below this difference, one height serves all widths.
DIFFERENCE = 80


@dataclass(frozen=True)
class Words:
    """The features of a testimonial that determine its height."""

    length: int
    breaks: int
    has_stars: bool


def reserve_height(words: Sequence[Words], config: dict[str, Any], has_more: bool) -> str:
    """Return the height of a widget with these settings as a CSS length; empty without words."""
    if not words:
        return ""
    heights = [_measure(words, config, has_more, width) for width in (NARROW, MIDDLE, WIDE)]
    narrow, middle, wide = (math.ceil(height * MARGIN) for height in heights)
    # A line through the two narrow heights, but never less than the wide one.
    slope = max(0, narrow - middle) / (MIDDLE - NARROW)
    if narrow - wide < DIFFERENCE:
        return f"{max(narrow, middle, wide)}px"
    start = math.ceil(narrow + slope * (NARROW + MARGINS))
    return f"max({wide}px,{start}px - {int(slope * 100)}vw)"


def _measure(words: Sequence[Words], config: dict[str, Any], has_more: bool, width: int) -> float:
    layout = config["layout"] if len(words) > 1 else "masonry"
    buttons = int(has_more) + int(config["showCtaButton"])
    foot = CONTROLS if buttons else 0
    # On a phone, two buttons are stacked.
    foot += BUTTON if buttons > 1 and width < PHONE else 0
    columns = min(1 + sum(width >= limit for limit in COLUMNS), len(words))
    if layout == "carousel":
        if config["animation"] == "vertical":
            return 520 + CONTROLS + foot
        inner = min(340, width * 0.85) if config["animation"] == "horizontal" else width / columns
        nav = CONTROLS if len(words) > columns else 0
        # All cards are as high as the highest, whose name and role may be long too.
        return max(_card(each, config, inner) for each in words) + LONG_NAMES + nav + foot
    if layout == "list":
        columns, width = 1, min(width, 720)
    inner = min((width - GAP * (columns - 1)) / columns, 560)
    stacks = [0.0] * columns
    for each in words:
        shortest = stacks.index(min(stacks))
        stacks[shortest] += _card(each, config, inner) + GAP
    return max(stacks) - GAP + foot


def _card(words: Words, config: dict[str, Any], width: float) -> float:
    """Return the height of one card: padding, stars, up to eight lines of text and the author."""
    lines = math.ceil(words.length * LETTER / max(width - 42, 80)) + words.breaks
    extra = 28 if lines > 8 else 0
    stars = 30 if words.has_stars and config["showStars"] else 0
    quote = 32 if config["cardStyle"] == "quote" else 0
    # In a narrow card the date is below the role.
    author = 56 if width > 400 else 74
    return 42 + stars + 26 * min(lines, 8) + extra + author + quote
