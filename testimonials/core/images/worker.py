"""The process in which pictures are decoded and drawn, so that none can block or harm the server.

New passwords are judged in it too, for the memory that this takes.

It forks a child for each picture and does nothing else. A child has limited processor time, memory
and time, a low priority, and ends with its picture: what a decoder leaves behind goes with it.
`serve` starts one beside each worker, before that has threads and connections; elsewhere (in a
command or `flask run`) it starts with the first picture. It ends with the process that started it.
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

# What a picture may take. The largest take a second and 400 MB; the process itself has 150 MB.
CPU_SECONDS = 6
# For what hangs without calculating. Everybody else comes first, so on a busy machine a picture of
# a tenth of a second may wait for half a minute.
SECONDS = 60
DATA_BYTES = 768 * 1024 * 1024
# More than any answer has, and the end of a complete one.
MAX_ANSWER_BYTES = 4 * 1024 * 1024
END = b"\nend"
# The most pictures that a worker decodes or keeps waiting: never on all of its threads.
MAX_PLACES = 4

# A function of a module: it takes what the file contains and some plain values, and returns what is
# known of the picture, as JSON can write it, with its bytes.
Work = Callable[..., tuple[dict[str, Any], bytes]]


class DecoderBusy(Exception):
    """Too many pictures are waiting to be decoded or drawn."""


class LimitsExceeded(Exception):
    """A picture took more time or memory than it may."""


class Decoder:
    """Decodes or draws one picture at a time in another process, and lets a few more wait."""

    def __init__(self) -> None:
        self._requests: socket.socket | None = None
        self._process = 0
        self._turn = threading.Lock()
        self._places = threading.BoundedSemaphore(2)

    def start(self, threads: int) -> None:
        """Fork the process, for a worker that will have this number of threads."""
        self._places = threading.BoundedSemaphore(max(1, min(MAX_PLACES, threads // 2)))
        self._fork()

    def decode(self, file: IO[bytes], use: Use) -> Decoded:
        """Return a file's picture; raises `Unreadable` and `DecoderBusy`."""
        try:
            found, content = self.run(decode_for_parent, file, astuple(use))
        except LimitsExceeded:
            raise Unreadable(TOO_MUCH_WORK) from None
        if "text" in found:
            raise Unreadable(found["text"], **found["values"])
        return Decoded(content, *found["size"])

    def run(
        self, work: Work, file: IO[bytes], values: Sequence[object] = (), *, waits: bool = False
    ) -> tuple[dict[str, Any], bytes]:
        """Return what `work` makes of a file; raises `LimitsExceeded` and `DecoderBusy`.

        With `waits` it is done however many pictures wait.
        """
        message = json.dumps([work.__module__, work.__name__, values]).encode()
        with self._turn if waits else self._take_turn():
            try:
                with self._open(message) as connection:
                    answer = _exchange(connection, file)
            except OSError:
                # It can't be forked, or is stuck or gone. The next picture gets a new one.
                logger.exception("the process that decodes pictures does not answer")
                self.close()
                raise DecoderBusy from None
        if not answer.endswith(END):
            logger.warning("a picture exceeded its limits of time or memory and was refused")
            raise LimitsExceeded
        head, _, content = answer.removesuffix(END).partition(b"\n")
        return json.loads(head), content

    @contextlib.contextmanager
    def _take_turn(self) -> Iterator[None]:
        if not self._places.acquire(blocking=False):
            raise DecoderBusy
        try:
            with self._turn:
                yield
        finally:
            self._places.release()

    def _open(self, message: bytes) -> socket.socket:
        ours, theirs = socket.socketpair()
        sent = [message], [theirs.fileno()]
        with theirs:
            try:
                socket.send_fds(self._requests or self._fork(), *sent)
            except ConnectionError:
                # It was killed, most likely by the system for lack of memory.
                self.close()
                socket.send_fds(self._fork(), *sent)
        return ours

    def _fork(self) -> socket.socket:
        self._requests, theirs = socket.socketpair(type=socket.SOCK_SEQPACKET)
        with theirs:
            self._process = os.fork()
            if self._process == 0:
                _run(theirs)
        return self._requests

    def close(self) -> None:
        """End the process, if there is one; the next picture starts another."""
        if self._requests is not None:
            self._requests.close()
            self._requests = None
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self._process, os.WNOHANG)


decoder = Decoder()
atexit.register(decoder.close)


def _exchange(connection: socket.socket, file: IO[bytes]) -> bytes:
    """Return a child's answer to a file, cut off if it was killed; raises `OSError`."""
    # Longer than a child lives, and than it takes to give its memory back.
    connection.settimeout(SECONDS + 30)
    # Piece by piece: read as a whole, files of ten megabytes would leave a worker large for good.
    with connection.makefile("wb") as sent:
        shutil.copyfileobj(file, sent)
    connection.shutdown(socket.SHUT_WR)
    with connection.makefile("rb") as answer:
        return answer.read(MAX_ANSWER_BYTES)


def _run(requests: socket.socket) -> NoReturn:
    """Be the process: fork a child for each connection, until nobody is left to send one."""
    try:
        # No finalizer of a copied object may run here.
        gc.disable()
        # Descriptors take the lowest free number: none is beyond the second limit.
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
        # Never back into what the fork was made from.
        os._exit(0)


def _count_own_data() -> int:
    """Return the bytes that this process has from its parent, which are no work of its own."""
    try:
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[5]
    except OSError:
        # An empty root has no /proc; what the service has there is small.
        return 0
    return int(pages) * resource.getpagesize()


def _answer(
    connection: socket.socket, module: str, name: str, values: Sequence[object]
) -> NoReturn:
    """Be the child: answer with the picture, or end without an answer."""
    try:
        # Whatever it is doing then, the signal ends it.
        signal.setitimer(signal.ITIMER_REAL, SECONDS)
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
        most = DATA_BYTES + _count_own_data()
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))
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
