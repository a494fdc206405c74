"""How a widget gets into a site, in the words of what that is made with; and the mail of it."""

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
# Three steps for each, the thing to choose in the second one, and what to know. Pages translate
# them; the mail is in English.
STEPS: dict[str, tuple[str, str, str, str, str]] = {
    "wordpress": (
        gettext_noop("In WordPress, edit the page where the words should stand."),
        gettext_noop("Add a block called %(name)s and paste this into it."),
        "Custom HTML",
        gettext_noop("Publish the page in WordPress."),
        gettext_noop(
            "WordPress.com keeps scripts only on plans that allow plugins. On a site of your own, "
            "an administrator or editor has to paste it."
        ),
    ),
    "shopify": (
        gettext_noop("In Shopify, go to Online Store, Themes, and press Customize."),
        gettext_noop("Open the page, add a section called %(name)s and paste this into it."),
        "Custom Liquid",
        gettext_noop("Press Save in Shopify."),
        "",
    ),
    "webflow": (
        gettext_noop("In Webflow’s Designer, open the page where the words should stand."),
        gettext_noop("Drag a %(name)s to its place and paste this into it."),
        "Code Embed",
        gettext_noop("Press Save & Close, and publish the site."),
        gettext_noop("Code Embed is part of Webflow’s paid plans."),
    ),
    "wix": (
        gettext_noop("In Wix’s editor, choose Add elements, Embed code, then Embed HTML."),
        gettext_noop("Choose %(name)s, paste this into it and press Update."),
        "Code",
        gettext_noop("Drag the box as wide and as tall as the words need, and publish."),
        gettext_noop(
            "Wix shows it in a frame of its own, at an address that belongs to Wix. Your site "
            "needs its own domain or a paid plan."
        ),
    ),
    "squarespace": (
        gettext_noop("In Squarespace, edit the page and press Add block."),
        gettext_noop("Choose %(name)s, keep the type HTML, and paste this into it."),
        "Code",
        gettext_noop(
            "Save, and look at the page outside the editor: inside it, scripts don’t run."
        ),
        gettext_noop("Scripts in code blocks are part of Squarespace’s larger plans."),
    ),
    "framer": (
        gettext_noop("In Framer, press Insert and drag an Embed to its place."),
        gettext_noop("Set its type to %(name)s and paste this into it."),
        "HTML",
        gettext_noop("Drag the box as wide and as tall as the words need, and publish."),
        "",
    ),
    OTHER: (
        gettext_noop("Open the page where the words should stand, in what you edit it with."),
        gettext_noop("Add what is called %(name)s there, and paste this into it."),
        "HTML, Embed, Code",
        gettext_noop("Publish the page."),
        "",
    ),
}
STEPS_MAIL = "widget-steps"
SUBJECT_NAME = 60


def find_made_with(project: Project) -> str:
    """Return what somebody has said that the project's site is made with, else what it says."""
    read = project.brand.get("read", {}).get(MADE_WITH, OTHER)
    return str(project.dashboard_config.get(MADE_WITH, read))


def send_steps_mail(project: Project, widget: str, made_with: str, to: str, by: str) -> None:
    """Tell somebody who looks after the project's site how to put a widget on it."""
    steps = STEPS.get(made_with, STEPS[OTHER])
    snippet = build_snippet(project, Selection(widget=widget))
    name = cut(project.name, SUBJECT_NAME)
    title = f"Add testimonials to the website of {name}"
    values = {
        "title": title,
        "by": by,
        "name": project.name,
        "steps": [steps[0], steps[1] % {"name": f"“{steps[2]}”"}, steps[3]],
        "note": steps[4],
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
