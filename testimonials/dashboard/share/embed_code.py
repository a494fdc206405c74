"""The code that the Share page hands out for each kind of website."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from markupsafe import Markup, escape

from testimonials.core.urls import base_url, script_url, widget_page_url
from testimonials.dashboard.share.embed_choice import Choice
from testimonials.dashboard.share.platforms import PLATFORMS
from testimonials.projects.models import Project
from testimonials.widget.script.assembly import script_digest, script_integrity
from testimonials.widget.snippet import (
    FRAME_HEIGHT,
    build_checked_script,
    build_snippet,
    container_attributes,
    reserve_space,
)

# How high a frame is for what is in it: frames don't grow by themselves.
FRAME_HEIGHTS = {"badge": 64, "strip": 200, "one": 360}

REACT = """import {{ useEffect }} from 'react';

const SCRIPT = {script};

export function Testimonials() {{
  useEffect(() => {{
{load}
  }}, []);

  return (
{container}
  );
}}"""

NEXT = """import Script from 'next/script';

export function Testimonials() {{
  return (
    <>
{container}
      <Script src={script}{checks} />
    </>
  );
}}"""

VUE = """<script setup>
import {{ onMounted }} from 'vue';

const SCRIPT = {script};

onMounted(() => {{
{load}
}});
</script>

<template>
{container}
</template>"""

LOAD = """if (document.querySelector(`script[src="${SCRIPT}"]`)) return;
const script = document.createElement('script');
script.src = SCRIPT;
script.async = true;
document.head.append(script);"""

ASTRO = """---
const response = await fetch({fragment});
if (!response.ok) throw new Error(`Testimonials: HTTP ${{response.status}}`);
const testimonials = await response.text();
---
<Fragment set:html={{testimonials}} />"""

HUGO = """{{{{ $url := {fragment} }}}}
{{{{ with try (resources.GetRemote $url) }}}}
  {{{{ with .Err }}}}
    {{{{ errorf "Testimonials: %s" . }}}}
  {{{{ else with .Value }}}}
    {{{{ .Content | safeHTML }}}}
  {{{{ else }}}}
    {{{{ errorf "Testimonials: nothing at %q" $url }}}}
  {{{{ end }}}}
{{{{ end }}}}"""

_TOKEN = re.compile(r"""(?P<value>"[^"\n]*")|(?P<name>(?<![\w-])[\w-]++)(?==")|(?P<rest>.|\n)""")


@dataclass(frozen=True)
class Parts:
    """What each kind of code is put together from."""

    project: Project
    choice: Choice

    @property
    def script(self) -> str:
        """The script's address, the pinned one where that is wanted."""
        return script_url(script_digest() if self.choice.is_pinned else "")

    @property
    def page(self) -> str:
        """The address of the widget's own page, without what is chosen."""
        return widget_page_url(self.project.id)

    def address(self, rest: str = "") -> str:
        """Return the address of the widget's page, or of what is below it, with what is chosen."""
        query = urlencode(self.choice.selection.query)
        return f"{self.page}{rest}?{query}".rstrip("?")

    def element(self, style: str, indent: int) -> str:
        """Return the container for a template, with `style` made of the reserved height."""
        lines = [str(container_attributes(self.project, self.choice.selection))]
        if height := reserve_space(self.project, self.choice.selection):
            lines.append(style.replace("HEIGHT", height))
        inner = "".join(f"\n  {line}" for line in lines)
        link = f'<a href="{escape(self.page)}">Read our testimonials</a>'
        return _indent(f"<div{inner}\n>\n  {link}\n</div>", indent)

    def load(self, indent: int) -> str:
        """Return the lines that put the script into the page, once."""
        lines = LOAD
        if self.choice.is_pinned:
            checks = f"script.integrity = '{script_integrity()}';\nscript.crossOrigin = 'anonymous'"
            lines = lines.replace("script.async", f"{checks};\nscript.async")
        return _indent(lines, indent)


