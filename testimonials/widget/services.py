"""The rules of the widget: its settings, and what it may show."""

import binascii
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnExpressionArgument, exists, func, literal, or_, select, tuple_

from testimonials.auth.models import Account
from testimonials.core import clock
from testimonials.core.data.identifiers import is_identifier
from testimonials.core.urls import wall_url
from testimonials.core.web.errors import NotFound, ValidationFailed
from testimonials.core.web.languages import format_number
from testimonials.extensions import db
from testimonials.projects.configuration.widget_design import read_look
from testimonials.projects.models import Project
from testimonials.projects.services import is_shown, mark_edited
from testimonials.testimonials.models import Testimonial, TestimonialTag
from testimonials.testimonials.moderation.tags import find_spellings, fold
from testimonials.widget.design.colours import read_colours, write_colours
from testimonials.widget.design.words import write_ratings
from testimonials.widget.selection import CARDS, WHOLE, Selection
from testimonials.widget.settings import read_cta

MAX_FACES = 5

_CURSOR = re.compile(rb"([01])\.(-?[0-9]{1,16})\.([0-9a-f]{24})")


def update_widget_config(project: Project, changes: dict[str, Any]) -> None:
    if changes:
        project.widget_config = project.widget_config | changes
        mark_edited(project)


def find_shown_project(project_id: str) -> Project:
    """Return the live project with this id; raise `NotFound`."""
    query = select(Project).join(Account).where(Project.id == project_id, is_shown())
    project = db.session.scalars(query).one_or_none() if is_identifier(project_id) else None
    if project is None:
        raise NotFound("There is no widget with this project id.")
    return project


def find_feed_version(project_id: str) -> int:
    """Return the version of a live project's feed; raise `NotFound`."""
    query = select(Project.feed_version).join(Account).where(Project.id == project_id, is_shown())
    version = db.session.scalar(query) if is_identifier(project_id) else None
    if version is None:
        raise NotFound("There is no widget with this project id.")
    return int(version)


def list_shown(
    project: Project, after: str | None, limit: int, selection: Selection = WHOLE
) -> tuple[Sequence[Testimonial], str | None]:
    """Return a page of what the widget shows, pinned first, and the cursor of the next page.

    Pagination is by key, so nothing repeats or is skipped when something is approved meanwhile.
    Raises `ValidationFailed` for a cursor that this function didn't return.
    """
    if not project.is_active:
        return [], None
    order = (Testimonial.is_pinned, Testimonial.created_at, Testimonial.id)
    query = select(Testimonial).where(*select_shown(project, selection))
    if after is not None:
        # Each value takes its column's type: a time is stored as a number.
        values = zip(_read_cursor(after), order, strict=True)
        query = query.where(
            tuple_(*order) < tuple_(*(literal(value, column.type) for value, column in values))
        )
    rows = db.session.scalars(
        query.order_by(*(column.desc() for column in order)).limit(limit + 1)
    ).all()
    shown = rows[:limit]
    return shown, _make_cursor(shown[-1]) if len(rows) > limit else None


def count_shown(project: Project, selection: Selection = WHOLE) -> int:
    query = select(func.count(Testimonial.id)).where(*select_shown(project, selection))
    return int(db.session.scalar(query) or 0) if project.is_active else 0


def rate(project: Project) -> tuple[float, int]:
    """Return the average of all approved ratings, to one decimal, and their number.

    Samples don't count.
    """
    query = select(func.avg(Testimonial.rating), func.count(Testimonial.rating)).where(
        *select_shown(project, WHOLE), Testimonial.status != "demo", Testimonial.rating >= 1
    )
    average, count = db.session.execute(query).one()
    # Halves are rounded up, as people do.
    return (int(average * 10 + 0.5) / 10, count) if count and project.is_active else (0, 0)


def describe_header(project: Project) -> dict[str, Any]:
    """Return what a header, a badge or a row of people says of all approved ratings.

    `loved` is how many give four stars or more, and whose `faces` these are: at most five people,
    those with a picture first. Samples don't count.
    """
    average, count = rate(project)
    loved = [*select_shown(project, WHOLE), Testimonial.status != "demo", Testimonial.rating >= 4]
    happy = db.session.scalar(select(func.count(Testimonial.id)).where(*loved)) if count else 0
    has_picture = or_(Testimonial.avatar_id.is_not(None), Testimonial.author_avatar.is_not(None))
    query = (
        select(Testimonial)
        .where(*loved)
        .order_by(has_picture.desc(), Testimonial.is_pinned.desc(), Testimonial.created_at.desc())
    )
    # More than five, because some people have written twice.
    rows = db.session.scalars(query.limit(3 * MAX_FACES)) if count else ()
    faces = {row.author_name: row.avatar_url for row in rows}
    return {
        "average": average,
        "count": count,
        "loved": happy,
        "faces": [{"name": name, "avatar": url} for name, url in faces.items()][:MAX_FACES],
    }


