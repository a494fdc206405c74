"""Storing a submission, perhaps held as spam, and notifying people of it."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import func, inspect, select
from sqlalchemy.orm.attributes import set_committed_value

from testimonials.collection import submission
from testimonials.collection.author_rights import MAIL_LINK
from testimonials.collection.context import Context
from testimonials.collection.events import REQUEST_ANSWERED
from testimonials.collection.models import MailedRequest
from testimonials.collection.verified_purchases import is_used
from testimonials.core import clock
from testimonials.core.audit import record
from testimonials.core.db.engine import insert_row
from testimonials.core.extensions import db
from testimonials.core.http.i18n import current_language
from testimonials.core.jobs import enqueue
from testimonials.core.settings.table import current_settings
from testimonials.core.text import bare, fingerprint
from testimonials.projects.models import Project
from testimonials.projects.page_design import write_offer
from testimonials.testimonials.events import BY_AUTHOR, TESTIMONIAL_SUBMITTED
from testimonials.testimonials.media import uploads
from testimonials.testimonials.media.recordings import RecordingGone, remove_files
from testimonials.testimonials.models import Testimonial
from testimonials.testimonials.notifications import enqueue_notification
from testimonials.testimonials.record import note, write_entry
from testimonials.testimonials.tags import find_spellings, spell

# Columns from the form other than the text, with their values if it doesn't ask for them.
FORM_COLUMNS: dict[str, Any] = {
    "author_name": "",
    "author_role": "",
    "author_company": None,
    "author_email": None,
    "rating": None,
    "is_insider": False,
}


def store(context: Context, sent: submission.Submission) -> tuple[Testimonial, bool]:
    """Store a submission, only once, as pending or spam (spec, "States and transitions").

    The context is locked. Returns the testimonial, and whether it is new.
    """
    project, recording = context.project, sent.recording
    values = sent.values | {"avatar_id": sent.photo.id if sent.photo else None}
    words = fingerprint(values["text"]) if values["text"] else None
    key = _make_key(sent)
    if (stored := _find_stored(project, values, words, key)) is not None:
        remove_files([recording.id] if recording and recording.contents else [])
        return stored, False
    keep_files(context, sent)
    time, order = project.next_time(), context.order
    is_proved = bool(order) and not is_used(project, order)
    # What comes through the owner's or the shop's link is never held.
    is_expected = context.answers or is_proved
    # The project is written later, together with the event's number.
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


def keep_files(context: Context, sent: submission.Submission) -> None:
    """Store a form's files, unless they are stored already."""
    if sent.photo is not None and inspect(sent.photo).transient:
        db.session.add(sent.photo)
        db.session.flush()
    if sent.recording is not None and sent.recording.contents is not None:
        uploads.add_taken(context.project, sent.recording.id, sent.recording.contents)


def announce(context: Context, sent: submission.Submission, row: Testimonial) -> None:
    """Record a new testimonial, and enqueue the emails to the owner and the author."""
    project, asked = context.project, context.asked
    if row.status == "spam":
        note(project, row, "received", BY_AUTHOR, hashes=_list_digests(sent, row))
        return
    enqueue_notification(row)
    if sent.may_mail:
        enqueue(MAIL_LINK, testimonial_id=row.id)
    is_answer = asked is not None and asked.testimonial_id == row.id
    proofs, hashes = ("request",) if is_answer else (), _list_digests(sent, row)
    entry = write_entry(row, "received", *proofs, hashes=hashes)
    details: dict[str, Any] = {"action": "submit", "testimonial": row.id, "entry": entry}
    if row.is_rewarded:
        # The offer is recorded, since it may change later.
        codes = (step for step in project.open_steps if step["kind"] == "code")
        details["promised"] = [write_offer(step) for step in codes]
    record(TESTIMONIAL_SUBMITTED, project, BY_AUTHOR, **details)
    if asked and is_answer:
        record(REQUEST_ANSWERED, project, BY_AUTHOR, request=asked.id, testimonial=row.id)


