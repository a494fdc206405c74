"""Encrypting backups by the program `age`, in pieces."""

import contextlib
import io
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from threading import Thread
from typing import IO

SUFFIX = ".age"
PROGRAM = "age"
CHUNK = 1024 * 1024
# How long it may take to end, once nobody reads what it writes.
PATIENCE_SECONDS = 10
NOT_INSTALLED = "the program age is not installed (on Debian: apt-get install age)"


class SealFailed(Exception):
    """Something can't be encrypted or decrypted; the message says why."""


def seal(source: IO[bytes], recipients: Sequence[str]) -> Iterator[bytes]:
    """Encrypt a file for each of the public keys; raise `SealFailed` in place of the end."""
    options = [option for each in recipients for option in ("--recipient", each)]
    with _running(["--encrypt", *options], source) as (process, errors):
        output = _output_of(process)
        yield from iter(lambda: output.read(CHUNK), b"")
        if process.wait():
            raise SealFailed(f"age can't encrypt it: {_read_reason(errors)}")


@contextlib.contextmanager
def unsealed(chunks: Iterable[bytes], identity: Path) -> Iterator[IO[bytes]]:
    """Open what `chunks` hold encrypted; what they raise is raised when the block ends.

    Raises `SealFailed`.
    """
    if not identity.is_file():
        raise SealFailed(f"there is no file {identity} with a private key (BACKUP_AGE_IDENTITY)")
    options = ["--decrypt", "--identity", str(identity)]
    with _running(options, subprocess.PIPE) as (process, errors):
        output = _output_of(process)
        feeder = _Feeder(chunks, process)
        feeder.start()
        try:
            yield output
            # To its end, where age says whether nothing is missing.
            while output.read(CHUNK):
                pass
        finally:
            output.close()
            code = _wait(process)
            feeder.join(PATIENCE_SECONDS)
            if feeder.error is not None:
                raise feeder.error from None
            # By a signal it ends where we stopped reading.
            if code > 0:
                raise SealFailed(f"age can't decrypt it: {_read_reason(errors)}") from None


def _wait(process: "subprocess.Popen[bytes]") -> int:
    try:
        return process.wait(PATIENCE_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


class _Feeder(Thread):
    """Writes what is encrypted into age, while the other end is read."""

    def __init__(self, chunks: Iterable[bytes], process: "subprocess.Popen[bytes]") -> None:
        super().__init__(name="age", daemon=True)
        assert process.stdin is not None  # noqa: S101 - it was asked for
        self._chunks, self._target = chunks, process.stdin
        self.error: Exception | None = None

    def run(self) -> None:
        try:
            for chunk in self._chunks:
                self._target.write(chunk)
        except BrokenPipeError:
            # It has ended, and says why itself.
            pass
        except Exception as error:
            self.error = error
        finally:
            with contextlib.suppress(OSError):
                self._target.close()


@contextlib.contextmanager
def _running(
    options: list[str], source: IO[bytes] | int
) -> Iterator[tuple["subprocess.Popen[bytes]", IO[bytes]]]:
    """Run age; yield it, and the file with what it says of a failure."""
    with tempfile.TemporaryFile() as errors:
        try:
            process = subprocess.Popen(  # noqa: S603 - the settings name keys alone
                [PROGRAM, *options], stdin=source, stdout=subprocess.PIPE, stderr=errors
            )
        except FileNotFoundError:
            raise SealFailed(NOT_INSTALLED) from None
        try:
            yield process, errors
        finally:
            process.kill()
            process.wait()
            _output_of(process).close()


def _output_of(process: "subprocess.Popen[bytes]") -> IO[bytes]:
    assert process.stdout is not None  # noqa: S101 - it was asked for
    return process.stdout


def _read_reason(errors: IO[bytes]) -> str:
    errors.seek(0)
    words = errors.read(1000).decode(errors="replace").strip().splitlines()
    return words[0].removeprefix("age: error: ") if words else "it doesn't say why"


class Chunks(io.RawIOBase):
    """Reads chunks as a file."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = iter(chunks)
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, target: memoryview) -> int:  # type: ignore[override]
        while not self._rest:
            if (chunk := next(self._chunks, None)) is None:
                return 0
            self._rest = memoryview(chunk)
        count = min(len(target), len(self._rest))
        target[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count
