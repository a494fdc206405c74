"""Storing a submission, or holding it as spam, and telling of it."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from sqlalchemy import Select, func, inspect, select
from sqlalchemy.orm.attributes import set_committed_value

from testimonials.auth.emails import send_plain_mail
from testimonials.collection import submission
from testimonials.collection.author_rights import MAIL_LINK
from testimonials.collection.context import Context
from testimonials.collection.events import REQUEST_ANSWERED
from testimonials.collection.models import MailedRequest
from testimonials.collection.verified_purchases import is_used
from testimonials.core import clock
from testimonials.core.audit import record
from testimonials.core.db.engine import insert_row
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db
from testimonials.core.http.i18n import current_language
from testimonials.core.http.urls import project_url
from testimonials.core.jobs import enqueue, job
from testimonials.core.settings.current import count_days, current_settings
from testimonials.core.text import bare, cut, fingerprint
from testimonials.projects.models import Project
from testimonials.projects.notifications import Reader, list_readers, make_unsubscribe_url
from testimonials.projects.page_design import write_offer
from testimonials.testimonials.events import BY_AUTHOR, TESTIMONIAL_SUBMITTED
from testimonials.testimonials.media import uploads
from testimonials.testimonials.media.recordings import RecordingGone, remove_files
from testimonials.testimonials.models import Testimonial
from testimonials.testimonials.notifications import NAME_LENGTH, enqueue_telling, take_up
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


def store(context: Context, sent: submission.Submission) -> tuple[Testimonial, bool]:
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


def keep_files(context: Context, sent: submission.Submission) -> None:
    """Store the files of a form, once, so that they needn't be uploaded again."""
    if sent.photo is not None and inspect(sent.photo).transient:
        db.session.add(sent.photo)
        db.session.flush()
    if sent.recording is not None and sent.recording.found is not None:
        uploads.add_taken(context.project, sent.recording.id, sent.recording.found)


def announce(context: Context, sent: submission.Submission, row: Testimonial) -> None:
    """Let the owner and the author be told of a new testimonial, and record it."""
    project, asked = context.project, context.asked
    if row.status == "spam":
        if submission.FLOOD in (row.held_for or ""):
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


def _list_digests(sent: submission.Submission, row: Testimonial) -> dict[str, str]:
    """Return the digests of the media of a new testimonial, which were just stored or read."""
    recording = row.recording if row.is_recorded else None
    found = {"photo": sent.photo and sent.photo.digest, "recording": recording and recording.digest}
    return {name: digest for name, digest in found.items() if digest}


def _attach(project: Project, sent: submission.SentRecording, row: Testimonial) -> None:
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


def _make_key(sent: submission.Submission, values: Mapping[str, Any]) -> str:
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


# Which submissions are held as spam, and why.
#
# Nothing is refused: a held submission is stored and can be released. Each rule looks for something
# that people don't do, so one is enough; speed counts only together with a link.

TELL_OF_FLOOD = "mail.flood"
MAX_LINKS = 2
DUPLICATE_DAYS = timedelta(days=7)
# Several people may write the same few words, but not the same sentence.
OWN_WORDS_LENGTH = 30
# A project that usually gets many may get a tenth of its last thirty days in an hour.
FLOOD_SHARE = 10
USUAL_DAYS = timedelta(days=30)
MAX_COUNTED = 20_000
# How long the inbox mentions a flood.
TOLD_DAYS = timedelta(days=7)

# A link has a scheme, www, or a host with a path. A host has at most ten parts here, so that the
# search takes no longer in a text full of dots.
_LINK = re.compile(
    r"(?:(?:https?://|www\.)|(?<![a-z0-9-])(?:[a-z0-9-]{1,63}+\.){1,9}[a-z]{2,63}+/)"
    r"[^\s<>\"'\[\]]++",
    re.IGNORECASE,
)
# People don't write markup; programs try which kind works.
_MARKUP = re.compile(r"<a\s[^<>]*href|\[(?:url|link)\b", re.IGNORECASE)


def find_reasons(
    project: Project,
    values: Mapping[str, Any],
    words: str | None,
    signs: Sequence[str],
    now: datetime,
) -> list[str]:
    """Return why a submission to the locked project is held; nothing if it isn't.

    `values` are its columns, `words` the fingerprint of its text, if it has any, and `signs` the
    reasons that the request itself gave.
    """
    found = set(signs)
    if not find_links(values["text"]):
        # People who paste a prepared text are just as quick.
        found.discard(submission.FAST)
    answers = values.get("answers") or ()
    said = [values["text"], *(each["answer"] for each in answers if each["kind"] == "text")]
    if any(is_link_stuffed(text, values["author_name"]) for text in said):
        found.add(submission.LINKS)
    if words and _has_duplicate(project, values, words, now):
        found.add(submission.DUPLICATE)
    if _is_flooded(project, now):
        found.add(submission.FLOOD)
    return [reason for reason in submission.REASONS if reason in found]


