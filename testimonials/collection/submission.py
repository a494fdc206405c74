"""Reading a submitted form: its fields, token, photo and recording."""

import json
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import IO, Any

from flask import Request
from marshmallow import post_load

from testimonials.auth.cookies import read_session_cookie
from testimonials.auth.email_addresses import Email, hash_mailbox
from testimonials.collection.context import Context
from testimonials.collection.forms import read_answers, read_typed
from testimonials.core import clock
from testimonials.core.db.identifiers import new_identifier
from testimonials.core.extensions import db, limiter
from testimonials.core.http.errors import RateLimited
from testimonials.core.http.fields import OneLine, Switch, Text
from testimonials.core.http.forms import FormSchema, SentForm
from testimonials.core.http.i18n import PARAMETER, gettext, gettext_noop, translate
from testimonials.core.http.rate_limits import Limit, client_key
from testimonials.core.http.security import answer_as
from testimonials.core.http.signing import TokenExpired, TokenInvalid, TokenPurpose
from testimonials.core.images.uploads import AVATAR, Image, ImageBusy, ImageRefused, read_image
from testimonials.core.settings.table import current_settings
from testimonials.projects.models import Project
from testimonials.projects.website import is_of_website
from testimonials.testimonials.fields import AuthorLine, AuthorName, Rating, Words
from testimonials.testimonials.media import uploads
from testimonials.testimonials.media.containers import Contents
from testimonials.testimonials.media.recordings import (
    TOO_LARGE,
    NoRoom,
    RecordingGone,
    RecordingRefused,
)

# The reasons in `Testimonial.held_for`, in order.
REASONS = BAIT, FAST, LINKS, DUPLICATE, ADDRESS, FLOOD = (
    "bait", "fast", "links", "duplicate", "address", "flood"
)  # fmt: skip

# Fields that a project may collect.
OPTIONAL = ("role", "company", "email", "rating")
# The length limit of hidden fields; real tokens have a few hundred characters.
LONGEST_TOKEN = 2_000
# By kind of testimonial, without and with the author's photo.
_FILE = Path(__file__).with_name("consents.json")
_CONSENTS: dict[str, dict[str, list[str]]] = json.loads(_FILE.read_text(encoding="utf-8"))


class WordsForm(FormSchema):
    """The fields that an author may correct."""

    text = Words(missing=gettext_noop("Write a sentence or two."))
    name = AuthorName(attribute="author_name", missing=gettext_noop("Enter your name."))
    role = AuthorLine(attribute="author_role", load_default="")
    company = AuthorLine(attribute="author_company")
    rating = Rating(is_whole=True)


class SentenceForm(WordsForm):
    """The fields that the author of a recording may correct."""

    text = Words(required=False, load_default="")


class SignForm(FormSchema):
    seen = OneLine(16, required=True)


class EarlierForm(FormSchema):
    """Whether the public record shows the author's earlier words."""

    shows_earlier = Switch(load_default=False)


class ConsentForm(FormSchema):
    consent = Switch(missing=gettext_noop("Tick this so that your words can be shown."))

    @post_load
    def _drop_consent(self, values: dict[str, Any], **_: Any) -> dict[str, Any]:
        # The sentence is stored instead.
        values.pop("consent", None)
        return values


class SubmissionForm(WordsForm, ConsentForm):
    insider = Switch(attribute="is_insider", load_default=False)
    email = Email(
        attribute="author_email",
        error_messages={
            "malformed": gettext_noop(
                "Enter an email address like name@example.com, or leave it empty."
            ),
            "disposable": gettext_noop(
                "Use a permanent email address. This domain provides disposable ones."
            ),
        },
    )


class RecordingForm(SubmissionForm):
    """The collection form, sent with a recording."""

    text = Words(required=False, load_default="")


class SentAlongForm(FormSchema):
    """The hidden fields of the collection form."""

    token = Text(LONGEST_TOKEN, load_default="")
    # A honeypot, which people don't see.
    subject = Text(LONGEST_TOKEN, load_default="")
    # The photo stored by an earlier attempt (`make_kept_token`), and what to do with it.
    kept_photo = Text(LONGEST_TOKEN, load_default="")
    drop_photo = Text(LONGEST_TOKEN, load_default="")
    without_photo = Text(LONGEST_TOKEN, load_default="")
    # The id of an upload, and whether it was a file sent with an earlier attempt.
    recording = Text(LONGEST_TOKEN, load_default="")
    recording_kept = Text(LONGEST_TOKEN, load_default="")


