"""What the Share page hands out: snippets for each kind of website, and a message to customers."""

import json
import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from flask import current_app
from markupsafe import Markup, escape
from marshmallow import ValidationError

from testimonials.core.fields import clean
from testimonials.dashboard.describe import describe_age, describe_time
from testimonials.projects.models import Project
from testimonials.widget.sightings import find_newest_sighting
from testimonials.widget.snippet import build_snippet

MESSAGE_LENGTH = 2_000
MESSAGE = "shareMessage"
# Stands for the link in a message that is stored, so that the message follows a new address.
LINK = "{link}"

_TOKEN = re.compile(r"""(?P<value>"[^"]*")|(?P<name>[\w-]+)(?==")|(?P<rest>.|\n)""")


@dataclass(frozen=True)
class Platform:
    """One way to build websites: what to do there, and what to know."""

    key: str
    name: str
    steps: tuple[str, ...]
    hint: str = ""


PLATFORMS = (
    Platform(
        "html",
        "Plain HTML",
        (
            "Open the page’s file or template.",
            "Paste the snippet where the testimonials should appear, and save.",
        ),
    ),
    Platform(
        "wordpress",
        "WordPress",
        (
            "Edit the page, press + and choose the block “Custom HTML”.",
            "Paste the snippet into the block.",
            "Press Save or Publish.",
        ),
        "WordPress.com keeps scripts only on plans that allow plugins. On a site of your own, an "
        "administrator or editor has to paste it.",
    ),
    Platform(
        "wix",
        "Wix",
        (
            "In the editor, choose Add elements, Embed code, then “Embed HTML”.",
            "Choose Code, paste the snippet and press Update or Apply.",
            "Drag the box as wide and as tall as the testimonials need, then publish.",
        ),
        "Wix shows it in a frame of its own, so it is seen under an address of Wix. Your site "
        "needs a domain of its own or a paid plan.",
    ),
    Platform(
        "shopify",
        "Shopify",
        (
            "Go to Online Store, Themes, and press Customize.",
            "Open the page, press Add section and choose “Custom Liquid”.",
            "Paste the snippet into the Liquid code field and press Save.",
        ),
    ),
    Platform(
        "squarespace",
        "Squarespace",
        (
            "Edit the page, press Add block and choose Code.",
            "Keep the type HTML, leave “Display source” off, and paste the snippet.",
            "Save, and look at the page outside the editor: inside it, scripts don’t run.",
        ),
        "Scripts in code blocks are part of Squarespace’s larger plans.",
    ),
    Platform(
        "react",
        "React",
        (
            "Put this component into a file such as Testimonials.jsx.",
            "Place <Testimonials /> where the testimonials should appear.",
        ),
        "In Next.js, write 'use client' into the file’s first line.",
    ),
)

REACT = """import {{ useEffect }} from 'react';

const SCRIPT = {script};

export function Testimonials() {{
  useEffect(() => {{
    if (document.querySelector(`script[src="${{SCRIPT}}"]`)) return;
    const script = document.createElement('script');
    script.src = SCRIPT;
    script.async = true;
    document.head.append(script);
  }}, []);

  return (
    <div data-testimonials-project="{project}">
      <a href="{wall}">Read our testimonials</a>
    </div>
  );
}}"""


def link_of(project: Project) -> str:
    """Give the address of the project's collection page."""
    return f"{current_app.config['APP_URL']}/{project.slug}"


def wall_of(project: Project) -> str:
    """Give the address of the page that shows the widget by itself."""
    return f"{current_app.config['BASE_URL']}/widget/{project.id}"


def describe_platforms(project: Project, chosen: str) -> list[dict[str, Any]]:
    """Give what the tabs show of each platform; `chosen` is a key, any other counts as the first.

    The code of each is the snippet as the API gives it, but for React, which runs no script tag.
    """
    snippet = build_snippet(project)
    plain = f"{snippet['container']}\n{snippet['script']}"
    react = REACT.format(
        script=json.dumps(snippet["widgetUrl"]), project=project.id, wall=wall_of(project)
    )
    keys = [platform.key for platform in PLATFORMS]
    current = chosen if chosen in keys else keys[0]
    return [
        {
            "key": platform.key,
            "name": platform.name,
            "steps": platform.steps,
            "hint": platform.hint,
            "code": react if platform.key == "react" else highlight(plain),
            "is_current": platform.key == current,
        }
        for platform in PLATFORMS
    ]


def highlight(code: str) -> Markup:
    """Give a snippet with the names and values of its attributes marked; its text is the same."""
    parts = []
    for token in _TOKEN.finditer(code):
        text = escape(token[0])
        kind = token.lastgroup
        parts.append(
            text if kind == "rest" else Markup('<span class="code-{}">{}</span>').format(kind, text)
        )
    return Markup("").join(parts)


def describe_policy() -> str:
    """Give the lines that a website's Content-Security-Policy needs for the widget."""
    service = current_app.config["BASE_URL"]
    names = ("script-src", "connect-src", "img-src")
    return "\n".join(f"{name} {service};" for name in names)


def describe_sighting(project: Project) -> dict[str, Any] | None:
    """Give the website on which the widget was seen last, and when; None for nowhere."""
    found = find_newest_sighting(project.id)
    if found is None:
        return None
    origin, time = found
    label = describe_age(time)
    is_date = label[0].isdigit() and not label.endswith("ago")
    return {
        "host": origin.partition("://")[2],
        "label": f"on {label}" if is_date else label.lower(),
        "time": describe_time(time),
    }


def default_message(project: Project) -> str:
    """Give the message that is suggested, with a place for the link."""
    name = project.business_name or "us"
    return (
        f"Hi! Thank you for choosing {name}. If you have a minute, two honest sentences about how "
        f"it was would help us a lot:\n{LINK}"
    )


def message_of(project: Project) -> str:
    """Give the project's message to customers with its link, the suggested one where none is."""
    stored = project.dashboard_config.get(MESSAGE) or default_message(project)
    return str(stored).replace(LINK, link_of(project))


def has_own_message(project: Project) -> bool:
    """Whether the owner wrote a message, so that there is something to go back from."""
    return bool(project.dashboard_config.get(MESSAGE))


def read_message(text: str) -> tuple[str, list[str]]:
    """Give the message as typed, trimmed and with plain line breaks, and what is wrong with it."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    try:
        text = clean(text, one_line=False)
    except ValidationError:
        return text, ["Remove the control characters from this."]
    if len(text) > MESSAGE_LENGTH:
        return text, [f"Shorten this to {MESSAGE_LENGTH:,} characters; it has {len(text):,}."]
    return text, []


def set_message(project: Project, text: str) -> None:
    """Store the message in the locked project; an empty or the suggested one is not kept."""
    config = {name: value for name, value in project.dashboard_config.items() if name != MESSAGE}
    # A longer address that begins alike is another page's.
    stored = re.sub(rf"{re.escape(link_of(project))}(?![\w/-])", LINK, text)
    if stored and stored != default_message(project):
        config[MESSAGE] = stored
    project.dashboard_config = config


def describe_mail(project: Project, message: str) -> dict[str, str]:
    """Give the subject of a mail with the message, and the link that opens it in a mail program."""
    subject = f"A few words about {project.business_name or 'your visit'}?"
    # Mail programs want line breaks as in mails (RFC 6068).
    body = quote(message.replace("\n", "\r\n"), safe="")
    return {"subject": subject, "url": f"mailto:?subject={quote(subject, safe='')}&body={body}"}
