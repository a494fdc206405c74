"""The public page on which visitors write, at ``{app_url}/<slug>``."""

from typing import Any

from flask import Blueprint, Response, current_app, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from werkzeug.exceptions import RequestEntityTooLarge

from testimonials.auth.addresses import hash_mailbox
from testimonials.collection import photos, services
from testimonials.collection.authors.services import find_own_url, make_author_token
from testimonials.collection.describe import describe_form, describe_page, describe_thanks
from testimonials.collection.emails import send_author_mail
from testimonials.collection.picture.share_picture import (
    find_share_picture,
    keep_share_picture,
    make_share_picture,
    picture_fingerprint,
)
from testimonials.collection.prefill import read_prefill
from testimonials.collection.requests import answering as invitations
from testimonials.collection.schemas import Errors, read_form, to_values
from testimonials.collection.spam import ADDRESS, BAIT
from testimonials.core.pictures.images import ImageBusy
from testimonials.core.web.errors import NotFound, RateLimited, answer_service_error
from testimonials.core.web.forms import read_unsent_form
from testimonials.core.web.languages import (
    PARAMETER,
    asked_language,
    translate,
    use_visitors_language,
)
from testimonials.core.web.rate_limits import Limit, client_key
from testimonials.core.web.response_headers import answer_as, answer_privately
from testimonials.extensions import begin_write, db, limiter
from testimonials.projects.models import Project
from testimonials.projects.ownership import find_renamed
from testimonials.projects.services import find_public_project, lock_project

collection = Blueprint("collection", __name__)
collection.before_request(use_visitors_language)

# A tablet on a counter has one address for all who write on it, so what is above the first number
# is only held; above the second no person is behind it.
HELD_ABOVE = 30
SUBMISSIONS_PER_ADDRESS = Limit("submission-ip", 300, "from one IP address", for_load=True)
AUTHOR_MAIL_PER_ADDRESS = Limit("author-mail-ip", 10, "from one IP address")
AUTHOR_MAIL_PER_EMAIL = Limit("author-mail-email", 3, "for one e-mail address", hours=24)
HONEYPOT = "subject"


@collection.get("/<slug>")
def show_collection_page(slug: str) -> ResponseReturnValue:
    """Show the form, or say that the project takes no testimonials now."""
    project = find_public_project(slug=slug)
    if not project.is_active:
        return _paused(project)
    link = request.args.get("invitation", "")
    invitation = invitations.find_invitation(link, project.id) if link else None
    known = read_prefill(request.args, project.page_config["collectFields"])
    known |= invitations.prefill(invitation)
    # A link may bring words along, and then a person can be done at once.
    is_empty = not set(request.args) - {PARAMETER}
    page = _form(project, known, {}, services.make_form_token(project, is_empty=is_empty))
    # What is filled in is for the eyes of who got the link.
    return answer_privately(page) if invitation else page


@collection.post("/<slug>")
def submit_testimonial(slug: str) -> ResponseReturnValue:
    """Store what a visitor wrote, once for each act of sending; then go to the thank-you page.

    What looks like spam is held for the owner to see, and whoever sent it is thanked all the same.
    """
    project = find_public_project(slug=slug)
    if not project.is_active:
        return _paused(project), 409
    count = limiter.count(SUBMISSIONS_PER_ADDRESS, f"{project.id} {client_key()}")
    if not _allow_photo(project):
        errors = {"photo": [translate(photos.TOO_LARGE)]}
        return _form(project, {}, errors, services.make_form_token(project, is_empty=False)), 422
    typed, errors = read_form(request.form, project.page_config["collectFields"])
    token = request.form.get("token", "")
    try:
        sent = services.read_form_token(project, token)
    except services.FormStale as error:
        errors["form"] = [translate(error.message)]
        token = services.make_form_token(project, is_empty=False)
    photo = _read_photo(project, errors)
    if errors:
        _keep_photo(photo)
        return _form(project, typed, errors, token, photo), 422
    may_mail = _may_mail(typed.get("email", ""))
    begin_write()
    project = lock_project(project.id)
    link = request.form.get("invitation", "")
    invitation = invitations.find_invitation(link, project.id, for_update=True)
    photos.store_photo(photo)
    values = to_values(typed) | {"avatar_id": photo.image_id if photo else None}
    # Whom the owner asked is no stranger.
    is_known = invitations.is_invited(invitation)
    signs = None if is_known else [*sent.signs, *_read_signs(count)]
    row, is_new = services.submit_testimonial(project, values, sent.key, signs)
    if is_new and invitation:
        invitations.note_answered(invitation, row, asks_email="email" in typed)
    if is_new and may_mail and row.status == "pending":
        send_author_mail(project, row)
    query: dict[str, Any] = {"yours": make_author_token(row)}
    db.session.commit()
    # The form says which language it was in, whatever the browser prefers.
    if language := asked_language():
        query[PARAMETER] = language.code
    return redirect(url_for("collection.show_thanks", slug=slug, **query), 303)


