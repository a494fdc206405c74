"""The fields of the form, a photo and a recording as they are sent."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from flask import request, url_for
from marshmallow import post_load
from sqlalchemy import inspect
from werkzeug.datastructures import FileStorage

from testimonials.auth.email_addresses import Email
from testimonials.core.db.identifiers import new_identifier
from testimonials.core.extensions import db, limiter
from testimonials.core.http.fields import Switch
from testimonials.core.http.forms import FormSchema, SentForm
from testimonials.core.http.i18n import PARAMETER, current_language, gettext, gettext_noop
from testimonials.core.http.i18n import gettext as _
from testimonials.core.http.rate_limits import Limit, client_key
from testimonials.core.http.signing import TokenPurpose
from testimonials.core.images.uploads import AVATAR, MEGABYTE, Image, ImageRefused, read_image
from testimonials.core.settings.current import current_settings
from testimonials.projects.models import Project
from testimonials.testimonials.fields import AuthorLine, AuthorName, Rating, Words
from testimonials.testimonials.media import recordings, uploads
from testimonials.testimonials.media.containers import Contents
from testimonials.testimonials.media.recordings import MEGABYTE as RECORDINGS_MEGABYTE
from testimonials.testimonials.media.recordings import TOO_LARGE, RecordingGone, RecordingTooLarge
from testimonials.testimonials.models import Recording, Testimonial

# What a visitor or an author sends from a page, and the sentence that they agree to.

# Asked for where the project collects them.
OPTIONAL = ("role", "company", "email", "rating")


# Without the author's photo, and with it.
_CONSENTS = {
    "written": (
        gettext_noop("%(name)s may show my words and name on its website and in print."),
        gettext_noop("%(name)s may show my words, name and photo on its website and in print."),
    ),
    "video": (
        gettext_noop(
            "%(name)s may show my video, voice, words and name on its website and in print."
        ),
        gettext_noop(
            "%(name)s may show my video, voice, words, name and photo on its website and in print."
        ),
    ),
    "voice": (
        gettext_noop(
            "%(name)s may play my voice and show my words and name on its website and in print."
        ),
        gettext_noop(
            "%(name)s may play my voice and show my words, name and photo on its website and in "
            "print."
        ),
    ),
    "any": (
        gettext_noop(
            "%(name)s may show my words and name, and my video or voice if I send one, on its "
            "website and in print."
        ),
        gettext_noop(
            "%(name)s may show my words, name and photo, and my video or voice if I send one, on "
            "its website and in print."
        ),
    ),
}


class WordsForm(FormSchema):
    """What an author may correct."""

    text = Words(error_messages={"required": gettext_noop("Write a sentence or two.")})
    name = AuthorName(
        attribute="author_name",
        error_messages={"required": gettext_noop("Add your name, as it should appear.")},
    )
    role = AuthorLine(attribute="author_role", load_default="")
    company = AuthorLine(attribute="author_company")
    rating = Rating(is_whole=True)


class SentenceForm(WordsForm):
    """What the author of a recording may correct."""

    text = Words(required=False, load_default="")


class ConsentForm(FormSchema):
    """The consent to show the words."""

    consent = Switch(
        required=True,
        error_messages={"required": gettext_noop("Tick this, so that your words may be shown.")},
    )

    @post_load
    def _drop_consent(self, values: dict[str, Any], **_: Any) -> dict[str, Any]:
        # The sentence is stored, not the tick.
        values.pop("consent", None)
        return values


class SubmissionForm(WordsForm, ConsentForm):
    """The form of the collection page."""

    email = Email(
        attribute="author_email",
        error_messages={
            "malformed": gettext_noop(
                "Write the address like name@example.com, or leave it empty."
            ),
            "disposable": gettext_noop("Use a permanent address, or leave this empty."),
        },
    )


class RecordingForm(SubmissionForm):
    """The form of the collection page, sent with a recording."""

    text = Words(required=False, load_default="")


class MailMeForm(FormSchema):
    """Where the author's own link is mailed to."""

    email = Email(required=True)