_ALONG = SentAlongForm()


class MailMeForm(FormSchema):
    """The address to which the author's own link is to be emailed."""

    yours = Text(LONGEST_TOKEN, load_default="")
    email = Email(required=True)


def read_words(
    form: Mapping[str, str], collect: Mapping[str, bool], schema: type[FormSchema]
) -> SentForm:
    """Read a form with the optional fields that the project collects."""
    return _make_schema(schema, frozenset(filter(collect.get, OPTIONAL))).read(form)


def consent_sentence(project: Project, kind: str = "written") -> str:
    """Return the sentence that visitors agree to, which is stored with the testimonial.

    `kind` is the testimonial's, or "any" if the form may contain a file.
    """
    shows_photo = bool(project.page_config["collectFields"].get("avatar"))
    sentence = _CONSENTS[kind]["texts"][shows_photo]
    return gettext(sentence, name=project.name)


@cache
def _make_schema(schema: type[FormSchema], asked: frozenset[str]) -> FormSchema:
    return schema(only=[n for n in schema().fields if n in asked or n not in OPTIONAL])


# A bad photo or recording is an error in its own field only, and files are kept while other fields
# have errors.

# Visitors may share a tablet on a counter, so submissions above this are held, not refused.
HELD_ABOVE = 30
SUBMISSIONS_PER_ADDRESS = Limit("submission-ip", 300, "from one IP address", for_load=True)
PHOTOS_PER_ADDRESS = Limit("submission-photo-ip", 60, "from one IP address", for_load=True)
AUTHOR_MAIL_PER_ADDRESS = Limit("author-mail-ip", 10, "from one IP address")
AUTHOR_MAIL_PER_EMAIL = Limit("author-mail-email", 3, "for one email address", hours=24)

TOKEN_SECONDS = 24 * 60 * 60
# Shorter than unused pictures are kept (testimonials/testimonials.py).
KEPT_SECONDS = 40 * 60 * 60

STALE = gettext_noop(
    "This page was open for a long time. Your words are still here: send them again."
)
GONE = gettext_noop("The photo is no longer stored. Choose it again, or send without it.")
TOO_MANY = gettext_noop(
    "Too many photos came from your network. Send without it, or try again in an hour."
)
PHOTO_TOO_LARGE = gettext_noop(
    "The photo is too large: the limit is 10 MB. Go back to find what you typed, and choose a "
    "smaller photo."
)

form_purpose = TokenPurpose("collection-form")
kept_purpose = TokenPurpose("collection-photo")


@dataclass(frozen=True)
class SentRecording:
    """A submitted form's recording, with its `contents` if it was a file in the form."""

    id: str
    kind: str
    # The kind of the sentence that the author agreed to.
    consent: str
    contents: Contents | None = None

    @property
    def mark(self) -> str:
        """The same for equal recordings, so that sending a form twice stores one testimonial."""
        return f"file {self.contents.seconds} {self.contents.codecs}" if self.contents else self.id


@dataclass
class Submission:
    """A submitted form: the texts as typed, the columns to store, and the errors."""

    token: str = ""
    typed: dict[str, str] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)
    errors: dict[str, list[str]] = field(default_factory=dict)
    # What was typed or chosen for the questions, by field.
    answered: dict[str, list[str]] = field(default_factory=dict)
    photo: Image | None = None
    recording: SentRecording | None = None
    # Identifies the form, so that sending it twice stores one row.
    key: str = ""
    # Reasons for holding it (`REASONS`).
    signs: list[str] = field(default_factory=list)
    # Whether the author may get an email.
    may_mail: bool = False


# A visit is a page opened in a tab, identified by its form's random number, which is secret, and
# the day on which it was opened.

