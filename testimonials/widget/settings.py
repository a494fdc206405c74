"""The widget's settings, and a project's saved widgets."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import or_, select

from testimonials.auth.models import Account
from testimonials.core import clock
from testimonials.core.db.identifiers import is_identifier
from testimonials.core.extensions import db
from testimonials.core.http.errors import NotFound, ServiceError, ValidationFailed
from testimonials.core.http.i18n import format_number, gettext
from testimonials.core.http.urls import log_url, policy_url, record_url, wall_url
from testimonials.core.images.colors import draw_face
from testimonials.projects.brand import Brand, brand_changed, find_brand
from testimonials.projects.defaults import fill_in
from testimonials.projects.models import Project
from testimonials.projects.projects import is_shown, make_slug, mark_changed, mark_edited
from testimonials.projects.widget_design import (
    BRAND_FONTS,
    PALETTES,
    read_colours,
    read_design,
    read_look,
    trim_design,
    write_colours,
)
from testimonials.testimonials.counts import read_numbers
from testimonials.testimonials.media.playback import load_recordings
from testimonials.testimonials.models import Testimonial
from testimonials.testimonials.tags import fold, tag_renamed
from testimonials.widget.container import CARDS, WHOLE, Selection
from testimonials.widget.drafts import change_draft, read_cta
from testimonials.widget.models import SavedWidget
from testimonials.widget.script import MARQUEES, choose_draw, choose_kind
from testimonials.widget.selection import (
    EVERYTHING,
    count_shown,
    describe_extras,
    find_conditions,
    find_marks,
    list_shown,
    read_content,
)
from testimonials.widget.words import write_ratings

# The widgets of a project: its own, and up to twenty saved ones, each with a name.
#
# A container chooses one with ``data-testimonials-widget``. The project's own has no name.

MAX_SAVED = 20
NAME_LENGTH = 40


class WidgetLimitReached(ServiceError):
    status = 409
    default_message = f"A project has at most {MAX_SAVED} saved widgets. Delete one first."


@dataclass(frozen=True)
class WidgetSettings:
    """The settings of one widget; `name` is empty for the project's own, `design` has every key."""

    name: str
    config: dict[str, Any]
    design: dict[str, Any]
    # On our own pages, the font of the design "page" is the nearest to the website's.
    typeface: str = "system"


def read_settings(widget: Project | SavedWidget) -> WidgetSettings:
    name = "" if isinstance(widget, Project) else widget.name
    return WidgetSettings(name, widget.widget_config, read_design(widget.widget_design))


def find_settings(project: Project, name: str = "") -> WidgetSettings:
    """Return what is in effect of the widget with this name; of the project's own without one."""
    found = read_settings((_find(project, name) if name else None) or project)
    return in_brand(project, found)


def in_brand(project: Project, settings: WidgetSettings) -> WidgetSettings:
    """Return the settings with what the brand says where a widget has nothing of its own."""
    brand, config, design = find_brand(project), settings.config, settings.design
    design = project.in_font(design)
    if config["palette"] is None:
        design["brandColor"] = design["brandColor"] or brand.color
    config = fill_in(config)
    config["theme"] = design["theme"] or config["theme"]
    return WidgetSettings(settings.name, config, design, BRAND_FONTS[brand.typeface])


def find_widget(project: Project, name: str) -> Project | SavedWidget:
    """Return the widget with this name, an empty one for the project's own; raise `NotFound`."""
    if not name:
        return project
    widget = _find(project, name)
    if widget is None:
        raise NotFound(f"This project has no widget named {name}.")
    return widget


def list_saved(project: Project) -> Sequence[SavedWidget]:
    return db.session.scalars(
        select(SavedWidget).where(SavedWidget.project_id == project.id).order_by(SavedWidget.name)
    ).all()


def describe_widgets(project: Project) -> list[dict[str, Any]]:
    """Return every widget with its name, complete settings and times, the project's own first."""
    widgets: list[Project | SavedWidget] = [project, *list_saved(project)]
    return [
        {
            "name": settings.name or None,
            "config": fill_in(settings.config),
            "design": project.in_font(settings.design),
            "created_at": widget.created_at,
            "updated_at": widget.updated_at,
        }
        for widget in widgets
        for settings in (read_settings(widget),)
    ]


def save_widget(project: Project, name: str, source: str = "") -> SavedWidget:
    """Add a widget to the locked project, as a copy of the one named `source`.

    Raises `ValidationFailed` for its name, `WidgetLimitReached` and `NotFound`.
    """
    settings = read_settings(find_widget(project, source))
    if len(list_saved(project)) >= MAX_SAVED:
        raise WidgetLimitReached
    widget = SavedWidget(
        project_id=project.id,
        name=_choose_name(project, name),
        config=dict(settings.config),
        design=trim_design(settings.design),
    )
    db.session.add(widget)
    mark_changed(project)
    db.session.flush()
    return widget


