"""Testimonials as HTML for newsletters: tables and inline styles, as mail programs understand."""

import unicodedata
from collections.abc import Mapping
from typing import Any

from flask import render_template

from testimonials.core.pictures.portraits import colour_of, initials_of
from testimonials.testimonials.moderation.highlights import Ranges, split_text
from testimonials.widget.design.colours import read_colours
from testimonials.widget.formats.choosing import (
    Chosen,
    count_stars,
    describe_position,
    direction_of,
    find_picture,
    link_recording,
    list_marks,
)

# It has room for a few.
IN_NEWSLETTER = 3
# Gmail cuts a mail at 102 KB, and nobody reads long letters in one.
MAX_TEXT = 420
INITIALS_COLOURS = 3
# Few words are larger, as on cards: the most letters of each size, and the height of its lines.
SIZES = ((64, (22, 32)), (140, (18, 28)))
SMALLEST = (16, 26)
# Without quotation marks, since they stand in an attribute.
SANS = "-apple-system,BlinkMacSystemFont,Segoe UI,Roboto,Noto Sans,Helvetica,Arial,sans-serif"
SERIF = "Iowan Old Style,Palatino,Georgia,serif"


def render_newsletter(chosen: Chosen) -> str:
    """Return the HTML, without anything around it; empty if there is nothing to show."""
    if not chosen.items:
        return ""
    config, design = chosen.settings.config, chosen.settings.design
    derived = read_colours(config, design)
    colours = derived.dark if chosen.theme == "dark" else derived.light
    page = render_template(
        "widget/formats/newsletter.html",
        cards=[_describe(item, config, colours) for item in chosen.items],
        has_highlights=design["showHighlights"],
        colours=colours,
        radius=design["radius"],
        fonts=SERIF if design["font"] == "serif" else SANS,
        has_photos=design["photoSize"] > 0,
        wall_url=chosen.wall_url,
    )
    return f"{page.strip()}\n"


def _describe(
    item: dict[str, Any], config: dict[str, Any], colours: Mapping[str, str]
) -> dict[str, Any]:
    name, text = item["authorName"], shorten(item["text"])
    number = colour_of(name) % INITIALS_COLOURS
    return {
        "name": name,
        "parts": split_text(text, _within(text, item.get("highlights"))),
        "size": next((size for most, size in SIZES if _measure(text) <= most), SMALLEST),
        "direction": direction_of(item["text"]),
        "position": describe_position(item, config),
        "stars": count_stars(item, config),
        "picture": find_picture(item),
        "initials": initials_of(name),
        "back": colours[f"back{number}"],
        "fore": colours[f"fore{number}"],
        "is_sample": item.get("isSample", False),
        "recording": link_recording(item),
        "marks": list_marks(item),
    }


def _measure(text: str) -> int:
    """Return how many letters a text has; wide ones, as in Japanese, count twice."""
    return len(text) + sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)


def _within(text: str, ranges: Ranges | None) -> Ranges:
    """Return the ranges as far as a shortened text has them."""
    end = len(text.removesuffix("…"))
    return [[first, min(last, end)] for first, last in ranges or [] if first < end]


def shorten(text: str) -> str:
    """Return at most `MAX_TEXT` characters of `text`, cut after a word where there is one."""
    if len(text) <= MAX_TEXT:
        return text
    words = text[:MAX_TEXT].rstrip().rpartition(" ")
    # Some languages are written without spaces.
    kept = words[0] if len(words[0]) > MAX_TEXT // 2 else text[: MAX_TEXT - 1]
    return kept.rstrip(" \n.,;:–—-") + "…"
