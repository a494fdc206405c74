"""A recording that is sent with the form: uploaded by its script before, or as a file with it."""

from dataclasses import dataclass

from flask import request

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
# Of a form besides its recording.
REST_BYTES = 16 * MEGABYTE


@dataclass(frozen=True)
class SentRecording:
    """A recording that came with a form; `found` is what is in one that came as a file."""

    id: str
    kind: str
    found: Contents | None = None

    @property
    def mark(self) -> str:
        """The same for the same recording, so that sending a form twice stores one testimonial."""
        return f"file {self.found.seconds} {self.found.codecs}" if self.found else self.id


def takes_recordings(project: Project) -> bool:
    design = project.whole_page_design
    return bool(design["video"] or design["voice"])


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
        return SentRecording(taken, found.kind, found)
    if not recording_id:
        return None
    recording = uploads.find_ready(project, recording_id)
    return SentRecording(recording.id, recording.kind)


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