def rename_widget(project: Project, widget: SavedWidget, name: str) -> None:
    """Give a widget of the locked project another name; raise `ValidationFailed`.

    Containers with the old name show the project's own widget from then on.
    """
    widget.name = _choose_name(project, name, widget)
    widget.updated_at = clock.now()
    mark_changed(project)
    db.session.flush()


def change_widget(
    project: Project, widget: Project | SavedWidget, values: Mapping[str, Any]
) -> None:
    """Change settings of a design of the locked project, whose values come from its schema.

    A draft no longer has them, since publishing it would take them back.
    """
    widget.widget_design = trim_design(widget.widget_design | dict(values))
    change_draft(widget, {"design": dict(values)})
    widget.updated_at = clock.now()
    mark_changed(project)
    db.session.flush()


@tag_renamed.connect
def replace_tag(project: Project, *, old: str, new: str) -> None:
    """Let the widgets of the locked project that select by a tag select by another name."""
    widgets: list[Project | SavedWidget] = [project, *list_saved(project)]
    for widget in widgets:
        tags = read_settings(widget).design["tags"]
        if fold(old) in map(fold, tags) and fold(old) != fold(new):
            kept = (new if fold(tag) == fold(old) else tag for tag in tags)
            change_widget(project, widget, {"tags": list(dict.fromkeys(kept))})


@brand_changed.connect
def leave_to_brand(project: Project, *, before: Brand | None) -> None:
    """Let the widgets of the locked project follow the brand whose own color or font it was."""
    widgets: list[Project | SavedWidget] = [project, *list_saved(project)]
    for widget in widgets:
        settings = read_settings(widget)
        config, design = settings.config, settings.design
        color = design["brandColor"] or PALETTES.get(config["palette"])
        if before is None or color == before.color:
            config, design = config | {"palette": None}, design | {"brandColor": None}
        if before is None or design["font"] == BRAND_FONTS[before.font]:
            design = design | {"font": None}
        widget.widget_config, widget.widget_design = config, trim_design(design)


def delete_widget(project: Project, widget: SavedWidget) -> None:
    """Delete a widget of the locked project; its containers show the project's own."""
    db.session.delete(widget)
    mark_changed(project)
    db.session.flush()


def _find(project: Project, name: str) -> SavedWidget | None:
    query = select(SavedWidget).where(
        SavedWidget.project_id == project.id, SavedWidget.name == name
    )
    return db.session.scalars(query).one_or_none()


def _choose_name(project: Project, text: str, widget: SavedWidget | None = None) -> str:
    """Return the name of a widget as it is written into pages; raise `ValidationFailed`."""
    name = make_slug(text)
    if not name:
        problem = "Write a name with letters or digits, such as home-page."
    elif len(name) > NAME_LENGTH:
        problem = f"Shorten the name to {NAME_LENGTH} characters; it has {len(name)}."
    elif _find(project, name) not in (None, widget):
        problem = f"There is a widget named {name} already. Choose another name."
    else:
        return name
    raise ValidationFailed.of({"name": [problem]})


# The rules of the widget: its settings, and what it may show.

SANS = "system-ui,sans-serif"
# Those of a design; that of the design "page" is the embedding page's.
FONTS = {"serif": "Georgia,serif", "system": SANS, "rounded": f"ui-rounded,Nunito,{SANS}"}
MAX_FACES = 5
# By a specified setting, what of the design goes further.
BEYOND = {"layout": "layout", "animation": "layout", "theme": "theme"}
# Among so many the faces are looked for, however many there are.
NEWEST_FACES = 200


def update_widget_config(project: Project, changes: dict[str, Any]) -> None:
    """Change the locked project's specified settings.

    They go before the layout and the theme that the dashboard had chosen beyond them.
    """
    gone = {BEYOND[name] for name in changes if name in BEYOND}
    if gone:
        kept = {name: each for name, each in project.widget_design.items() if name not in gone}
        project.widget_design = kept
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
    """Return the average of all genuine ratings, to one decimal, and their number."""
    if not project.is_active:
        return 0, 0
    numbers = read_numbers(project)
    return numbers.average, numbers.number


def describe_header(project: Project) -> dict[str, Any]:
    """Return what a header, a badge or a row of people says of all genuine ratings.

    `people` is how many have written, and `faces` at most five of those that are shown, of the
    newest those with a picture first. Samples don't count.
    """
    if not project.is_active:
        return {"average": 0, "count": 0, "people": 0, "all": True, "faces": []}
    numbers = read_numbers(project)
    faces = {row.author_name: row.avatar_url for row in _list_newest(project)}
    return {
        "average": numbers.average,
        "count": numbers.number,
        "people": numbers.genuine,
        "all": not numbers.is_old,
        "faces": [
            {"name": name, "face": draw_face(name), "avatar": url}
            for name, url in list(faces.items())[:MAX_FACES]
        ],
    }


