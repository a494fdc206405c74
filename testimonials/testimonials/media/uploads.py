"""Uploading a recording in pieces."""

import os
from datetime import timedelta
from typing import IO

from sqlalchemy import ColumnElement, delete

from testimonials.core import clock
from testimonials.core.db.identifiers import new_identifier
from testimonials.core.db.transactions import find_row
from testimonials.core.extensions import db
from testimonials.core.http.fields import Choice, Count, OneLine, StrictSchema
from testimonials.core.http.i18n import gettext as _
from testimonials.core.http.rate_limits import Limit
from testimonials.core.images.decode import Use
from testimonials.core.images.uploads import MEGABYTE, Image
from testimonials.core.settings.current import current_settings
from testimonials.projects.models import Project
from testimonials.testimonials.media import recordings
from testimonials.testimonials.media.containers import Contents, check_recording
from testimonials.testimonials.models import Recording

PIECE_BYTES = 512 * 1024
# Each is a whole recording, so nobody needs more, even at a tablet on a counter.
RECORDINGS_PER_ADDRESS = Limit("recording-ip", 30, "from one IP address", for_load=True)
POSTERS_PER_ADDRESS = Limit("recording-poster-ip", 60, "from one IP address", for_load=True)
# How long an upload waits for its next piece, or for its form.
KEPT = timedelta(days=1)
POSTER = Use(720, 720, 2 * MEGABYTE)


def require_taken(project: Project, kind: str) -> None:
    """Raise `RecordingRefused` unless the project's page takes recordings of this kind."""
    require_open(project)
    if not project.whole_page_design[kind]:
        raise recordings.RecordingRefused(_(recordings.NOT_TAKEN))


def require_open(project: Project) -> None:
    """Raise `RecordingRefused` while the project's page takes nothing."""
    if not project.is_open:
        raise recordings.RecordingRefused(_(recordings.NOT_TAKEN))


def begin_upload(project: Project, kind: str, size: int) -> Recording:
    """Make room for a recording of `size` bytes; the project is locked.

    Raises `RecordingRefused`, `RecordingTooLarge` and `NoRoom`.
    """
    _require_room(project, kind, size)
    recording = Recording(id=new_identifier(), project_id=project.id, kind=kind, size=size)
    db.session.add(recording)
    db.session.flush()
    return recording


def _require_room(project: Project, kind: str, size: int) -> None:
    require_taken(project, kind)
    limit = current_settings().recording_megabytes
    if size > limit * MEGABYTE:
        raise recordings.RecordingTooLarge(_(recordings.TOO_LARGE, limit=limit))
    recordings.require_share(project, size)
    recordings.require_room(size)


def find_upload(project: Project, recording_id: str, *, for_update: bool = False) -> Recording:
    """Return a recording that has no testimonial yet; raise `RecordingGone`."""
    is_unsent = Recording.testimonial_id.is_(None)
    return _find(project, recording_id, is_unsent, for_update=for_update)


def find_ready(project: Project, recording_id: str) -> Recording:
    """Return a recording that may be sent, or was just sent; raise `RecordingGone`."""
    return _find(project, recording_id, Recording.state == "ready")


def _find(
    project: Project, recording_id: str, is_wanted: ColumnElement[bool], *, for_update: bool = False
) -> Recording:
    is_own = Recording.project_id == project.id
    found = find_row(Recording, recording_id, is_own, is_wanted, for_update=for_update)
    if found is None:
        raise recordings.RecordingGone
    return found


def find_offset(recording: Recording) -> int:
    """Return how many bytes have arrived of what was announced."""
    if recording.state == "ready":
        return recording.received
    return min(recording.size, recordings.size_of(recording.id))


def receive_piece(recording: Recording, offset: int, piece: bytes) -> int:
    """Store a piece that begins at `offset`; return where it ends.

    Raises `OffsetWrong`, `NoRoom`, and `RecordingTooLarge` past what was announced.
    """
    if offset + len(piece) > recording.size:
        raise recordings.RecordingTooLarge("There is more than was announced.")
    return recordings.append_piece(recording.id, offset, piece)


def check_upload(project: Project, recording: Recording) -> Contents:
    """Check a recording that has arrived whole; it is on the disk then.

    Raises `RecordingRefused`; then it is to be deleted.
    """
    with recordings.hold(recording.id) as path:
        recordings.flush(recording.id)
        found = check_recording(path, recording.kind)
    require_taken(project, found.kind)
    return found


def note_contents(recording: Recording, found: Contents) -> None:
    """Note what is in a recording, which then is ready to be sent; the row is locked."""
    recording.kind, recording.state = found.kind, "ready"
    recording.received = recording.size
    # With the duration that was written into it.
    recording.size = recordings.size_of(recording.id)
    recording.media_type, recording.codecs = found.media_type, found.codecs[:80]
    recording.seconds = round(found.seconds, 2)
    recording.width, recording.height = found.width, found.height
    recording.digest = found.digest
    recording.updated_at = clock.now()


def take_file(project: Project, kind: str, file: IO[bytes]) -> tuple[str, Contents]:
    """Store and check a file that came with a form; return its id and what is in it.

    To be noted by `add_taken`. Raises `RecordingRefused`, `RecordingTooLarge` and `NoRoom`.
    """
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    _require_room(project, kind, size)
    recording_id = new_identifier()
    recordings.keep_file(recording_id, file)
    try:
        with recordings.hold(recording_id) as path:
            found = check_recording(path, kind)
        require_taken(project, found.kind)
        return recording_id, found
    except BaseException:
        recordings.remove_files([recording_id])
        raise


def add_taken(project: Project, recording_id: str, found: Contents) -> Recording:
    """Add the row of a file that `take_file` stored."""
    size = recordings.size_of(recording_id)
    recording = Recording(id=recording_id, project_id=project.id, kind=found.kind, size=size)
    db.session.add(recording)
    note_contents(recording, found)
    db.session.flush()
    return recording


def set_poster(recording: Recording, picture: Image) -> None:
    """Store the poster in place of the one before, which nothing else shows yet."""
    before = recording.poster_id
    db.session.add(picture)
    db.session.flush()
    recording.poster_id = picture.id
    db.session.flush()
    if before is not None:
        db.session.execute(delete(Image).where(Image.id == before))


# Shapes of what uploads say.

MOST_BYTES = 2**40


class UploadSchema(StrictSchema):
    """What is about to be uploaded; its type is looked up in the file itself."""

    kind = Choice("video", "voice", required=True)
    size = Count(1, MOST_BYTES, required=True)
    mediaType = OneLine(200)
