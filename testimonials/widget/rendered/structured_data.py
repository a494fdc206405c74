"""Structured data (schema.org) for search engines, if the owner has switched it on."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from testimonials.projects.models import Project
from testimonials.widget.services import rate
from testimonials.widget.settings import read_rated


def describe_ratings(
    project: Project, items: Sequence[dict[str, Any]], figures: Mapping[str, Any] | None = None
) -> Markup:
    """Return a JSON-LD script element about the ratings on a page with these items of the feed.

    It lists the shown testimonials with a rating, but no samples; the average counts every approved
    rating. `figures` are that average and its count, if they are known already. Empty if the owner
    has named nothing that is rated, or no rating is shown.
    """
    rated = read_rated(project)
    shown = [item for item in items if "rating" in item and not item.get("isSample")]
    if rated is None or not shown:
        return Markup("")
    average, count = (figures["average"], figures["count"]) if figures else rate(project)
    data = {
        "@context": "https://schema.org",
        "@type": rated["kind"],
        "name": rated["name"],
        "aggregateRating": {
            "@type": "AggregateRating",
            "ratingValue": average,
            "ratingCount": count,
            "bestRating": 5,
            "worstRating": 1,
        },
        "review": [_describe(item) for item in shown],
    }
    # A text must not end the element or open a comment.
    text = json.dumps(data, ensure_ascii=False).replace("<", "\\u003c")
    return Markup('<script type="application/ld+json">') + Markup(text) + Markup("</script>")  # noqa: S704


def _describe(item: dict[str, Any]) -> dict[str, Any]:
    recording = item.get("extras", {}).get("recording")
    told = {"reviewBody": item["text"]} if item["text"] else {}
    if recording:
        told |= _describe_recording(item, recording)
    return {
        "@type": "Review",
        "author": {"@type": "Person", "name": item["authorName"]},
        "datePublished": item["submittedAt"][:10],
        "reviewRating": {
            "@type": "Rating",
            "ratingValue": item["rating"],
            "bestRating": 5,
            "worstRating": 1,
        },
    } | told


def _describe_recording(item: dict[str, Any], recording: dict[str, Any]) -> dict[str, Any]:
    """Return a review's `video` or `audio`."""
    is_video = "width" in recording
    optional = {
        "description": item["text"],
        "encodingFormat": recording.get("type"),
        "duration": f"PT{recording['seconds']}S" if "seconds" in recording else None,
        "thumbnailUrl": recording.get("poster"),
    }
    described = {
        "@type": "VideoObject" if is_video else "AudioObject",
        "name": item["authorName"],
        "uploadDate": item["submittedAt"],
        "contentUrl": recording["src"],
        "url": recording["page"],
    } | {name: value for name, value in optional.items() if value}
    return {"video" if is_video else "audio": described}