def is_link_stuffed(text: str, name: str) -> bool:
    """Tell whether a text has three links, more link than words, or markup; or a name has one."""
    links = find_links(text)
    if len(links) > MAX_LINKS or _MARKUP.search(text) or find_links(name):
        return True
    length = sum(map(len, links))
    return length > len("".join(text.split())) - length


def find_links(text: str) -> list[str]:
    return _LINK.findall(text)


@job(TELL_OF_FLOOD, "mail")
def tell_of_held(testimonial_id: str) -> None:
    with write(partial(take_up, testimonial_id)) as found:
        if found is not None:
            tell_of_flood(*found)


def tell_of_flood(project: Project, row: Testimonial) -> None:
    """Notify the project's people of the first submission of a day that is held as a flood.

    There may be a reason for it, such as an event of theirs.
    """
    midnight = row.created_at.replace(hour=0, minute=0, second=0, microsecond=0)
    earlier = _find_flood(project, midnight).where(Testimonial.created_at < row.created_at)
    newest = earlier.order_by(Testimonial.created_at.desc()).limit(1)
    if db.session.scalar(newest) is not None:
        return
    for reader in list_readers(project):
        if reader.mode != "never":
            _send_flood_mail(project, reader)


def _send_flood_mail(project: Project, reader: Reader) -> None:
    """Tell somebody that a flood was held as spam, and that some of it may be real."""
    name = cut(project.name, NAME_LENGTH)
    send_plain_mail(
        reader.email,
        "flood",
        f"Many testimonials came at once for {name}",
        [
            f"More than {current_settings().flood_per_hour} testimonials arrived within an hour. "
            f"The rest are held as spam{_for_days(count_days('spam'))}, since it is mostly "
            "programs that send so many.",
            "If they came from an event or a newsletter, release them there; nothing is lost. The "
            "operator of this service can raise the limit.",
        ],
        footnote="You get this mail once a day at most, and never if you choose “Never” in the "
        "project’s settings, Mail to you.",
        link=f"{project_url(project.id, 'inbox')}?status=spam",
        button="Open the spam folder",
        list_unsubscribe=make_unsubscribe_url(project.id, reader.account_id),
    )


def _for_days(days: int) -> str:
    return f" for {days} day{'s' if days > 1 else ''}" if days else ""


def count_flood(project: Project) -> int:
    """Return how many testimonials of a recent flood are still in spam."""
    found = _find_flood(project, clock.now() - TOLD_DAYS).where(Testimonial.status == "spam")
    return int(db.session.scalar(select(func.count()).select_from(found.subquery())) or 0)


def _find_flood(project: Project, since: datetime) -> Select[str]:
    return select(Testimonial.id).where(
        Testimonial.project_id == project.id,
        Testimonial.created_at > since,
        Testimonial.held_for.contains(submission.FLOOD),
    )


def _has_duplicate(project: Project, values: Mapping[str, Any], words: str, now: datetime) -> bool:
    # The newest are enough in a flood of the same words.
    names = db.session.scalars(
        select(Testimonial.author_name)
        .where(
            Testimonial.project_id == project.id,
            Testimonial.text_fingerprint == words,
            Testimonial.created_at > now - DUPLICATE_DAYS,
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
    """Tell whether the project got more within the hour than the setting and its usual share."""
    hour, limit = now - timedelta(hours=1), current_settings().flood_per_hour
    if not limit or not _reaches(project, hour, limit):
        return False
    usual = (
        select(Testimonial.id)
        .where(
            Testimonial.project_id == project.id,
            Testimonial.status.in_(("pending", "approved")),
            Testimonial.created_at > now - USUAL_DAYS,
            Testimonial.created_at <= hour,
        )
        .limit(MAX_COUNTED)
    )
    count = db.session.scalar(select(func.count()).select_from(usual.subquery()))
    allowed = int(count or 0) // FLOOD_SHARE
    return allowed <= limit or _reaches(project, hour, allowed)


def _reaches(project: Project, since: datetime, count: int) -> bool:
    # Looking for the hundredth newest costs little, however many there are.
    query = (
        select(Testimonial.id)
        .where(
            Testimonial.project_id == project.id,
            Testimonial.source == "public_page",
            Testimonial.created_at > since,
        )
        .order_by(Testimonial.created_at.desc())
        .offset(count - 1)
    )
    return db.session.scalar(query.limit(1)) is not None
