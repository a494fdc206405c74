"""The supervisor: the parent process of the workers."""

import contextlib
import gc
import logging
import mmap
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import click
from sqlalchemy.orm import configure_mappers

from testimonials.core.late import find_late
from testimonials.core.settings.table import Settings

# Worker processes: how one is forked, and how it tells its parent that it is ready.

logger = logging.getLogger("testimonials.operations.server.serve")

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD)

# The number of replaced workers, in memory that the parent writes and all workers read; and the key
# of the application's extension that reads it.
RESTARTS = "testimonials_worker_restarts"
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
    """What the parent knows about a worker."""

    pid: int
    number: int
    report: int
    is_ready: bool = False
    kill_at: float = 0.0

    def has_reported(self) -> bool:
        """Return whether the worker has just reported that it is ready, which it does once."""
        return bool(select.select([self.report], [], [], 0)[0]) and os.read(self.report, 1) == b"+"

    def send(self, number: signal.Signals) -> None:
        # It may have ended; its id isn't reused until the parent has waited for it.
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
    """Fork a process that does `work` and exits; this returns only in the parent.

    Raises `OSError` if the system can't start another process.
    """
    parent = os.getpid()
    reading, writing = os.pipe()
    # A signal that reached the child before it has handlers of its own would wake the parent.
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
        # The code that forked, and the parent's exit handlers, must not run in the child.
        os._exit(code)


def note_signals() -> socket.socket:
    """Return a socket that receives the number of each signal, which then does nothing else."""
    receiver, sender = socket.socketpair()
    receiver.setblocking(False)
    sender.setblocking(False)
    signal.set_wakeup_fd(sender.detach(), warn_on_full_buffer=False)
    for number in SIGNALS:
        signal.signal(number, lambda *_: None)
    return receiver


def tell_manager(state: str) -> None:
    """Tell systemd the state of the service, if it wants to know (Type=notify)."""
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


# The parent of the workers: starts, reloads, replaces and ends them, and answers no requests.
#
# It has the listening socket, but no threads or connections that a fork would copy.

# The seconds after which a worker that was asked to stop is killed: more than its own limit, and
# less than Docker's ten.
PATIENCE = 9.0
# The seconds after which a worker that died while starting is started again.
DELAY = 5.0
# Whether this is the binary made by `scripts/build-binary`.
IS_FROZEN = hasattr(sys, "frozen")


@dataclass
class _Generation:
    """Workers that run with the same settings."""

    settings: Settings
    is_reload: bool
    workers: dict[int, Worker] = field(default_factory=dict)
    # Whether the first worker is ready, so that the others may start.
    is_prepared: bool = False
    # By seat, the time before which no worker is started.
    not_before: dict[int, float] = field(default_factory=dict)

    def missing(self) -> list[int]:
        """Return the seats that need a worker now."""
        now = time.monotonic()
        return [
            number
            for number in range(self.settings.workers if self.is_prepared else 1)
            if number not in self.workers and self.not_before.get(number, 0) <= now
        ]

    def is_ready(self, number: int) -> bool:
        return number in self.workers and self.workers[number].is_ready


