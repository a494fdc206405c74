"""A separate process that decodes and draws pictures, so that none can block or harm the server.

It also rates new passwords, since that takes much memory; they don't wait for pictures.

The process forks a child for each picture, with a low priority and limits on CPU time, memory and
elapsed time, so whatever a decoder leaks or breaks is gone with the child. `serve` starts one
process for each worker, before the worker has threads and connections; elsewhere (in commands and
`flask run`) it starts with the first picture. It ends with the process that started it.
"""

import atexit
import contextlib
import gc
import importlib
import json
import logging
import os
import resource
import shutil
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple
from pathlib import Path
from typing import IO, Any, NoReturn

from testimonials.core.images.decode import (
    TOO_MUCH_WORK,
    Decoded,
    Unreadable,
    Use,
    decode_for_parent,
)

logger = logging.getLogger("testimonials")

# The largest pictures take a second and 400 MB; the process itself has 150 MB.
CPU_SECONDS = 6
# Elapsed time, for work that hangs. At low priority, a picture that needs a tenth of a second
# may take half a minute on a busy machine.
SECONDS = 60
DATA_BYTES = 768 * 1024 * 1024
# More than any answer has.
MAX_ANSWER_BYTES = 4 * 1024 * 1024
# Marks a complete answer.
END = b"\nend"
# The most pictures being decoded or waiting, so that they never occupy all threads of a worker.
MAX_PLACES = 4

# A module-level function, called with the content of the file and JSON values. It returns JSON
# about the picture, and the picture's bytes.
Work = Callable[..., tuple[dict[str, Any], bytes]]


class DecoderBusy(Exception):
    """Too many pictures are waiting to be decoded or drawn."""


class LimitsExceeded(Exception):
    """A picture took too much time or memory."""


class Decoder:
    """Decodes or draws one picture at a time in another process, while a few more wait."""

    def __init__(self) -> None:
        self._requests: socket.socket | None = None
        self._process = 0
        self._opening = threading.Lock()
        # Held by whose picture is decoded.
        self.turns = threading.Lock()
        self._places = threading.BoundedSemaphore(2)

    def start(self, threads: int) -> None:
        """Start the process, for a worker that will have this number of threads."""
        self._places = threading.BoundedSemaphore(max(1, min(MAX_PLACES, threads // 2)))
        self._fork()

    def decode(self, file: IO[bytes], use: Use) -> Decoded:
        """Return a file's picture. Raises `Unreadable` and `DecoderBusy`."""
        try:
            result, content = self.run(decode_for_parent, file, astuple(use))
        except LimitsExceeded:
            raise Unreadable(TOO_MUCH_WORK) from None
        if "text" in result:
            raise Unreadable(result["text"], **result["values"])
        return Decoded(content, *result["size"])

    def run(
        self,
        work: Work,
        file: IO[bytes],
        values: Sequence[object] = (),
        *,
        turns: contextlib.AbstractContextManager[Any] | None = None,
    ) -> tuple[dict[str, Any], bytes]:
        """Return the result of `work` for a file. Raises `LimitsExceeded` and `DecoderBusy`.

        With `turns`, it waits for that lock, no matter how many pictures are waiting.
        """
        message = json.dumps([work.__module__, work.__name__, values]).encode()
        with turns or self._acquire():
            try:
                with self._opening:
                    connection = self._open(message)
                with connection:
                    answer = _exchange(connection, file)
            except OSError:
                # It couldn't be forked, hangs, or is gone. The next picture starts a new one.
                logger.exception("the process that decodes pictures does not answer")
                with self._opening:
                    self.close()
                raise DecoderBusy from None
        if not answer.endswith(END):
            logger.warning("a picture exceeded the limits on time or memory and was refused")
            raise LimitsExceeded
        head, _, content = answer.removesuffix(END).partition(b"\n")
        return json.loads(head), content

    @contextlib.contextmanager
    def _acquire(self) -> Iterator[None]:
        if not self._places.acquire(blocking=False):
            raise DecoderBusy
        try:
            with self.turns:
                yield
        finally:
            self._places.release()

    def _open(self, message: bytes) -> socket.socket:
        ours, theirs = socket.socketpair()
        request = [message], [theirs.fileno()]
        with theirs:
            try:
                socket.send_fds(self._requests or self._fork(), *request)
            except ConnectionError:
                # It was killed, most likely by the kernel for lack of memory.
                self.close()
                socket.send_fds(self._fork(), *request)
        return ours

    def _fork(self) -> socket.socket:
        self._requests, theirs = socket.socketpair(type=socket.SOCK_SEQPACKET)
        with theirs:
            self._process = os.fork()
            if self._process == 0:
                _serve(theirs)
        return self._requests

    def close(self) -> None:
        """End the process, if it is running; the next picture starts another."""
        if self._requests is not None:
            self._requests.close()
            self._requests = None
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self._process, os.WNOHANG)


decoder = Decoder()
atexit.register(decoder.close)


def _exchange(connection: socket.socket, file: IO[bytes]) -> bytes:
    """Return a child's answer to a file, incomplete if it was killed. Raises `OSError`."""
    # Longer than a child may run, including the time to free its memory.
    connection.settimeout(SECONDS + 30)
    # In chunks: reading ten megabytes at once would enlarge a worker for good.
    with connection.makefile("wb") as sink:
        shutil.copyfileobj(file, sink)
    connection.shutdown(socket.SHUT_WR)
    with connection.makefile("rb") as answer:
        return answer.read(MAX_ANSWER_BYTES)


def _serve(requests: socket.socket) -> NoReturn:
    """Run as the process: fork a child for each request, until the parent is gone."""
    try:
        # No finalizer of an inherited object may run here.
        gc.disable()
        # Descriptors get the lowest free number, so none is above 65,536.
        os.closerange(3, requests.fileno())
        os.closerange(requests.fileno() + 1, min(os.sysconf("SC_OPEN_MAX"), 65_536))
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD):
            signal.signal(number, signal.SIG_IGN)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        while True:
            message, files, _flags, _address = socket.recv_fds(requests, 1024, 1)
            if not files:
                break
            if os.fork() == 0:
                requests.close()
                _answer(socket.socket(fileno=files[0]), *json.loads(message))
            os.close(files[0])
    finally:
        # Never return into the parent's code.
        os._exit(0)


def _count_inherited_data() -> int:
    """Return how many bytes of data this process inherited from its parent."""
    try:
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[5]
    except OSError:
        # A chroot may have no /proc.
        return 0
    return int(pages) * resource.getpagesize()


def _answer(
    connection: socket.socket, module: str, name: str, values: Sequence[object]
) -> NoReturn:
    """Run as the child: answer with the picture, or exit without an answer."""
    try:
        # The default action of SIGALRM ends the process, whatever it is doing.
        signal.setitimer(signal.ITIMER_REAL, SECONDS)
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
        limit = DATA_BYTES + _count_inherited_data()
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
        with contextlib.suppress(OSError):
            os.nice(10)
        with connection.makefile("rwb") as file:
            data = file.read()
            work: Work = getattr(importlib.import_module(module), name)
            head, content = work(data, *values)
            file.write(json.dumps(head).encode() + b"\n" + content + END)
    except Exception:
        logger.exception("a picture could not be decoded or drawn")
    finally:
        os._exit(0)
