"""Server rendering of the widget, from the same feed as the script's and with its elements."""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from testimonials.core import clock
from testimonials.core.pictures.portraits import colour_of, initials_of
from testimonials.projects.models import Project
from testimonials.widget.selection import Selection
from testimonials.widget.services import describe_feed

_WEB = re.compile(r"https?://", re.IGNORECASE)


@dataclass(frozen=True)
class Still:
    """What a server-rendered widget shows.

    `classes` are those of its root element; `next` is the cursor of the next page, if any.
    """

    config: dict[str, Any]
    classes: str
    is_carousel: bool
    cards: list[dict[str, Any]]
    items: list[dict[str, Any]]
    total: int
    badge: dict[str, Any] | None = None
    cta: dict[str, str] | None = None
    next: str | None = None


def render_still(
    project: Project, selection: Selection, after: str | None = None, *, limit: int | None = None
) -> Still:
    """Return a page of at most `limit` testimonials, by default as many as configured.

    Raises `ValidationFailed` for an invalid cursor.
    """
    feed = describe_feed(project, after, limit, selection)
    config, items, total = feed["config"], feed["items"], feed["total"]
    badge = feed.get("badge") if total else None
    if badge:
        badge = badge | describe_stars(badge["average"])
    return make_still(
        config,
        items,
        layout=config["layout"] if total > 1 else "masonry",
        shape=feed.get("shape", ""),
        badge=badge,
        cta=feed.get("cta") if config["showCtaButton"] and total else None,
        next=feed["next"],
    )


def make_still(
    config: dict[str, Any],
    items: list[dict[str, Any]],
    *,
    layout: str = "masonry",
    shape: str = "",
    **values: Any,
) -> Still:
    """Return how these items of the feed are shown."""
    return Still(
        config=config,
        classes=" ".join(filter(None, ["tm", shape, layout, config["cardStyle"]])),
        is_carousel=layout == "carousel",
        cards=[describe_card(item, config) for item in items],
        items=items,
        total=len(items),
        **values,
    )


def describe_card(item: dict[str, Any], config: dict[str, Any]) -> dict[str, Any]:
    name, rating, twitter = item["authorName"], item.get("rating"), item.get("twitter") or {}
    company = item.get("authorCompany") if config["showSource"] else ""
    handle = re.sub(r"[^A-Za-z0-9_]", "", twitter.get("handle") or "")
    pictures = (item.get("authorAvatar"), twitter.get("avatarUrl"))
    return {
        "name": name,
        "text": item["text"],
        "role": ", ".join(filter(None, [item["authorRole"], company])),
        "handle": handle if config["showSource"] else "",
        "picture": next((url for url in pictures if url and _WEB.match(url)), None),
        "initials": initials_of(name),
        "colour": colour_of(name),
        "is_sample": item.get("isSample", False),
        "time": item["submittedAt"] if config["showDates"] else None,
        "date": clock.day(datetime.fromisoformat(item["submittedAt"])),
    } | (describe_stars(rating) if rating and rating >= 1 and config["showStars"] else {})


def describe_stars(rating: float) -> dict[str, Any]:
    """Return a rating, and the width of its filled part in per cent of a row of five stars."""
    rating = min(rating, 5)
    return {"rating": rating, "stars_width": round(rating * 20 - (rating % 1) * 2, 2)}
