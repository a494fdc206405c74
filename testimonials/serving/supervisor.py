"""The processes of `serve`: a parent that answers nothing itself, and the workers it looks after.

The parent holds the listening socket and no thread or connection, so that a fork copies none. It
starts a worker for each seat, starts one again that has died, exchanges all of them on SIGHUP, and
ends them on SIGTERM or SIGINT. A worker notices the end of its parent, however it came, by a pipe
whose other end the parent alone holds open.
"""

import contextlib
import gc
import logging
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import click

from testimonials.serving.processes import (
    LifeLine,
    Seat,
    Worker,
    fork_worker,
    has_terminal,
    restarts,
    tell_manager,
)

logger = logging.getLogger("testimonials.serving.server")

# Seconds after which a worker that was asked to leave is killed: more than its own limit, less than
# the ten that Docker waits.
PATIENCE = 9.0
LONGEST_DELAY = 30.0
# Seconds after which it is tried again to start a worker for which the system had no room.
RETRY_SECONDS = 1.0
# Whether this is the one file that `scripts/build-binary` makes.
IS_FROZEN = hasattr(sys, "frozen")


class HasWorkers(Protocol):
    """What the supervisor wants to know of the settings."""

    @property
    def workers(self) -> int:
        """How many processes are wanted."""


@dataclass
class _Generation:
    """The workers of one state of the settings."""

    settings: Any
    is_reload: bool
    workers: dict[int, Worker] = field(default_factory=dict)
    is_prepared: bool = False
    failures: dict[int, int] = field(default_factory=dict)
    not_before: dict[int, float] = field(default_factory=dict)

    def missing(self) -> list[int]:
        """Name the seats that want a worker now."""
        seats = range(self.settings.workers if self.is_prepared else 1)
        now = time.monotonic()
        return [
            number
            for number in seats
            if number not in self.workers and self.not_before.get(number, 0) <= now
        ]

    @property
    def is_complete(self) -> bool:
        """Whether every seat has a worker that answers."""
        ready = [worker for worker in self.workers.values() if worker.is_ready]
        return len(ready) == int(self.settings.workers)


