"""Uploading a recording, in pieces or with a form, and removing recordings."""

import os
from collections.abc import Iterable, Sequence
from datetime import timedelta
from functools import partial
from typing import IO

from sqlalchemy import ColumnElement, delete, exists, select

from testimonials.core import clock
from testimonials.core.db.erasure import RECORDING, note_erased
from testimonials.core.db.identifiers import new_identifier
from testimonials.core.db.transactions import do_after_commit, find_row
from testimonials.core.extensions import db
from testimonials.core.http.fields import Choice, Count, OneLine, StrictSchema
from testimonials.core.http.i18n import gettext as _
from testimonials.core.http.i18n import gettext_noop
from testimonials.core.http.rate_limits import Limit
from testimonials.core.images.decode import Use
from testimonials.core.images.uploads import MEGABYTE, Image
from testimonials.core.settings.table import current_settings
from testimonials.projects.models import Project
from testimonials.testimonials.history import change_all, in_chunks
from testimonials.testimonials.media import recordings
from testimonials.testimonials.media.containers import Contents, check_recording
from testimonials.testimonials.models import Recording, Testimonial
from testimonials.testimonials.moderation import ActionRefused

PIECE_BYTES = 512 * 1024
# Enough even for a tablet that many visitors use.
RECORDINGS_PER_ADDRESS = Limit("recording-ip", 30, "from one IP address", for_load=True)
POSTERS_PER_ADDRESS = Limit("recording-poster-ip", 60, "from one IP address", for_load=True)
# How long an upload waits for its next piece, or for its form.
KEPT = timedelta(days=1)
POSTER = Use(720, 720, 2 * MEGABYTE)


def require_taken(project: Project, kind: str) -> None:
    """Raise `RecordingRefused` unless the project's page accepts this kind of recording."""
    require_open(project)
    if not project.whole_page_design[kind]:
        raise recordings.RecordingRefused(_(recordings.NOT_TAKEN))


def require_open(project: Project) -> None:
    """Raise `RecordingRefused` while the project's page accepts nothing."""
    if not project.is_open:
        raise recordings.RecordingRefused(_(recordings.NOT_TAKEN))


def begin_upload(project: Project, kind: str, size: int) -> Recording:
    """Reserve space for a recording of `size` bytes in the locked project.

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
    """Return a recording that has no testimonial yet. Raises `RecordingGone`."""
    is_unsent = Recording.testimonial_id.is_(None)
    return _find(project, recording_id, is_unsent, for_update=for_update)


def find_ready(project: Project, recording_id: str) -> Recording:
    """Return a recording that is complete and checked. Raises `RecordingGone`."""
    return _find(project, recording_id, Recording.state == "ready")


def _find(
    project: Project, recording_id: str, is_wanted: ColumnElement[bool], *, for_update: bool = False
) -> Recording:
    is_own = Recording.project_id == project.id
    recording = find_row(Recording, recording_id, is_own, is_wanted, for_update=for_update)
    if recording is None:
        raise recordings.RecordingGone
    return recording


def find_offset(recording: Recording) -> int:
    """Return how many of the announced bytes have arrived."""
    if recording.state == "ready":
        return recording.received
    return min(recording.size, recordings.size_of(recording.id))


def receive_piece(recording: Recording, offset: int, piece: bytes) -> int:
    """Call `append_piece`; raise `RecordingTooLarge` past the announced size."""
    if offset + len(piece) > recording.size:
        raise recordings.RecordingTooLarge("There is more than was announced.")
    return recordings.append_piece(recording.id, offset, piece)


def check_upload(project: Project, recording: Recording) -> Contents:
    """Flush and check a recording whose last piece has arrived.

    Raises `RecordingRefused`, after which the caller deletes it.
    """
    with recordings.hold(recording.id) as path:
        recordings.flush(recording.id)
        contents = check_recording(path, recording.kind)
    require_taken(project, contents.kind)
    return contents


def set_contents(recording: Recording, contents: Contents) -> None:
    """Store what a check found; the locked recording is then ready to be sent."""
    recording.kind, recording.state = contents.kind, "ready"
    recording.received = recording.size
    # The check may have added the duration.
    recording.size = recordings.size_of(recording.id)
    recording.media_type, recording.codecs = contents.media_type, contents.codecs[:80]
    recording.seconds = round(contents.seconds, 2)
    recording.width, recording.height = contents.width, contents.height
    recording.digest = contents.digest
    recording.updated_at = clock.now()


def take_file(project: Project, kind: str, file: IO[bytes]) -> tuple[str, Contents]:
    """Store and check a file sent with a form; return its id and contents for `add_taken`.

    Raises `RecordingRefused`, `RecordingTooLarge` and `NoRoom`.
    """
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    _require_room(project, kind, size)
    recording_id = new_identifier()
    recordings.keep_file(recording_id, file)
    try:
        with recordings.hold(recording_id) as path:
            contents = check_recording(path, kind)
        require_taken(project, contents.kind)
        return recording_id, contents
    except BaseException:
        recordings.remove_files([recording_id])
        raise


def add_taken(project: Project, recording_id: str, contents: Contents) -> None:
    """Add the row of a file that `take_file` stored."""
    size = recordings.size_of(recording_id)
    recording = Recording(id=recording_id, project_id=project.id, kind=contents.kind, size=size)
    db.session.add(recording)
    set_contents(recording, contents)
    db.session.flush()


def set_poster(recording: Recording, picture: Image) -> None:
    """Store a poster, and delete the previous one, which nothing else uses yet."""
    before = recording.poster_id
    db.session.add(picture)
    db.session.flush()
    recording.poster_id = picture.id
    db.session.flush()
    if before is not None:
        db.session.execute(delete(Image).where(Image.id == before))


class UploadSchema(StrictSchema):
    """An upload to begin; `mediaType` is ignored, since the file itself shows the type."""

    kind = Choice("video", "voice", required=True)
    size = Count(1, 2**40, required=True)
    mediaType = OneLine(200)


# A file uploaded with a form, or imported, exists for a while before its row.
SPARED_SECONDS = 60 * 60
# Uploads that are slower are deleted when there is no room for others.
PATIENCE_SECONDS, LEAST_BYTES_A_SECOND, UNSENT_SECONDS = 60, 16 * 1024, 60 * 60
# The action, and the change to the testimonial, when its recording is removed.
REMOVE, WRITTEN = "remove_recording", {"kind": "written"}


def remove_after_commit(ids: Iterable[str]) -> None:
    """Remove files once the deletion of their rows has been committed."""
    do_after_commit(partial(recordings.remove_files, [*ids]))


def take_off_recording(row: Testimonial) -> None:
    """Remove a testimonial's recording and poster; the caller sets and records `kind` `written`."""
    recording = row.recording
    row.recording = None
    db.session.flush()
    if recording is None:
        return
    remove_after_commit([recording.id])
    note_erased(db.session(), RECORDING, [row.id])
    still_used = exists().where(Recording.poster_id == Image.id)
    db.session.execute(delete(Image).where(Image.id == recording.poster_id, ~still_used))


