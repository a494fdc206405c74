"""The editor's unpublished changes, ready-made looks, and manual order."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import select

from testimonials.core import clock
from testimonials.core.extensions import db
from testimonials.core.http.errors import ServiceError
from testimonials.core.http.i18n import gettext_noop, translate
from testimonials.core.http.urls import collection_page_url
from testimonials.projects.defaults import CTA, RATED, WIDGET_CONFIG
from testimonials.projects.models import Project
from testimonials.projects.projects import mark_edited
from testimonials.projects.widget_design import SHAPES, THEMES, read_design, trim_design
from testimonials.testimonials.models import Testimonial
from testimonials.widget import selection
from testimonials.widget.container import WHOLE
from testimonials.widget.models import SavedWidget

# A draft contains only what differs from the published settings, so that publishing it keeps what
# the API has changed meanwhile. `cta` is replaced as a whole, since empty values mean the defaults.

Widget = Project | SavedWidget
# How many steps can be undone.
MAX_STEPS = 20
# `config` as in the API, `design` with every key, and `cta` with only what the owner has set.
Settings = dict[str, dict[str, Any]]


def read_published(widget: Widget) -> Settings:
    """Return the settings that visitors see; a saved widget has the project's button."""
    cta = {} if isinstance(widget, SavedWidget) else widget.dashboard_config.get(CTA) or {}
    design = read_design(widget.widget_design)
    return {"config": widget.widget_config, "design": design, "cta": cta}


def read_draft(widget: Widget) -> Settings:
    """Return the settings that publishing the draft would result in."""
    published, draft = read_published(widget), _read(widget)
    return {
        "config": published["config"] | draft.get("config", {}),
        "design": published["design"] | draft.get("design", {}),
        "cta": draft.get("cta", published["cta"]),
    }


def change_draft(widget: Widget, changes: Settings, *, step: str = "") -> None:
    """Change the draft of the locked widget by valid `changes`, with a complete `cta`.

    If `step` names the change, it can be undone; consecutive changes of one name are one step.
    """
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
    _keep(widget, kept, step)


def discard_draft(widget: Widget) -> None:
    _keep(widget, {}, "discard")


def undo_draft(widget: Widget) -> None:
    """Undo the last step, if there is one."""
    if steps := _read(widget).get("steps"):
        before = {part: values for part, values in steps[-1].items() if part != "step"}
        widget.widget_draft = before | ({"steps": steps[:-1]} if steps[:-1] else {}) or None


def may_undo(widget: Widget) -> bool:
    return bool(_read(widget).get("steps"))


def publish_draft(project: Project, widget: Widget) -> bool:
    """Publish the draft of the locked project's widget; return whether there was one."""
    settings, is_changed = read_draft(widget), bool(_read(widget).keys() - {"steps"})
    widget.widget_draft = None
    if not is_changed:
        return False
    widget.widget_config = settings["config"]
    widget.widget_design = trim_design(settings["design"])
    if isinstance(widget, SavedWidget):
        widget.updated_at = clock.now()
    else:
        _keep_own(project, CTA, {name: text for name, text in settings["cta"].items() if text})
    mark_edited(project)
    return True


def _read(widget: Widget) -> dict[str, Any]:
    return widget.widget_draft or {}


def _keep(widget: Widget, draft: dict[str, Any], step: str) -> None:
    """Store a draft, and also the previous one if `step` names the change."""
    before = {**_read(widget)}
    steps = before.pop("steps", [])
    if step and before != draft and (not steps or steps[-1]["step"] != step):
        steps = [*steps, before | {"step": step}][-MAX_STEPS:]
    widget.widget_draft = draft | ({"steps": steps} if steps else {}) or None


LookSettings = dict[str, Any]


@dataclass(frozen=True)
class Look:
    """Settings to start from, but no header, dates, photos, marks, selection or wording."""

    title: str
    about: str
    config: LookSettings
    design: LookSettings


_FILE = Path(__file__).with_name("looks.json")
LOOKS: dict[str, Look] = {
    name: Look(each["texts"][0], each["texts"][1], each["config"], each["design"])
    for name, each in json.loads(_FILE.read_text(encoding="utf-8")).items()
}


def apply_look(
    name: str, config: Mapping[str, Any], design: Mapping[str, Any], before: str
) -> tuple[LookSettings, LookSettings]:
    """Return a widget's settings and whole design after applying a look, or a small shape.

    `before` is the theme to restore when another look replaces Night.
    """
    changed, whole = dict(config), read_design(design)
    if name in SHAPES:
        return changed, whole | {"shape": name}
    look = LOOKS[name]
    if find_look(config, design) == "night":
        whole["theme"] = before if before in THEMES else ""
        changed["theme"] = WIDGET_CONFIG["theme"] if whole["theme"] else before
    return changed | look.config, whole | look.design | {"shape": ""}


def theme_before(widget: Widget) -> str:
    """Return the published theme, or the default one if a look set it."""
    published = read_published(widget)
    is_night = find_look(published["config"], published["design"]) == "night"
    theme = published["design"]["theme"] or published["config"]["theme"]
    return str(WIDGET_CONFIG["theme"] if is_night else theme)


def find_look(config: Mapping[str, Any], design: Mapping[str, Any]) -> str | None:
    """Return the look that a widget matches exactly; None if there is none."""
    whole = read_design(design)
    return next((name for name in LOOKS if _count_differences(name, config, whole) == 0), None)