@collection.get("/<slug>/thanks")
def show_thanks(slug: str) -> ResponseReturnValue:
    """Thank the visitor, and return the link to what they wrote; safe to reload."""
    project = find_public_project(slug=slug)
    own_url = find_own_url(project, request.args.get("yours", ""))
    page = render_template("collection/thanks.html", own_url=own_url, **describe_thanks(project))
    return answer_privately(page) if own_url else page


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


@collection.get("/<slug>/share.png")
def get_share_picture(slug: str) -> Response:
    """Serve the picture that a shared link shows; it is drawn once for each look of the page."""
    project = find_public_project(slug=slug)
    fingerprint = picture_fingerprint(project)
    content = find_share_picture(project)
    if content is None:
        content = make_share_picture(project)
        begin_write()
        keep_share_picture(lock_project(project.id), content, fingerprint)
        db.session.commit()
    response = Response(content, mimetype="image/png")
    response.set_etag(fingerprint)
    response.headers["Cache-Control"] = "public, max-age=300"
    response.headers["Cross-Origin-Resource-Policy"] = "cross-origin"
    response.make_conditional(request)
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


def _may_mail(email: str) -> bool:
    """Count a mail to an address that a visitor typed, which may be anybody's."""
    return (
        bool(email)
        and limiter.allows(AUTHOR_MAIL_PER_ADDRESS, client_key(ipv6_bits=48))
        and limiter.allows(AUTHOR_MAIL_PER_EMAIL, hash_mailbox(email))
    )


def _read_signs(count: int) -> list[str]:
    """Return what speaks for spam in a request that is the so manieth from its address."""
    signs = [BAIT] if request.form.get(HONEYPOT) else []
    return [*signs, ADDRESS] if count > HELD_ABOVE else signs


def _paused(project: Project) -> str:
    shown = describe_page(project)
    return render_template("collection/paused.html", unsent=read_unsent_form(), **shown)


def _form(
    project: Project,
    typed: dict[str, str],
    errors: Errors,
    token: str,
    photo: photos.Photo | None = None,
) -> str:
    link = _read_link()
    invitation = link if invitations.find_invitation(link, project.id) else ""
    shown = describe_form(project, typed, errors, token, photo) | {"invitation": invitation}
    return render_template("collection/page.html", **shown)


def _read_link() -> str:
    """Return the link of a request by mail: from the address at first,
    after a refusal from the form.

    A form that is too large to be read has lost it.
    """
    try:
        return request.values.get("invitation", "")
    except RequestEntityTooLarge:
        return request.args.get("invitation", "")


def _allow_photo(project: Project) -> bool:
    """Let a form with a photo be larger than others; tell whether this one can be read at all.

    What is written in it stays small.
    """
    if not photos.collects_photo(project) or request.mimetype != "multipart/form-data":
        return True
    request.max_form_memory_size = current_app.config["MAX_CONTENT_LENGTH"]
    request.max_content_length = photos.UPLOAD_FORM_BYTES
    return (request.content_length or 0) <= photos.UPLOAD_FORM_BYTES


def _read_photo(project: Project, errors: Errors) -> photos.Photo | None:
    """Return the photo that came along, within what one address may have decoded in an hour."""
    if not photos.collects_photo(project):
        return None
    file = request.files.get("photo")
    if photos.is_new_photo(request.form, file):
        try:
            limiter.count(photos.PHOTOS_PER_ADDRESS, client_key())
        except RateLimited:
            errors["photo"] = [translate(photos.TOO_MANY)]
            return None
    try:
        return photos.read_photo(project, request.form, file, errors)
    except ImageBusy as error:
        errors["photo"] = [error.message]
        answer_as(error)
        return None


def _keep_photo(photo: photos.Photo | None) -> None:
    """Store a photo although the rest of its form has errors, so that it need not come again."""
    if photo is not None and photo.image is not None:
        begin_write()
        photos.store_photo(photo)
        db.session.commit()
