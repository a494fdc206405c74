"""What to embed, for each kind of website."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from flask import render_template, url_for
from markupsafe import Markup, escape

from testimonials.core.http.errors import ValidationFailed
from testimonials.core.http.i18n import gettext as _
from testimonials.core.http.i18n import gettext_noop
from testimonials.core.http.urls import (
    base_url,
    fragment_url,
    origin_of,
    script_url,
    widget_page_url,
)
from testimonials.projects.models import Project
from testimonials.testimonials.models import Testimonial
from testimonials.testimonials.tags import list_project_tags
from testimonials.widget.embed import (
    FLOATING,
    build_checked_script,
    build_snippet,
    container_attributes,
    frame_height,
    reserve_space,
)
from testimonials.widget.script import script_digest, script_integrity
from testimonials.widget.selection import (
    BADGES,
    EVERYTHING,
    SHAPES,
    WHOLE,
    Content,
    Selection,
    count_shown,
    list_shown,
    read_content,
    read_selection,
)
from testimonials.widget.settings import find_settings, list_saved, rate

# What to embed, as chosen on the Share page: a shape of the widget, its content and its theme.
#
# The choice is in the page's URL, so it works without a script and can be sent to a colleague.

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
        "preview_url": url_for("wall.show_widget", project_id=project.id, **selection.query),
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


# The code that the Share page hands out for each kind of website.

# Each platform's name, and the template of its code in share/embed/. The steps are in
# share/_platforms.html.
PLATFORMS = {
    "html": (gettext_noop("Plain HTML"), "html"),
    "wordpress": ("WordPress", "html"),
    "shopify": ("Shopify", "html"),
    "wix": ("Wix", "html"),
    "squarespace": ("Squarespace", "html"),
    "webflow": ("Webflow", "html"),
    "framer": ("Framer", "html"),
    "frame": (gettext_noop("Notion, frames"), "frame"),
    "react": ("React", "react"),
    "next": ("Next.js", "next"),
    "vue": ("Vue", "vue"),
    "astro": ("Astro", "astro"),
    "hugo": ("Hugo", "hugo"),
}

_TOKEN = re.compile(r"""(?P<value>"[^"\n]*")|(?P<name>(?<![\w-])[\w-]++)(?==")|(?P<rest>.|\n)""")


def describe_platforms(project: Project, platform: str, choice: Choice) -> list[dict[str, Any]]:
    """Return the tabs, one for each platform; an unknown `platform` opens the first."""
    current = platform if platform in PLATFORMS else next(iter(PLATFORMS))
    code = describe_code(project, choice)
    written = {
        template: highlight(render_template(f"dashboard/share/embed/{template}.txt", code=code))
        for template in ("iframe", *(template for _, template in PLATFORMS.values()))
    }
    return [
        {
            "key": key,
            "name": name,
            "code": written[template],
            "more": written["iframe"] if key == "frame" else None,
            "is_current": key == current,
            "url": f"?{urlencode(choice.query | {'platform': key})}#embed",
        }
        for key, (name, template) in PLATFORMS.items()
    ]


def describe_code(project: Project, choice: Choice) -> dict[str, Any]:
    selection, is_pinned = choice.selection, choice.is_pinned
    snippet = build_snippet(project, selection)
    return {
        "container": snippet["container"],
        "script": build_checked_script() if is_pinned else snippet["script"],
        "script_url": script_url(script_digest() if is_pinned else ""),
        "integrity": script_integrity() if is_pinned else None,
        "attributes": container_attributes(project, selection),
        "height": reserve_space(project, selection),
        "frame_height": frame_height(selection),
        "page": widget_page_url(project.id),
        "address": choice.add_to(widget_page_url(project.id)),
        "fragment": choice.add_to(fragment_url(project.id)),
    }


def highlight(code: str) -> Markup:
    """Return code with the names and values of its attributes in spans."""
    parts = []
    for token in _TOKEN.finditer(code):
        text = escape(token[0])
        kind = token.lastgroup
        parts.append(
            text if kind == "rest" else Markup('<span class="code-{}">{}</span>').format(kind, text)
        )
    return Markup("").join(parts)


def describe_policy(project: Project, choice: Choice) -> dict[str, str]:
    """Return the lines that a website's Content-Security-Policy needs for the widget.

    The rule is for its style sheet, if the policy forbids style attributes.
    """
    names = ("script-src", "connect-src", "img-src")
    height = reserve_space(project, choice.selection)
    return {
        "lines": "\n".join(f"{name} {origin_of(base_url())};" for name in names),
        "rule": f'[data-testimonials-project="{project.id}"] '
        f"{{ min-height: {height}; --tm-reserve: {height} }}",
    }