def find_nearest_look(config: Mapping[str, Any], design: Mapping[str, Any]) -> str:
    """Return the look from which a widget differs least."""
    whole = read_design(design)
    return min(LOOKS, key=lambda name: _count_differences(name, config, whole))


def _count_differences(name: str, config: Mapping[str, Any], whole: LookSettings) -> int:
    """Count the settings that differ from a look; the layout outweighs all others."""
    look = LOOKS[name]
    count: int = sum(config[key] != value for key, value in look.config.items())
    count += sum(whole[key] != value for key, value in look.design.items())
    return count + 100 * any(config[key] != look.config[key] for key in ("layout", "animation"))


# Settings that only the dashboard can change: the button, and what is rated.


CTA_LABEL = gettext_noop("Share your experience")


def read_cta(project: Project) -> dict[str, str]:
    own = project.dashboard_config.get(CTA) or {}
    return {
        "label": own.get("label") or translate(CTA_LABEL),
        "url": own.get("url") or collection_page_url(project.slug, project.own_host),
    }


def read_rated(project: Project) -> dict[str, str] | None:
    """Return the kind and name of what the ratings are about, if the owner has set them."""
    return project.dashboard_config.get(RATED) or None


def change_rated(project: Project, values: dict[str, str] | None) -> None:
    """Set what the locked project's ratings are about, as in `RatedSchema`; None unsets it."""
    _keep_own(project, RATED, values or {})


def _keep_own(project: Project, name: str, values: dict[str, Any]) -> None:
    config = {key: value for key, value in project.dashboard_config.items() if key != name}
    if values:
        config[name] = values
    if config != project.dashboard_config:
        project.dashboard_config = config
        mark_edited(project)


# The manual order, which is part of a widget's draft.


class OrderFull(ServiceError):
    status = 409
    default_message = gettext_noop(
        "At most %(most)s testimonials can be ordered by hand. Remove one first."
    )

    def __init__(self) -> None:
        super().__init__(values={"most": selection.MAX_CHOSEN})


def list_first(project: Project, widget: Widget) -> tuple[list[Testimonial], set[str]]:
    """Return the testimonials that come first, in order, and the ids of those that are shown.

    Before anything is ordered by hand, these are the pinned ones, so that ordering starts with what
    visitors see.
    """
    content = selection.read_content(read_draft(widget)["design"], WHOLE)
    if content.order != selection.BY_HAND and not content.is_only_chosen:
        pinned = _list_pinned(project, content)
        return pinned, {row.id for row in pinned}
    chosen = db.session.scalars(select(Testimonial).where(Testimonial.id.in_(content.chosen)))
    rows = [row for row in chosen if row.project_id == project.id]
    rows.sort(key=lambda row: content.chosen.index(row.id))
    return rows, {row.id for row in selection.list_chosen(project, content)}


def list_others(
    project: Project, first: Sequence[Testimonial], after: str | None, limit: int
) -> tuple[Sequence[Testimonial], str | None]:
    """Return a page of the other approved ones, newest first, and the cursor of the next page."""
    query = select(Testimonial).where(
        *selection.find_conditions(project, selection.EVERYTHING),
        Testimonial.id.not_in([row.id for row in first]),
    )
    return selection.read_page(query, selection.NEWEST, after, limit)


def add_to_order(project: Project, widget: Widget, testimonial: Testimonial) -> None:
    """Add a testimonial to the end of the order; raise `OrderFull`."""
    ids = _list_ids(project, widget)
    if testimonial.id in ids:
        return
    if len(ids) >= selection.MAX_CHOSEN:
        raise OrderFull
    _keep_order(widget, [*ids, testimonial.id])


def remove_from_order(project: Project, widget: Widget, testimonial_id: str) -> None:
    """Remove a testimonial from the order, so that its time decides its place again."""
    ids = _list_ids(project, widget)
    if testimonial_id in ids:
        _keep_order(widget, [each for each in ids if each != testimonial_id])


def move(project: Project, widget: Widget, testimonial_id: str, places: int) -> None:
    """Move a testimonial down by `places`, or up if negative."""
    ids = _list_ids(project, widget)
    if testimonial_id in ids:
        place = max(0, ids.index(testimonial_id) + places)
        ids.remove(testimonial_id)
        ids.insert(place, testimonial_id)
        _keep_order(widget, ids)


def arrange(project: Project, widget: Widget, order: Sequence[str]) -> None:
    """Put the testimonials that come first into this `order`; others of them follow."""
    ids = _list_ids(project, widget)
    places = {each: place for place, each in enumerate(order)}
    _keep_order(widget, sorted(ids, key=lambda each: places.get(each, len(places))))


def _list_pinned(project: Project, content: selection.Content) -> list[Testimonial]:
    query = select(Testimonial).where(
        *selection.find_conditions(project, content), Testimonial.is_pinned
    )
    return list(selection.read_page(query, content.order, None, selection.MAX_CHOSEN)[0])


def _list_ids(project: Project, widget: Widget) -> list[str]:
    """Return the ids of the testimonials that come first, without deleted ones."""
    return [row.id for row in list_first(project, widget)[0]]


def _keep_order(widget: Widget, ids: list[str]) -> None:
    change_draft(widget, {"design": {"chosen": ids, "order": selection.BY_HAND}}, step="order")
