"""The collection page: the form, the thanks, the theme, pictures."""

from typing import Any

from flask import Blueprint, Response, g, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from testimonials.auth.email_addresses import hash_mailbox
from testimonials.collection import storing, submission_schemas
from testimonials.collection.author_rights import find_ours, make_author_token, make_author_url
from testimonials.collection.forms import find_shown_form, takes_testimonials
from testimonials.collection.images import pictures
from testimonials.collection.images.pictures import (
    find_share_picture,
    keep_share_picture,
    make_share_picture,
    picture_fingerprint,
)
from testimonials.collection.models import CollectionForm, MailedRequest
from testimonials.collection.page_data import describe_form, describe_page, describe_thanks
from testimonials.collection.request_mail import send_author_mail
from testimonials.collection.responses import find_request, prefill
from testimonials.collection.spam import ADDRESS
from testimonials.collection.submission import (
    FilledForm,
    read_hidden,
    read_link,
    read_submission_form,
)
from testimonials.collection.submission_schemas import MailMeForm, read_prefill, store_recording
from testimonials.collection.verified_purchases import PURCHASE, is_used, read_purchase
from testimonials.core.extensions import begin_write, db, limiter
from testimonials.core.http.errors import NotFound, answer_service_error
from testimonials.core.http.forms import read_unsent_form
from testimonials.core.http.i18n import (
    PARAMETER,
    current_language,
    language_query,
    use_visitors_language,
)
from testimonials.core.http.rate_limits import Limit, client_key
from testimonials.core.http.security import answer_privately
from testimonials.core.http.static import compress
from testimonials.core.images.colors import find_text
from testimonials.projects.models import Project, Suspension
from testimonials.projects.projects import find_public_project, lock_project
from testimonials.projects.settings import find_renamed
from testimonials.testimonials.moderation import find_testimonial
from testimonials.widget.colors import derive_colours
from testimonials.widget.render import page_styles
from testimonials.widget.settings import read_settings

# The style sheets of a project's pages, which allow no inline style.


def write_theme(project: Project) -> str:
    """Return the colours that follow from the button's, and where the cover is looked at.

    The button keeps its colour: where its text could not be read, it gets another text.
    """
    config, focus = project.page_config, project.whole_page_design["coverFocus"]
    button = config["buttonColor"]
    both = derive_colours(button)
    names = {
        "accent": "accent",
        "solid": "solid",
        "on-solid": "on",
        "soft": "soft",
        "on-soft": "text",
    }
    derived = [
        f"--{own}:light-dark({both.light[name]},{both.dark[name]})" for own, name in names.items()
    ]
    # At the root, where the editor's preview sets what was chosen just now.
    chosen = (
        f"--tm-button:{button};--tm-button-text:{find_text(button, config['buttonTextColor'])};"
        f"--tm-focus:{focus['x']}% {focus['y']}%"
    )
    return f":root{{{chosen}}}.page-collection{{{';'.join(derived)}}}"


def write_card_styles(project: Project) -> str:
    """Return the styles of the widget's cards, as configured, within an element of ours."""
    return page_styles(read_settings(project), "", "single", 1, has_extras=True)


# The public page on which visitors write, at ``{app_url}/<slug>``.

collection = Blueprint("collection", __name__)
collection.before_request(use_visitors_language)

# Visitors may share a tablet on a counter, so submissions above this are held, not refused.
HELD_ABOVE = 30
SUBMISSIONS_PER_ADDRESS = Limit("submission-ip", 300, "from one IP address", for_load=True)
AUTHOR_MAIL_PER_ADDRESS = Limit("author-mail-ip", 10, "from one IP address")
AUTHOR_MAIL_PER_EMAIL = Limit("author-mail-email", 3, "for one e-mail address", hours=24)


@collection.get("/<slug>")
@collection.get("/<slug>/f/<form_name>")
def show_collection_page(slug: str, form_name: str = "") -> ResponseReturnValue:
    """Show a form, or say that the project is paused."""
    project = find_public_project(slug=slug)
    if not takes_testimonials(project, form := _find_form(project, form_name)):
        return _paused(project)
    link = request.args.get("invitation", "")
    asked = find_request(link, project.id) if link else None
    purchase = read_purchase(project, read_link(PURCHASE))
    known = read_prefill(request.args, project.page_config["collectFields"])
    known |= prefill(asked or purchase)
    # A form that a link has filled in may be sent at once.
    is_empty = not set(request.args) - {PARAMETER}
    token = storing.make_form_token(project, is_empty=is_empty)
    filled = FilledForm(token, known, form=form, purchase=purchase, hidden=read_hidden())
    page = _form(project, filled, asked)
    # It shows the name and address of the person who was asked.
    return answer_privately(page) if asked or purchase else page


@collection.post("/<slug>")
@collection.post("/<slug>/f/<form_name>")
def submit_testimonial(slug: str, form_name: str = "") -> ResponseReturnValue:
    """Store a submission once and redirect to the thank-you page, also for spam."""
    project = find_public_project(slug=slug)
    if not takes_testimonials(project, own := _find_form(project, form_name)):
        return _paused(project), 409
    count = limiter.count(SUBMISSIONS_PER_ADDRESS, f"{project.id} {client_key()}")
    form = read_submission_form(project, own)
    if form.errors:
        _keep_files(project, form)
        return _form(project, form, find_request(read_link("invitation"), project.id)), 422
    signs = [ADDRESS] if count > HELD_ABOVE else []
    submission = form.to_submission(signs=signs, may_mail=_may_mail(form.values))
    begin_write()
    token = make_author_token(storing.receive(lock_project(project.id), submission))
    db.session.commit()
    # The form says which language it was in, whatever the browser prefers.
    query = {"yours": token, **language_query()}
    return redirect(url_for("collection.show_thanks", slug=slug, **query), 303)


