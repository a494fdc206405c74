"""Testimonials as a JSON Feed (jsonfeed.org, version 1.1), for feed readers and programs."""

from typing import Any

from testimonials.core.urls import image_url, json_feed_url, testimonial_url
from testimonials.core.web.languages import gettext
from testimonials.projects.models import Project
from testimonials.widget.formats.choosing import Chosen, add_query

VERSION = "https://jsonfeed.org/version/1.1"


def describe_json_feed(project: Project, chosen: Chosen) -> dict[str, Any]:
    """Return a page of the feed, with the address of the next one."""
    address = json_feed_url(project.id)
    feed = {
        "version": VERSION,
        "title": gettext("What customers say about %(name)s", name=project.name),
        "home_page_url": chosen.wall_url,
        "feed_url": add_query(address, chosen.query),
        "icon": image_url(project.logo_id),
        "items": [_describe(project, item) for item in chosen.items],
    }
    if chosen.next:
        feed["next_url"] = add_query(address, chosen.query | {"after": chosen.next})
    return {name: value for name, value in feed.items() if value is not None}


def _describe(project: Project, item: dict[str, Any]) -> dict[str, Any]:
    author = {"name": item["authorName"], "avatar": item.get("authorAvatar")}
    extras = item.get("extras") or {}
    # An extension, as the format has no place for a rating or for a role.
    more = {
        "rating": item.get("rating"),
        "author_role": item["authorRole"] or None,
        "author_company": item.get("authorCompany"),
        "sample": item.get("isSample"),
        "highlights": item.get("highlights"),
        "reply": (item.get("reply") or {}).get("text"),
        "answers": extras.get("answers"),
        "marks": extras.get("marks"),
    }
    recording = extras.get("recording")
    attachments = {"attachments": [_describe_recording(recording)]} if recording else {}
    return attachments | {
        "id": item["id"],
        "url": testimonial_url(project.slug, item["id"], project.own_host),
        "content_text": item["text"],
        "date_published": item["submittedAt"],
        "authors": [_drop_missing(author)],
        "_testimonial": _drop_missing(more),
    }


def _describe_recording(recording: dict[str, Any]) -> dict[str, Any]:
    return _drop_missing(
        {
            "url": recording["src"],
            "mime_type": recording.get("type"),
            "duration_in_seconds": recording.get("seconds"),
        }
    )


def _drop_missing(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}