_PROGRAM = re.compile(
    r"bot|crawl|spider|slurp|headless|lighthouse|preview|facebookexternalhit|pingdom|monitor"
    r"|phantom|puppeteer|playwright|selenium|curl|wget|python|httpclient",
    re.IGNORECASE,
)
# Flags of a form's token.
_IS_EMPTY, _IS_UNCOUNTED = 1, 2


@dataclass(frozen=True)
class FormToken:
    number: str
    made: datetime
    is_empty: bool
    # None: the visit isn't counted.
    visit: str | None


def make_form_token(context: Context, request: Request, *, is_empty: bool) -> str:
    """Return a token that identifies a form and says when it was opened.

    If the form `is_empty`, not filled in by a link, the time shows whether it was sent faster than
    a person can type.
    """
    flags = _IS_EMPTY * is_empty + _IS_UNCOUNTED * (not is_counted(request))
    return form_purpose.sign([context.project.id, secrets.token_urlsafe(16), flags])


def read_form_token(token: str, project_id: str) -> FormToken | None:
    """Read the token of a project's form; return None if it is invalid or too old."""
    try:
        (signed_project, number, flags), made = form_purpose.read(token, TOKEN_SECONDS)
        visit = None if flags & _IS_UNCOUNTED else f"{made:%Y-%m-%d}.{number}"
    except (TokenInvalid, TokenExpired, TypeError, ValueError):
        return None
    if signed_project != project_id:
        return None
    return FormToken(number, made, bool(flags & _IS_EMPTY), visit)


def is_counted(request: Request) -> bool:
    """Return whether to count the visit: not for bots, signed-in people, or with DNT or GPC."""
    headers, agent = request.headers, request.user_agent.string
    if headers.get("Sec-GPC") == "1" or headers.get("DNT") == "1" or read_session_cookie():
        return False
    return bool(agent) and not _PROGRAM.search(agent)


def fill_in(context: Context, request: Request) -> Submission:
    """Return a form with values from a link such as ``?name=Aiko&rating=5``, if it asks for them.

    Invalid values are ignored, since the visitor didn't type them.
    """
    query = request.args
    sent = read_words(query, context.project.page_config["collectFields"], SubmissionForm)
    typed = {
        name: text
        for name in ("name", *OPTIONAL)
        if (text := sent.typed.get(name, "").strip()) and name not in sent.errors
    }
    if known := context.asked or context.purchase:
        about = {"name": known.name, "company": known.company or "", "email": known.email}
        typed |= {name: text for name, text in about.items() if text}
    # A form that a link has filled in may be sent at once.
    is_empty = not set(query) - {PARAMETER}
    return Submission(make_form_token(context, request, is_empty=is_empty), typed)


def parse(context: Context, request: Request) -> Submission:
    """Read and check a form; count it, its files and the email to its author."""
    count = limiter.count(SUBMISSIONS_PER_ADDRESS, f"{context.project.id} {client_key()}")
    if context.is_too_large:
        limit = current_settings().recording_megabytes
        errors = (
            {"recording": [gettext(TOO_LARGE, limit=limit)]}
            if context.kinds
            else {"photo": [translate(PHOTO_TOO_LARGE)]}
        )
        return Submission(make_form_token(context, request, is_empty=False), errors=errors)
    collect = context.project.page_config["collectFields"]
    hidden = dict.fromkeys(_ALONG.fields, "") | _ALONG.read(request.form).values
    # This field is only sent if the page's script doesn't run.
    recording = _find_file(request, "recording_file") if context.kinds else None
    is_recorded = recording is not None or bool(context.kinds and hidden["recording"])
    answers, problems = read_answers(request.form, context.questions)
    answered = read_typed(request.form, context.questions)
    schema = RecordingForm if is_recorded else SubmissionForm
    words = read_words(request.form, collect, schema)
    values = words.values | {
        "answers": answers or None,
        "form_name": context.form.name if context.form else None,
        "is_rewarded": context.is_rewarded,
        "is_insider": _is_insider(context, words.values),
    }
    sent = Submission(hidden["token"], words.typed, values, words.errors | problems, answered)
    _read_token(context, sent, request)
    if context.takes_photo and not hidden["without_photo"]:
        _read_photo(context, sent, hidden, _find_file(request, "photo"))
    if is_recorded:
        _read_recording(context, sent, hidden, recording)
    if not sent.errors:
        sent.signs += [BAIT] if hidden["subject"] else []
        sent.signs += [ADDRESS] if count > HELD_ABOVE else []
        sent.may_mail = may_mail(sent.values.get("author_email"))
        consent = sent.recording.consent if sent.recording else "written"
        sent.values["consent_text"] = consent_sentence(context.project, consent)
    return sent