def fragment_url(project: Project, choice: Choice) -> str:
    """Return the address of the HTML to put into a page when a site is built."""
    return Parts(project, choice).address("/fragment")


def describe_platforms(project: Project, platform: str, choice: Choice) -> list[dict[str, Any]]:
    """Return what the tabs show of each platform; an unknown one counts as the first.

    The code is the snippet as the API gives it wherever a script element in a page runs.
    """
    keys = [each.key for each in PLATFORMS]
    current = platform if platform in keys else keys[0]
    parts = Parts(project, choice)
    plain = highlight(_write_html(parts))
    return [
        {
            "key": each.key,
            "name": each.name,
            "steps": each.steps,
            "hint": each.hint,
            "code": highlight(WRITERS[each.key](parts)) if each.key in WRITERS else plain,
            "more": highlight(_write_frame(parts)) if each.key == "frame" else None,
            "is_current": each.key == current,
            "url": f"?{urlencode(choice.query | {'platform': each.key})}#embed",
        }
        for each in PLATFORMS
    ]


def highlight(code: str) -> Markup:
    """Return code with the names and values of its attributes marked; its text is the same."""
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

    And the rule for its style sheet, where the policy lets no style stand in an attribute.
    """
    service = base_url()
    names = ("script-src", "connect-src", "img-src")
    height = reserve_space(project, choice.selection)
    return {
        "lines": "\n".join(f"{name} {service};" for name in names),
        "rule": f'[data-testimonials-project="{project.id}"] '
        f"{{ min-height: {height}; --tm-reserve: {height} }}",
    }


def _write_html(parts: Parts) -> str:
    snippet = build_snippet(parts.project, parts.choice.selection)
    script = build_checked_script() if parts.choice.is_pinned else snippet["script"]
    return f"{snippet['container']}\n{script}"


def _write_react(parts: Parts) -> str:
    return REACT.format(
        script=json.dumps(parts.script), load=parts.load(4), container=_write_jsx(parts, 4)
    )


def _write_next(parts: Parts) -> str:
    checks = f' integrity="{script_integrity()}" crossOrigin="anonymous"'
    return NEXT.format(
        script=json.dumps(parts.script),
        checks=checks if parts.choice.is_pinned else "",
        container=_write_jsx(parts, 6),
    )


def _write_jsx(parts: Parts, indent: int) -> str:
    # The widget writes its state onto the container, perhaps before React has taken it over.
    style = "style={{ minHeight: 'HEIGHT', '--tm-reserve': 'HEIGHT' }} suppressHydrationWarning"
    return parts.element(style, indent)


def _write_vue(parts: Parts) -> str:
    container = parts.element('style="min-height: HEIGHT; --tm-reserve: HEIGHT"', 2)
    return VUE.format(script=json.dumps(parts.script), load=parts.load(2), container=container)


def _write_astro(parts: Parts) -> str:
    return ASTRO.format(fragment=json.dumps(parts.address("/fragment")))


def _write_hugo(parts: Parts) -> str:
    return HUGO.format(fragment=json.dumps(parts.address("/fragment")))


def _write_frame(parts: Parts) -> str:
    height = FRAME_HEIGHTS.get(parts.choice.kind, FRAME_HEIGHT)
    return (
        f'<iframe src="{escape(parts.address())}" title="Testimonials" loading="lazy" '
        f'width="100%" height="{height}" frameborder="0"></iframe>'
    )


def _indent(text: str, by: int) -> str:
    return "\n".join(" " * by + line for line in text.splitlines())


# Where a snippet is not enough: no script element runs there, or none is wanted.
WRITERS: dict[str, Callable[[Parts], str]] = {
    "react": _write_react,
    "next": _write_next,
    "vue": _write_vue,
    "astro": _write_astro,
    "hugo": _write_hugo,
    "frame": Parts.address,
}