@collection.get("/<slug>/thanks")
def show_thanks(slug: str) -> ResponseReturnValue:
    """Thank the visitor and show what they wrote, with the next steps; safe to reload."""
    project = find_public_project(slug=slug)
    token = request.args.get("yours", "")
    own = find_ours(project, token)
    if own is None:
        return render_template("collection/thanks.html", **describe_thanks(project))
    shown = describe_thanks(project, own.row) | {
        "token": token,
        "own_url": make_author_url(project, token, current_language().code),
        "mailed": request.args.get("mailed", ""),
    }
    return answer_privately(render_template("collection/thanks.html", **shown))


@collection.post("/<slug>/thanks")
def mail_own_link(slug: str) -> ResponseReturnValue:
    """Mail the author their link, to an address that isn't kept."""
    project = find_public_project(slug=slug)
    token = request.form.get("yours", "")
    own = find_ours(project, token)
    email = MailMeForm().read(request.form).values.get("email")
    is_sent = own is not None and _may_mail({"author_email": email})
    if own is not None and is_sent:
        begin_write()
        send_author_mail(project, own.row, email)
        db.session.commit()
    query = {"yours": token, "mailed": "yes" if is_sent else "no", **language_query()}
    return redirect(url_for(".show_thanks", slug=slug, **query), 303)


@collection.get("/<slug>/recorder")
def get_recorder(slug: str) -> str:
    """Return the parts of the page that its script loads once somebody wants to record."""
    find_public_project(slug=slug)
    return render_template("collection/_recorder.html")


@collection.get("/<slug>/theme.css")
def get_theme(slug: str) -> Response:
    """Serve the colours of the project's pages, which allow no inline style."""
    return _send_styles(write_theme(find_public_project(slug=slug)))


@collection.get("/<slug>/card.css")
def get_card_styles(slug: str) -> Response:
    """Serve the styles of the finished card, as the widget is configured."""
    return _send_styles(write_card_styles(find_public_project(slug=slug)))


@collection.get("/<slug>/share.png")
def get_share_picture(slug: str) -> Response:
    """Serve the picture for shared links; draw it again if the page looks different now."""
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


@collection.get("/<slug>/<testimonial_id>/picture.png")
def get_testimonial_picture(slug: str, testimonial_id: str) -> ResponseReturnValue:
    """Serve what a link to a testimonial shows, or the page's picture if it can't be drawn."""
    project = find_public_project(slug=slug)
    row = find_testimonial(project, testimonial_id)
    wanted = pictures.describe_picture(project, row)
    if (content := pictures.find_picture(wanted)) is None:
        content = pictures.draw_for_link(wanted)
        if content is None:
            return redirect(url_for(".get_share_picture", slug=slug))
        begin_write()
        pictures.keep_picture(wanted, content)
        db.session.commit()
    return pictures.send_picture(wanted, content, max_age=300)


@collection.errorhandler(NotFound)
def redirect_renamed(error: NotFound) -> ResponseReturnValue:
    """Redirect from a project's former address, keeping the method and the form.

    Temporarily, since the address becomes free again.
    """
    at = request.view_args or {}
    if request.endpoint is None or (renamed := find_renamed(at.get("slug", ""))) is None:
        return answer_service_error(error)
    query = f"?{request.query_string.decode()}" if request.query_string else ""
    return redirect(url_for(request.endpoint, **at | {"slug": renamed}) + query, 307)


def _find_form(project: Project, name: str) -> CollectionForm | None:
    """Return the form at an address; None for the page, to which mailed links lead in the end."""
    try:
        return find_shown_form(project, name)
    except NotFound:
        if find_request(read_link("invitation"), project.id) is None:
            raise
        return None


def _may_mail(values: dict[str, Any]) -> bool:
    """Tell whether a typed address, which may be anybody's, may get a mail; count it."""
    email: str = values.get("author_email") or ""
    return (
        bool(email)
        and limiter.allows(AUTHOR_MAIL_PER_ADDRESS, client_key(ipv6_bits=48))
        and limiter.allows(AUTHOR_MAIL_PER_EMAIL, hash_mailbox(email))
    )


def _paused(project: Project) -> str:
    shown = describe_page(project)
    held = project.suspension is not Suspension.NONE
    unsent = read_unsent_form()
    return render_template("collection/paused.html", unsent=unsent, is_suspended=held, **shown)


def _form(project: Project, filled: FilledForm, asked: MailedRequest | None) -> str:
    shown = describe_form(project, filled)
    link = read_link("invitation") if asked else ""
    proved = filled.purchase.order if filled.purchase else ""
    order = (asked.purchase_reference if asked else None) or proved
    shown["is_verified"] = bool(order) and not is_used(project, order)
    g.takes_recordings = shown["record"] is not None
    return render_template("collection/page.html", **shown, request_token=link)


def _send_styles(styles: str) -> Response:
    response = Response(styles, mimetype="text/css")
    response.headers["Cache-Control"] = "public, no-cache"
    response.add_etag()
    response.make_conditional(request)
    return compress(response)


def _keep_files(project: Project, form: FilledForm) -> None:
    """Store the files of a form with errors, so that they needn't be uploaded again."""
    if form.photo is not None or form.recording is not None:
        begin_write()
        submission_schemas.store_photo(form.photo)
        store_recording(project, form.recording)
        db.session.commit()