class Supervisor:
    """Runs `work` in as many processes as the settings say, until a signal ends it.

    `signals` comes from `note_signals`. `listener` is the socket that the workers share; it is
    closed first when the service ends, so that late connections are refused and not cut off. `load`
    returns the settings for a reload, or raises `click.ClickException`. `announce` is called once,
    when the first worker answers.
    """

    def __init__(
        self,
        signals: socket.socket,
        listener: socket.socket,
        load: Callable[[], Settings],
        work: Callable[[Settings, Seat], None],
        announce: Callable[[], None],
    ) -> None:
        self._signals, self._listener = signals, listener
        self._load, self._work, self._announce = load, work, announce
        self._next: _Generation | None = None
        self._leaving: list[Worker] = []
        self._is_ending = False
        self._exit_code = 0
        self._had_terminal = has_terminal()
        self._parent = os.getppid()

    def run(self, settings: Settings) -> int:
        """Run until all workers have ended; return the exit code."""
        self._current = _Generation(settings, is_reload=False)
        # What is loaded here is shared by the workers; otherwise each would take 17 MB more.
        find_late("application:build_app")
        configure_mappers()
        # Keeps the garbage collectors of workers from writing to shared memory, which copies it.
        gc.collect()
        gc.freeze()
        # A request makes more than 700 objects, the default threshold, and almost no cycles.
        gc.set_threshold(10_000)
        while not self._is_ending or self._leaving:
            self._handle_signals()
            if IS_FROZEN and os.getppid() != self._parent:
                # The process that unpacked the binary, and cleans up after it, was killed.
                self._end()
            self._start_missing()
            self._note_reports()
            self._note_ends()
            for worker in self._leaving:
                if worker.kill_at < time.monotonic():
                    worker.send(signal.SIGKILL)
            reports = [worker.report for worker in self._working() if not worker.is_ready]
            select.select([self._signals.fileno(), *reports], [], [], 0.25)
        return self._exit_code

    def _generations(self) -> list[_Generation]:
        return [self._current, *([self._next] if self._next else [])]

    def _working(self) -> list[Worker]:
        return [worker for each in self._generations() for worker in each.workers.values()]

    def _handle_signals(self) -> None:
        numbers = b""
        with contextlib.suppress(BlockingIOError):
            numbers = self._signals.recv(1024)
        for number in numbers:
            is_hangup = number == signal.SIGHUP
            # Closing the terminal sends SIGHUP too.
            is_closed = is_hangup and self._had_terminal and not has_terminal()
            if number in (signal.SIGTERM, signal.SIGINT) or is_closed:
                self._end()
            elif is_hangup and not self._is_ending:
                self._reload()

    def _end(self) -> None:
        if self._is_ending:
            return
        self._is_ending = True
        self._listener.close()
        tell_manager("STOPPING=1")
        for generation in self._generations():
            self._dismiss(generation)
        self._next = None

    def _reload(self) -> None:
        tell_manager("RELOADING=1")
        try:
            settings = self._load()
        except click.ClickException as error:
            logger.error("not reloaded: %s", error.message)
            tell_manager("READY=1")
            return
        if self._next is not None:
            self._dismiss(self._next)
        self._next = _Generation(settings, is_reload=True)

    def _dismiss(self, generation: _Generation) -> None:
        """Tell the workers of a generation to finish their requests and exit."""
        for worker in generation.workers.values():
            worker.kill_at = time.monotonic() + PATIENCE
            worker.send(signal.SIGTERM)
            self._leaving.append(worker)
        generation.workers.clear()

    def _start_missing(self) -> None:
        if self._is_ending:
            return
        for generation in self._generations():
            for number in generation.missing():
                try:
                    generation.workers[number] = self._fork(generation, number)
                except OSError as error:
                    if not self._current.is_prepared:
                        raise
                    # Memory is probably short; the other workers carry on.
                    logger.error("no worker can be started: %s", error.strerror)
                    generation.not_before[number] = time.monotonic() + DELAY

    def _fork(self, generation: _Generation, number: int) -> Worker:
        return fork_worker(
            number,
            is_first=number == 0 and not generation.is_prepared,
            is_reload=generation.is_reload,
            work=lambda seat: self._work(generation.settings, seat),
        )

    def _note_reports(self) -> None:
        for generation in self._generations():
            for worker in generation.workers.values():
                worker.is_ready = worker.is_ready or worker.has_reported()
            if not generation.is_prepared and generation.is_ready(0):
                generation.is_prepared = True
                if not generation.is_reload:
                    self._announce()
                    tell_manager("READY=1")
        new = self._next
        if new is not None and all(map(new.is_ready, range(new.settings.workers))):
            self._dismiss(self._current)
            self._current, self._next = new, None
            logger.info("reloaded: %s", describe_count(new.settings.workers))
            tell_manager("READY=1")

    def _note_ends(self) -> None:
        for worker in self._working() + self._leaving:
            if (code := worker.find_end()) is None:
                continue
            if worker in self._leaving:
                self._leaving.remove(worker)
            elif self._next and self._next.workers.get(worker.number) is worker:
                del self._next.workers[worker.number]
                logger.error("not reloaded: a new worker %s", _describe_end(code))
                self._dismiss(self._next)
                self._next = None
                tell_manager("READY=1")
            else:
                self._note_loss(worker, code)

    def _note_loss(self, worker: Worker, code: int) -> None:
        """Have a worker replaced: at once, or after a delay if it was never ready."""
        generation, number = self._current, worker.number
        del generation.workers[number]
        if not generation.is_prepared and not generation.is_reload:
            # The worker has said why, unless it was killed.
            if code < 0:
                logger.error("the first worker %s before it answered", _describe_end(code))
            self._exit_code = code if code > 0 else 1
            self._end()
            return
        delay = 0.0 if worker.is_ready else DELAY
        generation.not_before[number] = time.monotonic() + delay
        restarts[0] += 1
        logger.error(
            "worker %s (process %s) %s; another starts%s",
            number + 1,
            worker.pid,
            _describe_end(code),
            f" in {delay:g} s" if delay else "",
        )


def describe_count(workers: int) -> str:
    return "1 worker" if workers == 1 else f"{workers} workers"


def _describe_end(code: int) -> str:
    return f"was ended by signal {-code}" if code < 0 else f"ended with code {code}"
