"""Which testimonials a format gets: those that the widget's data would have."""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from testimonials.core.urls import wall_url
from testimonials.projects.models import Project
from testimonials.widget.content.content import read_content
from testimonials.widget.content.listing import list_shown
from testimonials.widget.content.saved_widgets import WidgetSettings, find_settings
from testimonials.widget.design.words import write_words
from testimonials.widget.selection import read_limit, read_selection
from testimonials.widget.services import describe_shown

# A shape means nothing outside of the widget, so none is read.
PARAMETERS = ("id", "tag", "min", "theme", "widget")

_WEB = re.compile(r"https?://", re.IGNORECASE)


@dataclass(frozen=True)
class Chosen:
    """A page of the feed's items, and the query parameters that chose them, but for the page's.

    `next` is the cursor of the next page, if any.
    """

    items: list[dict[str, Any]]
    settings: WidgetSettings
    theme: str
    query: dict[str, str]
    next: str | None
    wall_url: str


def choose_items(project: Project, arguments: Mapping[str, str], limit: int | None) -> Chosen:
    """Read query parameters and return what they choose; raise `ValidationFailed`.

    `limit` is how many there are unless ``?limit=`` says so; None for as many as configured.
    """
    query = {name: arguments[name] for name in PARAMETERS if arguments.get(name)}
    selection, own_limit = read_selection(query), read_limit(arguments)
    settings = find_settings(project, selection.widget)
    count = own_limit or limit or settings.config["initialCount"]
    content = read_content(settings.design, selection)
    rows, cursor = list_shown(project, content, arguments.get("after"), count)
    query |= {"limit": str(own_limit)} if own_limit else {}
    items = describe_shown(project, rows)
    return Chosen(
        items, settings, selection.theme, query, cursor, wall_url(project.slug, project.own_host)
    )


def add_query(address: str, query: Mapping[str, str]) -> str:
    return f"{address}?{urlencode(query)}".rstrip("?")


def describe_position(item: dict[str, Any], config: dict[str, Any]) -> str:
    company = item.get("authorCompany") if config["showSource"] else ""
    return ", ".join(filter(None, [item["authorRole"], company]))


def count_stars(item: dict[str, Any], config: dict[str, Any]) -> int:
    """Return the rating in whole stars, halves rounded up; 0 where none are shown."""
    return min(5, int(item.get("rating", 0) + 0.5)) if config["showStars"] else 0


def link_recording(item: dict[str, Any]) -> dict[str, Any] | None:
    """Return the `label`, `url` and `poster` of a link to the page that plays it, if it has one."""
    recording = item.get("extras", {}).get("recording")
    if recording is None:
        return None
    words = write_words({})["video" if "width" in recording else "voice"]
    label = words.replace("{name}", item["authorName"])
    return {"label": label, "url": recording["page"], "poster": recording.get("poster")}


def list_marks(item: dict[str, Any]) -> list[str]:
    """Return the marks of a testimonial in words."""
    marks = item.get("extras", {}).get("marks") or ()
    return [write_words({})[mark] for mark in marks]


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
