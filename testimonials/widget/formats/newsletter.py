"""Testimonials as HTML for newsletters: tables and inline styles, as mail programs understand."""

from typing import Any

from flask import render_template

from testimonials.core.pictures.portraits import COLOURS, colour_of, initials_of
from testimonials.widget.formats.choosing import (
    Chosen,
    count_stars,
    describe_position,
    direction_of,
    find_picture,
)
from testimonials.widget.script.assembly import read_look

# It has room for a few.
IN_NEWSLETTER = 3
# Gmail cuts a mail at 102 KB, and nobody reads long letters in one.
MAX_TEXT = 420


def render_newsletter(chosen: Chosen) -> str:
    """Return the HTML, without anything around it; empty if there is nothing to show."""
    if not chosen.items:
        return ""
    theme = "dark" if chosen.selection.theme == "dark" else "light"
    look = read_look()
    palette = look["palettes"][chosen.config["palette"]][theme]
    colours = [f"#{colour}" for colour in f"{palette} {look['themes'][theme]}".split()]
    names = look["names"].split()
    page = render_template(
        "widget/formats/newsletter.html",
        cards=[_describe(item, chosen.config, colours[len(names) :]) for item in chosen.items],
        colours=dict(zip(names, colours, strict=False)),
        wall_url=chosen.wall_url,
    )
    return f"{page.strip()}\n"


def _describe(item: dict[str, Any], config: dict[str, Any], pairs: list[str]) -> dict[str, Any]:
    name = item["authorName"]
    back, fore = pairs[2 * (colour_of(name) % COLOURS) :][:2]
    return {
        "name": name,
        "lines": shorten(item["text"]).split("\n"),
        "direction": direction_of(item["text"]),
        "position": describe_position(item, config),
        "stars": count_stars(item, config),
        "picture": find_picture(item),
        "initials": initials_of(name),
        "back": back,
        "fore": fore,
        "is_sample": item.get("isSample", False),
    }


def shorten(text: str) -> str:
    """Return at most `MAX_TEXT` characters of `text`, cut after a word where there is one."""
    if len(text) <= MAX_TEXT:
        return text
    words = text[:MAX_TEXT].rstrip().rpartition(" ")
    # Some languages are written without spaces.
    kept = words[0] if len(words[0]) > MAX_TEXT // 2 else text[: MAX_TEXT - 1]
    return kept.rstrip(" \n.,;:–—-") + "…"
