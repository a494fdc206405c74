"""The `testimonials` command."""

import errno
import os
import sys
from typing import Any

import click

from testimonials import __version__, create_app
from testimonials.cli.groups import COMMANDS, LateGroup


class _Main(LateGroup):
    """Turns errors of the database and the system into messages; bugs keep their tracebacks."""

    late = COMMANDS

    def invoke(self, ctx: click.Context) -> Any:
        # Imported here, since --help doesn't need these.
        from testimonials.core.db.outages import MAKE_ROOM, explaining_database_errors, is_disk_full
        from testimonials.core.settings.instance import AS_ITS_OWNER

        try:
            with explaining_database_errors():
                return super().invoke(ctx)
        except OSError as error:
            # click handles closed pipes.
            if error.errno in (None, errno.EPIPE):
                raise
            where = f" ({error.filename})" if error.filename else ""
            advice = f" {MAKE_ROOM}" if is_disk_full(error) else ""
            if isinstance(error, PermissionError):
                advice = f" {AS_ITS_OWNER}"
            message = f"The operating system refused: {error.strerror}{where}.{advice}"
            raise click.ClickException(message) from None


@click.group(cls=_Main, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="testimonials")
@click.pass_context
def main(context: click.Context) -> None:
    """Collect testimonials and show them on any website.

    Settings come from TESTIMONIALS_... variables or testimonials.toml in the instance folder;
    `testimonials config show` prints those in effect.
    """
    # Only this user may read the files that the program writes.
    os.umask(0o077)
    # Python makes closed streams None, which click and input() can't use, and the next files and
    # sockets would get their descriptors. These stay open until the process ends (SIM115).
    sys.stdin = sys.stdin or open(os.devnull, encoding="utf-8")  # noqa: SIM115
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    # Flask's command groups find the application this way.
    from flask.cli import ScriptInfo

    context.obj = ScriptInfo(create_app=create_app)
