"""The `testimonials` command: `serve`, and the admin groups."""

import errno
import os
import sys
from typing import Any

import click

from testimonials import __version__, create_app
from testimonials.cli.groups import COMMANDS, LateGroup


class _Main(LateGroup):
    """Turns errors of the database and the system into a sentence.

    Faults of the program keep their traceback.
    """

    late = COMMANDS

    def invoke(self, ctx: click.Context) -> Any:
        # The help needs none of this.
        from testimonials.core.db.outages import MAKE_ROOM, is_disk_full, telling_trouble
        from testimonials.core.settings.instance import AS_ITS_OWNER

        try:
            with telling_trouble():
                return super().invoke(ctx)
        except OSError as error:
            # A closed pipe is handled by click.
            if error.errno in (None, errno.EPIPE):
                raise
            where = f" ({error.filename})" if error.filename else ""
            advice = f" {MAKE_ROOM}" if is_disk_full(error) else ""
            if isinstance(error, PermissionError):
                advice = f" {AS_ITS_OWNER}"
            sentence = f"The operating system refused: {error.strerror}{where}.{advice}"
            raise click.ClickException(sentence) from None


@click.group(cls=_Main, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="testimonials")
@click.pass_context
def main(context: click.Context) -> None:
    """Collect testimonials and show them on any website.

    Settings come from TESTIMONIALS_... variables or testimonials.toml in the instance folder;
    `testimonials config show` prints those in effect.
    """
    _open_closed_streams()
    # Only this user may read what the program writes (database, secret, mail with links).
    os.umask(0o077)
    # This is how Flask's command groups find the application when they need it.
    from flask.cli import ScriptInfo

    context.obj = ScriptInfo(create_app=create_app)


def _open_closed_streams() -> None:
    """Open /dev/null in place of closed standard streams.

    Otherwise the next files and sockets would get their numbers and their output.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            # Takes the lowest free number, which is this one.
            os.open(os.devnull, os.O_RDWR)
            stream = open(number, "w" if number else "r", closefd=False)  # noqa: SIM115
            setattr(sys, name, stream)