def remove_recording(project: Project, row: Testimonial, actor: str) -> None:
    """Permanently remove a testimonial's recording; the text stays. The project is locked.

    Raises `ActionRefused` if nothing would be left.
    """
    if not row.is_recorded:
        raise ActionRefused(gettext_noop("It has no recording."))
    if not row.text:
        raise ActionRefused(
            gettext_noop(
                "Without its recording nothing would be left. Add words first, or delete the "
                "testimonial."
            )
        )
    change_all(project, [(row, WRITTEN)], actor, REMOVE)
    take_off_recording(row)


def delete_unsent_recordings(limit: int) -> int:
    """Delete at most `limit` recordings whose form wasn't sent within a day; return how many."""
    unsent = select(Recording.id).where(
        Recording.testimonial_id.is_(None), Recording.created_at <= clock.now() - KEPT
    )
    return _delete_unsent(db.session.scalars(unsent.limit(limit)).all())


def _delete_unsent(ids: Sequence[str]) -> int:
    # Somebody may just have sent the form.
    is_unsent = Recording.testimonial_id.is_(None)
    gone = delete(Recording).where(Recording.id.in_(ids), is_unsent).returning(Recording.id)
    removed = db.session.scalars(gone).all()
    remove_after_commit(removed)
    return len(removed)


def delete_slow_uploads() -> int:
    """Delete slow uploads, and recordings whose form wasn't sent within an hour; return how many.

    Otherwise a few requests that announce large files and send nothing could use up all space for
    a day.
    """
    now, slow = clock.now(), []
    unsent = select(Recording.id, Recording.state, Recording.created_at).where(
        Recording.testimonial_id.is_(None)
    )
    for row in db.session.execute(unsent.order_by(Recording.created_at).limit(500)):
        allowed: float = UNSENT_SECONDS
        if row.state != "ready":
            allowed = PATIENCE_SECONDS + recordings.size_of(row.id) / LEAST_BYTES_A_SECOND
        if (now - row.created_at).total_seconds() > allowed:
            slow.append(row.id)
    return _delete_unsent(slow)


def remove_orphans() -> None:
    latest = clock.now().timestamp() - SPARED_SECONDS
    orphans = {name for name, stat in recordings.list_files().items() if stat.st_mtime < latest}
    for names in in_chunks(list(orphans)):
        orphans -= {*db.session.scalars(select(Recording.id).where(Recording.id.in_(names)))}
    recordings.remove_files(orphans)


def find_missing() -> list[str]:
    """Return the ids of complete recordings whose file is gone."""
    files = recordings.list_files()
    query = select(Recording.id).where(Recording.state == "ready").order_by(Recording.id)
    return [id for id in db.session.scalars(query) if id not in files]
