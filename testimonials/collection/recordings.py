"""A recording that is sent with the form: uploaded by its script before, or as a file with it."""

from dataclasses import dataclass
from typing import Any

from flask import request, url_for

from testimonials.core.web.languages import PARAMETER, current_language
from testimonials.core.web.languages import gettext as _
from testimonials.core.web.rate_limits import client_key
from testimonials.extensions import limiter
from testimonials.media import store, uploads
from testimonials.media.containers.contents import Contents
from testimonials.media.quota import MEGABYTE
from testimonials.media.refusals import TOO_LARGE, RecordingGone, RecordingTooLarge
from testimonials.projects.models import Project
from testimonials.settings.current import current_settings
from testimonials.testimonials.models import Recording, Testimonial

# The id of an upload, and a file where there is no script.
FIELD, FILE_FIELD = "recording", "recording_file"
# That an upload came as a file of the form before.
KEPT_FIELD = "recording_kept"
# Of a form besides its recording.
REST_BYTES = 16 * MEGABYTE


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
    return current_settings().recording_megabytes * MEGABYTE + REST_BYTES


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
        store.remove_files([sent.id])
