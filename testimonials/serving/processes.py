"""Workers as processes: how one is forked, says that it answers, and notices its parent's end."""

import contextlib
import logging
import mmap
import os
import select
import signal
import socket
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass

import click

logger = logging.getLogger("testimonials.serving.server")

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD)


@dataclass(frozen=True)
class Seat:
    """What a worker is told: its place, and the call by which it says that it answers."""

    number: int
    # Of a start or a reload, the one that brings the database up to date before the others come.
    is_first: bool
    is_reload: bool
    tell_ready: Callable[[], None]


@dataclass
class Worker:
    """A process in a seat, as its parent sees it."""

    pid: int
    number: int
    report: int
    is_ready: bool = False
    kill_at: float | None = None

    def has_reported(self) -> bool:
        """Tell whether it has said that it answers."""
        if not select.select([self.report], [], [], 0)[0]:
            return False
        return os.read(self.report, 1) == b"+"

    def send(self, number: signal.Signals) -> None:
        """Send it a signal."""
        # It may have ended meanwhile; its number stays its own until the parent has noted that.
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def find_end(self) -> int | None:
        """Return its exit code, negative for a signal, or None while it runs; call once after."""
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        if pid == 0:
            return None
        os.close(self.report)
        return os.waitstatus_to_exitcode(status)


class SharedCounter:
    """A number that the parent raises and every worker reads, in memory that they share."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, 8)

    def raise_by_one(self) -> None:
        """Count one more; for the parent alone."""
        self._memory[:] = (self.read() + 1).to_bytes(8)

    def read(self) -> int:
        """Return the number."""
        return int.from_bytes(self._memory[:])


# How many workers were started again after a death.
restarts = SharedCounter()


class LifeLine:
    """A pipe whose one end the parent alone holds: its end, however it comes, closes the pipe."""

    def __init__(self) -> None:
        self._reading, self._writing = os.pipe()

    def close(self) -> None:
        """Let go of it, as a parent whose workers have ended."""
        os.close(self._reading)
        os.close(self._writing)

    def watch(self) -> None:
        """In a worker: end as by SIGTERM once the parent is gone."""
        os.close(self._writing)
        threading.Thread(target=self._wait, name="life line", daemon=True).start()

    def _wait(self) -> None:
        os.read(self._reading, 1)
        os.kill(os.getpid(), signal.SIGTERM)


def fork_worker(
    number: int,
    *,
    is_first: bool,
    is_reload: bool,
    life_line: LifeLine,
    work: Callable[[Seat], None],
) -> Worker:
    """Start a process that does `work` and ends; returns in the parent alone.

    Raises `OSError` where the system has no room for one more.
    """
    reading, writing = os.pipe()
    # A signal to the child that came before it has handlers of its own would wake the parent.
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        pid = os.fork()
    except OSError:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
        os.close(reading)
        os.close(writing)
        raise
    if pid == 0:
        os.close(reading)
        seat = Seat(number, is_first, is_reload, tell_ready=lambda: _report(writing))
        _run_child(life_line, seat, work)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    os.close(writing)
    return Worker(pid, number, reading)


def _report(writing: int) -> None:
    with contextlib.suppress(BrokenPipeError):
        os.write(writing, b"+")


def _run_child(life_line: LifeLine, seat: Seat, work: Callable[[Seat], None]) -> None:
    """Do a worker's work in the process just forked; never returns."""
    code = 1
    try:
        signal.set_wakeup_fd(-1)
        # Ctrl-C and a closed terminal reach the whole group; the parent alone decides what follows.
        for number in (signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        for number in (signal.SIGTERM, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
        life_line.watch()
        work(seat)
        code = 0
    except click.ClickException as error:
        if seat.is_first and not seat.is_reload:
            error.show()
        else:
            # Nobody waits for the end of a command here; what reads the log does.
            logger.error("the worker can't start: %s", error.message)
        code = error.exit_code
    except BaseException:
        logger.exception("the worker failed")
    finally:
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        # Nothing of the parent's may run here: neither its callers nor what it does at its end.
        os._exit(code)


def note_signals() -> socket.socket:
    """Let the signals raise nothing any more; return a socket from which their numbers can be read.

    That holds until the process ends, or a signal in its last moments would spoil its exit code.
    """
    receiver, sender = socket.socketpair()
    receiver.setblocking(False)
    sender.setblocking(False)
    signal.set_wakeup_fd(sender.detach(), warn_on_full_buffer=False)
    for number in SIGNALS:
        signal.signal(number, lambda *_: None)
    return receiver


def tell_manager(state: str) -> None:
    """Tell systemd how far the service is, where it asks for that (Type=notify)."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if address:
        with (
            contextlib.suppress(OSError),
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender,
        ):
            sender.sendto(state.encode(), address.replace("@", "\0", 1))


def has_terminal() -> bool:
    """Tell whether the standard input is a terminal, and not one that was closed."""
    with contextlib.suppress(AttributeError, ValueError):
        return sys.stdin.isatty()
    return False
