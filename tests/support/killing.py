"""The command, killed without warning at a chosen moment of its work."""

import os
import signal
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from sqlalchemy import Engine, event

from testimonials.cli.main import main


def run_until_event(
    name: str, word: str, count: int, arguments: Sequence[str], environment: dict[str, str]
) -> None:
    """Run a command, and kill it before the `count`th audit event of this name and word.

    Python itself tells of each of these events before it happens, wherever in the program it is.
    """
    left = count

    def watch(event_name: str, values: tuple[Any, ...]) -> None:
        nonlocal left
        if event_name == name and word in str(values):
            left -= 1
            if left == 0:
                die()

    _run(lambda: sys.addaudithook(watch), arguments, environment)


def run_until_statement(word: str, arguments: Sequence[str], environment: dict[str, str]) -> None:
    _run(lambda: watch_statements(word), arguments, environment)


def watch_statements(word: str) -> None:
    @event.listens_for(Engine, "before_cursor_execute")
    def watch(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        if word in statement:
            die()


def die() -> NoReturn:
    """End this process as `kill -9` does."""
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def _run(begin: Callable[[], None], arguments: Sequence[str], environment: dict[str, str]) -> None:
    pid = os.fork()
    if pid == 0:
        try:
            os.environ.clear()
            os.environ.update(environment)
            begin()
            main(args=list(arguments), prog_name="testimonials")
        finally:
            os._exit(1)
    _, status = os.waitpid(pid, 0)
    # Had it come to its end, the test would show nothing.
    assert os.waitstatus_to_exitcode(status) == -signal.SIGKILL, status
