"""The instance folder with its lock and secret key, and the machine's cores."""

import contextlib
import fcntl
import math
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

import click

# Every process that uses an instance holds a shared lock until it ends; a restore, which replaces
# the files, needs the exclusive lock.

LOCK = "instance.lock"

# The descriptors of the shared locks, by folder.
_held: dict[Path, int] = {}


class FolderInUse(click.ClickException):
    """Another process is using the folder."""


def hold_folder(folder: Path) -> None:
    """Hold the folder's shared lock until this process ends. Raises `FolderInUse` during a restore.

    A read-only folder needs no lock, since nothing in it can be replaced.
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
            f"A backup is being restored into {folder}. Try again when that is done."
        ) from None
    _held[folder] = descriptor


@contextlib.contextmanager
def hold_alone(folder: Path) -> Iterator[None]:
    """Hold the exclusive lock of `folder`. Raises `FolderInUse` if another process uses it."""
    held = _held.get(folder)
    descriptor = _open_lock(folder) if held is None else held
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise FolderInUse(
                f"{folder} is in use. Stop the service and its commands, then try again."
            ) from None
        yield
    finally:
        if held is None:
            os.close(descriptor)
        else:
            fcntl.flock(held, fcntl.LOCK_SH)


def give_to_owner(path: Path, folder: Path) -> None:
    """If root created a file, give it to the owner of the folder, who runs the service."""
    if os.geteuid() == 0:
        owner = folder.stat()
        os.chown(path, owner.st_uid, owner.st_gid)


def sync(path: Path) -> None:
    """Flush a file, or a folder's entries, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _open_lock(folder: Path) -> int:
    path = folder / LOCK
    is_new = not path.exists()
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    if is_new:
        give_to_owner(path, folder)
    return descriptor


# The advice when a file of the instance can't be used.
AS_ITS_OWNER = (
    "Run this as the user that the service runs as, or give the file to that user (chown)."
)


class SettingError(click.ClickException):
    """A setting is missing or invalid; the message names it."""


def read_secret_key(path: Path) -> str:
    """Return the secret in the file; if that is missing, create it atomically with mode 0600.

    Raises `SettingError`.
    """
    draft = path.with_name(f".secret_key.{os.getpid()}.{secrets.token_hex(4)}")
    try:
        if not path.exists():
            with os.fdopen(
                os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w"
            ) as file:
                file.write(secrets.token_urlsafe(48) + "\n")
                file.flush()
                os.fsync(file.fileno())
            try:
                # Unlike a rename, a link never replaces a file that another start just created.
                os.link(draft, path)
            except FileExistsError:
                pass
            finally:
                draft.unlink()
        key = path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        advice = f". {AS_ITS_OWNER}" if isinstance(error, PermissionError) else ""
        raise SettingError(
            f"TESTIMONIALS_SECRET_KEY is not set, and {path} can't be used: {error}{advice}"
        ) from None
    if len(key) < 32:
        raise SettingError(
            f"{path} must contain a secret of at least 32 characters; restore it or remove it"
        )
    return key


def count_cores() -> int:
    """Return how many cores this process may use, including a container's limit (cgroup v2)."""
    usable = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        allowed = math.ceil(int(quota) / int(period))
    except (OSError, ValueError):
        # Without a limit the file says "max", or doesn't exist.
        allowed = usable
    return max(1, min(usable, allowed))


def pin_to_core(number: int) -> None:
    """Pin this process to a core: handing the GIL from core to core costs most of its speed."""
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[number % len(cores)]})
