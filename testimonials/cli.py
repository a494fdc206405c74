"""The `testimonials` command: `serve`, and the admin groups."""

import contextlib
import os
import sys
from typing import Any

import click
from flask import Flask
from flask.cli import ScriptInfo
from sqlalchemy.exc import DatabaseError

from testimonials import __version__
from testimonials.admin_group import AdminGroup
from testimonials.application import build_app
from testimonials.core.commands import describe_refusal, describe_trouble, is_outside_trouble
from testimonials.serving.server import serve
from testimonials.settings.instance_folder import hold_folder
from testimonials.settings.table import load_settings


class _Main(AdminGroup):
    """Says in a sentence what the database or the system can't do.

    A fault of the program keeps its traceback.
    """

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except DatabaseError as error:
            if not is_outside_trouble(error):
                raise
            raise click.ClickException(describe_trouble(error)) from None
        except OSError as error:
            if (sentence := describe_refusal(error)) is None:
                raise
            _give_up_output()
            raise click.ClickException(sentence) from None


@click.group(cls=_Main, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="testimonials")
@click.pass_context
def main(context: click.Context) -> None:
    """Collect testimonials and show them on any website.

    Settings come from TESTIMONIALS_... variables or testimonials.toml in the instance folder;
    `testimonials config show` prints the ones in force.
    """
    _open_closed_streams()
    # What this program writes (database, secret, mail with working links) is its user's alone.
    os.umask(0o077)
    # The groups are Flask's; this is how they find the application, once one of them needs it.
    context.obj = ScriptInfo(create_app=_make_app)


def _give_up_output() -> None:
    """Let nothing try again, when the process ends, to write what found no room.

    That would fail again, with a traceback and an exit code of its own.
    """
    with contextlib.suppress(OSError):
        output = sys.stdout.fileno()
        os.dup2(os.open(os.devnull, os.O_WRONLY), output)


def _open_closed_streams() -> None:
    """Put nothing in the place of standard streams that whoever called has closed.

    Else the next files and sockets would get their numbers, and with them what is meant for these.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            # The lowest number that is free is this one.
            os.open(os.devnull, os.O_RDWR)
            # It stays open as long as the process.
            stream = open(number, "w" if number else "r", closefd=False)  # noqa: SIM115
            setattr(sys, name, stream)


def _make_app() -> Flask:
    # A command that mistypes the folder must not make an instance there.
    settings = load_settings(makes_instance=False)
    if settings.has_instance:
        # A restore must not change the settings between their being read and being used.
        hold_folder(settings.instance_path)
    return build_app(load_settings(makes_instance=False))


main.add_command(serve)