def _list_newest(project: Project) -> Sequence[Testimonial]:
    """Return some that are shown, whatever their stars: of the newest, those with a picture."""
    order = Testimonial.is_pinned.desc(), Testimonial.submitted_at.desc()
    conditions = find_conditions(project, EVERYTHING)
    newest = select(Testimonial.id).where(*conditions).order_by(*order).limit(NEWEST_FACES)
    has_picture = or_(Testimonial.avatar_id.is_not(None), Testimonial.author_avatar.is_not(None))
    query = select(Testimonial).where(Testimonial.id.in_(newest), Testimonial.status != "demo")
    # More than five, because some people have written twice.
    query = query.order_by(has_picture.desc(), order[1]).limit(3 * MAX_FACES)
    return db.session.scalars(query).all()


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
    feed = _describe_page(project, after, limit, selection, settings)
    return feed if after else feed | {"draw": choose_draw(feed)}


def describe_proof(project: Project, shown: int = 0, genuine: int | None = None) -> dict[str, str]:
    """Return the line below what shows so many testimonials of a project, without its samples.

    `url` is that of the policy, which `label` names; `record` that of the record of a testimonial,
    `log` that of all.
    `text` says that these were selected from all `genuine` ones, which are counted otherwise.
    """
    proof = {
        "label": gettext("How we collect"),
        "url": policy_url(project.slug, project.own_host),
        "record": record_url(project.slug, "{id}", project.own_host),
        "log": log_url(project.id),
    }
    if shown and (read_numbers(project).genuine if genuine is None else genuine) > shown:
        proof["text"] = gettext("Selected by %(name)s", name=project.name)
    return proof


def describe_look(config: Mapping[str, Any], design: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a feed says of how its widget looks."""
    return {
        "config": config,
        "design": read_look(design),
        "colours": write_colours(read_colours(config, design)),
        "font": FONTS.get(design["font"], ""),
    }


def _describe_page(
    project: Project,
    after: str | None,
    limit: int | None,
    selection: Selection,
    settings: WidgetSettings,
) -> dict[str, Any]:
    config, content = settings.config, read_content(settings.design, selection)
    selection = selection.with_shape(settings.design["shape"])
    feed: dict[str, Any] = {
        "project": {"id": project.id, "name": project.name, "active": project.is_active},
        **describe_look(config, settings.design),
    } | ({"widget": settings.name} if settings.name else {})
    if selection.is_badge:
        return feed | _describe_badge(project, selection.shape)
    limit = limit or CARDS.get(selection.shape) or config["initialCount"]
    rows, cursor = list_shown(project, content, after, limit)
    items = describe_shown(project, rows)
    if selection.is_whole:
        if feed["design"]["showHeader"]:
            feed["header"] = describe_header(project)
        total, samples = count_shown(project, content)
        feed |= {"cta": read_cta(project), "total": total, "items": items, "next": cursor}
        # Nobody gets to what follows the first page of a marquee.
        shown = count_real(items) if choose_kind(feed) in MARQUEES else total - samples
        return feed if after else feed | {"proof": describe_proof(project, shown)}
    if selection.shape == "strip":
        # One row, whatever the owner chose, and no column moves.
        animation = "none" if config["animation"] == "none" else "horizontal"
        config = config | {"layout": "carousel", "animation": animation}
        feed |= {"config": config}
    if selection.shape:
        feed |= {"shape": selection.shape}
    feed |= {"total": len(items), "items": items, "next": None}
    return feed if after else feed | {"proof": describe_proof(project, count_real(items))}


def count_real(items: Sequence[Mapping[str, Any]]) -> int:
    """Return how many items of the feed are no samples."""
    return sum("isSample" not in item for item in items)


def _describe_badge(project: Project, shape: str) -> dict[str, Any]:
    header = describe_header(project)
    count = header["count"]
    badge = {
        "average": header["average"],
        "label": write_ratings(count, format_number(count)),
        "url": wall_url(project.slug, project.own_host),
    }
    shown = {"shape": shape, "badge": badge, "header": header, "total": count}
    return shown | {"items": [], "next": None, "proof": describe_proof(project)}


def describe_shown(project: Project, rows: Sequence[Testimonial]) -> list[dict[str, Any]]:
    """Return what the public sees of testimonials; a sample is marked as one."""
    load_recordings(rows)
    marks = find_marks(rows)
    return [_describe(row, project, marks[row.id]) for row in rows]


def _describe(testimonial: Testimonial, project: Project, marks: list[str]) -> dict[str, Any]:
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
        "extras": describe_extras(testimonial, project, marks),
    }
    return {
        "id": testimonial.id,
        "authorName": testimonial.author_name,
        "face": draw_face(testimonial.author_name),
        "authorRole": testimonial.author_role,
        "text": testimonial.text,
        "submittedAt": clock.iso(testimonial.submitted_at),
    } | {name: value for name, value in optional.items() if value is not None}


def _describe_reply(testimonial: Testimonial) -> dict[str, str] | None:
    reply = testimonial.public_reply
    return reply and {"text": reply["text"], "repliedAt": clock.iso(reply["replied_at"])}
