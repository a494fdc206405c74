"""Sharing the collection page: link, QR code, other places."""

import io
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from flask import (
    Response,
    g,
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
from testimonials.core.http.i18n import gettext as _
from testimonials.core.http.urls import (
    collection_page_url,
    form_url,
    fragment_url,
    image_url,
    json_feed_url,
    newsletter_url,
    script_url,
    wall_url,
    widget_page_url,
)
from testimonials.dashboard.embed_codes import (
    Choice,
    describe_choice,
    describe_platforms,
    describe_policy,
    read_choice,
)
from testimonials.dashboard.formatting import describe_age
from testimonials.dashboard.framework import require_role
from testimonials.dashboard.shell import build_shell
from testimonials.projects.access import Access, Role
from testimonials.projects.defaults import MESSAGE_LENGTH, SHARE_MESSAGE
from testimonials.projects.events import PROJECT_CHANGED
from testimonials.projects.models import Project
from testimonials.widget.embed import reserve_space
from testimonials.widget.formats import (
    IN_NEWSLETTER,
    PARAMETERS,
    add_query,
    choose_items,
    render_newsletter,
)
from testimonials.widget.sightings import find_newest_sighting

if TYPE_CHECKING:
    from segno import QRCode


# The Share page's message to customers, and where the widget was last seen.

# The placeholder for the link in a stored message, which follows the page to a new address.
LINK = "{link}"


class MessageForm(FormSchema):
    """The message to customers; empty for the suggested one."""

    message = Text(MESSAGE_LENGTH, load_default="")


def describe_sighting(project: Project) -> dict[str, Any] | None:
    """Return where and when the widget was last seen, None if nowhere."""
    found = find_newest_sighting(project.id)
    if found is None:
        return None
    origin, time = found
    label = describe_age(time)
    is_date = label[0].isdigit() and not label.endswith("ago")
    return {
        "host": origin.partition("://")[2],
        "label": _("on %(day)s", day=label) if is_date else label.lower(),
        "time": time,
    }


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


# What the Share page offers for places that take no widget.


def describe_elsewhere(project: Project, choice: Choice) -> dict[str, str]:
    """Return each format of the chosen testimonials, and its address."""
    chosen = {name: value for name, value in choice.selection.query.items() if name in PARAMETERS}
    items = choose_items(project, chosen, IN_NEWSLETTER)
    return {
        "newsletter": render_newsletter(items),
        "newsletter_url": add_query(newsletter_url(project.id), chosen),
        "json_feed_url": add_query(json_feed_url(project.id), chosen),
        "address": choice.add_to(widget_page_url(project.id)),
        "shortcode": _write_shortcode(project, choice),
        "element": _write_element(project, choice),
    }


def _write_shortcode(project: Project, choice: Choice) -> str:
    """Return the shortcode of the plugin in packages/wordpress."""
    values = {"project": project.id} | choice.selection.query
    # These would end it, and have no other spelling there.
    ends = str.maketrans("", "", '"[]')
    written = (f'{name}="{value.translate(ends)}"' for name, value in values.items())
    return f"[testimonials_widget {' '.join(written)}]"


def _write_element(project: Project, choice: Choice) -> str:
    """Return the element of the package in packages/testimonials-widget."""
    # `id` is every element's own.
    names = {"id": "testimonial"}
    attributes = {"project": project.id, "src": script_url()}
    attributes |= {names.get(name, name): value for name, value in choice.selection.query.items()}
    if height := reserve_space(project, choice.selection):
        attributes["style"] = f"display:block;min-height:{height};--tm-reserve:{height}"
    written = Markup(" ").join(
        Markup('{}="{}"').format(name, value) for name, value in attributes.items()
    )
    link = Markup('<a href="{}">Read our testimonials</a>').format(widget_page_url(project.id))
    return f"<testimonials-widget {written}>{link}</testimonials-widget>"


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
    """Show the page; ``?platform=`` opens that tab, other parameters are for `read_choice`."""
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
    choice = read_choice(project, request.args)
    g.has_preview = True
    return render_template(
        "dashboard/share/share.html",
        shell=build_shell(access, "share"),
        is_active=project.is_active,
        choice=describe_choice(project, choice),
        platforms=describe_platforms(project, request.args.get("platform", ""), choice),
        policy=describe_policy(project, choice),
        elsewhere=describe_elsewhere(project, choice),
        sighting=describe_sighting(project),
        wall_url=wall_url(project.slug, project.own_host),
        fragment_url=choice.add_to(fragment_url(project.id)),
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
