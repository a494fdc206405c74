"""The real command, killed without warning at a chosen moment of its work."""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence

# Python itself tells of each of these events before it happens, wherever in the program it is.
ON_EVENT = """
import os, signal, sys
event, word, left = sys.argv[1], sys.argv[2], [int(sys.argv[3])]
def watch(name, arguments):
    if name == event and word in str(arguments):
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(watch)
from testimonials.cli import main
main(args=sys.argv[4:], prog_name="testimonials")
"""

# The same before a statement of SQL that holds a word.
ON_STATEMENT = """
import os, signal, sys
from sqlalchemy import Engine, event
word = sys.argv[1]
@event.listens_for(Engine, "before_cursor_execute")
def watch(connection, cursor, statement, *rest):
    if word in statement:
        os.kill(os.getpid(), signal.SIGKILL)
from testimonials.cli import main
main(args=sys.argv[2:], prog_name="testimonials")
"""


def run_until_event(
    event: str, word: str, count: int, arguments: Sequence[str], environment: dict[str, str]
) -> None:
    """Run a command, and kill it before the `count`th audit event of this name and word."""
    _run(ON_EVENT, [event, word, str(count), *arguments], environment)


def run_until_statement(word: str, arguments: Sequence[str], environment: dict[str, str]) -> None:
    """Run a command, and kill it before the first statement that holds `word`."""
    _run(ON_STATEMENT, [word, *arguments], environment)


def _run(program: str, arguments: Sequence[str], environment: dict[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env=environment | {"PYTHONPATH": os.pathsep.join(["", *sys.path])},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    # Had it come to its end, the test would show nothing.
    assert done.returncode == -signal.SIGKILL, (done.returncode, done.stdout, done.stderr)
