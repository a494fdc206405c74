"""Sharing the collection page: link, QR code, other places."""

import io
import re
from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import quote

from flask import (
    Response,
    jsonify,
    make_response,
    redirect,
    render_template,
    request,
    url_for,
)
from flask.typing import ResponseReturnValue
from markupsafe import Markup

from testimonials.collection.forms import find_shown_form, list_forms
from testimonials.core.audit import record
from testimonials.core.extensions import db
from testimonials.core.http.blueprints import share
from testimonials.core.http.fields import Text
from testimonials.core.http.form_errors import Errors, answer_errors, wants_json
from testimonials.core.http.forms import FormSchema
from testimonials.core.http.urls import (
    collection_page_url,
    form_url,
    image_url,
    wall_url,
)
from testimonials.dashboard.framework import require_role
from testimonials.dashboard.shell import build_shell
from testimonials.projects.access import Access, Role
from testimonials.projects.defaults import MESSAGE_LENGTH, SHARE_MESSAGE
from testimonials.projects.events import PROJECT_CHANGED
from testimonials.projects.models import Project

if TYPE_CHECKING:
    from segno import QRCode


# The Share page's message to customers.

# The placeholder for the link in a stored message, which follows the page to a new address.
LINK = "{link}"


class MessageForm(FormSchema):
    """The message to customers; empty for the suggested one."""

    message = Text(MESSAGE_LENGTH, load_default="")


def default_message(project: Project) -> str:
    name = project.business_name or "us"
    return (
        f"Hi! Thank you for choosing {name}. If you have a minute, two honest sentences about how "
        f"it was would help us a lot:\n{LINK}"
    )


def message_of(project: Project) -> str:
    """Return the project's message to customers, or the suggested one, with the link filled in."""
    stored = project.dashboard_config.get(SHARE_MESSAGE) or default_message(project)
    return str(stored).replace(LINK, collection_page_url(project.slug, project.own_host))


def has_own_message(project: Project) -> bool:
    return bool(project.dashboard_config.get(SHARE_MESSAGE))


def set_message(project: Project, text: str) -> None:
    """Store the message in the locked project, unless it is empty or the suggested one."""
    config = dict(project.dashboard_config)
    config.pop(SHARE_MESSAGE, None)
    # A longer address that starts the same way is another page's.
    stored = re.sub(
        rf"{re.escape(collection_page_url(project.slug, project.own_host))}(?![\w/-])", LINK, text
    )
    if stored and stored != default_message(project):
        config[SHARE_MESSAGE] = stored
    project.dashboard_config = config


def describe_mail(project: Project, message: str) -> dict[str, str]:
    """Return the subject of a mail with the message, and its `mailto:` link."""
    subject = f"A few words about {project.business_name or 'your visit'}?"
    # RFC 6068 asks for CRLF.
    body = quote(message.replace("\n", "\r\n"), safe="")
    return {"subject": subject, "url": f"mailto:?subject={quote(subject, safe='')}&body={body}"}


# QR codes of a link, to show in a page and to print.

# Four white modules on each side, which many readers need.
QUIET_ZONE = 4
DARK, LIGHT = "#000000", "#FFFFFF"
# For print: at least 1,000 pixels wide, whatever the slug.
PNG_SCALE = 25


def make_qr_code(link: str) -> "QRCode":
    """Return a code that is still readable with 15% of it dirty or torn (error level M)."""
    # Few requests need it.
    from segno import make_qr

    return make_qr(link, error="m", boost_error=False)


def draw_inline(link: str) -> str:
    """Return the code as an `svg` element that fills its container."""
    return make_qr_code(link).svg_inline(
        border=QUIET_ZONE, dark=DARK, light=LIGHT, omitsize=True, svgclass="qr", lineclass=None
    )


def draw_svg(link: str) -> bytes:
    return _save(link, "svg", scale=10)


