"""The recordings of an archive: stored and checked before its import keeps others from writing."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from testimonials.core.data.identifiers import new_identifier
from testimonials.core.web.languages import gettext_noop
from testimonials.media.containers.checking import check_recording
from testimonials.media.containers.contents import Contents
from testimonials.media.refusals import NoRoom, RecordingRefused
from testimonials.media.store import hold, keep_file, remove_files
from testimonials.transfer.archives.opening import Archive, ArchiveRefused

# What is in each recording, and its id here, by its id in the archive.
Stored = Mapping[str, tuple[str, Contents]]


@contextmanager
def storing_recordings(archive: Archive) -> Iterator[Stored]:
    """Store the recordings under new ids, as if they were uploaded; remove them if this fails.

    Commit inside. Raises `ArchiveRefused`.
    """
    rows = archive.lists["recordings"]
    ids = {row["id"]: new_identifier() for row in rows}
    try:
        yield {row["id"]: (ids[row["id"]], _store(archive, row, ids[row["id"]])) for row in rows}
    except (RecordingRefused, NoRoom) as error:
        remove_files(ids.values())
        raise ArchiveRefused(
            gettext_noop("The archive can’t be imported. %(reason)s"),
            values={"reason": error.message},
        ) from None
    except BaseException:
        remove_files(ids.values())
        raise


def _store(archive: Archive, row: Mapping[str, str], recording_id: str) -> Contents:
    with archive.open_recording(row["id"]) as file:
        keep_file(recording_id, file)
    with hold(recording_id) as path:
        return check_recording(path, row["kind"])
