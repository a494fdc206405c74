"""The author's own page: to see a testimonial, correct it, withdraw it or delete it.

A GET never changes anything, since mail scanners open links.
"""

from typing import Any

from flask import Blueprint, jsonify, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from werkzeug import Response

from testimonials.collection.authors import erasure
from testimonials.collection.authors import services as authors
from testimonials.collection.authors.answers import list_questions, read_corrected
from testimonials.collection.authors.services import (
    AuthorLinkInvalid,
    AuthorRefused,
    OwnTestimonial,
    find_own,
)
from testimonials.collection.authors.view import describe_edit, describe_frame, describe_own
from testimonials.collection.questions import read_typed
from testimonials.collection.schemas import ConsentForm, read_correction
from testimonials.core.web.errors import FieldErrors
from testimonials.core.web.forms import read_unsent_form
from testimonials.core.web.languages import language_query, use_visitors_language
from testimonials.core.web.rate_limits import Limit
from testimonials.core.web.response_headers import answer_privately
from testimonials.extensions import begin_write, db, limiter
from testimonials.privacy.person import describe_own as describe_person_of

author = Blueprint("author", __name__)
author.before_request(use_visitors_language)

CHANGES_PER_ADDRESS = Limit("author-ip", 60, "from one IP address", for_load=True)
limit_changes = limiter.per_address(CHANGES_PER_ADDRESS)


@author.get("/yours/<token>")
def show_own(token: str) -> ResponseReturnValue:
    """Show the testimonial, its state, and what can be done."""
    return _show(token, {})


@author.post("/yours/<token>")
@limit_changes
def give_consent(token: str) -> ResponseReturnValue:
    """Give consent again after a withdrawal."""
    if errors := ConsentForm().read(request.form).errors:
        return _show(token, errors, 422)
    begin_write()
    own = find_own(token, for_update=True)
    authors.verify_email(own)
    authors.consent_again(own)
    db.session.commit()
    return _go(token, "consented")


@author.post("/yours/<token>/verify")
@limit_changes
def verify(token: str) -> ResponseReturnValue:
    """Note that the address of the mailed link is the author's."""
    begin_write()
    authors.verify_email(find_own(token, for_update=True))
    db.session.commit()
    return _go(token, "verified")


@author.get("/yours/<token>/correct")
def show_correction(token: str) -> ResponseReturnValue:
    """Show the form, filled in."""
    own = find_own(token)
    return _edit(own, token, {}) if own.can_correct else _go(token)


@author.post("/yours/<token>/correct")
@limit_changes
def correct(token: str) -> ResponseReturnValue:
    """Replace the words; the owner decides again."""
    own = find_own(token)
    is_recorded = own.row.kind != "written"
    sent = read_correction(request.form, own.correctable, has_recording=is_recorded)
    _, problems = read_corrected(own, request.form)
    if errors := sent.errors | problems:
        answered = read_typed(request.form, list_questions(own))
        return _edit(own, token, errors, 422, typed=sent.typed, answered=answered)
    begin_write()
    own = find_own(token, for_update=True)
    authors.verify_email(own)
    answers, _ = read_corrected(own, request.form)
    is_changed = authors.correct(own, sent.values | {"answers": answers})
    db.session.commit()
    return _go(token, "corrected" if is_changed else "")


@author.post("/yours/<token>/withdraw")
@limit_changes
def withdraw(token: str) -> ResponseReturnValue:
    """Remove the testimonial from every public place at once."""
    begin_write()
    own = find_own(token, for_update=True)
    authors.verify_email(own)
    authors.withdraw(own)
    db.session.commit()
    return _go(token, "withdrawn")


@author.post("/yours/<token>/recording")
@limit_changes
def remove_recording(token: str) -> ResponseReturnValue:
    """Remove the recording for good; the words stay."""
    begin_write()
    own = find_own(token, for_update=True)
    authors.verify_email(own)
    authors.remove_recording(own)
    db.session.commit()
    return _go(token, "unrecorded")


@author.post("/yours/<token>/delete")
@limit_changes
def delete(token: str) -> ResponseReturnValue:
    """Delete everything for good."""
    begin_write()
    own = find_own(token, for_update=True)
    erasure.erase(own)
    erasure.record_erased(own)
    db.session.commit()
    return redirect(url_for("author.show_farewell", reason="deleted", **language_query()), 303)


@author.get("/yours/<token>/<any(withdraw, recording, delete, 'not-mine'):action>")
def show_confirmation(token: str, action: str) -> ResponseReturnValue:
    """Ask before a withdrawal, a deletion, or the removal of an address or a recording."""
    own = find_own(token)
    is_open = {"not-mine": own.is_mailed, "recording": own.row.is_recorded}
    if not is_open.get(action, True):
        return _go(token)
    page = describe_frame(own, token)
    return answer_privately(
        render_template("collection/authors/confirm.html", **page, action=action)
    )


@author.get("/yours/<token>/data")
def download_data(token: str) -> ResponseReturnValue:
    """Send everything that is stored about the testimonial, as JSON."""
    response = jsonify(describe_person_of(find_own(token).row))
    response.headers["Content-Disposition"] = "attachment; filename=testimonial.json"
    return answer_privately(response)


@author.post("/yours/<token>/not-mine")
@limit_changes
def deny(token: str) -> ResponseReturnValue:
    """Remove the address of somebody who didn't write this, and stop all mail to it."""
    begin_write()
    erasure.disown(find_own(token, for_update=True))
    db.session.commit()
    return redirect(url_for("author.show_farewell", reason="not-mine", **language_query()), 303)


@author.get("/yours/done/<any(deleted, 'not-mine'):reason>")
def show_farewell(reason: str) -> ResponseReturnValue:
    """Say that it is done; the link no longer works."""
    return render_template("collection/authors/end.html", reason=reason)


@author.errorhandler(AuthorLinkInvalid)
def show_problem(error: AuthorLinkInvalid) -> ResponseReturnValue:
    """Say what is wrong with a link."""
    db.session.rollback()
    reason = "gone" if error.status == 410 else "invalid"
    unsent = read_unsent_form()
    page = render_template("collection/authors/end.html", reason=reason, unsent=unsent)
    return answer_privately(page, error.status)


@author.errorhandler(AuthorRefused)
def show_refusal(_: AuthorRefused) -> ResponseReturnValue:
    """Redirect to the page, which shows the current state."""
    db.session.rollback()
    return _go((request.view_args or {})["token"])


def _show(token: str, errors: FieldErrors, status: int = 200) -> ResponseReturnValue:
    done = request.args.get("done", "")
    page = describe_own(find_own(token), token, done, errors)
    return answer_privately(render_template("collection/authors/author.html", **page), status)


def _edit(
    own: OwnTestimonial, token: str, errors: FieldErrors, status: int = 200, **sent: Any
) -> Response:
    page = describe_edit(own, token, errors, **sent)
    return answer_privately(render_template("collection/authors/edit.html", **page), status)


def _go(token: str, done: str = "") -> Response:
    query = language_query() | ({"done": done} if done else {})
    response = redirect(url_for("author.show_own", token=token, **query), 303)
    response.headers["Cache-Control"] = "no-store"
    return response
