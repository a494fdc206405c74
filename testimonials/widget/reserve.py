"""The height that a snippet reserves, so that nothing on the page moves when the widget arrives.

The browser reserves it before any script runs, so it must follow from the page's width alone. It is
an estimate of what is shown now, and a little more than that: with too little, what stands below
would move, while some more only widens the space under it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

# Widths of a container for one, two, three and four columns, as in `widget.js`.
COLUMNS = (560, 900, 1240)
NARROW, MIDDLE, WIDE = 344, 752, 1264
# What is left of a browser's window beside a container that fills it.
MARGINS = 16
GAP = 16
CONTROLS = 64  # A row of buttons, with the space above it.
BUTTON, PHONE = 56, 400
LONG_NAMES = 28
MARGIN = 1.04
# Fonts differ; wide ones have letters of half their size.
LETTER = 8.2
# Below this, one height for all widths does.
DIFFERENCE = 80


@dataclass(frozen=True)
class Words:
    """What counts of a testimonial for its height."""

    length: int
    breaks: int
    has_stars: bool


def reserve_height(words: Sequence[Words], config: dict[str, Any], has_more: bool) -> str:
    """Return a CSS length for what a widget with these settings will be high; empty for nothing."""
    if not words:
        return ""
    heights = [_measure(words, config, has_more, width) for width in (NARROW, MIDDLE, WIDE)]
    narrow, middle, wide = (math.ceil(height * MARGIN) for height in heights)
    # A line through the two narrow ones, but never less than the wide one.
    slope = max(0, narrow - middle) / (MIDDLE - NARROW)
    if narrow - wide < DIFFERENCE:
        return f"{max(narrow, middle, wide)}px"
    start = math.ceil(narrow + slope * (NARROW + MARGINS))
    return f"max({wide}px,{start}px - {int(slope * 100)}vw)"


def _measure(words: Sequence[Words], config: dict[str, Any], has_more: bool, width: int) -> float:
    layout = config["layout"] if len(words) > 1 else "masonry"
    buttons = int(has_more) + int(config["showCtaButton"])
    foot = CONTROLS if buttons else 0
    # On a phone two of them stand one below the other.
    foot += BUTTON if buttons > 1 and width < PHONE else 0
    columns = min(1 + sum(width >= limit for limit in COLUMNS), len(words))
    if layout == "carousel":
        if config["animation"] == "vertical":
            return 520 + CONTROLS + foot
        inner = min(340, width * 0.85) if config["animation"] == "horizontal" else width / columns
        nav = CONTROLS if len(words) > columns else 0
        # Its cards are all as high as the highest, whose names and roles may be long as well.
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
    """Return the height of one card: padding, stars, at most eight lines of words,
    and the author."""
    lines = math.ceil(words.length * LETTER / max(width - 42, 80)) + words.breaks
    extra = 28 if lines > 8 else 0
    stars = 30 if words.has_stars and config["showStars"] else 0
    quote = 32 if config["cardStyle"] == "quote" else 0
    # In a narrow card the date stands below the role.
    author = 56 if width > 400 else 74
    return 42 + stars + 26 * min(lines, 8) + extra + author + quote
