"""Removing recordings: expired rows, and files whose rows are gone."""

from collections.abc import Iterable
from functools import partial

from sqlalchemy import delete, exists, select

from testimonials.core import clock
from testimonials.core.db.erasure import RECORDING, note_erased
from testimonials.core.db.transactions import do_after_commit
from testimonials.core.extensions import db
from testimonials.core.http.i18n import gettext_noop
from testimonials.core.images.uploads import Image
from testimonials.projects.models import Project
from testimonials.testimonials.history import change_all, in_chunks
from testimonials.testimonials.media import recordings
from testimonials.testimonials.media.uploads import KEPT
from testimonials.testimonials.models import Recording, Testimonial
from testimonials.testimonials.moderation import ActionRefused

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
    ids = db.session.scalars(
        delete(Recording).where(Recording.id.in_(unsent.limit(limit))).returning(Recording.id)
    ).all()
    remove_after_commit(ids)
    return len(ids)


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
    db.session.execute(delete(Recording).where(Recording.id.in_(slow)))
    remove_after_commit(slow)
    return len(slow)


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
