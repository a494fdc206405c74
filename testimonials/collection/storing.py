"""Storing a submission, and telling of it."""

import hashlib
import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from sqlalchemy import func, inspect, select
from sqlalchemy.orm.attributes import set_committed_value

from testimonials.collection.author_rights import MAIL_LINK
from testimonials.collection.context import Context
from testimonials.collection.events import REQUEST_ANSWERED
from testimonials.collection.models import MailedRequest
from testimonials.collection.spam import FLOOD, TELL_OF_FLOOD, find_reasons
from testimonials.collection.submission import SentRecording, Submission
from testimonials.collection.verified_purchases import is_used
from testimonials.core import clock
from testimonials.core.audit import record
from testimonials.core.db.engine import insert_row
from testimonials.core.extensions import db
from testimonials.core.http.i18n import current_language
from testimonials.core.jobs import enqueue
from testimonials.core.text import fingerprint
from testimonials.projects.models import Project
from testimonials.projects.page_design import write_offer
from testimonials.testimonials.events import BY_AUTHOR, TESTIMONIAL_SUBMITTED
from testimonials.testimonials.media import uploads
from testimonials.testimonials.media.recordings import RecordingGone, remove_files
from testimonials.testimonials.models import Testimonial
from testimonials.testimonials.notifications import enqueue_telling
from testimonials.testimonials.record import note, write_entry
from testimonials.testimonials.tags import find_spellings, spell

SAME_WITHIN = timedelta(days=1)
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


def store(context: Context, sent: Submission) -> tuple[Testimonial, bool]:
    """Store a submission once, pending or held as spam (spec, "States and transitions").

    The context is locked. Returns the testimonial, and whether it is new.
    """
    project, recording = context.project, sent.recording
    values = sent.values | {"avatar_id": sent.photo.id if sent.photo else None}
    words = fingerprint(values["text"]) if values["text"] else None
    key = _make_key(sent, values)
    if (arrived := _find_arrived(project, values, words, key)) is not None:
        remove_files([recording.id] if recording and recording.found else [])
        return arrived, False
    keep_files(context, sent)
    time, order = project.next_time(), context.order
    is_proved = bool(order) and not is_used(project, order)
    # What the owner or the shop asked for is never held.
    is_expected = context.answers or is_proved
    # The project is written with the number of the event.
    with db.session.no_autoflush:
        reasons = [] if is_expected else find_reasons(project, values, words, sent.signs, time)
    row = Testimonial(
        project_id=project.id,
        status="spam" if reasons else "pending",
        held_for=",".join(reasons) or None,
        source="public_page",
        text_fingerprint=words,
        submitted_at=time,
        consent_language=current_language().code,
        consented_at=time,
        submission_key=key,
        purchase_reference=order if is_proved else None,
        purchase_verified_at=time if is_proved else None,
        created_at=time,
        updated_at=time,
        **values,
    )
    insert_row(db.session(), row)
    if context.tag:
        row.tags = spell(find_spellings(project.id), [context.tag])
    if recording:
        _attach(project, recording, row)
    if context.answers:
        _answer(context.answers, row, asks_email="author_email" in values)
    return row, True


def keep_files(context: Context, sent: Submission) -> None:
    """Store the files of a form, once, so that they needn't be uploaded again."""
    if sent.photo is not None and inspect(sent.photo).transient:
        db.session.add(sent.photo)
        db.session.flush()
    if sent.recording is not None and sent.recording.found is not None:
        uploads.add_taken(context.project, sent.recording.id, sent.recording.found)


def announce(context: Context, sent: Submission, row: Testimonial) -> None:
    """Let the owner and the author be told of a new testimonial, and record it."""
    project, asked = context.project, context.asked
    if row.status == "spam":
        if FLOOD in (row.held_for or ""):
            enqueue(TELL_OF_FLOOD, testimonial_id=row.id)
        note(project, row, "received", BY_AUTHOR, hashes=_list_digests(sent, row))
        return
    enqueue_telling(row)
    if sent.may_mail:
        enqueue(MAIL_LINK, testimonial_id=row.id)
    is_answer = asked is not None and asked.testimonial_id == row.id
    proofs, hashes = ("request",) if is_answer else (), _list_digests(sent, row)
    entry = write_entry(row, "received", *proofs, hashes=hashes)
    told: dict[str, Any] = {"action": "submit", "testimonial": row.id, "entry": entry}
    if row.is_rewarded:
        # The offer may be another one later.
        codes = (step for step in project.open_steps if step["kind"] == "code")
        told["promised"] = [write_offer(step) for step in codes]
    record(TESTIMONIAL_SUBMITTED, project, BY_AUTHOR, **told)
    if asked and is_answer:
        record(REQUEST_ANSWERED, project, BY_AUTHOR, request=asked.id, testimonial=row.id)


def _list_digests(sent: Submission, row: Testimonial) -> dict[str, str]:
    """Return the digests of the media of a new testimonial, which were just stored or read."""
    recording = row.recording if row.is_recorded else None
    found = {"photo": sent.photo and sent.photo.digest, "recording": recording and recording.digest}
    return {name: digest for name, digest in found.items() if digest}


def _attach(project: Project, sent: SentRecording, row: Testimonial) -> None:
    """Let a new testimonial have its recording; raise `RecordingGone` if another has it."""
    recording = uploads.find_upload(project, sent.id, for_update=True)
    if recording.state != "ready":
        raise RecordingGone
    recording.testimonial_id = row.id
    # The sentence that the author read out, or what they say it is about.
    recording.transcript = row.text
    set_committed_value(row, "recording", recording)


def _answer(asked: MailedRequest, row: Testimonial, *, asks_email: bool) -> None:
    """Tie the first submission by a mailed link to its request.

    This verifies the author's address, unless they gave another one.
    """
    now = clock.now()
    asked.opened_at = asked.opened_at or now
    asked.answered_at, asked.next_mail_at = now, None
    asked.testimonial_id = row.id
    if not asks_email or row.author_email == asked.email:
        row.email_verified_at = now


def _make_key(sent: Submission, values: Mapping[str, Any]) -> str:
    form_key = f"{sent.key} {sent.recording.mark}" if sent.recording else sent.key
    said = [values.get(name, nothing) for name, nothing in SAID.items()]
    act = [form_key, values["text"], *said, bool(values["avatar_id"])]
    if values.get("answers"):
        act.append(values["answers"])
    return hashlib.sha256(json.dumps(act).encode("utf-8", "surrogatepass")).hexdigest()


def _find_arrived(
    project: Project, values: Mapping[str, Any], words: str | None, key: str
) -> Testimonial | None:
    """Return the testimonial of the same form, or of the same author and text within a day.

    A double click or a retry sends the same form; a second tab has its own. Deleted or withdrawn
    words may be sent again from another form.
    """
    by_key = select(Testimonial).where(Testimonial.submission_key == key)
    found = db.session.scalars(by_key).one_or_none()
    # Each recording is another one, whatever is written beside it.
    if found is not None or not words or "kind" in values:
        return found
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
        Testimonial.text_fingerprint == words,
        # The owner may have edited them already.
        func.coalesce(Testimonial.original_text, Testimonial.text) == values["text"],
        has_photo if values["avatar_id"] else ~has_photo,
        *same,
    )
    answers, form_name = values.get("answers"), values.get("form_name")
    rows = db.session.scalars(query.limit(MOST_COMPARED))
    same_too = (row for row in rows if (row.answers, row.form_name) == (answers, form_name))
    return next(same_too, None)