class Supervisor:
    """Runs `work` in as many processes as the settings say, until a signal ends it.

    `signals` is what `note_signals` gave.
    `load` gives the settings anew for a reload, or raises `click.ClickException`. `announce` is
    called once, when the first worker answers. `listener` is the socket that they share; it is
    closed first of all at the end, so that whoever comes too late is refused and not cut off.
    """

    def __init__(
        self,
        signals: socket.socket,
        listener: socket.socket,
        load: Callable[[], HasWorkers],
        work: Callable[[Any, Seat], None],
        announce: Callable[[], None],
    ) -> None:
        self._signals, self._listener = signals, listener
        self._load, self._work, self._announce = load, work, announce
        self._next: _Generation | None = None
        self._leaving: list[Worker] = []
        self._is_ending = False
        self._exit_code = 0
        self._had_terminal = has_terminal()

    def run(self, settings: HasWorkers) -> int:
        """Run until all workers have ended; return the exit code."""
        self._current = _Generation(settings, is_reload=False)
        self._life_line = LifeLine()
        # What the parent has loaded stays in pages that all share: the collector of a worker, which
        # writes to every object that it looks at, leaves these alone.
        gc.collect()
        gc.freeze()
        parent = os.getppid()
        while not self._is_ending or self._leaving:
            self._heed_signals()
            if IS_FROZEN and os.getppid() != parent:
                # What unpacked the one file and waits to clean up was killed.
                self._end()
            self._start_missing()
            self._note_reports()
            self._note_ends()
            self._kill_overdue()
            self._wait()
        self._life_line.close()
        return self._exit_code

    def _wait(self) -> None:
        reports = [worker.report for worker in self._living_workers() if not worker.is_ready]
        # Seats and limits that fall due are looked after within a quarter of a second.
        select.select([self._signals.fileno(), *reports], [], [], 0.25)

    @property
    def _generations(self) -> list[_Generation]:
        return [self._current, *([self._next] if self._next else [])]

    def _living_workers(self) -> list[Worker]:
        return [worker for each in self._generations for worker in each.workers.values()]

    def _heed_signals(self) -> None:
        numbers = b""
        with contextlib.suppress(BlockingIOError):
            numbers = self._signals.recv(1024)
        for number in numbers:
            if number in (signal.SIGTERM, signal.SIGINT) or (
                # The terminal it was started from is gone, which no reload answers.
                number == signal.SIGHUP and self._had_terminal and not has_terminal()
            ):
                self._end()
            elif number == signal.SIGHUP and not self._is_ending:
                self._reload()

    def _end(self) -> None:
        """Begin the end; more signals change nothing."""
        if self._is_ending:
            return
        self._is_ending = True
        self._listener.close()
        tell_manager("STOPPING=1")
        for generation in self._generations:
            self._let_go(generation)
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
            self._let_go(self._next)
        self._next = _Generation(settings, is_reload=True)

    def _let_go(self, generation: _Generation) -> None:
        """Ask the workers of a generation to finish what they have begun."""
        for worker in generation.workers.values():
            worker.kill_at = time.monotonic() + PATIENCE
            worker.send(signal.SIGTERM)
            self._leaving.append(worker)
        generation.workers.clear()

    def _start_missing(self) -> None:
        if self._is_ending:
            return
        for generation in self._generations:
            for number in generation.missing():
                try:
                    generation.workers[number] = self._fork(generation, number)
                except OSError as error:
                    if not self._current.is_prepared:
                        raise
                    # Memory is short, most likely, which may be why one has died. The others go on.
                    logger.error("no worker can be started: %s", error.strerror)
                    generation.not_before[number] = time.monotonic() + RETRY_SECONDS

    def _fork(self, generation: _Generation, number: int) -> Worker:
        return fork_worker(
            number,
            is_first=number == 0 and not generation.is_prepared,
            is_reload=generation.is_reload,
            life_line=self._life_line,
            work=lambda seat: self._work(generation.settings, seat),
        )

    def _note_reports(self) -> None:
        for generation in self._generations:
            for worker in generation.workers.values():
                if worker.is_ready or not worker.has_reported():
                    continue
                worker.is_ready = True
                if worker.number == 0 and not generation.is_prepared:
                    generation.is_prepared = True
                    if not generation.is_reload:
                        self._announce()
                        tell_manager("READY=1")
        if self._next is not None and self._next.is_complete:
            old, self._current, self._next = self._current, self._next, None
            self._let_go(old)
            logger.info("reloaded: %s", describe_count(self._current.settings.workers))
            tell_manager("READY=1")

    def _note_ends(self) -> None:
        for worker in self._living_workers() + self._leaving:
            if (code := worker.find_end()) is None:
                continue
            if worker in self._leaving:
                self._leaving.remove(worker)
            elif self._next and self._next.workers.get(worker.number) is worker:
                del self._next.workers[worker.number]
                logger.error("not reloaded: a new worker %s", _describe_end(code))
                self._let_go(self._next)
                self._next = None
                tell_manager("READY=1")
            else:
                self._note_loss(worker, code)

    def _note_loss(self, worker: Worker, code: int) -> None:
        """Return the seat of a worker that has died to a new one.

        That is done at once after a worker that has answered, and later each time after one that
        died in its start: only then does something keep it from starting.
        """
        generation = self._current
        del generation.workers[worker.number]
        if not generation.is_prepared and not generation.is_reload:
            # The worker has said why, unless it was killed.
            if code < 0:
                logger.error("the first worker %s before it answered", _describe_end(code))
            self._exit_code = code if code > 0 else 1
            self._end()
            return
        failures = 0 if worker.is_ready else generation.failures.get(worker.number, 0) + 1
        delay = min(2.0 ** (failures - 2), LONGEST_DELAY) if failures > 1 else 0.0
        generation.failures[worker.number] = failures
        generation.not_before[worker.number] = time.monotonic() + delay
        restarts.raise_by_one()
        logger.error(
            "worker %s (process %s) %s; another starts%s",
            worker.number + 1,
            worker.pid,
            _describe_end(code),
            f" in {delay:g} s" if delay else "",
        )

    def _kill_overdue(self) -> None:
        for worker in self._leaving:
            if worker.kill_at is not None and worker.kill_at < time.monotonic():
                worker.send(signal.SIGKILL)


def describe_count(workers: int) -> str:
    """Write how many workers there are."""
    return "1 worker" if workers == 1 else f"{workers} workers"


def _describe_end(code: int) -> str:
    return f"was ended by signal {-code}" if code < 0 else f"ended with code {code}"
