"""Sharing the collection page: a message, a QR code, a card to print."""

import re
from typing import Any
from urllib.parse import quote

from flask import Response, make_response, request
from markupsafe import Markup

from testimonials.collection.forms import find_shown_form, list_forms
from testimonials.collection.models import CollectionForm
from testimonials.core.audit import record
from testimonials.core.http.blueprints import collect
from testimonials.core.http.fields import Text
from testimonials.core.http.i18n import gettext as _
from testimonials.core.http.urls import form_url
from testimonials.core.images.colors import draw_file, draw_inline
from testimonials.dashboard.framework import Done, ProjectPage, Values, require_role
from testimonials.projects.access import Access, Role
from testimonials.projects.brand import find_brand
from testimonials.projects.defaults import MESSAGE_LENGTH, SHARE_MESSAGE
from testimonials.projects.events import PROJECT_CHANGED
from testimonials.projects.models import Project

# Stands for the link in a stored message, since the page's URL may change.
LINK = "{link}"

message_page = ProjectPage(collect, "collect/message", "collect/message.html")
code_page = ProjectPage(collect, "collect/code", "collect/code.html")
card_page = ProjectPage(collect, "collect/card", "collect/card.html")


@message_page.show
def show_message(access: Access) -> Values:
    project = access.project
    stored = project.dashboard_config.get(SHARE_MESSAGE)
    message = str(stored or default_message(project)).replace(LINK, link_to(project, None))
    return {
        "typed": {"message": message},
        **describe_mail(project, message),
    }


@message_page.save({"message": Text(MESSAGE_LENGTH, load_default="")})
def save_message(access: Access, message: str) -> Done:
    set_message(access.project, message)
    record(PROJECT_CHANGED, access.project)
    return Done(_("Saved"))


@code_page.show
def show_code(access: Access) -> Values:
    """Show the QR code of the page's URL, or of the form in ``?form=``."""
    return describe_card(access.project)


@card_page.show
def show_card(access: Access) -> Values:
    """Show a card to print, for a table or a counter."""
    return describe_card(access.project)


@collect.get("/dashboard/projects/<project_id>/collect/qr.<any(svg,png):kind>")
@require_role(Role.ADMIN)
def get_qr_code(access: Access, kind: str) -> Response:
    project, form = access.project, find_asked_form(access.project)
    response = make_response(draw_file(link_to(project, form), kind))
    response.headers["Content-Type"] = {"svg": "image/svg+xml", "png": "image/png"}[kind]
    name = f"{project.slug}{f'-{form.name}' if form else ''}-qr.{kind}"
    # A slug needs no escaping.
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


def find_asked_form(project: Project) -> CollectionForm | None:
    return find_shown_form(project, request.args.get("form", ""))


def link_to(project: Project, form: CollectionForm | None) -> str:
    return form_url(project.slug, form.name if form else None, project.own_host)


def describe_card(project: Project) -> Values:
    """Return the card of the page or form, and the others that have one."""
    form = find_asked_form(project)
    link = link_to(project, form)
    forms = [(one.name, one.title) for one in list_forms(project)]
    return {
        "brand": find_brand(project),
        "headline": (form and form.design.get("headline")) or project.page_config["headline"],
        "link": link,
        "link_label": link.partition("://")[2],
        # The markup has only squares, none of the link's text.
        "qr": Markup(draw_inline(link)),  # noqa: S704
        "form_name": form and form.name,
        "forms": forms and [(None, _("Main page")), *forms],
    }


def default_message(project: Project) -> str:
    """Return the suggested message, in the owner's language."""
    words = (
        _(
            "Hi! Thank you for choosing %(name)s. If you have a minute, two honest sentences about "
            "how it was would help us a lot:",
            name=project.business_name,
        )
        if project.business_name
        else _(
            "Hi! Thank you for choosing us. If you have a minute, two honest sentences about how "
            "it was would help us a lot:"
        )
    )
    return f"{words}\n{LINK}"


def set_message(project: Project, text: str) -> None:
    """Store the message in the locked project, unless it is empty or the suggested one."""
    config = dict(project.dashboard_config)
    config.pop(SHARE_MESSAGE, None)
    # Not within a longer URL, which is that of another page.
    stored = re.sub(rf"{re.escape(link_to(project, None))}(?![\w/-])", LINK, text)
    if stored and stored != default_message(project):
        config[SHARE_MESSAGE] = stored
    project.dashboard_config = config


def describe_mail(project: Project, message: str) -> dict[str, Any]:
    """Return the subject of an email with the message, and its `mailto:` link."""
    subject = f"A few words about {project.business_name or 'your visit'}?"
    # RFC 6068 asks for CRLF.
    body = quote(message.replace("\n", "\r\n"), safe="")
    return {
        "mail_subject": subject,
        "mail_url": f"mailto:?subject={quote(subject, safe='')}&body={body}",
    }
