"""The rules of submissions by visitors."""

import hashlib
import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from sqlalchemy import func, select

from testimonials.collection import responses
from testimonials.collection.events import REQUEST_ANSWERED
from testimonials.collection.request_mail import send_author_mail
from testimonials.collection.spam import FAST, FLOOD, find_reasons, fingerprint, tell_of_flood
from testimonials.collection.submission_schemas import (
    SentRecording,
    attach_recording,
    consent_sentence,
    drop_recording,
    store_photo,
)
from testimonials.collection.verified_purchases import is_used, note_purchase
from testimonials.core import clock
from testimonials.core.extensions import db
from testimonials.core.http.errors import ServiceError
from testimonials.core.http.i18n import current_language, gettext_noop
from testimonials.core.http.signing import TokenExpired, TokenInvalid, TokenPurpose
from testimonials.core.images.uploads import Image
from testimonials.core.settings.current import current_settings
from testimonials.projects.models import Project
from testimonials.testimonials.events import TESTIMONIAL_SUBMITTED, record_by_author
from testimonials.testimonials.models import Testimonial
from testimonials.testimonials.notifications import tell_of_submission
from testimonials.testimonials.tags import find_spellings, spell
from testimonials.testimonials.testimonials import next_time

TOKEN_SECONDS = 24 * 60 * 60
SAME_WITHIN = timedelta(seconds=TOKEN_SECONDS)
# How many of the same author's with the same words are looked at for the same answers.
MOST_COMPARED = 20
# Columns from the form besides the text, and their values where it doesn't ask for them.
SAID: dict[str, Any] = {
    "author_name": "",
    "author_role": "",
    "author_company": None,
    "author_email": None,
    "rating": None,
}

form_purpose = TokenPurpose("collection-form")


class FormStale(ServiceError):
    """The form was opened too long ago, or for another page."""

    code = "FORM_STALE"
    default_message = gettext_noop(
        "This page was open for a long time. Everything you wrote is still here: send it again."
    )


@dataclass(frozen=True)
class FormToken:
    """What a form's token says: which form it is, and reasons to suspect a program."""

    key: str = ""
    signs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Submission:
    """A valid submission: columns, the form's key, and reasons to hold it (see `spam`).

    `link` is the token of a mailed request; `may_mail` allows a mail to the author.
    """

    values: dict[str, Any]
    form_key: str
    signs: Sequence[str]
    photo: Image | None = None
    recording: SentRecording | None = None
    link: str = ""
    # The order that a link proved.
    order: str = ""
    # Of the form that it was sent by.
    tag: str = ""
    may_mail: bool = False


def make_form_token(project: Project, *, is_empty: bool) -> str:
    """Return a form's token, by which sending it twice stores one row.

    Unless a link has filled the form in (`is_empty` is false), its time shows whether it was sent
    faster than a person types.
    """
    return form_purpose.sign([project.id, secrets.token_urlsafe(16), int(is_empty)])


def read_form_token(project: Project, token: str) -> FormToken:
    try:
        (project_id, key, is_empty), made = form_purpose.read(token, TOKEN_SECONDS)
    except (TokenInvalid, TokenExpired, TypeError, ValueError):
        raise FormStale from None
    if project_id != project.id:
        raise FormStale
    # Tokens have whole seconds, so a form may seem up to a second older.
    age = (clock.now() - made).total_seconds()
    is_fast = is_empty and age < current_settings().min_form_seconds
    return FormToken(str(key), (FAST,) if is_fast else ())