def _list_digests(sent: submission.Submission, row: Testimonial) -> dict[str, str]:
    """Return the digests of a new testimonial's media, without a query."""
    recording = row.recording if row.is_recorded else None
    media = {"photo": sent.photo and sent.photo.digest, "recording": recording and recording.digest}
    return {name: digest for name, digest in media.items() if digest}


def _attach(project: Project, sent: submission.SentRecording, row: Testimonial) -> None:
    """Attach an upload to a new testimonial. Raises `RecordingGone` if another has it."""
    recording = uploads.find_upload(project, sent.id, for_update=True)
    if recording.state != "ready":
        raise RecordingGone
    recording.testimonial_id = row.id
    # What the author wrote with it serves as a transcript.
    recording.transcript = row.text
    set_committed_value(row, "recording", recording)


def _answer(asked: MailedRequest, row: Testimonial, *, asks_email: bool) -> None:
    """Link the first submission through an emailed link to its request.

    This verifies the author's address, unless they entered another.
    """
    now = clock.now()
    asked.opened_at = asked.opened_at or now
    asked.answered_at, asked.next_mail_at = now, None
    asked.testimonial_id = row.id
    if not asks_email or row.author_email == asked.email:
        row.email_verified_at = now


def is_theirs(sent: submission.Submission, row: Testimonial) -> bool:
    """Return whether this form made the testimonial, since anybody may repeat public words."""
    return row.submission_key == _make_key(sent)


def _make_key(sent: submission.Submission) -> str:
    form_key = f"{sent.key} {sent.recording.mark}" if sent.recording else sent.key
    values = sent.values
    columns = [values.get(name, default) for name, default in FORM_COLUMNS.items()]
    parts = [form_key, values["text"], *columns, bool(sent.photo)]
    if values.get("answers"):
        parts.append(values["answers"])
    return hashlib.sha256(json.dumps(parts).encode("utf-8", "surrogatepass")).hexdigest()


def _find_stored(
    project: Project, values: Mapping[str, Any], words: str | None, key: str
) -> Testimonial | None:
    """Return the testimonial of the same form, or of the same author and text within a day.

    A double click or a retry sends the same form; another tab has its own. Deleted or withdrawn
    texts may be sent again in another form.
    """
    by_key = select(Testimonial).where(Testimonial.submission_key == key)
    stored = db.session.scalars(by_key).one_or_none()
    # Recordings are never the same, even if the texts with them are.
    if stored is not None or not words or "kind" in values:
        return stored
    is_same = [
        getattr(Testimonial, name).is_not_distinct_from(values.get(name, default))
        for name, default in FORM_COLUMNS.items()
    ]
    has_photo = Testimonial.avatar_id.is_not(None)
    query = select(Testimonial).where(
        Testimonial.project_id == project.id,
        Testimonial.created_at > clock.now() - timedelta(days=1),
        Testimonial.source == "public_page",
        Testimonial.status != "withdrawn",
        Testimonial.deleted_at.is_(None),
        Testimonial.text_fingerprint == words,
        # The owner may have edited the text already.
        func.coalesce(Testimonial.original_text, Testimonial.text) == values["text"],
        has_photo if values["avatar_id"] else ~has_photo,
        *is_same,
    )
    answers, form_name = values.get("answers"), values.get("form_name")
    rows = db.session.scalars(query.limit(20))
    return next((row for row in rows if (row.answers, row.form_name) == (answers, form_name)), None)


# Suspected spam isn't refused: a held submission is stored and can be released. Each rule looks for
# something that people don't do, so one is enough; speed counts only together with a link.

# Several people may write the same few words, but not the same sentence.
OWN_WORDS_LENGTH = 30