def draw_png(link: str) -> bytes:
    return _save(link, "png", scale=PNG_SCALE)


def _save(link: str, kind: str, scale: int) -> bytes:
    file = io.BytesIO()
    code = make_qr_code(link)
    code.save(file, kind=kind, scale=scale, border=QUIET_ZONE, dark=DARK, light=LIGHT)
    return file.getvalue()


# The Share page: the snippet, the collection page's link and QR code, a message to customers.


@share.get("/dashboard/projects/<project_id>/share")
@require_role(Role.ADMIN)
def show_share(access: Access) -> ResponseReturnValue:
    return _page(access, message_of(access.project), {})


@share.post("/dashboard/projects/<project_id>/share/message")
@require_role(Role.ADMIN, for_update=True)
def save_message(access: Access) -> ResponseReturnValue:
    """Keep the message, or go back to the suggested one."""
    project = access.project
    sent = MessageForm().read({} if "reset" in request.form else request.form)
    if sent.errors:
        db.session.rollback()
        if wants_json():
            return answer_errors(sent.errors)
        return _page(access, sent.typed["message"], sent.errors), 422
    set_message(project, sent.values["message"])
    record(PROJECT_CHANGED, project)
    db.session.commit()
    if wants_json():
        return jsonify({"ok": True, "is_own": has_own_message(project)})
    return redirect(url_for(".show_share", _anchor="message"), 303)


@share.get("/dashboard/projects/<project_id>/share/qr.svg")
@require_role(Role.ADMIN)
def get_qr_svg(access: Access) -> ResponseReturnValue:
    """Give the code of the page's address, or of a form's with ``?form=``."""
    return _answer_file(access.project, draw_svg, "svg", "image/svg+xml")


@share.get("/dashboard/projects/<project_id>/share/qr.png")
@require_role(Role.ADMIN)
def get_qr_png(access: Access) -> ResponseReturnValue:
    return _answer_file(access.project, draw_png, "png", "image/png")


@share.get("/dashboard/projects/<project_id>/share/card")
@require_role(Role.ADMIN)
def show_card(access: Access) -> ResponseReturnValue:
    """Show a card to print, for a table or a counter."""
    project = access.project
    link = collection_page_url(project.slug, project.own_host)
    return render_template(
        "dashboard/share/share_card.html",
        project={"name": project.name, "logo_url": image_url(project.logo_id)},
        headline=project.page_config["headline"],
        link=link.partition("://")[2],
        qr=_draw(link),
    )


def _page(access: Access, message: str, errors: Errors) -> str:
    project = access.project
    link = collection_page_url(project.slug, project.own_host)
    return render_template(
        "dashboard/share/share.html",
        shell=build_shell(access, "share"),
        is_active=project.is_active,
        wall_url=wall_url(project.slug, project.own_host),
        link=link,
        forms=[
            {
                "title": form.title,
                "name": form.name,
                "url": form_url(project.slug, form.name, project.own_host),
            }
            for form in list_forms(project)
        ],
        qr=_draw(link),
        message=message,
        message_limit=MESSAGE_LENGTH,
        has_own_message=has_own_message(project),
        errors=errors,
        mail=describe_mail(project, message),
    )


def _draw(link: str) -> Markup:
    # The library draws dark and light squares; none of the link's text is in the markup.
    return Markup(draw_inline(link))  # noqa: S704


def _answer_file(
    project: Project, draw: Callable[[str], bytes], suffix: str, content_type: str
) -> Response:
    form = find_shown_form(project, request.args.get("form", ""))
    link = (
        form_url(project.slug, form.name, project.own_host)
        if form
        else collection_page_url(project.slug, project.own_host)
    )
    response = make_response(draw(link))
    response.headers["Content-Type"] = content_type
    name = f"{project.slug}{f'-{form.name}' if form else ''}-qr.{suffix}"
    # A slug has only letters, digits and dashes, so the name needs no escaping.
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    return response
