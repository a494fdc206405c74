"""The settings of widgets, saved widgets, and the feed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import or_, select

from testimonials.auth.models import Account
from testimonials.core import clock
from testimonials.core.db.identifiers import is_identifier
from testimonials.core.extensions import db
from testimonials.core.http.errors import NotFound, ServiceError, ValidationFailed, require_found
from testimonials.core.http.i18n import format_number, gettext, prefer_language
from testimonials.core.http.urls import log_url, policy_url, record_url, wall_url
from testimonials.core.images.colors import draw_face
from testimonials.projects.brand import Brand, brand_changed, find_brand
from testimonials.projects.defaults import fill_in
from testimonials.projects.models import Project
from testimonials.projects.projects import is_shown, make_slug, mark_changed, mark_edited
from testimonials.projects.widget_design import (
    BRAND_FONTS,
    PALETTES,
    read_colors,
    read_design,
    read_look,
    trim_design,
    write_colors,
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

# A project has its own widget, without a name, and up to twenty saved ones. A container chooses one
# with ``data-testimonials-widget``.

MAX_SAVED = 20
NAME_LENGTH = 40


class WidgetLimitReached(ServiceError):
    status = 409
    default_message = f"A project has at most {MAX_SAVED} saved widgets. Delete one first."


@dataclass(frozen=True)
class WidgetSettings:
    """The settings of a widget; `name` is empty for the project's own, `design` has every key."""

    name: str
    config: dict[str, Any]
    design: dict[str, Any]
    # The font that stands in for "page" on our own pages.
    typeface: str = "system"


def read_settings(widget: Project | SavedWidget) -> WidgetSettings:
    name = "" if isinstance(widget, Project) else widget.name
    return WidgetSettings(name, widget.widget_config, read_design(widget.widget_design))


def find_settings(project: Project, name: str = "") -> WidgetSettings:
    """Return the settings in effect for the widget with this name, or for the project's own."""
    return in_brand(project, read_settings((_find(project, name) if name else None) or project))


def in_brand(project: Project, settings: WidgetSettings) -> WidgetSettings:
    """Return the settings with the brand's values where a widget leaves them to the brand."""
    brand, config, design = find_brand(project), settings.config, settings.design
    design = project.in_font(design)
    if config["palette"] is None:
        design["brandColor"] = design["brandColor"] or brand.color
    config = fill_in(config)
    config["theme"] = design["theme"] or config["theme"]
    return WidgetSettings(settings.name, config, design, BRAND_FONTS[brand.typeface])


def find_widget(project: Project, name: str) -> Project | SavedWidget:
    """Return the widget with this name (empty: the project's own); raise `NotFound`."""
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
    """Return all widgets with their settings, the project's own first."""
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
    """Add a copy of the widget named `source` to the locked project.

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
    """Rename a widget of the locked project; raise `ValidationFailed`.

    Containers with the old name then show the project's own widget.
    """
    widget.name = _choose_name(project, name, widget)
    widget.updated_at = clock.now()
    mark_changed(project)
    db.session.flush()


def change_widget(
    project: Project, widget: Project | SavedWidget, values: Mapping[str, Any]
) -> None:
    """Change a widget's design in the locked project by valid `values`.

    The draft loses its own values for them, since publishing these would revert the change.
    """
    widget.widget_design = trim_design(widget.widget_design | dict(values))
    change_draft(widget, {"design": dict(values)})
    widget.updated_at = clock.now()
    mark_changed(project)
    db.session.flush()


@tag_renamed.connect
def replace_tag(project: Project, *, old: str, new: str) -> None:
    """Rename a tag in the selections of the locked project's widgets."""
    widgets: list[Project | SavedWidget] = [project, *list_saved(project)]
    for widget in widgets:
        tags = read_settings(widget).design["tags"]
        if fold(old) in map(fold, tags) and fold(old) != fold(new):
            kept = (new if fold(tag) == fold(old) else tag for tag in tags)
            change_widget(project, widget, {"tags": list(dict.fromkeys(kept))})


@brand_changed.connect
def leave_to_brand(project: Project, *, before: Brand | None) -> None:
    """Let the locked project's widgets follow the brand if they have its previous color or font."""
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
    """Delete a widget of the locked project; its containers then show the project's own."""
    db.session.delete(widget)
    mark_changed(project)
    db.session.flush()


def _find(project: Project, name: str) -> SavedWidget | None:
    query = select(SavedWidget).where(
        SavedWidget.project_id == project.id, SavedWidget.name == name
    )
    return db.session.scalars(query).one_or_none()


def _choose_name(project: Project, text: str, widget: SavedWidget | None = None) -> str:
    """Return the name of a widget that a text becomes; raise `ValidationFailed`."""
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


SANS = "system-ui,sans-serif"
# The fonts of designs, except "page", which is the embedding page's.
FONTS = {"serif": "Georgia,serif", "system": SANS, "rounded": f"ui-rounded,Nunito,{SANS}"}
MAX_FACES = 5
# The settings of the design that override specified settings.
OVERRIDES = {"layout": "layout", "animation": "layout", "theme": "theme"}


