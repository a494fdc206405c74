"""The page with instructions for adding a widget to a website."""

from typing import Any

from flask import jsonify, render_template, request
from flask.typing import ResponseReturnValue
from markupsafe import Markup, escape

from testimonials.auth.email_addresses import Email
from testimonials.core.audit import record
from testimonials.core.db.identifiers import hash_secret
from testimonials.core.extensions import limiter
from testimonials.core.http import urls
from testimonials.core.http.blueprints import widget_pages
from testimonials.core.http.fields import Choice
from testimonials.core.http.i18n import gettext as _
from testimonials.core.http.i18n import translate
from testimonials.core.http.rate_limits import Limit
from testimonials.core.settings.table import current_settings
from testimonials.dashboard.formatting import describe_age, highlight
from testimonials.dashboard.framework import Done, ProjectPage, Values, require_role
from testimonials.projects.access import Access, Role
from testimonials.projects.defaults import MADE_WITH
from testimonials.projects.defaults import SITES as KINDS
from testimonials.projects.events import PROJECT_CHANGED, STEPS_MAILED
from testimonials.projects.models import Project
from testimonials.widget import embed
from testimonials.widget.container import Selection, add_query
from testimonials.widget.embed import SITES, STEPS, find_made_with, send_steps_mail
from testimonials.widget.formats import IN_NEWSLETTER, choose_items, render_newsletter
from testimonials.widget.settings import find_settings, find_widget
from testimonials.widget.sightings import find_newest_sighting

MAILS_PER_ACCOUNT = Limit("steps-mail-account", 20, "from one account")
MAILS_PER_EMAIL = Limit("steps-mail-email", 3, "for one email address")
# The names of languages, by the templates of their code in widget/embed/.
LANGUAGES = {
    "html": "HTML",
    "react": "React",
    "vue": "Vue",
    "next": "Next.js",
    "astro": "Astro",
    "hugo": "Hugo",
}
FILES = {
    "astro": "src/components/Testimonials.astro",
    "hugo": "layouts/partials/testimonials.html",
}

steps_page = ProjectPage(widget_pages, "widget/add-to-site", "widget/add_to_site.html")


@steps_page.show
def show_steps(access: Access) -> Values:
    """Show the steps for the widget in ``?widget=``, by default the project's own."""
    project, selection = access.project, Selection(widget=request.args.get("widget", ""))
    find_widget(project, selection.widget)
    return {
        "widget": selection.widget,
        "sites": SITES,
        "made_with": find_made_with(project),
        "steps": [(site, _write_steps(steps)) for site, steps in STEPS.items()],
        "languages": LANGUAGES,
        "files": FILES,
        "codes": _write_codes(project, selection),
        "places": _describe_places(project, selection),
        "lines": _describe_lines(project, selection),
        "sighting": describe_sighting(project),
        "may_mail": bool(current_settings().smtp_url),
    }


@steps_page.save({"made_with": Choice(*KINDS, required=True)}, at="/made-with")
def keep_made_with(access: Access, made_with: str) -> Done:
    project = access.project
    project.dashboard_config = project.dashboard_config | {MADE_WITH: made_with}
    record(PROJECT_CHANGED, project)
    return Done(to=_here())


def _count_mail(access: Access, email: str) -> None:
    find_widget(access.project, request.args.get("widget", ""))
    limiter.count(MAILS_PER_ACCOUNT, access.user.account_id)
    limiter.count(MAILS_PER_EMAIL, hash_secret(email))


@steps_page.save({"email": Email(is_lasting=False, required=True)}, at="/mail", prepare=_count_mail)
def mail_steps(access: Access, email: str, prepared: None) -> Done:
    project, name = access.project, request.args.get("widget", "")
    find_widget(project, name)
    send_steps_mail(project, name, find_made_with(project), email, access.user.email)
    record(STEPS_MAILED, project, email=email)
    return Done(_("Sent"), to=_here())


@widget_pages.get("/dashboard/projects/<project_id>/widget/add-to-site/seen")
@require_role(Role.ADMIN)
def get_sighting(access: Access) -> ResponseReturnValue:
    """Return where the widget was seen, for the script that polls it."""
    return jsonify(describe_sighting(access.project))


def _here() -> str:
    return f"{request.path.rpartition('/')[0]}?{request.query_string.decode()}".rstrip("?")


def describe_sighting(project: Project) -> dict[str, Any] | None:
    """Return the website where the widget was last seen, and the time in words, or None."""
    if (sighting := find_newest_sighting(project.id)) is None:
        return None
    origin, time = sighting
    label = describe_age(time)
    is_date = label[0].isdigit() and not label.endswith("ago")
    label = _("on %(day)s", day=label) if is_date else label.lower()
    host = origin.partition("://")[2]
    return {"url": origin, "text": _("Seen %(time)s on %(host)s", time=label, host=host)}


def _write_steps(steps: dict[str, Any]) -> dict[str, Any]:
    first, choose, last, note = map(translate, steps["texts"])
    name = Markup("<strong>{}</strong>").format(steps["name"])
    return {"lines": [first, escape(choose) % {"name": name}, last], "note": note}


def _write_codes(project: Project, selection: Selection) -> dict[str, Markup]:
    snippet = embed.build_snippet(project, selection)
    element = {"project": project.id, "src": snippet["widgetUrl"]} | selection.query
    code = {
        "container": snippet["container"],
        "script": snippet["script"],
        "script_url": snippet["widgetUrl"],
        "attributes": embed.container_attributes(project, selection),
        # Of the package in packages/testimonials-widget.
        "element": embed.write_attributes(element),
        "style": embed.reserve_style(project, selection),
        "page": urls.widget_page_url(project.id),
        "fragment": add_query(urls.fragment_url(project.id), selection.query),
    }
    return {
        name: highlight(render_template(f"dashboard/widget/embed/{name}.txt", code=code))
        for name in (*LANGUAGES, "element-react", "element-vue")
    }


def _describe_places(project: Project, selection: Selection) -> dict[str, str]:
    """Return the code for places that allow no script."""
    values = {"project": project.id} | selection.query
    shape = find_settings(project, selection.widget).design["shape"]
    height = embed.frame_height(selection.with_shape(shape))
    address = add_query(urls.widget_page_url(project.id), selection.query)
    return {
        "fragment": add_query(urls.fragment_url(project.id), selection.query),
        "feed": add_query(urls.json_feed_url(project.id), selection.query),
        "newsletter": render_newsletter(choose_items(project, selection.query, IN_NEWSLETTER)),
        "newsletter_url": add_query(urls.newsletter_url(project.id), selection.query),
        "address": address,
        "frame": f'<iframe src="{escape(address)}" title="Testimonials" loading="lazy" '
        f'width="100%" height="{height}" frameborder="0"></iframe>',
        # Of the plugin in packages/wordpress.
        "shortcode": f"[testimonials_widget {embed.write_attributes(values)}]",
    }


def _describe_lines(project: Project, selection: Selection) -> dict[str, str]:
    """Return the lines for a Content-Security-Policy, a style rule, and the pinned script.

    The rule is for websites whose policy forbids style attributes.
    """
    return {
        "policy": embed.write_policy(),
        "rule": f'[data-testimonials-project="{project.id}"] '
        f"{{ {embed.reserve_style(project, selection)} }}",
        "pinned": embed.build_checked_script(),
    }
