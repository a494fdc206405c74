"""Recordings: their files, the space that they may take, and why one may be refused."""

import contextlib
import errno
import fcntl
import os
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from sqlalchemy import BigInteger, cast, func, select

from testimonials.core.db.identifiers import is_identifier
from testimonials.core.extensions import db
from testimonials.core.http.errors import ServiceError
from testimonials.core.http.i18n import gettext_noop
from testimonials.core.settings.instance import sync
from testimonials.core.settings.table import current_settings
from testimonials.projects.models import Project
from testimonials.testimonials.models import Recording

# Why a recording is refused, translated for the visitor.

NOT_PLAYABLE = gettext_noop(
    "This file can’t be played. Choose a video in MP4 or WebM, or a voice recording in M4A, "
    "WebM or Ogg."
)
DAMAGED = gettext_noop("The recording is damaged or cut off. Record it again, or choose another.")
TOO_LONG = gettext_noop("The recording is too long: the limit is %(seconds)s seconds.")
TOO_LARGE = gettext_noop("The file is too large: the limit is %(limit)s MB.")
HAS_PICTURE = gettext_noop("This is a video, not a voice recording. Send it as a video.")
NOT_TAKEN = gettext_noop("This page takes no recordings.")
NO_ROOM = gettext_noop(
    "There is no room for another recording right now. Write a few words instead."
)
GONE = gettext_noop("This recording is no longer stored. Send it again.")


class RecordingRefused(ServiceError):
    status = 422


class RecordingTooLarge(RecordingRefused):
    status = 413
    code = "RECORDING_TOO_LARGE"


class RecordingGone(ServiceError):
    """There is no such upload, or its form was sent already."""

    status = 404
    default_message = GONE


class NoRoom(ServiceError):
    """The account's or the service's space for recordings is used up, or the disk is full."""

    status = 507
    default_message = NO_ROOM


class OffsetWrong(ServiceError):
    """A piece doesn't begin where the previous one ended, at `offset`."""

    status = 409

    def __init__(self, offset: int) -> None:
        message = f"The next piece begins at {offset}."
        super().__init__(message, headers={"Upload-Offset": str(offset)})
        self.offset = offset


# Files are in the instance's folder `media`, named by the ids of recordings.

FOLDER = "media"
# The space left free for the database and everything else.
SPARED_BYTES = 256 * 1024 * 1024
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def media_folder() -> Path:
    return current_settings().instance_path / FOLDER


def path_of(recording_id: str) -> Path:
    if not is_identifier(recording_id):
        raise ValueError(recording_id)
    return media_folder() / recording_id


def size_of(recording_id: str) -> int:
    """Return the size of a recording's file, or 0 if there is none."""
    try:
        return path_of(recording_id).stat().st_size
    except FileNotFoundError:
        return 0


def require_room(size: int) -> None:
    """Raise `NoRoom` if a file of `size` bytes would nearly fill the disk."""
    media_folder().mkdir(mode=0o700, exist_ok=True)
    if shutil.disk_usage(media_folder()).free < size + SPARED_BYTES:
        raise NoRoom


def append_piece(recording_id: str, offset: int, piece: bytes) -> int:
    """Append a piece that begins at `offset`; return where it ends.

    The size of the file is how much has arrived, so a process killed in the middle of a piece loses
    nothing. Raises `OffsetWrong`, and `NoRoom` leaving the file as it was.
    """
    media_folder().mkdir(mode=0o700, exist_ok=True)
    descriptor = os.open(path_of(recording_id), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        end = os.lseek(descriptor, 0, os.SEEK_END)
        if end != offset:
            raise OffsetWrong(end)
        try:
            left = memoryview(piece)
            while left:
                left = left[os.write(descriptor, left) :]
        except OSError as error:
            os.ftruncate(descriptor, end)
            if error.errno in FULL:
                raise NoRoom from None
            raise
        return end + len(piece)
    finally:
        os.close(descriptor)


def keep_file(recording_id: str, source: IO[bytes]) -> None:
    """Store a file and flush it to the disk. Raises `NoRoom`, leaving nothing behind."""
    media_folder().mkdir(mode=0o700, exist_ok=True)
    path = path_of(recording_id)
    try:
        with path.open("wb") as file:
            shutil.copyfileobj(source, file, 1024 * 1024)
        flush(recording_id)
    except OSError as error:
        path.unlink(missing_ok=True)
        if error.errno in FULL:
            raise NoRoom from None
        raise


@contextlib.contextmanager
def hold(recording_id: str) -> Iterator[Path]:
    """Lock a file, so nobody else can hold or append to it. Raises `RecordingGone`, `NoRoom`."""
    path = path_of(recording_id)
    try:
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield path
    except FileNotFoundError:
        raise RecordingGone from None
    except OSError as error:
        if error.errno in FULL:
            raise NoRoom from None
        raise


def flush(recording_id: str) -> None:
    """Flush a file and its name to the disk."""
    sync(path_of(recording_id))
    sync(media_folder())


def remove_files(names: Iterable[str]) -> None:
    for name in names:
        (media_folder() / name).unlink(missing_ok=True)


def list_files() -> dict[str, os.stat_result]:
    """Return the `stat` of each file, by the recording's id."""
    files = {}
    with contextlib.suppress(FileNotFoundError), os.scandir(media_folder()) as entries:
        for entry in entries:
            # The file may have been removed in the meantime.
            with contextlib.suppress(FileNotFoundError):
                files[entry.name] = entry.stat()
    return files


# The space that recordings take, and may take.

MEGABYTE = 1024 * 1024
# How many recordings there are, and how many bytes they take. PostgreSQL's sums are decimals.
TAKEN = select(
    func.count(Recording.id), cast(func.coalesce(func.sum(Recording.size), 0), BigInteger)
)


@dataclass(frozen=True)
class Share:
    """How many recordings there are, how many bytes they take, and the limit."""

    count: int
    bytes: int
    limit: int

    @property
    def is_nearly_full(self) -> bool:
        return self.bytes >= self.limit * 0.8


def find_account_share(account_id: str) -> Share:
    """Return the share of an account's recordings; unfinished uploads count in full."""
    query = TAKEN.join(Project).where(Project.account_id == account_id)
    count, size = db.session.execute(query).one()
    return Share(count, size, current_settings().account_recordings_megabytes * MEGABYTE)


def find_whole_share() -> Share:
    count, size = db.session.execute(TAKEN).one()
    return Share(count, size, current_settings().all_recordings_megabytes * MEGABYTE)


def require_share(project: Project, size: int) -> None:
    """Raise `NoRoom` if `size` more bytes would exceed the account's limit or that of all."""
    for share in (find_account_share(project.account_id), find_whole_share()):
        if share.bytes + size > share.limit:
            raise NoRoom
