"""Which testimonials a format gets: those that the widget's data would have."""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from testimonials.core.urls import wall_url
from testimonials.projects.models import Project
from testimonials.widget.selection import Selection, read_limit, read_selection
from testimonials.widget.services import describe_feed

# A shape means nothing outside of the widget, so none is read.
PARAMETERS = ("id", "tag", "min", "theme", "widget")

_WEB = re.compile(r"https?://", re.IGNORECASE)


@dataclass(frozen=True)
class Chosen:
    """A page of the feed's items, and the query parameters that chose them, but for the page's.

    `next` is the cursor of the next page, if any.
    """

    items: list[dict[str, Any]]
    config: dict[str, Any]
    selection: Selection
    query: dict[str, str]
    next: str | None
    wall_url: str


def choose_items(project: Project, arguments: Mapping[str, str], limit: int | None) -> Chosen:
    """Read query parameters and return what they choose; raise `ValidationFailed`.

    `limit` is how many there are unless ``?limit=`` says so; None for as many as configured.
    """
    query = {name: arguments[name] for name in PARAMETERS if arguments.get(name)}
    selection, own_limit = read_selection(query), read_limit(arguments)
    feed = describe_feed(project, arguments.get("after"), own_limit or limit, selection)
    query |= {"limit": str(own_limit)} if own_limit else {}
    url = wall_url(project.slug)
    return Chosen(feed["items"], feed["config"], selection, query, feed["next"], url)


def add_query(address: str, query: Mapping[str, str]) -> str:
    return f"{address}?{urlencode(query)}".rstrip("?")


def describe_position(item: dict[str, Any], config: dict[str, Any]) -> str:
    company = item.get("authorCompany") if config["showSource"] else ""
    return ", ".join(filter(None, [item["authorRole"], company]))


def count_stars(item: dict[str, Any], config: dict[str, Any]) -> int:
    """Return the rating in whole stars, halves rounded up; 0 where none are shown."""
    return min(5, int(item.get("rating", 0) + 0.5)) if config["showStars"] else 0


def find_picture(item: dict[str, Any]) -> str | None:
    pictures = (item.get("authorAvatar"), (item.get("twitter") or {}).get("avatarUrl"))
    return next((url for url in pictures if url and _WEB.match(url)), None)


def direction_of(text: str) -> str:
    """Return ``rtl`` if the first letter with a direction is written from the right."""
    for letter in text:
        direction = unicodedata.bidirectional(letter)
        if direction in ("L", "R", "AL"):
            return "ltr" if direction == "L" else "rtl"
    return "ltr"