# A link has a scheme, www, or a host with a path. Only hosts of up to ten parts are searched for,
# since more would be slow in a text full of dots.
_LINK = re.compile(
    r"(?:(?:https?://|www\.)|(?<![a-z0-9-])(?:[a-z0-9-]{1,63}+\.){1,9}[a-z]{2,63}+/)"
    r"[^\s<>\"'\[\]]++",
    re.IGNORECASE,
)
# Only programs write markup.
_MARKUP = re.compile(r"<a\s[^<>]*href|\[(?:url|link)\b", re.IGNORECASE)


def find_reasons(
    project: Project,
    values: Mapping[str, Any],
    words: str | None,
    signs: Sequence[str],
    now: datetime,
) -> list[str]:
    """Return the reasons for holding a submission to the locked project, if any.

    `values` are its columns, `words` the fingerprint of its text, and `signs` the reasons found in
    the request itself.
    """
    reasons = set(signs)
    if not find_links(values["text"]):
        # Pasting a prepared text is just as fast.
        reasons.discard(submission.FAST)
    answers = values.get("answers") or ()
    texts = [values["text"], *(each["answer"] for each in answers if each["kind"] == "text")]
    if any(is_link_stuffed(text, values["author_name"]) for text in texts):
        reasons.add(submission.LINKS)
    if words and _has_duplicate(project, values, words, now):
        reasons.add(submission.DUPLICATE)
    if _is_flooded(project, now):
        reasons.add(submission.FLOOD)
    return [reason for reason in submission.REASONS if reason in reasons]


def is_link_stuffed(text: str, name: str) -> bool:
    """Return whether there are three links, more link than text, markup, or a link in the name."""
    links = find_links(text)
    if len(links) > 2 or _MARKUP.search(text) or find_links(name):
        return True
    length = sum(map(len, links))
    return length > len("".join(text.split())) - length


def find_links(text: str) -> list[str]:
    return _LINK.findall(text)


def count_flood(project: Project) -> int:
    """Return how many testimonials from floods in the last week are still in spam."""
    row, since = Testimonial, clock.now() - timedelta(days=7)
    count = select(func.count(row.id)).where(row.project_id == project.id, row.created_at > since)
    flood = count.where(row.held_for.contains(submission.FLOOD), row.status == "spam")
    return int(db.session.scalar(flood) or 0)


def _has_duplicate(project: Project, values: Mapping[str, Any], words: str, now: datetime) -> bool:
    # In a flood of the same text, the newest are enough.
    names = db.session.scalars(
        select(Testimonial.author_name)
        .where(
            Testimonial.project_id == project.id,
            Testimonial.text_fingerprint == words,
            Testimonial.created_at > now - timedelta(days=7),
            Testimonial.deleted_at.is_(None),
            # An author who withdrew may write again.
            Testimonial.status != "withdrawn",
        )
        .order_by(Testimonial.created_at.desc())
        .limit(50)
    ).all()
    if len(bare(values["text"])) >= OWN_WORDS_LENGTH:
        return bool(names)
    return bare(values["author_name"]) in map(bare, names)


def _is_flooded(project: Project, now: datetime) -> bool:
    """Return whether more arrived in an hour than FLOOD_PER_HOUR and a tenth of last month's."""
    hour, limit = now - timedelta(hours=1), current_settings().flood_per_hour
    if not limit or not _reaches(project, hour, limit):
        return False
    row = Testimonial
    usual = select(row.id).where(row.project_id == project.id, row.created_at <= hour)
    usual = usual.where(row.status.in_(("pending", "approved")))
    usual = usual.where(row.created_at > now - timedelta(days=30)).limit(20_000)
    count = db.session.scalar(select(func.count()).select_from(usual.subquery()))
    allowed = int(count or 0) // 10
    return allowed <= limit or _reaches(project, hour, allowed)


def _reaches(project: Project, since: datetime, count: int) -> bool:
    # Reading the hundredth newest is cheap, no matter how many there are.
    row = Testimonial
    query = select(row.id).where(row.project_id == project.id, row.source == "public_page")
    query = query.where(row.created_at > since).order_by(row.created_at.desc()).offset(count - 1)
    return db.session.scalar(query.limit(1)) is not None
