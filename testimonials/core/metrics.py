"""Counters that the processes of a host share."""

import contextlib
import itertools
import os
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric


# How the processes of one host share what they counted.
#
# Whichever worker a scrape reaches answers for all: each writes its own page into a folder of the
# instance every few seconds, and the one that is asked reads the others'. The library's own multi-
# process mode has neither the memory and time of each process nor counters kept elsewhere.

WRITE_SECONDS = 5.0
# A page this old was left by a process that died.
OLD_SECONDS = 30
ENDING = ".prom"


class SharedPages:
    """The pages of all processes; `write_own` returns this one's."""

    def __init__(self, folder: Path, write_own: Callable[[], bytes]) -> None:
        self.name = f"{os.getpid()}-{secrets.token_hex(3)}"
        self._folder = folder
        self._write_own = write_own
        self._thread: threading.Thread | None = None
        self._beginning = threading.Lock()
        self._writing = threading.Lock()
        self._ending = threading.Event()

    def keep(self) -> None:
        """Start writing this process's page every few seconds; called with each answer.

        A command that only looks at something answers nothing, and writes none.
        """
        # The first to take the lock starts the thread, and never releases it.
        if self._thread is None and self._beginning.acquire(blocking=False):
            self._thread = threading.Thread(target=self._run, name="metrics", daemon=True)
            self._thread.start()

    def end(self) -> None:
        self._ending.set()
        if self._thread is not None:
            self._thread.join()
        with contextlib.suppress(OSError):
            (self._folder / f"{self.name}{ENDING}").unlink()

    def write(self) -> None:
        """Write this process's page, whole or not at all; on a full disk it is left out."""
        target = self._folder / f"{self.name}{ENDING}"
        draft = target.with_suffix(".new")
        with self._writing, contextlib.suppress(OSError):
            self._folder.mkdir(mode=0o700, exist_ok=True)
            draft.write_bytes(self._write_own())
            draft.replace(target)

    def read_others(self) -> Iterator["Metric"]:
        from prometheus_client.parser import text_string_to_metric_families

        for path in sorted(self._folder.glob(f"*{ENDING}")):
            if path.stem == self.name:
                continue
            with contextlib.suppress(OSError, ValueError):
                if time.time() - path.stat().st_mtime > OLD_SECONDS:
                    path.unlink()
                    continue
                yield from text_string_to_metric_families(path.read_text(encoding="utf-8"))

    def _run(self) -> None:
        while not self._ending.is_set() and self._folder.parent.is_dir():
            self.write()
            self._ending.wait(WRITE_SECONDS)


def merge(families: Iterable["Metric"]) -> Iterator["Metric"]:
    """Put the samples of families of one name together, as the format wants them."""
    found: dict[str, Metric] = {}
    for family in families:
        found.setdefault(family.name, family)
        if found[family.name] is not family:
            found[family.name].samples += family.samples
    yield from found.values()


class Ticker:
    """A counter that many threads increment and few read.

    `next(ticker.ticks)` increments it atomically, without a lock. Reading increments it too, which
    `read` subtracts.
    """

    def __init__(self) -> None:
        self.ticks = itertools.count()
        self._reads = 0
        self._lock = threading.Lock()

    def read(self) -> int:
        with self._lock:
            count = next(self.ticks) - self._reads
            self._reads += 1
            return count
