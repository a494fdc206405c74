"""Worker processes: how one is forked, and how it tells its parent that it is ready."""

import contextlib
import logging
import mmap
import os
import select
import signal
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass

import click

logger = logging.getLogger("testimonials.serving.server")

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD)

# How many workers were replaced: written by the parent in memory that every worker reads.
restarts = memoryview(mmap.mmap(-1, 8)).cast("Q")


@dataclass(frozen=True)
class Seat:
    """A worker's place: its number, counted from 0, and the process id of its parent."""

    number: int
    parent: int
    # Whether this worker upgrades the database before the others start.
    is_first: bool
    is_reload: bool
    tell_ready: Callable[[], None]


@dataclass
class Worker:
    """A worker as its parent sees it."""

    pid: int
    number: int
    report: int
    is_ready: bool = False
    kill_at: float = 0.0

    def has_reported(self) -> bool:
        """Return whether it has just reported that it is ready; it reports once."""
        return bool(select.select([self.report], [], [], 0)[0]) and os.read(self.report, 1) == b"+"

    def send(self, number: signal.Signals) -> None:
        # It may have ended; its id isn't reused before the parent has waited for it.
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def find_end(self) -> int | None:
        """Return its exit code, negative for a signal, or None while it runs."""
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        if pid == 0:
            return None
        os.close(self.report)
        return os.waitstatus_to_exitcode(status)


def fork_worker(
    number: int, *, is_first: bool, is_reload: bool, work: Callable[[Seat], None]
) -> Worker:
    """Fork a process that does `work` and exits; return in the parent only.

    Raises `OSError` if the system can't start another process.
    """
    parent = os.getpid()
    reading, writing = os.pipe()
    # A signal that reaches the child before it has its own handlers would wake the parent.
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        pid = os.fork()
        if pid == 0:
            os.close(reading)
            seat = Seat(number, parent, is_first, is_reload, lambda: _report(writing))
            _run_child(seat, work)
    except OSError:
        os.close(reading)
        raise
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
        os.close(writing)
    return Worker(pid, number, reading)


def _report(writing: int) -> None:
    with contextlib.suppress(BrokenPipeError):
        os.write(writing, b"+")


def _run_child(seat: Seat, work: Callable[[Seat], None]) -> None:
    """Do a worker's work in the forked process, and exit."""
    code = 1
    try:
        signal.set_wakeup_fd(-1)
        # Ctrl-C and a closed terminal signal the whole group; only the parent acts on them.
        for number in (signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        for number in (signal.SIGTERM, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
        work(seat)
        code = 0
    except click.ClickException as error:
        if seat.is_first and not seat.is_reload:
            error.show()
        else:
            logger.error("the worker can't start: %s", error.message)
        code = error.exit_code
    except BaseException:
        logger.exception("the worker failed")
    finally:
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        # Neither the parent's callers nor its exit handlers may run here.
        os._exit(code)


def note_signals() -> socket.socket:
    """Return a socket that receives the number of each signal sent to this process.

    From now on the signals have no other effect.
    """
    receiver, sender = socket.socketpair()
    receiver.setblocking(False)
    sender.setblocking(False)
    signal.set_wakeup_fd(sender.detach(), warn_on_full_buffer=False)
    for number in SIGNALS:
        signal.signal(number, lambda *_: None)
    return receiver


def tell_manager(state: str) -> None:
    """Tell systemd the state of the service if it asks for it (Type=notify)."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if address:
        with (
            contextlib.suppress(OSError),
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender,
        ):
            sender.sendto(state.encode(), address.replace("@", "\0", 1))


def has_terminal() -> bool:
    with contextlib.suppress(AttributeError, ValueError):
        return sys.stdin.isatty()
    return False
