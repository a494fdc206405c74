"""Off-site copies of backups: to a folder, or with the operator's own command."""

import contextlib
import logging
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from threading import Thread
from typing import IO, cast

from sqlalchemy import delete, select

from testimonials.core.db.sqlite import KeptBackup, choose_expired, list_kept, sort_kept
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db
from testimonials.core.http.urls import app_url
from testimonials.core.jobs import Job, every, find_other_place, has_passed
from testimonials.core.logs import scrub
from testimonials.core.settings.instance import give_to_owner, sync
from testimonials.core.settings.table import current_settings
from testimonials.operations.backup import creating
from testimonials.transfer.erasure import NAME

# The operator's own command (BACKUP_COMMAND), such as restic or rclone.

logger = logging.getLogger("testimonials")

# How long a command may take to stop after SIGTERM.
PATIENCE_SECONDS = 10.0
MINUTE = 60.0
MAX_OUTPUT = 4000
# The names of variables whose values must not be logged.
_SECRET = re.compile(r"(PASS|PASSWORD|PASSPHRASE|SECRET|KEY|TOKEN)$", re.IGNORECASE)


class CopyFailed(creating.BackupFailed):
    """A backup wasn't copied off this machine."""

    what = "no copy of the backup"


def run_command(file: Path) -> None:
    """Run BACKUP_COMMAND without a shell for a complete file; raise `CopyFailed`."""
    words = [
        word.replace("{file}", str(file)).replace("{folder}", str(file.parent))
        for word in shlex.split(current_settings().backup_command)
    ]
    output = bytearray()
    code = _run(words, file, output)
    message = _hide_secrets(_join_last_lines(output))
    if code:
        end = f"by signal {-code}" if code < 0 else f"with exit code {code}"
        raise CopyFailed(f"{words[0]} ended {end}{': ' if message else ''}{message}")
    logger.info("backup command: %s: %s", file.name, message or "done")


