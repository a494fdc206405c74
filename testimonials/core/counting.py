"""A counter for the hot path."""

import itertools
import threading


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
