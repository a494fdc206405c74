"""What the public wall shows: a choice of testimonials, page by page, and the figures above."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flask import Flask, current_app
from sqlalchemy import ColumnExpressionArgument, or_, select

from testimonials.core.data.identifiers import is_identifier
from testimonials.core.data.versioned_cache import VersionedCache
from testimonials.core.web.errors import NotFound, ValidationFailed
from testimonials.core.web.languages import gettext_noop
from testimonials.extensions import db
from testimonials.projects.configuration.widget_design import DEFAULTS
from testimonials.projects.models import Project
from testimonials.testimonials.counts.services import count_ratings, count_tags, rate_counted
from testimonials.testimonials.models import Testimonial
from testimonials.widget.content.content import (
    BEST,
    NEWEST,
    Content,
    find_conditions,
    read_content,
)
from testimonials.widget.content.listing import read_page
from testimonials.widget.selection import Selection, read_selection
from testimonials.widget.services import describe_shown

SORTS = (NEWEST, BEST)
ON_A_WALL = 50
# The most frequent tags are offered; the page takes any.
OFFERED_TAGS = 12
EXTENSION = "testimonials_wall"
CACHE_BYTES = 16 * 1024 * 1024

_has_photo = or_(
    Testimonial.avatar_id.is_not(None),
    Testimonial.author_avatar.is_not(None),
    Testimonial.twitter["avatarUrl"].as_string().is_not(None),
)


@dataclass(frozen=True)
class WallChoice:
    """What a visitor chose to see; the links of the wall choose at most one filter."""

    selection: Selection
    # Stars from 1 to 5, 0 for any.
    rating: int = 0
    has_photo: bool = False
    sort: str = SORTS[0]

    @property
    def query(self) -> dict[str, Any]:
        """Its query parameters."""
        values = {
            "rating": self.rating,
            "photo": int(self.has_photo),
            "sort": "" if self.sort == SORTS[0] else self.sort,
        }
        return self.selection.query | {name: value for name, value in values.items() if value}

    @property
    def filters(self) -> dict[str, Any]:
        """Its query parameters but the order."""
        return {name: value for name, value in self.query.items() if name != "sort"}


def init_wall(app: Flask) -> None:
    """Attach to `app` the cache of what walls show."""
    app.extensions[EXTENSION] = VersionedCache(CACHE_BYTES)


def read_choice(arguments: Mapping[str, str]) -> WallChoice:
    """Read the wall's query parameters; raise `ValidationFailed`."""
    rating, photo = arguments.get("rating", ""), arguments.get("photo", "")
    sort = arguments.get("sort", "") or SORTS[0]
    errors: dict[str, list[str]] = {}
    if rating not in ("", *"12345"):
        errors["rating"] = ["Must be a number of stars from 1 to 5."]
    if photo not in ("", "0", "1"):
        errors["photo"] = ["Must be 1 or 0."]
    if sort not in SORTS:
        errors["sort"] = [f"Must be one of: {', '.join(SORTS)}."]
    if errors:
        raise ValidationFailed.of(errors)
    selection = read_selection({name: arguments.get(name, "") for name in ("tag", "min")})
    return WallChoice(selection, int(rating or 0), photo == "1", sort)


def read_wall(project: Project, choice: WallChoice, after: str | None) -> dict[str, Any]:
    """Return the wall's `figures`, a page of its `items`, and the cursor of the `next` page.

    They are kept in memory until something that is shown changes. Raises `ValidationFailed` for
    a cursor that is none.
    """
    page = _remember(project, (choice, after), lambda: _read_page(project, choice, after))
    return page | {"figures": _remember(project, None, lambda: count_figures(project))}


def find_shown_testimonial(project: Project, testimonial_id: str) -> dict[str, Any]:
    """Return the item of the wall with this id; raise `NotFound`."""
    row = None
    if project.is_active and is_identifier(testimonial_id):
        one = Content(testimonial_id=testimonial_id)
        query = select(Testimonial).where(*find_conditions(project, one))
        row = db.session.scalars(query).one_or_none()
    if row is None:
        raise NotFound(gettext_noop("There is no page at this address."))
    return describe_shown(project, [row])[0]


def count_figures(project: Project) -> dict[str, Any]:
    """Count what the wall shows, by stars (samples left out), by tag, and those with a photo.

    Halves of a star are rounded up, as people do.
    """
    counts = count_ratings(project.id) if project.is_active else []
    average, count = rate_counted(counts)
    by_stars = Counter[int]()
    for each in counts:
        by_stars[each.stars] += 0 if each.is_sample else each.number
    return {
        "total": sum(each.number for each in counts),
        "samples": sum(each.number for each in counts if each.is_sample),
        "photos": sum(each.photos for each in counts),
        "average": average,
        "count": count,
        "stars": [by_stars[number] for number in (5, 4, 3, 2, 1)],
        "tags": _count_tags(project) if counts else [],
    }


def _count_tags(project: Project) -> list[tuple[str, int]]:
    found = ((name, shown) for name, (_, shown) in count_tags(project.id).items() if shown)
    return sorted(found, key=lambda tag: (-tag[1], tag[0]))[:OFFERED_TAGS]


def _read_page(project: Project, choice: WallChoice, after: str | None) -> dict[str, Any]:
    if not project.is_active:
        return {"items": [], "next": None}
    query = select(Testimonial).where(*_conditions(project, choice))
    rows, cursor = read_page(query, choice.sort, after, ON_A_WALL)
    return {"items": describe_shown(project, rows), "next": cursor}


def _conditions(project: Project, choice: WallChoice) -> list[ColumnExpressionArgument[bool]]:
    found = [*find_conditions(project, read_content(DEFAULTS, choice.selection))]
    if choice.rating:
        # What the bars count: no samples, and half a star more is a star more.
        least = 1 if choice.rating == 1 else choice.rating - 0.5
        found += [Testimonial.rank >= least, Testimonial.status != "demo"]
        if choice.rating < 5:
            found.append(Testimonial.rank < choice.rating + 0.5)
    if choice.has_photo:
        found.append(_has_photo)
    return found


def _remember(project: Project, key: Any, make: Any) -> dict[str, Any]:
    bodies: VersionedCache = current_app.extensions[EXTENSION]
    body = bodies.get((project.id, key), project.feed_version, lambda: json.dumps(make()).encode())
    found: dict[str, Any] = json.loads(body.plain)
    return found
