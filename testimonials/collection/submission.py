"""The form of the collection page as it was sent: text, photo, token, and reasons to hold it."""

from dataclasses import dataclass, field
from typing import Any

from flask import current_app, request
from werkzeug.exceptions import RequestEntityTooLarge

from testimonials.collection import submission_schemas
from testimonials.collection.form_data import list_form_questions
from testimonials.collection.forms import read_form_design
from testimonials.collection.models import CollectionForm
from testimonials.collection.questions import read_answers, read_typed
from testimonials.collection.spam import BAIT
from testimonials.collection.storing import (
    FormStale,
    FormToken,
    Submission,
    make_form_token,
    read_form_token,
)
from testimonials.collection.submission_schemas import (
    SentRecording,
    has_file,
    has_recording,
    largest_form,
    list_kinds,
    read_recording,
    read_submission,
    refuse_large_form,
)
from testimonials.collection.verified_purchases import PURCHASE, Purchase, read_purchase
from testimonials.core.extensions import limiter
from testimonials.core.http.errors import RateLimited
from testimonials.core.http.i18n import translate
from testimonials.core.http.rate_limits import client_key
from testimonials.core.http.security import answer_as
from testimonials.core.images.uploads import Image, ImageBusy, ImageRefused
from testimonials.projects.models import Project
from testimonials.projects.page_design import offers_code
from testimonials.testimonials.media.recordings import NoRoom, RecordingGone, RecordingRefused

HONEYPOT = "subject"
# Hidden fields that come again as they were sent: a recording that has arrived, and what proves a
# purchase, which a link brings along.
HIDDEN = ("purchase",)


@dataclass
class FilledForm:
    """The form as it was sent: texts, columns, and what is wrong with them."""

    token: str
    typed: dict[str, str] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)
    errors: dict[str, list[str]] = field(default_factory=dict)
    photo: Image | None = None
    recording: SentRecording | None = None
    sending: FormToken = field(default_factory=FormToken)
    # None: the project's own page.
    form: CollectionForm | None = None
    # What the link proved that led to the form.
    purchase: Purchase | None = None
    # What was typed or chosen for the questions, by field.
    answered: dict[str, list[str]] = field(default_factory=dict)
    hidden: dict[str, str] = field(default_factory=dict)

    def to_submission(self, *, signs: list[str], may_mail: bool) -> Submission:
        if request.form.get(HONEYPOT):
            signs = [BAIT, *signs]
        key = self.sending.key
        return Submission(
            self.values,
            f"{key} {self.recording.mark}" if self.recording else key,
            [*self.sending.signs, *signs],
            photo=self.photo,
            recording=self.recording,
            link=read_link("invitation"),
            order=self.purchase.order if self.purchase else "",
            tag=read_form_design(self.form)["tag"] if self.form else "",
            may_mail=may_mail,
        )


def read_submission_form(project: Project, own: CollectionForm | None) -> FilledForm:
    """Read and check the form that was sent to the project's page; count its photo."""
    if errors := _allow_files(project):
        return FilledForm(make_form_token(project, is_empty=False), errors=errors, form=own)
    collect, is_recorded = project.page_config["collectFields"], has_recording(project)
    sent = read_submission(request.form, collect, has_recording=is_recorded)
    token = request.form.get("token", "")
    form = FilledForm(token, sent.typed, sent.values, sent.errors, form=own, hidden=read_hidden())
    form.purchase = read_purchase(project, read_link(PURCHASE))
    _read_answers(project, form)
    try:
        form.sending = read_form_token(project, token)
    except FormStale as error:
        form.errors["form"] = [translate(error.message)]
        form.token = make_form_token(project, is_empty=False)
    try:
        form.photo = _read_photo(project)
    except (ImageRefused, ImageBusy) as error:
        form.errors["photo"] = [error.message]
        answer_as(error)
    if is_recorded:
        _read_recording(project, form)
    return form


def read_hidden() -> dict[str, str]:
    """Return what a link, or the form before, brought along."""
    return {name: text for name in HIDDEN if (text := request.values.get(name, ""))}


def read_link(name: str) -> str:
    """Return the token of the link that led here, from the address or the form.

    `name` is that of its field: `invitation` of a mailed request, `purchase` of a purchase. From
    the address alone if the form is too large to be read.
    """
    try:
        return request.values.get(name, "")
    except RequestEntityTooLarge:
        return request.args.get(name, "")


def _read_answers(project: Project, form: FilledForm) -> None:
    questions = list_form_questions(project, form.form)
    answers, errors = read_answers(request.form, questions)
    form.answered = read_typed(request.form, questions)
    form.values["answers"] = answers or None
    form.values["form_name"] = form.form.name if form.form else None
    form.values["is_rewarded"] = offers_code(project.page_design)
    form.errors |= errors


def _allow_files(project: Project) -> dict[str, list[str]]:
    """Raise the limit for a form with files, though not for its text; return why it is too large.

    The files travel on the disk.
    """
    is_taken = {
        "recording": bool(list_kinds(project)),
        "photo": submission_schemas.collects_photo(project),
    }
    if not any(is_taken.values()) or request.mimetype != "multipart/form-data":
        return {}
    request.max_form_memory_size = current_app.config["MAX_CONTENT_LENGTH"]
    most = largest_form() if is_taken["recording"] else submission_schemas.UPLOAD_FORM_BYTES
    request.max_content_length = most
    if (request.content_length or 0) <= most:
        return {}
    if is_taken["recording"]:
        return {"recording": [refuse_large_form().message]}
    return {"photo": [translate(submission_schemas.PHOTO_TOO_LARGE)]}


def _read_recording(project: Project, form: FilledForm) -> None:
    try:
        form.recording = read_recording(project)
    except (RecordingRefused, RecordingGone, NoRoom, RateLimited) as error:
        # The page's script sends a form that lacks something before its recording.
        if not form.errors or has_file():
            form.errors["recording"] = [translate(error.message)]
            answer_as(error)
    if form.recording is not None:
        form.values["kind"] = form.recording.kind


def _read_photo(project: Project) -> Image | None:
    """Return the form's photo; uploads are limited by IP address."""
    if not submission_schemas.collects_photo(project):
        return None
    file = request.files.get("photo")
    if submission_schemas.is_new_photo(request.form, file):
        try:
            limiter.count(submission_schemas.PHOTOS_PER_ADDRESS, client_key())
        except RateLimited:
            raise ImageRefused(translate(submission_schemas.TOO_MANY)) from None
    return submission_schemas.read_photo(project, request.form, file)