def describe_feed(
    project: Project,
    after: str | None,
    limit: int | None = None,
    selection: Selection = WHOLE,
) -> dict[str, Any]:
    """Return what the widget needs for a page: settings, items and the cursor of the next page.

    A page has `limit` items, by default as many as the settings say. Only approved testimonials
    and samples are included, and never an e-mail address.
    """
    config = project.widget_config
    feed: dict[str, Any] = {
        "project": {"id": project.id, "name": project.name, "active": project.is_active},
        "config": config,
        "design": read_look(project.widget_design),
        "colours": write_colours(read_colours(config, project.widget_design)),
    }
    if selection.is_badge:
        return feed | _describe_badge(project, selection.shape)
    limit = limit or CARDS.get(selection.shape) or config["initialCount"]
    rows, cursor = list_shown(project, after, limit, selection)
    items = [describe_shown(row) for row in rows]
    if selection.is_whole:
        if feed["design"]["showHeader"]:
            feed["header"] = describe_header(project)
        return feed | {
            "cta": read_cta(project),
            "total": count_shown(project, selection),
            "items": items,
            "next": cursor,
        }
    if selection.shape == "strip":
        # One row, whatever the owner chose, and no column moves.
        animation = "none" if config["animation"] == "none" else "horizontal"
        config = config | {"layout": "carousel", "animation": animation}
        feed |= {"config": config}
    if selection.shape:
        feed |= {"shape": selection.shape}
    return feed | {"total": len(items), "items": items, "next": None}


def _describe_badge(project: Project, shape: str) -> dict[str, Any]:
    header = describe_header(project)
    count = header["count"]
    badge = {
        "average": header["average"],
        "label": write_ratings(count, format_number(count)),
        "url": wall_url(project.slug),
    }
    shown = {"shape": shape, "badge": badge, "header": header, "total": count}
    return shown | {"items": [], "next": None}


def describe_shown(testimonial: Testimonial) -> dict[str, Any]:
    """Return what the public sees of a testimonial; a sample is marked as one."""
    # Two decimals are enough to draw and to read aloud.
    rating = None if testimonial.rating is None else round(testimonial.rating, 2)
    optional = {
        "authorCompany": testimonial.author_company,
        "authorAvatar": testimonial.avatar_url,
        "twitter": testimonial.twitter,
        "rating": int(rating) if rating is not None and rating.is_integer() else rating,
        "pinned": testimonial.is_pinned or None,
        "isSample": testimonial.status == "demo" or None,
    }
    return {
        "id": testimonial.id,
        "authorName": testimonial.author_name,
        "authorRole": testimonial.author_role,
        "text": testimonial.text,
        "submittedAt": clock.iso(testimonial.submitted_at),
    } | {name: value for name, value in optional.items() if value is not None}


def select_shown(
    project: Project, selection: Selection = WHOLE
) -> list[ColumnExpressionArgument[bool]]:
    """Return the conditions for a testimonial of the project to be selected."""
    found: list[ColumnExpressionArgument[bool]] = [
        Testimonial.project_id == project.id,
        Testimonial.is_visible,
    ]
    if selection.testimonial_id:
        found.append(Testimonial.id == selection.testimonial_id)
    if selection.min_length:
        found.append(func.length(Testimonial.text) >= selection.min_length)
    if selection.tag:
        # Any spelling selects the tag as the inbox shows it.
        name = find_spellings(project.id).get(fold(selection.tag), selection.tag)
        found.append(
            exists().where(
                TestimonialTag.testimonial_id == Testimonial.id, TestimonialTag.name == name
            )
        )
    return found


def _make_cursor(testimonial: Testimonial) -> str:
    time = clock.to_milliseconds(testimonial.created_at)
    text = f"{int(testimonial.is_pinned)}.{time}.{testimonial.id}"
    return urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _read_cursor(cursor: str) -> tuple[bool, Any, str]:
    try:
        match = _CURSOR.fullmatch(urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        if match is None:
            raise ValueError(cursor)
        time = clock.from_milliseconds(int(match[2]))
    except (ValueError, OverflowError, binascii.Error):
        raise ValidationFailed.of(
            {"after": ["Must be the value of `next` in an answer of this feed."]}
        ) from None
    return match[1] == b"1", time, match[3].decode()
