"""The public page on which visitors write, at ``{app_url}/<slug>``."""

from flask import Blueprint, Response, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from testimonials.collection import services
from testimonials.collection.describe import describe_form, describe_page, describe_thanks
from testimonials.collection.schemas import Errors, read_form, to_values
from testimonials.collection.spam import ADDRESS, BAIT
from testimonials.core.errors import NotFound, answer_service_error
from testimonials.core.i18n import PARAMETER, asked_language, translate, use_visitors_language
from testimonials.core.ratelimit import Limit, client_key
from testimonials.extensions import begin_write, db, limiter
from testimonials.projects.models import Project
from testimonials.projects.ownership import find_renamed
from testimonials.projects.services import find_public_project, lock_project

collection = Blueprint("collection", __name__)
collection.before_request(use_visitors_language)

# A tablet on a counter has one address for all who write on it, so what is above the first number
# is only held; above the second no person is behind it.
HELD_ABOVE = 30
SUBMISSIONS_PER_ADDRESS = Limit("submission-ip", 300, "from one IP address")
HONEYPOT = "subject"


@collection.get("/<slug>")
def show_collection_page(slug: str) -> ResponseReturnValue:
    """Show the form, or say that the project takes no testimonials now."""
    project = find_public_project(slug=slug)
    if not project.is_active:
        return _paused(project)
    # A link may bring words along, and then a person can be done at once.
    is_empty = not set(request.args) - {PARAMETER}
    return _form(project, {}, {}, services.make_form_token(project, is_empty=is_empty))


@collection.post("/<slug>")
def submit_testimonial(slug: str) -> ResponseReturnValue:
    """Store what a visitor wrote, once for each act of sending; then go to the thank-you page.

    What looks like spam is held for the owner to see, and whoever sent it is thanked all the same.
    """
    project = find_public_project(slug=slug)
    if not project.is_active:
        return _paused(project), 409
    count = limiter.count(SUBMISSIONS_PER_ADDRESS, f"{project.id} {client_key()}")
    typed, errors = read_form(request.form, project.page_config["collectFields"])
    token = request.form.get("token", "")
    try:
        sent = services.read_form_token(project, token)
    except services.FormStale as error:
        errors["form"] = [translate(error.message)]
        token = services.make_form_token(project, is_empty=False)
    if errors:
        return _form(project, typed, errors, token), 422
    begin_write()
    project = lock_project(project.id)
    signs = [*sent.signs, *_read_signs(count)]
    services.submit_testimonial(project, to_values(typed), sent.key, signs)
    db.session.commit()
    # The form says which language it was in, whatever the browser prefers.
    language = asked_language()
    query = f"?{PARAMETER}={language.code}" if language else ""
    return redirect(url_for("collection.show_thanks", slug=slug) + query, 303)


@collection.get("/<slug>/thanks")
def show_thanks(slug: str) -> ResponseReturnValue:
    """Thank the visitor; safe to reload."""
    project = find_public_project(slug=slug)
    return render_template("collection/thanks.html", **describe_thanks(project))


@collection.get("/<slug>/theme.css")
def get_theme(slug: str) -> Response:
    """Serve the project's two button colours; the page allows no inline style."""
    config = find_public_project(slug=slug).page_config
    rule = (
        f":root{{--tm-button:{config['buttonColor']};--tm-button-text:{config['buttonTextColor']}}}"
    )
    response = Response(rule, mimetype="text/css")
    response.headers["Cache-Control"] = "public, no-cache"
    return response


@collection.errorhandler(NotFound)
def redirect_renamed(error: NotFound) -> ResponseReturnValue:
    """Lead an address that a project had before to its present one, a sent form with all it holds.

    Only for now, since the address is free again after a while.
    """
    slug = (request.view_args or {}).get("slug", "")
    if request.endpoint is None or (renamed := find_renamed(slug)) is None:
        return answer_service_error(error)
    # With its query, which may hold the language.
    query = f"?{request.query_string.decode()}" if request.query_string else ""
    return redirect(url_for(request.endpoint, slug=renamed) + query, 307)


def _read_signs(count: int) -> list[str]:
    """Give what speaks for spam in a request that is the so manieth from its address."""
    signs = [BAIT] if request.form.get(HONEYPOT) else []
    return [*signs, ADDRESS] if count > HELD_ABOVE else signs


def _paused(project: Project) -> str:
    return render_template("collection/paused.html", **describe_page(project))


def _form(project: Project, typed: dict[str, str], errors: Errors, token: str) -> str:
    return render_template("collection/page.html", **describe_form(project, typed, errors, token))
