"""What the editor has not published, and ready-made looks."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from testimonials.core import clock
from testimonials.projects.defaults import CTA, WIDGET_CONFIG
from testimonials.projects.models import Project
from testimonials.projects.projects import mark_edited
from testimonials.projects.widget_design import read_design, trim_design
from testimonials.widget.call_to_action import change_cta
from testimonials.widget.models import SavedWidget

# Drafts: what the editor is changing in a widget. Visitors see it once it is published.
#
# A draft holds only what differs from the published settings, so that a setting that the API
# changes meanwhile stays changed. Its button is whole, since empty words mean the default ones.

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


# Looks: combinations of settings with a character of their own, to start from.
#
# A look sets how cards, stars and dates are drawn. The brand's colour and the content stay.

LookSettings = dict[str, Any]

# What each look sets unless it says otherwise.
_CONFIG: LookSettings = {"cardStyle": "default", "showDates": True}
_DESIGN: LookSettings = {
    "radius": 16,
    "density": "comfortable",
    "photoSize": 48,
    "starColor": "gold",
    "dateStyle": "relative",
    "featured": "soft",
    "showHeader": False,
    "showHighlights": True,
}


@dataclass(frozen=True)
class Look:
    """The specified settings of a look, and those of the design."""

    title: str
    config: LookSettings
    design: LookSettings


def _make(title: str, config: LookSettings | None = None, **design: Any) -> Look:
    return Look(title, _CONFIG | (config or {}), _DESIGN | design)


LOOKS = {
    "quiet": _make("Quiet"),
    "soft": _make("Soft", {"cardStyle": "quote", "showDates": False}, radius=24, starColor="brand"),
    "editorial": _make(
        "Editorial", {"layout": "list"}, layout="", starColor="brand", dateStyle="month"
    ),
    "marker": _make("Marker", radius=12, showHeader=True),
    "bold": _make("Bold", featured="solid"),
    "outline": _make(
        "Outline",
        {"cardStyle": "outlined"},
        radius=6,
        starColor="brand",
        dateStyle="month",
        density="compact",
        photoSize=40,
    ),
    "glow": _make("Glow", {"theme": "dark", "cardStyle": "gradient", "showDates": False}),
    "playful": _make(
        "Playful",
        {"cardStyle": "gradient"},
        radius=24,
        starColor="brand",
        density="airy",
        photoSize=64,
    ),
}


def apply_look(
    name: str, config: Mapping[str, Any], design: Mapping[str, Any]
) -> tuple[LookSettings, LookSettings]:
    """Return a widget's settings and its whole design with a look put on."""
    look = LOOKS[name]
    changed = dict(config)
    if changed["layout"] == "list":
        # Where there are no cards, other looks would not be seen.
        changed["layout"] = WIDGET_CONFIG["layout"]
    if find_look(config, design) == "glow":
        changed["theme"] = WIDGET_CONFIG["theme"]
    return changed | look.config, read_design(design) | look.design


def find_look(config: Mapping[str, Any], design: Mapping[str, Any]) -> str | None:
    """Return the look that a widget has exactly, None if it has one of its own."""
    whole = read_design(design)
    matching = (
        name
        for name, look in LOOKS.items()
        if look.config.items() <= config.items() and _holds(whole, look.design)
    )
    # The one that says most: Editorial has all of another's settings, and the list besides.
    return max(matching, key=lambda name: len(LOOKS[name].config), default=None)


def _holds(whole: LookSettings, part: LookSettings) -> bool:
    return all(whole[name] == value for name, value in part.items())