def receive(project: Project, submission: Submission) -> Testimonial:
    """Store a submission to the locked project once, and send the mails about it."""
    asked = responses.find_request(submission.link, project.id, for_update=True)
    photo = submission.photo
    store_photo(photo)
    values = submission.values | {"avatar_id": photo.id if photo else None}
    answers = responses.is_unanswered(asked)
    order = (asked.purchase_reference if asked and answers else None) or submission.order
    # What the owner or the shop asked for is never held.
    is_expected = answers or (order and not is_used(project, order))
    signs = None if is_expected else submission.signs
    consent = submission.recording.consent if submission.recording else "written"
    row, is_new = submit_testimonial(project, values, submission.form_key, signs, consent)
    if submission.recording:
        (attach_recording if is_new else drop_recording)(project, submission.recording, row)
    if is_new and order:
        note_purchase(project, row, order)
    if is_new and submission.tag:
        row.tags = spell(find_spellings(project.id), [submission.tag])
    if is_new and asked:
        responses.note_answered(asked, row, asks_email="author_email" in values)
    if is_new and submission.may_mail:
        send_author_mail(project, row)
    if is_new and row.status == "pending":
        written = {"action": "submit", "testimonial": row.id}
        record_by_author(TESTIMONIAL_SUBMITTED, project, **written)
        if asked and answers:
            about = {"request": asked.id, "testimonial": row.id}
            record_by_author(REQUEST_ANSWERED, project, **about)
    return row


def submit_testimonial(
    project: Project,
    values: dict[str, Any],
    form_key: str,
    signs: Sequence[str] | None = (),
    consent: str = "written",
) -> tuple[Testimonial, bool]:
    """Store a visitor's testimonial once, pending or held as spam, and notify its readers.

    `project` is locked, `values` are columns (spec, "States and transitions"), `signs` are reasons
    to hold it, or None never to, `consent` is the kind of sentence agreed to. Returns the
    testimonial and whether it is new.
    """
    key = _make_submission_key(form_key, values)
    if (arrived := _find_arrived(project, values, key)) is not None:
        return arrived, False
    time = next_time(project)
    reasons = [] if signs is None else find_reasons(project, values, signs, time)
    testimonial = Testimonial(
        project_id=project.id,
        status="spam" if reasons else "pending",
        held_for=",".join(reasons) or None,
        source="public_page",
        text_fingerprint=fingerprint(values["text"]) if values["text"] else None,
        submitted_at=time,
        consent_text=consent_sentence(project, consent),
        consent_language=current_language().code,
        consented_at=time,
        submission_key=key,
        created_at=time,
        updated_at=time,
        **values,
    )
    db.session.add(testimonial)
    db.session.flush()
    if not reasons:
        tell_of_submission(project, testimonial)
    elif FLOOD in reasons:
        tell_of_flood(project, testimonial)
    return testimonial, True


def _make_submission_key(form_key: str, values: Mapping[str, Any]) -> str:
    said = [values.get(name, nothing) for name, nothing in SAID.items()]
    act = [form_key, values["text"], *said, bool(values.get("avatar_id"))]
    if values.get("answers"):
        act.append(values["answers"])
    return hashlib.sha256(json.dumps(act).encode("utf-8", "surrogatepass")).hexdigest()


def _find_arrived(project: Project, values: Mapping[str, Any], key: str) -> Testimonial | None:
    """Return the testimonial of the same form, or of the same author and text within a day.

    A double click or a retry sends the same form; a second tab has its own. Deleted or withdrawn
    words may be sent again from another form.
    """
    by_key = select(Testimonial).where(Testimonial.submission_key == key)
    found = db.session.scalars(by_key).one_or_none()
    # Two recordings without words are not the same.
    if found is not None or not values["text"]:
        return found
    if "kind" in values:
        # Each recording is another one, whatever is written beside it.
        return None
    same = [
        getattr(Testimonial, name).is_not_distinct_from(values.get(name, nothing))
        for name, nothing in SAID.items()
    ]
    has_photo = Testimonial.avatar_id.is_not(None)
    query = select(Testimonial).where(
        Testimonial.project_id == project.id,
        Testimonial.created_at > clock.now() - SAME_WITHIN,
        Testimonial.source == "public_page",
        Testimonial.status != "withdrawn",
        Testimonial.deleted_at.is_(None),
        Testimonial.text_fingerprint == fingerprint(values["text"]),
        # The owner may have edited them already.
        func.coalesce(Testimonial.original_text, Testimonial.text) == values["text"],
        has_photo if values.get("avatar_id") else ~has_photo,
        *same,
    )
    answers, form_name = values.get("answers"), values.get("form_name")
    rows = db.session.scalars(query.limit(MOST_COMPARED))
    same_too = (row for row in rows if (row.answers, row.form_name) == (answers, form_name))
    return next(same_too, None)
