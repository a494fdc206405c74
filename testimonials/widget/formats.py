"""The JSON Feed and the newsletter, and which testimonials they show."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flask import render_template

from testimonials.core.http.i18n import gettext
from testimonials.core.http.urls import json_feed_url, record_url, testimonial_url, wall_url
from testimonials.core.text import is_right_to_left, split_text
from testimonials.projects.brand import find_brand
from testimonials.projects.models import Project
from testimonials.projects.widget_design import read_colors
from testimonials.testimonials.highlights import Ranges
from testimonials.widget.container import add_query, read_limit, read_selection
from testimonials.widget.render import describe_face, weigh
from testimonials.widget.selection import list_shown, read_content
from testimonials.widget.settings import (
    WidgetSettings,
    count_real,
    describe_proof,
    describe_shown,
    find_settings,
)
from testimonials.widget.words import write_words

# The parameters of a selection, without the shape, which only the widget has.
PARAMETERS = ("id", "tag", "min", "theme", "widget")


@dataclass(frozen=True)
class Chosen:
    """A page of the feed's items, the query parameters without `after`, and the next cursor."""

    items: list[dict[str, Any]]
    settings: WidgetSettings
    theme: str
    query: dict[str, str]
    next: str | None
    project: Project

    @property
    def wall_url(self) -> str:
        return wall_url(self.project.slug, self.project.own_host)


def choose_items(project: Project, arguments: Mapping[str, str], limit: int | None) -> Chosen:
    """Return the testimonials that the query parameters choose; raise `ValidationFailed`.

    `limit` applies without ``?limit=``; None: as many as configured.
    """
    query = {name: arguments[name] for name in PARAMETERS if arguments.get(name)}
    selection, own_limit = read_selection(query), read_limit(arguments)
    settings = find_settings(project, selection.widget)
    count = own_limit or limit or settings.config["initialCount"]
    content = read_content(settings.design, selection)
    rows, cursor = list_shown(project, content, arguments.get("after"), count)
    query |= {"limit": str(own_limit)} if own_limit else {}
    items = describe_shown(project, rows)
    return Chosen(items, settings, selection.theme, query, cursor, project)


# Testimonials as a JSON Feed (jsonfeed.org, version 1.1), for feed readers and programs.

VERSION = "https://jsonfeed.org/version/1.1"


def describe_json_feed(project: Project, chosen: Chosen) -> dict[str, Any]:
    """Return a page of the feed, with the URL of the next one."""
    address = json_feed_url(project.id)
    feed = {
        "version": VERSION,
        "title": gettext("What customers say about %(name)s", name=project.name),
        "home_page_url": chosen.wall_url,
        "feed_url": add_query(address, chosen.query),
        "icon": find_brand(project).logo_url,
        "items": [_describe_item(project, item) for item in chosen.items],
    }
    if chosen.next:
        feed["next_url"] = add_query(address, chosen.query | {"after": chosen.next})
    return _drop_missing(feed)


def _describe_item(project: Project, item: dict[str, Any]) -> dict[str, Any]:
    author = {"name": item["authorName"], "avatar": item.get("authorAvatar")}
    extras = item.get("extras") or {}
    record = record_url(project.slug, item["id"], project.own_host)
    # Values that the format has no field for are in an extension.
    more = {
        "rating": item.get("rating"),
        "author_role": item["authorRole"] or None,
        "author_company": item.get("authorCompany"),
        "sample": item.get("isSample"),
        "highlights": item.get("highlights"),
        "reply": (item.get("reply") or {}).get("text"),
        "answers": extras.get("answers"),
        "marks": extras.get("marks"),
        "record": None if item.get("isSample") else record,
    }
    attachments = {}
    if recording := extras.get("recording"):
        attachment = {
            "url": recording["src"],
            "mime_type": recording.get("type"),
            "duration_in_seconds": recording.get("seconds"),
        }
        attachments = {"attachments": [_drop_missing(attachment)]}
    return attachments | {
        "id": item["id"],
        "url": testimonial_url(project.slug, item["id"], project.own_host),
        "content_text": item["text"],
        "date_published": item["submittedAt"],
        "authors": [_drop_missing(author)],
        "_testimonial": _drop_missing(more),
    }


def _drop_missing(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


# Testimonials as HTML for newsletters: tables and inline styles, which mail programs understand.

IN_NEWSLETTER = 3
# Gmail cuts emails at 102 KB.
MAX_TEXT = 420
# Font size and line height of texts up to a weight, as on cards.
SIZES = ((64, (22, 32)), (140, (18, 28)))
SMALLEST = (16, 26)
# Without quotation marks, since the names are in an attribute.
SANS = "-apple-system,BlinkMacSystemFont,Segoe UI,Roboto,Noto Sans,Helvetica,Arial,sans-serif"
SERIF = "Iowan Old Style,Palatino,Georgia,serif"


def render_newsletter(chosen: Chosen) -> str:
    """Return the HTML, to paste into an email; empty if there is nothing to show."""
    if not chosen.items:
        return ""
    config, design = chosen.settings.config, chosen.settings.design
    derived = read_colors(config, design)
    colours = derived.dark if chosen.theme == "dark" else derived.light
    words = write_words({}, name=chosen.project.name)
    page = render_template(
        "widget/formats/newsletter.html",
        cards=[_describe_card(item, config, words) for item in chosen.items],
        has_highlights=design["showHighlights"],
        colours=colours,
        radius=design["radius"],
        fonts=SERIF if design["font"] == "serif" else SANS,
        has_photos=design["photoSize"] > 0,
        wall_url=chosen.wall_url,
        proof=describe_proof(chosen.project, count_real(chosen.items)),
    )
    return f"{page.strip()}\n"


def _describe_card(
    item: dict[str, Any], config: dict[str, Any], words: Mapping[str, str]
) -> dict[str, Any]:
    name, text, extras = item["authorName"], shorten(item["text"]), item.get("extras", {})
    company = item.get("authorCompany") if config["showSource"] else ""
    twitter = item.get("twitter") or {}
    if recording := extras.get("recording"):
        label = words["video" if "width" in recording else "voice"].replace("{name}", name)
        recording = recording | {"label": label}
    return {
        "name": name,
        "parts": split_text(text, _within(text, item.get("highlights"))),
        "size": next((size for most, size in SIZES if weigh(text) <= most), SMALLEST),
        "direction": "rtl" if is_right_to_left(item["text"]) else "ltr",
        "position": ", ".join(filter(None, [item["authorRole"], company])),
        # Halves are rounded up.
        "stars": min(5, int(item.get("rating", 0) + 0.5)) if config["showStars"] else 0,
        "face": describe_face(name, item.get("authorAvatar"), twitter.get("avatarUrl")),
        "is_sample": item.get("isSample", False),
        "recording": recording,
        "marks": [words[mark] for mark in extras.get("marks", ())],
    }


def _within(text: str, ranges: Ranges | None) -> Ranges:
    end = len(text.removesuffix("…"))
    return [[first, min(last, end)] for first, last in ranges or [] if first < end]


def shorten(text: str) -> str:
    """Return at most `MAX_TEXT` characters of `text`, cut after a word if possible."""
    if len(text) <= MAX_TEXT:
        return text
    words = text[:MAX_TEXT].rstrip().rpartition(" ")
    # Some languages are written without spaces.
    kept = words[0] if len(words[0]) > MAX_TEXT // 2 else text[: MAX_TEXT - 1]
    return kept.rstrip(" \n.,;:–—-") + "…"
