"""The parts of a server-rendered widget: what `static/widget/core/cards.js` makes of the feed."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from testimonials.core.pictures.portraits import colour_of, initials_of
from testimonials.core.urls import testimonial_url
from testimonials.core.web.languages import current_language, format_average, format_number
from testimonials.projects.models import Project
from testimonials.widget.rendered.dates import write_dates

# Longer texts are cut there, with a link to the testimonial's own page.
LONG = {"masonry": 600, "carousel": 600, "list": 1_000}
# How many colours initials have.
COLOURS = 3
# The longest texts of each size, in letters of which wide ones count twice.
SIZES = ((30, "text short tiny"), (64, "text short"), (140, "text medium"))

_WEB = re.compile(r"https?://", re.IGNORECASE)
_WIDE = re.compile("[\u2e80-\ud7ff]")


@dataclass(frozen=True)
class Manner:
    """How the cards of a widget are drawn: `kind` is its layout or shape.

    Recordings are links to their pages unless it `is_player`, without any script.
    """

    kind: str
    config: Mapping[str, Any]
    design: Mapping[str, Any]
    words: Mapping[str, str]
    project: Project
    is_player: bool = False


def describe_cards(items: Sequence[dict[str, Any]], manner: Manner) -> list[dict[str, Any]]:
    """Return what the template shows of these items of the feed."""
    dates = [""] * len(items)
    if manner.config["showDates"]:
        times = [item["submittedAt"] for item in items]
        dates = write_dates(times, manner.design["dateStyle"], is_long=manner.kind == "list")
    return [
        _describe_card(item, manner, date, is_first=not number)
        for number, (item, date) in enumerate(zip(items, dates, strict=True))
    ]


def describe_header(header: Mapping[str, Any], words: Mapping[str, str]) -> dict[str, Any]:
    """Return what is above the cards, or in a badge; `header` is the feed's."""
    count, loved = format_number(header["count"]), format_number(header["loved"])
    return {
        "average": format_average(header["average"]),
        "stars": describe_stars(header["average"], words),
        "ratings": words["ratings"].replace("{n}", count),
        "from_ratings": words["fromRatings"].replace("{n}", count),
        "loved": words["loved"].replace("{n}", loved) if header["loved"] else "",
        "faces": [describe_face(each["name"], each["avatar"]) for each in header["faces"]],
    }


def describe_stars(rating: float, words: Mapping[str, str]) -> dict[str, Any]:
    """Return a rating's label, and the width of what is filled of five stars, of 108."""
    rating = min(rating, 5)
    number = f"{rating:g}".replace(".", current_language().decimal)
    return {
        "label": words["rated"].replace("{rating}", number),
        "width": f"{rating * 22 - rating % 1 * 2:.6g}",
    }


def describe_face(name: str, *pictures: str | None) -> dict[str, Any]:
    """Return somebody's initials, their colour, and the first picture that is one."""
    return {
        "initials": initials_of(name),
        "colour": colour_of(name) % COLOURS,
        "picture": next((url for url in pictures if url and _WEB.match(url)), None),
    }


def _describe_card(
    item: dict[str, Any], manner: Manner, date: str, *, is_first: bool
) -> dict[str, Any]:
    config, design = manner.config, manner.design
    name, rating, twitter = item["authorName"], item.get("rating"), item.get("twitter") or {}
    company = item.get("authorCompany") if config["showSource"] else ""
    handle = re.sub(r"[^A-Za-z0-9_]", "", twitter.get("handle") or "")
    handle = handle if config["showSource"] else ""
    featured = design["featured"] if is_first and item.get("pinned") else "off"
    is_featured = manner.kind == "masonry" and featured != "off"
    pictures = (item.get("authorAvatar"), twitter.get("avatarUrl"))
    is_long = len(item["text"]) > LONG.get(manner.kind, len(item["text"]))
    is_rated = config["showStars"] and rating is not None and rating >= 1
    return {
        "classes": f"featured {featured}" if is_featured else "",
        "size": _choose_size(item["text"]),
        "parts": _split(item["text"], item.get("highlights") or [], design),
        "stars": describe_stars(rating, manner.words) if is_rated and rating else None,
        "handle": handle,
        "has_glyph": not handle and (is_featured or config["cardStyle"] == "quote"),
        "reply": _describe_reply(item, manner),
        "extras": _describe_extras(item, manner),
        "more_url": testimonial_url(manner.project.slug, item["id"], manner.project.own_host)
        if is_long
        else "",
        "face": describe_face(name, *pictures) if design["photoSize"] else None,
        "name": name,
        "role": ", ".join(filter(None, [item["authorRole"], company])),
        "is_sample": item.get("isSample", False),
        "time": item["submittedAt"],
        "date": date,
    }


def weigh(text: str) -> int:
    """Return how long a text looks: its letters, of which wide ones count twice."""
    return len(text) + len(_WIDE.findall(text))


def _choose_size(text: str) -> str:
    weight = weigh(text)
    return next((size for most, size in SIZES if weight <= most), "text")


def _split(
    text: str, highlights: Sequence[Sequence[int]], design: Mapping[str, Any]
) -> list[tuple[str, bool]]:
    """Return a text in parts, with whether each is highlighted."""
    parts, end = [], 0
    for start, stop in highlights if design["showHighlights"] else ():
        parts += [(text[end:start], False), (text[start:stop], True)]
        end = stop
    return [part for part in [*parts, (text[end:], False)] if part[0]]


def _describe_extras(item: dict[str, Any], manner: Manner) -> dict[str, Any]:
    """Return the parts of `static/widget/extras/extras.js`, as far as an item has them."""
    extras, words = item.get("extras") or {}, manner.words
    found = {
        "answers": extras.get("answers") or [],
        "marks": [
            {
                "name": mark,
                "label": words[mark],
                "means": words[f"{mark}Means"].replace("{name}", manner.project.name),
            }
            for mark in extras.get("marks") or ()
        ],
    }
    if recording := extras.get("recording"):
        kind = "video" if "width" in recording else "voice"
        seconds = recording.get("seconds")
        time = f"{seconds // 60}:{seconds % 60:02}" if seconds else ""
        label = words[kind].replace("{name}", item["authorName"])
        found["recording"] = recording | {
            "kind": kind,
            "is_player": manner.is_player,
            "time": time,
            "label": f"{label}, {time}" if time else label,
        }
    return found


def _describe_reply(item: dict[str, Any], manner: Manner) -> dict[str, str] | None:
    if "reply" not in item:
        return None
    title = manner.words["reply"].replace("{name}", manner.project.name)
    return {"title": title, "text": item["reply"]["text"]}
