"""The code that the Share page hands out for each kind of website."""

import re
from typing import Any
from urllib.parse import urlencode

from flask import render_template
from markupsafe import Markup, escape

from testimonials.core.urls import base_url, fragment_url, origin_of, script_url, widget_page_url
from testimonials.core.web.languages import gettext_noop
from testimonials.dashboard.share.embed_choice import Choice
from testimonials.projects.models import Project
from testimonials.widget.script.assembly import script_digest, script_integrity
from testimonials.widget.snippet import (
    build_checked_script,
    build_snippet,
    container_attributes,
    frame_height,
    reserve_space,
)

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
