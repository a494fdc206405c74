"""The Share page: the snippet, the collection page's link and QR code, a message to customers."""

from collections.abc import Callable

from flask import (
    Blueprint,
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

from testimonials.activity.event_types import EventType
from testimonials.activity.recording import record_project_event
from testimonials.collection.forms.services import find_shown_form, list_forms
from testimonials.core.urls import (
    collection_page_url,
    form_url,
    fragment_url,
    image_url,
    wall_url,
)
from testimonials.dashboard.forms import Errors, answer_errors, wants_json
from testimonials.dashboard.guards import build_shell, require_role
from testimonials.dashboard.share.elsewhere import describe_elsewhere
from testimonials.dashboard.share.embed_choice import describe_choice, read_choice
from testimonials.dashboard.share.embed_code import describe_platforms, describe_policy
from testimonials.dashboard.share.qr_codes import draw_inline, draw_png, draw_svg
from testimonials.dashboard.share.view import (
    MessageForm,
    describe_mail,
    describe_sighting,
    has_own_message,
    message_of,
    set_message,
)
from testimonials.extensions import db
from testimonials.projects.access import Access, Role
from testimonials.projects.configuration.dashboard_config import MESSAGE_LENGTH
from testimonials.projects.models import Project

share = Blueprint("share", __name__)


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
    record_project_event(EventType.PROJECT_CHANGED, project)
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
