"""The widgets of a project: its own, and up to twenty saved ones, each with a name.

A container chooses one with ``data-testimonials-widget``. The project's own has no name.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select

from testimonials.core import clock
from testimonials.core.web.errors import NotFound, ServiceError, ValidationFailed
from testimonials.extensions import db
from testimonials.projects.configuration.widget_design import read_design, trim_design
from testimonials.projects.models import Project
from testimonials.projects.services import mark_changed
from testimonials.projects.slugs import make_slug
from testimonials.testimonials.moderation.tags import fold
from testimonials.widget.design.drafts import change_draft
from testimonials.widget.models import SavedWidget

MAX_SAVED = 20
NAME_LENGTH = 40


class WidgetLimitReached(ServiceError):
    status = 409
    code = "WIDGET_LIMIT_REACHED"
    default_message = f"A project has at most {MAX_SAVED} saved widgets. Delete one first."


@dataclass(frozen=True)
class WidgetSettings:
    """The settings of one widget; `name` is empty for the project's own, `design` has every key."""

    name: str
    config: dict[str, Any]
    design: dict[str, Any]


def read_settings(widget: Project | SavedWidget) -> WidgetSettings:
    """Return the settings of a saved widget, or of a project's own."""
    if isinstance(widget, Project):
        return WidgetSettings("", widget.widget_config, read_design(widget.widget_design))
    return WidgetSettings(widget.name, widget.config, read_design(widget.design))


def find_settings(project: Project, name: str = "") -> WidgetSettings:
    """Return the settings of the widget with this name; of the project's own if there is none."""
    return read_settings((_find(project, name) if name else None) or project)


def find_widget(project: Project, name: str) -> Project | SavedWidget:
    """Return the widget with this name, an empty one for the project's own; raise `NotFound`."""
    if not name:
        return project
    widget = _find(project, name)
    if widget is None:
        raise NotFound(f"This project has no widget named {name}.")
    return widget


def list_saved(project: Project) -> Sequence[SavedWidget]:
    """Return the saved widgets, in the order of their names."""
    return db.session.scalars(
        select(SavedWidget).where(SavedWidget.project_id == project.id).order_by(SavedWidget.name)
    ).all()


def describe_widgets(project: Project) -> list[dict[str, Any]]:
    """Return every widget with its name, complete settings and times, the project's own first."""
    widgets: list[Project | SavedWidget] = [project, *list_saved(project)]
    return [
        {
            "name": settings.name or None,
            "config": settings.config,
            "design": settings.design,
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
    if isinstance(widget, Project):
        widget.widget_design = trim_design(widget.widget_design | dict(values))
    else:
        widget.design = trim_design(widget.design | dict(values))
    change_draft(widget, {"design": dict(values)})
    widget.updated_at = clock.now()
    mark_changed(project)
    db.session.flush()


def replace_tag(project: Project, old: str, new: str) -> None:
    """Let the widgets of the locked project that select by a tag select by another name."""
    widgets: list[Project | SavedWidget] = [project, *list_saved(project)]
    for widget in widgets:
        tags = read_settings(widget).design["tags"]
        if fold(old) in map(fold, tags) and fold(old) != fold(new):
            kept = (new if fold(tag) == fold(old) else tag for tag in tags)
            change_widget(project, widget, {"tags": list(dict.fromkeys(kept))})


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