def read_submission(
    form: Mapping[str, str], collect: Mapping[str, bool], *, has_recording: bool = False
) -> SentForm:
    """Read what a visitor sent, of the fields that the project collects.

    With a recording, the words may be left out.
    """
    schema = RecordingForm if has_recording else SubmissionForm
    return _make_schema(schema, _asked(collect)).read(form)


def read_correction(
    form: Mapping[str, str], collect: Mapping[str, bool], *, has_recording: bool = False
) -> SentForm:
    """Read what an author sent, of the fields that their form has."""
    schema = SentenceForm if has_recording else WordsForm
    return _make_schema(schema, _asked(collect)).read(form)


def read_prefill(query: Mapping[str, str], collect: Mapping[str, bool]) -> dict[str, str]:
    """Return what a link such as ``?name=Aiko&rating=5`` fills in, where the project asks for it.

    Invalid values are ignored: the visitor didn't write them.
    """
    sent = read_submission(query, collect)
    return {
        name: text
        for name in ("name", *OPTIONAL)
        if (text := sent.typed.get(name, "").strip()) and name not in sent.errors
    }


def consent_sentence(project: Project, kind: str = "written") -> str:
    """Return the sentence that a visitor agrees to; the testimonial keeps it.

    `kind` is that of the testimonial, or "any" where a file may come with the form.
    """
    shows_photo = bool(project.page_config["collectFields"].get("avatar"))
    return gettext(_CONSENTS[kind][shows_photo], name=project.name)


def _asked(collect: Mapping[str, bool]) -> frozenset[str]:
    return frozenset(name for name in OPTIONAL if collect.get(name))


@cache
def _make_schema(schema: type[FormSchema], asked: frozenset[str]) -> FormSchema:
    return schema(only=[n for n in schema().fields if n in asked or n not in OPTIONAL])


# An author's photo, kept while the rest of the form has errors.
#
# A bad photo never loses the text: only its own field has an error, and the form can be sent
# without.

# The server's limit, so that the text arrives even if the photo is too large.
UPLOAD_FORM_BYTES = 16 * MEGABYTE
PHOTOS_PER_ADDRESS = Limit("submission-photo-ip", 60, "from one IP address", for_load=True)
# Shorter than unused pictures are kept (testimonials/testimonials.py).
KEPT_SECONDS = 40 * 60 * 60

GONE = gettext_noop("The photo is no longer stored. Choose it again, or send without it.")
TOO_MANY = gettext_noop(
    "Too many photos came from your network. Send without it, or try again in an hour."
)
PHOTO_TOO_LARGE = gettext_noop(
    "The photo is too large: the limit is 10 MB. The rest of the form was not read either. Go back "
    "in your browser to find what you typed, and choose a smaller photo."
)

kept_purpose = TokenPurpose("collection-photo")


def collects_photo(project: Project) -> bool:
    return bool(project.page_config["collectFields"].get("avatar"))


def is_new_photo(form: Mapping[str, str], file: FileStorage | None) -> bool:
    return not form.get("without_photo") and file is not None and bool(file.filename)


def read_photo(project: Project, form: Mapping[str, str], file: FileStorage | None) -> Image | None:
    """Return the uploaded photo, or the kept one that the form names.

    Raises `ImageRefused` and `ImageBusy`.
    """
    if is_new_photo(form, file) and file is not None:
        image = read_image(file.stream, AVATAR)
        image.id = new_identifier()
        return image
    kept = form.get("kept_photo", "")
    if not kept or form.get("without_photo") or form.get("drop_photo"):
        return None
    return _find_kept(project, kept)


def store_photo(photo: Image | None) -> None:
    """Store the photo, unless it is stored already."""
    if photo is not None and inspect(photo).transient:
        db.session.add(photo)
        db.session.flush()


def make_kept_token(project: Project, photo: Image | None) -> str:
    """Return the token by which a form names a stored photo."""
    return kept_purpose.sign([project.id, photo.id]) if photo else ""


def _find_kept(project: Project, token: str) -> Image:
    project_id, image_id = kept_purpose.find(token, 2, KEPT_SECONDS) or (None, None)
    image = db.session.get(Image, image_id) if project_id == project.id else None
    if image is None:
        raise ImageRefused(_(GONE))
    return image


