"""The operator's own command (BACKUP_COMMAND), such as restic or rclone, which takes a backup."""

import contextlib
import logging
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from threading import Thread

from testimonials.core.logs.scrubbing import scrub
from testimonials.operations.backup.making import BackupFailed
from testimonials.settings.current import current_settings

logger = logging.getLogger("testimonials")

FILE_VARIABLE = "TESTIMONIALS_BACKUP_FILE"
# How long a command that has to stop may take for it, and its output to be read.
PATIENCE_SECONDS = 10.0
MINUTE = 60.0
MOST_OUTPUT = 4000
MOST_LINES = 3
# The names of variables whose values are in no log.
_SECRET = re.compile(r"(PASS|PASSWORD|PASSPHRASE|SECRET|KEY|TOKEN)$", re.IGNORECASE)


class CopyFailed(BackupFailed):
    """A backup has not left this machine; the message says why."""

    what = "no copy of the backup"


def run_command(file: Path) -> None:
    """Run BACKUP_COMMAND, without a shell, for a file that is complete; raise `CopyFailed`."""
    settings = current_settings()
    words = [
        word.replace("{file}", str(file)).replace("{folder}", str(file.parent))
        for word in shlex.split(settings.backup_command)
    ]
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
    output = _Output(process)
    output.start()
    minutes = settings.backup_command_minutes
    try:
        code = process.wait(minutes * MINUTE)
    except subprocess.TimeoutExpired:
        raise CopyFailed(
            f"{words[0]} did not end within {minutes} minutes and was stopped"
        ) from None
    finally:
        _end(process)
        output.join(PATIENCE_SECONDS)
    said = _hide_secrets(output.read_end())
    if code:
        ended = f"by signal {-code}" if code < 0 else f"with exit code {code}"
        raise CopyFailed(f"{words[0]} ended {ended}{': ' if said else ''}{said}")
    logger.info("backup command: %s: %s", file.name, said or "done")


def _make_environment(file: Path) -> dict[str, str]:
    environment = os.environ | {FILE_VARIABLE: str(file)}
    if getattr(sys, "frozen", False):
        # The libraries of the one file are not the command's.
        own = environment.pop("LD_LIBRARY_PATH_ORIG", "")
        environment |= {"LD_LIBRARY_PATH": own}
    return environment


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Stop a command that still runs, with what it started."""
    if process.poll() is not None:
        return
    os.killpg(process.pid, signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(PATIENCE_SECONDS)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


class _Output(Thread):
    """Reads all that a command says, so that it never waits, and keeps the end."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        super().__init__(name="backup-command", daemon=True)
        assert process.stdout is not None  # noqa: S101 - it was asked for
        self._source = process.stdout
        self._last = b""

    def run(self) -> None:
        with self._source:
            while chunk := os.read(self._source.fileno(), MOST_OUTPUT):
                self._last = (self._last + chunk)[-MOST_OUTPUT:]

    def read_end(self) -> str:
        """Return the last lines, as one."""
        lines = [line.split() for line in self._last.decode(errors="replace").split("\n")]
        return " ".join(" ".join(words) for words in [each for each in lines if each][-MOST_LINES:])


def _hide_secrets(text: str) -> str:
    values = (value for name, value in os.environ.items() if _SECRET.search(name))
    for value in sorted(values, key=len, reverse=True):
        if len(value) > 3:
            text = text.replace(value, "(hidden)")
    return scrub(text)
