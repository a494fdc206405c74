"""The rules of the widget: its settings, and what it may show."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import or_, select

from testimonials.auth.models import Account
from testimonials.core import clock
from testimonials.core.data.identifiers import is_identifier
from testimonials.core.urls import wall_url
from testimonials.core.web.errors import NotFound
from testimonials.core.web.languages import format_number
from testimonials.extensions import db
from testimonials.projects.configuration.widget_design import read_look
from testimonials.projects.models import Project
from testimonials.projects.services import is_shown, mark_edited
from testimonials.testimonials.counts.services import count_ratings, rate_counted
from testimonials.testimonials.models import Testimonial
from testimonials.testimonials.recordings.describing import load_recordings
from testimonials.widget.content.content import EVERYTHING, find_conditions, read_content
from testimonials.widget.content.extras import describe_extras
from testimonials.widget.content.listing import count_shown, list_shown
from testimonials.widget.content.saved_widgets import WidgetSettings, find_settings
from testimonials.widget.design.colours import read_colours, write_colours
from testimonials.widget.design.words import write_ratings
from testimonials.widget.selection import CARDS, WHOLE, Selection
from testimonials.widget.settings import read_cta

MAX_FACES = 5
# Among so many the faces are looked for, however many there are.
NEWEST_FACES = 200


def update_widget_config(project: Project, changes: dict[str, Any]) -> None:
    """Change the locked project's specified settings.

    A specified layout or animation goes before the layout that the dashboard had chosen beyond
    them.
    """
    if not changes.keys().isdisjoint({"layout", "animation"}):
        project.widget_design = {
            name: value for name, value in project.widget_design.items() if name != "layout"
        }
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


def rate(project: Project) -> tuple[float, int]:
    """Return the average of all approved ratings, to one decimal, and their number.

    Samples don't count.
    """
    return rate_counted(count_ratings(project.id)) if project.is_active else (0, 0)


def describe_header(project: Project) -> dict[str, Any]:
    """Return what a header, a badge or a row of people says of all approved ratings.

    `loved` is how many give four stars or more, and whose `faces` these are: at most five people,
    of the newest those with a picture first. Samples don't count.
    """
    counts = count_ratings(project.id) if project.is_active else []
    average, count = rate_counted(counts)
    loved = sum(each.number for each in counts if each.halves >= 8 and not each.is_sample)
    faces = {row.author_name: row.avatar_url for row in _list_loved(project)} if loved else {}
    return {
        "average": average,
        "count": count,
        "loved": loved,
        "faces": [{"name": name, "avatar": url} for name, url in faces.items()][:MAX_FACES],
    }


def _list_loved(project: Project) -> Sequence[Testimonial]:
    """Return some of four stars or more, from the newest; if few of these are, from the best."""
    order = Testimonial.is_pinned.desc(), Testimonial.created_at.desc()
    conditions = find_conditions(project, EVERYTHING)
    newest = select(Testimonial.id).where(*conditions).order_by(*order).limit(NEWEST_FACES)
    is_loved = Testimonial.status != "demo", Testimonial.rank >= 4
    has_picture = or_(Testimonial.avatar_id.is_not(None), Testimonial.author_avatar.is_not(None))
    # More than five, because some people have written twice.
    query = select(Testimonial).where(Testimonial.id.in_(newest), *is_loved)
    rows = db.session.scalars(query.order_by(has_picture.desc(), *order).limit(3 * MAX_FACES)).all()
    if len(rows) >= MAX_FACES:
        return rows
    best = select(Testimonial).where(*conditions, *is_loved)
    best = best.order_by(order[0], Testimonial.rank.desc(), order[1]).limit(3 * MAX_FACES)
    return [*rows, *db.session.scalars(best)]


def describe_feed(
    project: Project,
    after: str | None,
    limit: int | None = None,
    selection: Selection = WHOLE,
    settings: WidgetSettings | None = None,
) -> dict[str, Any]:
    """Return what the widget needs for a page: settings, items and the cursor of the next page.

    A page has `limit` items, by default as many as the settings say, which are those of the widget
    that the selection names unless given. Only approved testimonials and samples are included, and
    never an e-mail address.
    """
    settings = settings or find_settings(project, selection.widget)
    config, content = settings.config, read_content(settings.design, selection)
    selection = selection.with_shape(settings.design["shape"])
    feed: dict[str, Any] = {
        "project": {"id": project.id, "name": project.name, "active": project.is_active},
        "config": config,
        "design": read_look(settings.design),
        "colours": write_colours(read_colours(config, settings.design)),
    } | ({"widget": settings.name} if settings.name else {})
    if selection.is_badge:
        return feed | _describe_badge(project, selection.shape)
    limit = limit or CARDS.get(selection.shape) or config["initialCount"]
    rows, cursor = list_shown(project, content, after, limit)
    items = describe_shown(project, rows)
    if selection.is_whole:
        if feed["design"]["showHeader"]:
            feed["header"] = describe_header(project)
        return feed | {
            "cta": read_cta(project),
            "total": count_shown(project, content),
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
        "url": wall_url(project.slug, project.own_host),
    }
    shown = {"shape": shape, "badge": badge, "header": header, "total": count}
    return shown | {"items": [], "next": None}


def describe_shown(project: Project, rows: Sequence[Testimonial]) -> list[dict[str, Any]]:
    """Return what the public sees of testimonials; a sample is marked as one."""
    load_recordings(rows)
    return [_describe(row, project) for row in rows]


def _describe(testimonial: Testimonial, project: Project) -> dict[str, Any]:
    # Two decimals are enough to draw and to read aloud.
    rating = None if testimonial.rating is None else round(testimonial.rating, 2)
    optional = {
        "authorCompany": testimonial.author_company,
        "authorAvatar": testimonial.avatar_url,
        "twitter": testimonial.twitter,
        "rating": int(rating) if rating is not None and rating.is_integer() else rating,
        "pinned": testimonial.is_pinned or None,
        "isSample": testimonial.status == "demo" or None,
        "highlights": testimonial.highlights,
        "reply": _describe_reply(testimonial),
        "extras": describe_extras(testimonial, project),
    }
    return {
        "id": testimonial.id,
        "authorName": testimonial.author_name,
        "authorRole": testimonial.author_role,
        "text": testimonial.text,
        "submittedAt": clock.iso(testimonial.submitted_at),
    } | {name: value for name, value in optional.items() if value is not None}


def _describe_reply(testimonial: Testimonial) -> dict[str, str] | None:
    reply = testimonial.public_reply
    return reply and {"text": reply["text"], "repliedAt": clock.iso(reply["replied_at"])}