# A recording that is sent with the form: uploaded by its script before, or as a file with it.

# The id of an upload, and a file where there is no script.
FIELD, FILE_FIELD = "recording", "recording_file"
# That an upload came as a file of the form before.
KEPT_FIELD = "recording_kept"
# Of a form besides its recording.
REST_BYTES = 16 * RECORDINGS_MEGABYTE


@dataclass(frozen=True)
class SentRecording:
    """A recording that came with a form; `found` is what is in one that came as a file."""

    id: str
    kind: str
    # The sentence that was agreed to; see `schemas.consent_sentence`.
    consent: str
    found: Contents | None = None

    @property
    def mark(self) -> str:
        """The same for the same recording, so that sending a form twice stores one testimonial."""
        return f"file {self.found.seconds} {self.found.codecs}" if self.found else self.id


def list_kinds(project: Project) -> list[str]:
    """Return which kinds of recordings the project's page takes."""
    design = project.whole_page_design
    has_room = current_settings().account_recordings_megabytes > 0
    return [kind for kind in ("video", "voice") if has_room and design[kind]]


def describe_recorder(
    project: Project, prompts: list[str], kept: SentRecording | None
) -> dict[str, Any] | None:
    """Return what `collection/_record.html` shows; None if the page takes no recordings."""
    settings, kinds = current_settings(), list_kinds(project)
    language: dict[str, Any] = {PARAMETER: current_language().code}
    if not kinds:
        return None
    return {
        "kinds": kinds,
        "seconds": settings.recording_seconds,
        "megabytes": settings.recording_megabytes,
        "url": url_for("recordings.begin_upload", slug=project.slug),
        "recorder_url": url_for("collection.get_recorder", slug=project.slug, **language),
        "prompts": prompts,
        "kept": kept.id if kept else "",
    }


def has_recording(project: Project) -> bool:
    """Tell whether the form names or brings a recording that the page takes."""
    return bool(list_kinds(project)) and (bool(request.form.get(FIELD)) or has_file())


def has_file() -> bool:
    file = request.files.get(FILE_FIELD)
    return file is not None and bool(file.filename)


def largest_form() -> int:
    """Return how many bytes a form with a recording may have."""
    return current_settings().recording_megabytes * RECORDINGS_MEGABYTE + REST_BYTES


def refuse_large_form() -> RecordingTooLarge:
    return RecordingTooLarge(_(TOO_LARGE, limit=current_settings().recording_megabytes))


def read_recording(project: Project) -> SentRecording | None:
    """Return the form's recording; raise what `media.refusals` has.

    A file is stored by then; `store_recording` adds its row.
    """
    file, recording_id = request.files.get(FILE_FIELD), request.form.get(FIELD, "")
    if file is not None and file.filename:
        key = f"{project.id} {client_key()}"
        limiter.count(uploads.RECORDINGS_PER_ADDRESS, key)
        kind = "video" if project.whole_page_design["video"] else "voice"
        taken, found = uploads.take_file(project, kind, file.stream)
        return SentRecording(taken, found.kind, "any", found)
    if not recording_id:
        return None
    recording = uploads.find_ready(project, recording_id)
    consent = "any" if request.form.get(KEPT_FIELD) else recording.kind
    return SentRecording(recording.id, recording.kind, consent)


def store_recording(project: Project, sent: SentRecording | None) -> None:
    """Add the row of a recording that came as a file, unless it is there."""
    if sent is not None and sent.found is not None:
        uploads.add_taken(project, sent.id, sent.found)


def attach_recording(project: Project, sent: SentRecording, row: Testimonial) -> None:
    """Let a new testimonial have its recording; raise `RecordingGone` if another has it."""
    store_recording(project, sent)
    recording: Recording = uploads.find_upload(project, sent.id, for_update=True)
    if recording.state != "ready":
        raise RecordingGone
    recording.testimonial_id = row.id
    # The sentence that the author read out, or what they say it is about.
    recording.transcript = row.text


def drop_recording(_project: Project, sent: SentRecording, _row: Testimonial) -> None:
    """Remove a file that came a second time with the same form."""
    if sent.found is not None:
        recordings.remove_files([sent.id])
