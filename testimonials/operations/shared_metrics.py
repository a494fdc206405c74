"""How the processes of one host tell each other what they counted.

Whichever worker a scrape reaches answers for all of them. So each writes its own page into a folder
of the instance every few seconds, and the one that is asked reads the others'.
"""

import contextlib
import os
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

WRITE_SECONDS = 5.0
# A page this old was left by a process that died, even if another one has its number now.
OLD_SECONDS = 60
ENDING = ".prom"


class SharedPages:
    """The pages of all processes; `write_own` gives this one's."""

    def __init__(self, folder: Path, write_own: Callable[[], bytes]) -> None:
        self.name = f"{os.getpid()}-{secrets.token_hex(3)}"
        self._folder = folder
        self._write_own = write_own
        self._thread: threading.Thread | None = None
        self._beginning = threading.Lock()
        self._ending = threading.Event()
        self._writing = threading.Lock()

    def keep(self) -> None:
        """Begin to write this process's page again and again; called with each answer.

        A command that only looks at something answers nothing, and writes none.
        """
        # The lock is taken by the one who begins; any other finds it taken and goes on.
        if self._thread is None and self._beginning.acquire(blocking=False):
            self._thread = threading.Thread(target=self._run, name="metrics", daemon=True)
            self._thread.start()

    def end(self) -> None:
        """Write no more, and take this process's page away."""
        self._ending.set()
        if self._thread is not None:
            self._thread.join()
        with contextlib.suppress(OSError):
            (self._folder / f"{self.name}{ENDING}").unlink()

    def write(self) -> None:
        """Write this process's page, whole or not at all; without room it is left out."""
        target = self._folder / f"{self.name}{ENDING}"
        draft = target.with_suffix(".new")
        # One at a time, so that an older page never takes the place of a newer one.
        with self._writing, contextlib.suppress(OSError):
            self._folder.mkdir(mode=0o700, exist_ok=True)
            draft.write_bytes(self._write_own())
            draft.replace(target)

    def read_others(self) -> Iterator["Metric"]:
        """Return what the other processes that live have counted."""
        from prometheus_client.parser import text_string_to_metric_families

        for path in sorted(self._folder.glob(f"*{ENDING}")):
            if path.stem == self.name:
                continue
            with contextlib.suppress(OSError, ValueError):
                if _is_left_over(path):
                    path.unlink()
                    continue
                yield from text_string_to_metric_families(path.read_text(encoding="utf-8"))

    def _run(self) -> None:
        while not self._ending.is_set() and self._folder.parent.is_dir():
            self.write()
            self._ending.wait(WRITE_SECONDS)


def mark(family: "Metric", process: str) -> "Metric":
    """Return the family with the label `process` at each of its samples."""
    family.samples = [
        sample._replace(labels=dict(sample.labels) | {"process": process})
        for sample in family.samples
    ]
    return family


def merge(families: Iterable["Metric"]) -> Iterator["Metric"]:
    """Put the samples of families of one name together, as the format wants them."""
    found: dict[str, Metric] = {}
    for family in families:
        if family.name in found:
            found[family.name].samples += family.samples
        else:
            found[family.name] = family
    yield from found.values()


def _is_left_over(path: Path) -> bool:
    try:
        os.kill(int(path.stem.partition("-")[0]), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        # It lives, under another user.
        pass
    return time.time() - path.stat().st_mtime > OLD_SECONDS
