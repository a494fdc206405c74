"""The instance folder as a whole: who uses it, and how its files are replaced all together.

Whoever runs on an instance holds a shared lock, which ends with the process however that ends.
Replacing files needs the exclusive one. It is written down before it begins, so that one that was
cut off is finished by whatever starts next: there is the old or the new, never some of each.
"""

import contextlib
import fcntl
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import click

LOCK = "instance.lock"
JOURNAL = "restore-journal.json"
# What a restore works in, and what it ends files with that are to take the place of others.
UNFINISHED_RESTORE = ".unfinished-restore-"
RESTORED = ".restored"

# The descriptors that keep the shared locks, by folder; they are closed with the process.
_held: dict[Path, int] = {}


class FolderInUse(click.ClickException):
    """Somebody else uses the folder in a way that doesn't go together with this one."""


class SwitchCutOff(click.ClickException):
    """Files are being replaced and can't all be; the message says what comes next."""


@dataclass(frozen=True)
class Move:
    """One file of a switch: what is there is put aside, then what was prepared takes its place.

    Without `prepared` the file is only put aside; without `aside` there is nothing in the place.
    """

    place: str
    prepared: str | None
    aside: str | None


def hold_folder(folder: Path) -> None:
    """Note until the end of this process that it uses `folder`.

    Raises `FolderInUse` while a restore is under way. A folder that can't be written to needs no
    note: nothing can be replaced in it either.
    """
    if folder in _held:
        return
    try:
        descriptor = _open_lock(folder)
    except OSError:
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise FolderInUse(
            f"A restore into {folder} is under way. Start again when it is done."
        ) from None
    _held[folder] = descriptor


@contextlib.contextmanager
def stay_alone(folder: Path) -> Iterator[None]:
    """Let no other process use `folder`, which this one may hold; raises `FolderInUse`.

    A folder that can't be written to is let pass, as in `hold_folder`.
    """
    held = _held.get(folder)
    if held is None:
        with own_folder(folder) if os.access(folder, os.W_OK) else contextlib.nullcontext():
            yield
        return
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        # Trying has cost the shared one.
        fcntl.flock(held, fcntl.LOCK_SH)
        raise _in_use(folder) from None
    try:
        yield
    finally:
        fcntl.flock(held, fcntl.LOCK_SH)


@contextlib.contextmanager
def own_folder(folder: Path) -> Iterator[None]:
    """Keep everybody else from using `folder`; raises `FolderInUse` where somebody does."""
    descriptor = _open_lock(folder)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise _in_use(folder) from None
    finally:
        os.close(descriptor)


def _in_use(folder: Path) -> FolderInUse:
    return FolderInUse(
        f"Something is running on {folder}. Stop the service and its commands, then try again."
    )


def switch_files(folder: Path, moves: Sequence[Move]) -> None:
    """Do all the moves, or none; the caller owns the folder.

    What happens if the process ends in here: before the journal is there nothing was changed,
    after that `finish_switch` does the rest.
    """
    for move in moves:
        if move.prepared is not None:
            give_to_owner(Path(move.prepared), folder)
            sync(Path(move.prepared))
        if move.aside is not None:
            Path(move.aside).parent.mkdir(mode=0o700, exist_ok=True)
            give_to_owner(Path(move.aside).parent, folder)
    draft = folder / f"{JOURNAL}.draft"
    draft.write_text(json.dumps([asdict(move) for move in moves]), encoding="utf-8")
    sync(draft)
    draft.replace(folder / JOURNAL)
    sync(folder)
    _perform(folder)


def finish_switch(folder: Path) -> None:
    """Finish a switch that was cut off, if there is one; waits for one that is under way."""
    if not (folder / JOURNAL).exists():
        return
    descriptor = _open_lock(folder)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        if (folder / JOURNAL).exists():
            _perform(folder)
    finally:
        os.close(descriptor)


def remove_unfinished(folder: Path, database: Path | None) -> None:
    """Remove what a restore left that was killed before its first change.

    The caller holds the folder, so no restore is under way, and one that was writing its changes
    down has been finished.
    """
    _remove_abandoned(folder, UNFINISHED_RESTORE)
    for parent in {folder, database.parent if database else folder}:
        for path in parent.glob(f"*{RESTORED}"):
            path.unlink()


def give_to_owner(path: Path, folder: Path) -> None:
    """Let a file that root has made belong to whom the folder belongs to: the service's user."""
    if os.geteuid() == 0:
        found = folder.stat()
        os.chown(path, found.st_uid, found.st_gid)


def sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def working_folder(parent: Path, prefix: str) -> Iterator[Path]:
    """Make a folder for what isn't finished, and remove it with all that is in it.

    One that a process left behind when it was killed is removed by the next that works here: its
    lock has ended with its owner.
    """
    _remove_abandoned(parent, prefix)
    folder, descriptor = _make_locked(parent, prefix)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(descriptor)


def _make_locked(parent: Path, prefix: str) -> tuple[Path, int]:
    while True:
        folder = parent / f"{prefix}{os.getpid()}-{os.urandom(4).hex()}"
        folder.mkdir(mode=0o700)
        descriptor = os.open(folder, os.O_RDONLY)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        # Before the lock was there, somebody may have taken the folder for an abandoned one.
        if folder.exists():
            return folder, descriptor
        os.close(descriptor)


def _remove_abandoned(parent: Path, prefix: str) -> None:
    for path in parent.glob(f"{prefix}*"):
        with contextlib.suppress(OSError):
            descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(descriptor)


def _open_lock(folder: Path) -> int:
    path = folder / LOCK
    is_new = not path.exists()
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    if is_new:
        give_to_owner(path, folder)
    return descriptor


def _perform(folder: Path) -> None:
    """Do the moves of the journal that are not done yet, then remove it."""
    try:
        _perform_moves(folder / JOURNAL)
    except OSError as error:
        raise SwitchCutOff(
            f"The restore into {folder} is half done and can't go on: {error.strerror or error}. "
            "Mend that; whatever starts next then finishes it."
        ) from None
    except (ValueError, TypeError):
        raise SwitchCutOff(
            f"{folder / JOURNAL}, by which a restore that was cut off is finished, is damaged. The "
            "old files are in the newest folder before-restore-, the new ones in their places or "
            "beside them with the ending .restored. Put those of one kind into place, then remove "
            "the journal."
        ) from None
    sync(folder)


def _perform_moves(journal: Path) -> None:
    moves = [Move(**values) for values in json.loads(journal.read_text(encoding="utf-8"))]
    for move in moves:
        place = Path(move.place)
        is_ready = move.prepared is None or os.path.lexists(move.prepared)
        if is_ready and move.aside and os.path.lexists(place) and not os.path.lexists(move.aside):
            place.rename(move.aside)
        if move.prepared is not None and os.path.lexists(move.prepared):
            Path(move.prepared).replace(place)
        sync(place.parent)
    journal.unlink()