def _is_insider(context: Context, values: Mapping[str, Any]) -> bool:
    """Return whether the author works here or is related: they say so, or their address does."""
    is_declared = context.project.whole_page_design["asksInsider"] and values.get("is_insider")
    asked = context.answers.email if context.answers else None
    emails = filter(None, (values.get("author_email"), asked))
    has_website = context.project.page_config["website"]
    is_ours = has_website and any(is_of_website(context.project, each) for each in emails)
    return bool(is_declared or is_ours)


def may_mail(email: str | None) -> bool:
    """Count an email to a typed address, which may be anybody's; return whether it may be sent."""
    return (
        bool(email)
        and limiter.allows(AUTHOR_MAIL_PER_ADDRESS, client_key(ipv6_bits=48))
        and limiter.allows(AUTHOR_MAIL_PER_EMAIL, hash_mailbox(email or ""))
    )


def make_kept_token(context: Context, photo: Image | None) -> str:
    """Return the token with which a form refers to a stored photo."""
    return kept_purpose.sign([context.project.id, photo.id]) if photo else ""


def _read_token(context: Context, sent: Submission, request: Request) -> None:
    token = read_form_token(sent.token, context.project.id)
    if token is None:
        sent.errors["form"] = [translate(STALE)]
        sent.token = make_form_token(context, request, is_empty=False)
        return
    # Tokens contain whole seconds, so a form may seem up to a second older.
    age = (clock.now() - token.made).total_seconds()
    sent.key = token.number
    sent.signs += [FAST] if token.is_empty and age < current_settings().min_form_seconds else []
    sent.values["visit"] = token.visit


def _read_photo(
    context: Context, sent: Submission, hidden: Mapping[str, str], file: IO[bytes] | None
) -> None:
    """Read the photo, or find the stored one that the form refers to."""
    try:
        if file is not None:
            try:
                limiter.count(PHOTOS_PER_ADDRESS, client_key())
            except RateLimited:
                raise ImageRefused(translate(TOO_MANY)) from None
            sent.photo = read_image(file, AVATAR)
            sent.photo.id = new_identifier()
        elif hidden["kept_photo"] and not hidden["drop_photo"]:
            named = kept_purpose.find(hidden["kept_photo"], 2, KEPT_SECONDS) or (None, None)
            is_ours = named[0] == context.project.id
            sent.photo = db.session.get(Image, named[1]) if is_ours else None
            if sent.photo is None:
                raise ImageRefused(translate(GONE))
    except (ImageRefused, ImageBusy) as error:
        sent.errors["photo"] = [error.message]
        answer_as(error)


def _read_recording(
    context: Context, sent: Submission, hidden: Mapping[str, str], file: IO[bytes] | None
) -> None:
    """Store a recording sent as a file, or find the upload that the form refers to."""
    project = context.project
    try:
        if file is not None:
            limiter.count(uploads.RECORDINGS_PER_ADDRESS, f"{project.id} {client_key()}")
            id, contents = uploads.take_file(project, context.kinds[0], file)
            sent.recording = SentRecording(id, contents.kind, "any", contents)
        else:
            upload = uploads.find_ready(project, hidden["recording"])
            consent = "any" if hidden["recording_kept"] else upload.kind
            sent.recording = SentRecording(upload.id, upload.kind, consent)
        sent.values["kind"] = sent.recording.kind
    except (RecordingRefused, RecordingGone, NoRoom, RateLimited) as error:
        # The page's script sends an incomplete form before the recording is uploaded.
        if file is not None or not sent.errors:
            sent.errors["recording"] = [translate(error.message)]
            answer_as(error)


def _find_file(request: Request, name: str) -> IO[bytes] | None:
    file = request.files.get(name)
    return file.stream if file is not None and file.filename else None