def update_widget_config(project: Project, changes: dict[str, Any]) -> None:
    """Change the locked project's specified settings, and unset what overrides them."""
    overrides = {OVERRIDES[name] for name in changes if name in OVERRIDES}
    if overrides:
        design = project.widget_design
        project.widget_design = {name: design[name] for name in design if name not in overrides}
    if changes:
        project.widget_config = project.widget_config | changes
        mark_edited(project)


def find_shown_project(project_id: str) -> Project:
    """Return the live project with this id, and use its language; raise `NotFound`."""
    query = select(Project).join(Account).where(Project.id == project_id, is_shown())
    found = db.session.scalars(query).one_or_none() if is_identifier(project_id) else None
    project = require_found(found, "There is no widget with this project id.")
    prefer_language(project.whole_page_design["language"])
    return project


def find_feed_version(project_id: str) -> int:
    """Return the version of a live project's feed; raise `NotFound`."""
    query = select(Project.feed_version).join(Account).where(Project.id == project_id, is_shown())
    version = db.session.scalar(query) if is_identifier(project_id) else None
    return int(require_found(version, "There is no widget with this project id."))


def rate(project: Project) -> tuple[float, int]:
    """Return the average of all genuine ratings, to one decimal, and their number."""
    if not project.is_active:
        return 0, 0
    numbers = read_numbers(project)
    return numbers.average, numbers.number


def describe_header(project: Project) -> dict[str, Any]:
    """Return the values of a header, a badge or a row of people; they cover all genuine ratings.

    `people` is how many have written, and `faces` are at most five of the newest that are shown,
    those with a picture first. Samples don't count.
    """
    if not project.is_active:
        return {"average": 0, "count": 0, "people": 0, "all": True, "faces": []}
    numbers = read_numbers(project)
    faces = dict[str, str | None]()
    for row in _list_newest(project):
        faces.setdefault(row.author_name, row.avatar_url)
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
    """Return the newest testimonials that are shown, those with a picture first."""
    order = Testimonial.is_pinned.desc(), Testimonial.submitted_at.desc()
    conditions = find_conditions(project, EVERYTHING)
    newest = select(Testimonial.id).where(*conditions).order_by(*order).limit(200)
    has_picture = or_(Testimonial.avatar_id.is_not(None), Testimonial.author_avatar.is_not(None))
    query = select(Testimonial).where(Testimonial.id.in_(newest), Testimonial.status != "demo")
    # More than are needed, since some people have written twice.
    query = query.order_by(has_picture.desc(), order[1]).limit(3 * MAX_FACES)
    return db.session.scalars(query).all()


def describe_feed(
    project: Project,
    after: str | None,
    limit: int | None = None,
    selection: Selection = WHOLE,
    settings: WidgetSettings | None = None,
) -> dict[str, Any]:
    """Return the data of a page of the widget: settings, items and the cursor of the next page.

    By default the settings are those of the selected widget, including its limit. The items are
    approved testimonials and samples, and never contain an email address.
    """
    settings = settings or find_settings(project, selection.widget)
    feed = _describe_page(project, after, limit, selection, settings)
    return feed if after else feed | {"draw": choose_draw(feed)}


def describe_proof(project: Project, shown: int = 0, genuine: int | None = None) -> dict[str, str]:
    """Return the line below `shown` testimonials of a project, not counting samples.

    `label` and `url` are the link to the policy, `record` is the URL of a testimonial's record, and
    `log` that of the project's whole record. `text` says that these were selected from all
    `genuine` ones, which are counted if their number isn't given.
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
    """Return the part of the feed that says what a widget looks like."""
    return {
        "config": config,
        "design": read_look(design),
        "colours": write_colors(read_colors(config, design)),
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
        # A marquee shows only the first page.
        shown = count_real(items) if choose_kind(feed) in MARQUEES else total - samples
        return feed if after else feed | {"proof": describe_proof(project, shown)}
    if selection.shape == "strip":
        # Always a single row.
        animation = "none" if config["animation"] == "none" else "horizontal"
        config = config | {"layout": "carousel", "animation": animation}
        feed |= {"config": config}
    if selection.shape:
        feed |= {"shape": selection.shape}
    feed |= {"total": len(items), "items": items, "next": None}
    return feed if after else feed | {"proof": describe_proof(project, count_real(items))}


def count_real(items: Sequence[Mapping[str, Any]]) -> int:
    """Count the items of the feed that aren't samples."""
    return sum("isSample" not in item for item in items)


def _describe_badge(project: Project, shape: str) -> dict[str, Any]:
    header = describe_header(project)
    count = header["count"]
    badge = {
        "average": header["average"],
        "label": write_ratings(count, format_number(count)),
        "url": wall_url(project.slug, project.own_host),
    }
    # People may have written without stars.
    total = count or (header["people"] if shape == "people" else 0)
    shown = {"shape": shape, "badge": badge, "header": header, "total": total}
    return shown | {"items": [], "next": None, "proof": describe_proof(project)}


def describe_shown(project: Project, rows: Sequence[Testimonial]) -> list[dict[str, Any]]:
    """Return the public view of testimonials, as items of the feed."""
    load_recordings(rows)
    marks = find_marks(rows)
    return [_describe(row, project, marks[row.id]) for row in rows]


def _describe(testimonial: Testimonial, project: Project, marks: list[str]) -> dict[str, Any]:
    # More decimals are neither drawn nor read aloud.
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
