"""Drafts: what the editor is changing in a widget. Visitors see it once it is published.

A draft holds only what differs from the published settings, so that a setting that the API changes
meanwhile stays changed. Its button is whole, since empty words mean the default ones.
"""

from typing import Any

from testimonials.core import clock
from testimonials.projects.configuration.dashboard_config import CTA
from testimonials.projects.configuration.widget_design import read_design, trim_design
from testimonials.projects.models import Project
from testimonials.projects.services import mark_edited
from testimonials.widget.models import SavedWidget
from testimonials.widget.settings import change_cta

Widget = Project | SavedWidget
# "config" as in the API, "design" with every key, and "cta" with the words of the owner's own.
Settings = dict[str, dict[str, Any]]


def read_published(widget: Widget) -> Settings:
    """Return the settings that visitors see; a saved widget has the project's button."""
    if isinstance(widget, SavedWidget):
        return {"config": widget.config, "design": read_design(widget.design), "cta": {}}
    return {
        "config": widget.widget_config,
        "design": read_design(widget.widget_design),
        "cta": widget.dashboard_config.get(CTA) or {},
    }


def read_draft(widget: Widget) -> Settings:
    """Return the settings as they would be after publishing."""
    published, draft = read_published(widget), _read(widget)
    return {
        "config": published["config"] | draft.get("config", {}),
        "design": published["design"] | draft.get("design", {}),
        "cta": draft.get("cta", published["cta"]),
    }


def change_draft(widget: Widget, changes: Settings) -> None:
    """Change the draft of the locked widget; `changes` are checked, those of a button are whole."""
    published, draft = read_published(widget), _read(widget)
    kept: dict[str, Any] = {}
    for part in ("config", "design"):
        values = draft.get(part, {}) | changes.get(part, {})
        values = {name: value for name, value in values.items() if value != published[part][name]}
        kept |= {part: values} if values else {}
    cta = changes.get("cta", draft.get("cta", published["cta"]))
    cta = {name: text for name, text in cta.items() if text}
    if cta != published["cta"] and isinstance(widget, Project):
        kept["cta"] = cta
    _keep(widget, kept or None)


def discard_draft(widget: Widget) -> None:
    _keep(widget, None)


def restore_draft(widget: Widget, before: Settings, after: Settings) -> None:
    """Bring back the settings `before` a change to those `after` it, except what changed since."""
    now = read_draft(widget)
    changes = {
        part: {
            name: value
            for name, value in before[part].items()
            if now[part][name] == after[part][name]
        }
        for part in ("config", "design")
    }
    if now["cta"] == after["cta"]:
        changes["cta"] = before["cta"]
    change_draft(widget, changes)


def publish_draft(project: Project, widget: Widget) -> bool:
    """Let visitors see the draft of the locked project's widget; return whether there was one."""
    draft, settings = _read(widget), read_draft(widget)
    if not draft:
        return False
    discard_draft(widget)
    if isinstance(widget, SavedWidget):
        widget.config, widget.design = settings["config"], trim_design(settings["design"])
        widget.updated_at = clock.now()
        mark_edited(project)
        return True
    project.widget_config = settings["config"]
    project.widget_design = trim_design(settings["design"])
    change_cta(project, settings["cta"])
    mark_edited(project)
    return True


def _read(widget: Widget) -> Settings:
    return (widget.draft if isinstance(widget, SavedWidget) else widget.widget_draft) or {}


def _keep(widget: Widget, draft: Settings | None) -> None:
    if isinstance(widget, SavedWidget):
        widget.draft = draft
    else:
        widget.widget_draft = draft