def _run(words: list[str], file: Path, output: bytearray) -> int:
    """Run a command, and keep the end of its output: a file with all of it could fill the disk."""
    try:
        process = subprocess.Popen(  # noqa: S603 - it is the operator's own
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=_make_environment(file),
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise CopyFailed(f"{words[0]} can't be run: {reason}") from None
    pipe = cast(IO[bytes], process.stdout)

    def read() -> None:
        with pipe:
            while chunk := os.read(pipe.fileno(), MAX_OUTPUT):
                output[:] = (output + chunk)[-MAX_OUTPUT:]

    reader = Thread(target=read, name="backup-command", daemon=True)
    reader.start()
    minutes = current_settings().backup_command_minutes
    try:
        return process.wait(minutes * MINUTE)
    except subprocess.TimeoutExpired:
        raise CopyFailed(
            f"{words[0]} did not end within {minutes} minutes and was stopped"
        ) from None
    finally:
        _end(process)
        # What the command has left running may still write.
        reader.join(PATIENCE_SECONDS)


def _make_environment(file: Path) -> dict[str, str]:
    environment = os.environ | {"TESTIMONIALS_BACKUP_FILE": str(file)}
    if getattr(sys, "frozen", False):
        # The command must not load the libraries of the single binary.
        own = environment.pop("LD_LIBRARY_PATH_ORIG", "")
        environment |= {"LD_LIBRARY_PATH": own}
    return environment


def _end(process: "subprocess.Popen[bytes]") -> None:
    if process.poll() is not None:
        return
    os.killpg(process.pid, signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(PATIENCE_SECONDS)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _join_last_lines(output: bytearray) -> str:
    lines = [line.split() for line in output.decode(errors="replace").split("\n")]
    return " ".join(" ".join(words) for words in [each for each in lines if each][-3:])


def _hide_secrets(text: str) -> str:
    values = (value for name, value in os.environ.items() if _SECRET.search(name))
    for value in sorted(values, key=len, reverse=True):
        if len(value) > 3:
            text = text.replace(value, "(hidden)")
    return scrub(text)


# Copying the newest backup to BACKUP_TO, and handing it over to BACKUP_COMMAND.

LONGEST_COPY = timedelta(days=1)
UNFINISHED = ".unfinished-copy-"


def is_copy_wanted() -> bool:
    """Return whether this instance has off-site copies."""
    settings = current_settings()
    return bool(settings.backup_to or settings.backup_command)


def is_copy_due(row: Job) -> bool:
    """Return whether copying the newest backup is due; after a failure, it is due an hour later.

    It is copied by the host that made it, since others may have a BACKUP_PATH of their own.
    """
    newest, place = creating.find_newest(), current_settings().backup_to
    made_elsewhere = find_other_place(db.session.get(Job, creating.BACKUP_JOB))
    if not is_copy_wanted() or newest is None or made_elsewhere:
        return False
    if row.error is not None or row.leased_until is not None:
        return has_passed(row.started_at, creating.RETRIED_AFTER)
    if place and not read_stored(place):
        # The folder is a different one since the last copy.
        return True
    return row.finished_at is None or row.finished_at < newest.made_at


def read_stored(place: str) -> list[KeptBackup]:
    """Return the backups that were in a folder when it was last read, newest first."""
    rows = db.session.scalars(
        select(creating.StoredBackup).where(creating.StoredBackup.place == place)
    )
    return sort_kept(KeptBackup(row.name, row.size, row.made_at) for row in rows)


@every(creating.COPY_JOB, "backups", longest=LONGEST_COPY, is_due=is_copy_due)
def copy_newest() -> None:
    """Copy the newest backup, remove old copies, email about failures; raise `CopyFailed`."""
    if (newest := creating.find_newest()) is None:
        raise CopyFailed(f"there is no scheduled backup in {current_settings().backup_path}")
    settings, failures = current_settings(), []
    # If one fails, the other is still tried.
    for place, work in ((settings.backup_to, _copy), (settings.backup_command, _hand_over)):
        try:
            if place:
                work(newest)
        except CopyFailed as error:
            failures.append(str(error))
    if failures:
        failure = CopyFailed("; ".join(failures))
        with write():
            creating.mail_failure(
                creating.COPY_JOB,
                f"The backup was not copied: {failure}",
                f"The newest backup of {app_url()} was not copied off its machine: {failure}.",
                f"Copying it is retried every hour. {creating.UNTIL} Earlier copies are kept.",
            )
        raise failure
    logger.info("backup copied: %s", newest.name)


def forget_stored() -> None:
    """Forget what was in BACKUP_TO, which may have been emptied on purpose; the caller commits."""
    db.session.execute(delete(creating.StoredBackup))


def list_copies(folder: Path) -> list[KeptBackup]:
    """Return the backups in BACKUP_TO, newest first; raise `CopyFailed`.

    The folder is never created, since its disk may not be mounted.
    """
    with _refusing():
        if not folder.is_dir():
            raise CopyFailed(f"there is no folder {folder}: its disk may not be mounted")
        return list_kept(folder)


def _copy(newest: KeptBackup) -> None:
    settings = current_settings()
    folder = Path(settings.backup_to)
    copies = list_copies(folder)
    stored = read_stored(settings.backup_to)
    db.session.rollback()
    if stored and not copies:
        # A disk that isn't mounted leaves an empty folder.
        raise CopyFailed(
            f"{folder} is empty, but had {len(stored)} backup(s); is its disk mounted? If it was "
            "emptied on purpose, run `testimonials backup now`"
        )
    if newest.name not in (each.name for each in copies):
        with _refusing():
            _write(folder, newest.name)
    try:
        for each in choose_expired(list_copies(folder), settings):
            # It is kept even if others seem to be newer because the clock was ahead.
            if each.name != newest.name:
                with _refusing():
                    (folder / each.name).unlink(missing_ok=True)
    finally:
        _set_stored(settings.backup_to, list_copies(folder))


def _write(folder: Path, name: str) -> None:
    """Copy a backup to `folder`, where it gets its name only when it is flushed to the disk."""
    unfinished = folder / f"{UNFINISHED}{name}"
    for abandoned in folder.glob(f"{UNFINISHED}*"):
        abandoned.unlink()
    try:
        with (
            (Path(current_settings().backup_path) / name).open("rb") as source,
            os.fdopen(os.open(unfinished, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file,
        ):
            shutil.copyfileobj(source, file)
            file.flush()
            os.fsync(file.fileno())
        give_to_owner(unfinished, folder)
        unfinished.replace(folder / name)
    except BaseException:
        with contextlib.suppress(OSError):
            unfinished.unlink(missing_ok=True)
        raise
    # Not all network disks support this.
    with contextlib.suppress(OSError):
        sync(folder)


@contextlib.contextmanager
def _refusing() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        path = f": {error.filename}" if error.filename else ""
        raise CopyFailed(f"{error.strerror or error}{path}") from None


def _set_stored(place: str, backups: list[KeptBackup]) -> None:
    with write():
        db.session.execute(delete(creating.StoredBackup))
        db.session.add_all(
            creating.StoredBackup(name=each.name, size=each.size, made_at=each.made_at, place=place)
            for each in backups
        )


def _hand_over(newest: KeptBackup) -> None:
    folder = Path(current_settings().backup_path)
    run_command(folder / newest.name)
    if (folder / NAME).exists():
        run_command(folder / NAME)
