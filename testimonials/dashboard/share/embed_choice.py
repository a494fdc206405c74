"""What to embed, as chosen on the Share page: a shape of the widget, its content and its theme.

The choice is in the page's URL, so it works without a script and can be sent to a colleague.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from flask import url_for

from testimonials.core.web.errors import ValidationFailed
from testimonials.core.web.languages import gettext as _
from testimonials.core.web.languages import gettext_noop
from testimonials.projects.models import Project
from testimonials.testimonials.models import Testimonial
from testimonials.testimonials.moderation.tags import list_project_tags
from testimonials.widget.content.content import EVERYTHING, Content, read_content
from testimonials.widget.content.listing import count_shown, list_shown
from testimonials.widget.content.saved_widgets import find_settings, list_saved
from testimonials.widget.selection import BADGES, SHAPES, WHOLE, Selection, read_selection
from testimonials.widget.services import rate
from testimonials.widget.snippet import FLOATING

ONE = "one"
# In place of an id: the first testimonial that the widget shows, whichever it is.
NEWEST = "newest"
KINDS = (
    ("", gettext_noop("Whole widget"), "masonry"),
    ("strip", gettext_noop("Compact strip"), "strip"),
    (ONE, gettext_noop("One testimonial"), "quote"),
    ("popup", gettext_noop("Popups"), "popup"),
    ("badge", gettext_noop("Rating badge"), "star"),
    ("badge-sentence", gettext_noop("In a sentence"), "sentence"),
    ("badge-card", gettext_noop("Rating card"), "rating-card"),
    ("badge-corner", gettext_noop("In the corner"), "corner"),
    ("people", gettext_noop("Faces"), "people"),
)
LENGTHS = (80, 160, 320)
THEMES = (
    ("", gettext_noop("As configured")),
    ("auto", gettext_noop("Follows the page")),
    ("light", gettext_noop("Always light")),
    ("dark", gettext_noop("Always dark")),
)
# An older testimonial can still be chosen by its id in the URL.
LISTED = 50
LABEL_LENGTH = 60


@dataclass(frozen=True)
class Choice:
    """What a snippet is for; `is_pinned` asks for the script with its digest."""

    kind: str
    selection: Selection
    is_pinned: bool

    @property
    def query(self) -> dict[str, str]:
        pinned = {"pin": "1"} if self.is_pinned else {}
        return self.selection.query | ({"shape": self.kind} if self.kind else {}) | pinned

    def add_to(self, url: str) -> str:
        return f"{url}?{urlencode(self.selection.query)}".rstrip("?")


def read_choice(project: Project, arguments: Mapping[str, str]) -> Choice:
    """Read the page's parameters; invalid ones mean the whole widget."""
    is_pinned = arguments.get("pin") == "1"
    kind = arguments.get("shape", "")
    wanted = {name: arguments.get(name, "") for name in ("theme", "widget")}
    if wanted["widget"] and wanted["widget"] not in {each.name for each in list_saved(project)}:
        wanted["widget"] = ""
    if kind in SHAPES:
        wanted["shape"] = kind
    if kind == ONE and arguments.get("id") == NEWEST:
        wanted["shape"] = "single"
    elif kind == ONE:
        wanted["id"] = arguments.get("id", "") or _find_newest(project)
        kind = ONE if wanted["id"] else ""
    elif kind not in BADGES:
        # A badge always counts every rating.
        wanted |= {name: arguments.get(name, "") for name in ("tag", "min")}
    try:
        selection = read_selection(wanted)
    except ValidationFailed:
        return Choice("", WHOLE, is_pinned)
    return Choice(kind if kind in (ONE, *SHAPES) else "", selection, is_pinned)


def describe_choice(project: Project, choice: Choice) -> dict[str, Any]:
    selection = choice.selection
    settings = find_settings(project, selection.widget)
    shaped = selection.with_shape(settings.design["shape"])
    rows = list(list_shown(project, EVERYTHING, None, LISTED)[0])
    if selection.testimonial_id and selection.testimonial_id not in {row.id for row in rows}:
        one = Content(testimonial_id=selection.testimonial_id)
        rows += list_shown(project, one, None, 1)[0]
    length = selection.min_length
    return {
        "kind": choice.kind,
        "kinds": KINDS,
        "badges": BADGES,
        "widgets": [each.name for each in list_saved(project)],
        "testimonials": [(row.id, _label(row)) for row in rows],
        "tags": [tag.name for tag in list_project_tags(project.id)],
        "lengths": sorted({*LENGTHS, length} - {0}),
        "themes": THEMES,
        "selection": selection,
        "is_pinned": choice.is_pinned,
        "is_whole": shaped.is_whole,
        "is_floating": shaped.shape in FLOATING,
        # For the frame's background; with "auto" the page is the dashboard itself.
        "theme": (selection.theme or settings.config["theme"]).removeprefix("auto"),
        "note": _note(project, choice),
        # Without a host: frames of other origins are blocked.
        "preview_url": url_for("rendered.show_widget", **selection.query),
    }


def _note(project: Project, choice: Choice) -> str:
    """Explain why nothing would show; a paused project has a notice of its own."""
    if not project.is_active:
        return ""
    if choice.kind in BADGES:
        return "" if rate(project)[1] else _("Nobody has rated yet, so the badge doesn’t show.")
    settings = find_settings(project, choice.selection.widget)
    if count_shown(project, read_content(settings.design, choice.selection)):
        return ""
    if choice.selection.tag or choice.selection.min_length:
        return _("No approved testimonial matches this, so nothing shows on your page.")
    return _("Nothing is approved yet, so nothing shows on your page.")


def _find_newest(project: Project) -> str:
    rows, _next = list_shown(project, EVERYTHING, None, 1)
    return rows[0].id if rows else ""


def _label(row: Testimonial) -> str:
    words = " ".join(row.text.split())
    short = words if len(words) <= LABEL_LENGTH else words[:LABEL_LENGTH].rstrip() + "…"
    return f"{row.author_name}: {short}"
