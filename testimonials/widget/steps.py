"""How a widget gets into a site, in the words of what that is made with; and the mail of it."""

import json
from pathlib import Path
from typing import Any

from testimonials.core.http.i18n import gettext_noop
from testimonials.core.http.urls import widget_page_url
from testimonials.core.mail.outbox import send_mail
from testimonials.core.text import cut
from testimonials.projects.defaults import MADE_WITH
from testimonials.projects.emails import project_look
from testimonials.projects.models import Project
from testimonials.widget.container import Selection
from testimonials.widget.embed import build_snippet

OTHER, CODE = "other", "code"
SITES = {
    "wordpress": "WordPress",
    "shopify": "Shopify",
    "webflow": "Webflow",
    "wix": "Wix",
    "squarespace": "Squarespace",
    "framer": "Framer",
    OTHER: gettext_noop("Something else"),
    CODE: gettext_noop("I write code"),
}
# The three steps for each and what to know, and the name of the thing to choose in the second one.
# Pages translate them; the mail is in English.
_FILE = Path(__file__).with_name("steps.json")
STEPS: dict[str, dict[str, Any]] = json.loads(_FILE.read_text(encoding="utf-8"))
STEPS_MAIL = "widget-steps"
SUBJECT_NAME = 60


def find_made_with(project: Project) -> str:
    """Return what somebody has said that the project's site is made with, else what it says."""
    read = project.brand.get("read", {}).get(MADE_WITH, OTHER)
    return str(project.dashboard_config.get(MADE_WITH, read))


def send_steps_mail(project: Project, widget: str, made_with: str, to: str, by: str) -> None:
    """Tell somebody who looks after the project's site how to put a widget on it."""
    steps = STEPS.get(made_with, STEPS[OTHER])
    first, choose, last, note = steps["texts"]
    snippet = build_snippet(project, Selection(widget=widget))
    name = cut(project.name, SUBJECT_NAME)
    title = f"Add testimonials to the website of {name}"
    values = {
        "title": title,
        "by": by,
        "name": project.name,
        "steps": [first, choose % {"name": f"“{steps['name']}”"}, last],
        "note": note,
        "code": f"{snippet['container']}\n{snippet['script']}",
        "look_url": widget_page_url(project.id, widget),
    }
    send_mail(
        to,
        STEPS_MAIL,
        title,
        "steps",
        values,
        look=project_look(project),
        sender_name=name,
        reply_to=by,
    )
