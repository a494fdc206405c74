"""What a process that is killed leaves behind about the mail in its hands.

Between the last bytes of a mail and the commit that notes them lies the server's answer. Whoever
starts next must know on which side of these bytes the process was, or the mail is lost or sent
twice. A commit is too slow for that: it would itself be such a gap. So the note is one byte of a
mapped file, set in the same instant as the bytes are given to the kernel, which sends them however
the process ends. It outlives the process, and is not made to outlive the machine: after a power cut
a mail is rather sent twice than not at all.
"""

import contextlib
import fcntl
import logging
import mmap
import os
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

logger = logging.getLogger("testimonials.mail")

FOLDER = "mail-in-hand"
LOCK = "lock"
SIZE = 128


class Stage(IntEnum):
    """How far the mail in hand got."""

    # The server discards what it has of a mail without its last bytes.
    BEFORE_THE_END = 0
    HANDED_OVER = 1
    TAKEN = 2


@dataclass(frozen=True)
class Remains:
    """The mail that a process had in hand when it was killed."""

    mail_id: str
    # Which of the mail's attempts it was; a later one is somebody else's.
    attempt: int
    stage: Stage


class HandOver:
    """The note of one process about the mail in its hands; one mail at a time.

    It is kept in `folder`/mail-in-hand. Without a folder, or where none can be written, it is kept
    nowhere: mail must leave all the same.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder / FOLDER if folder is not None else None
        self._path: Path | None = None
        self._descriptor = -1
        if self._folder is not None:
            try:
                self._open(self._folder)
            except OSError as error:
                logger.warning("mail may come twice after a kill: %s", error)
                self._folder = self._path = None
        self._memory = mmap.mmap(self._descriptor, SIZE)

    def _open(self, folder: Path) -> None:
        folder.mkdir(mode=0o700, exist_ok=True)
        with _locked(folder):
            path = folder / f"{os.getpid()}-{os.urandom(4).hex()}"
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
            try:
                # Real bytes: a page that a full disk has no place for would kill the process later.
                os.write(descriptor, bytes(SIZE))
            except OSError:
                os.close(descriptor)
                path.unlink()
                raise
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            self._path, self._descriptor = path, descriptor

    def take(self, mail_id: str, attempt: int) -> None:
        """Note which mail is in hand from now on."""
        self.note(Stage.BEFORE_THE_END)
        text = f"{mail_id} {attempt}\n".encode()
        self._memory[1:] = text.ljust(SIZE - 1, b"\0")

    def note(self, stage: Stage) -> None:
        """Note how far the mail in hand got."""
        self._memory[0] = stage

    def put_down(self) -> None:
        """Note that no mail is in hand: the database knows how the last one ended."""
        self._memory[1:] = bytes(SIZE - 1)
        self.note(Stage.BEFORE_THE_END)

    @contextlib.contextmanager
    def remains(self) -> Iterator[list[Remains]]:
        """Return what is in no living hand; it is forgotten when the block ends well.

        That is what killed processes had in hand, and what this one could not put down because the
        database was away. No other process looks meanwhile, so that none goes on before all of it
        is settled.
        """
        notes = [bytes(self._memory)]
        with _locked(self._folder) if self._folder is not None else contextlib.nullcontext():
            paths = self._folder.iterdir() if self._folder is not None else ()
            abandoned = [path for path in paths if _is_abandoned(path)]
            notes += [path.read_bytes() for path in abandoned]
            yield [found for note in notes if (found := _read(note)) is not None]
            self.put_down()
            for path in abandoned:
                path.unlink()

    def close(self) -> None:
        """Let go of the note; one of a mail in hand stays for whoever looks next."""
        is_empty = _read(bytes(self._memory)) is None
        self._memory.close()
        if self._path is not None:
            if is_empty:
                self._path.unlink(missing_ok=True)
            os.close(self._descriptor)


def _read(content: bytes) -> Remains | None:
    words = content[1:].partition(b"\n")[0].decode("ascii", "replace").split(" ")
    # An empty note, or one whose writing was cut off: then nothing was handed over yet.
    if len(content) != SIZE or b"\n" not in content or len(words) != 2 or not words[1].isdigit():
        return None
    # A damaged file must not keep all mail back; the lease of its mail runs out by itself.
    if content[0] > max(Stage):
        return None
    return Remains(words[0], int(words[1]), Stage(content[0]))


def _is_abandoned(path: Path) -> bool:
    """Tell whether the process that kept the note has ended: its lock ended with it."""
    if path.name == LOCK:
        return False
    descriptor = os.open(path, os.O_RDWR)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)
    return True


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
