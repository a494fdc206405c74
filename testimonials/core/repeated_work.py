"""Repeating a small task in the background of a long one."""

import contextlib
import threading
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def repeating(work: Callable[[], object], seconds: float, name: str) -> Iterator[None]:
    """Do `work` every `seconds` in a thread called `name` until the block ends.

    What `work` raises ends the thread, not the block.
    """
    is_done = threading.Event()

    def repeat() -> None:
        while not is_done.wait(seconds):
            work()

    thread = threading.Thread(target=repeat, name=name, daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_done.set()
        thread.join()
