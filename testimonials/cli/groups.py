"""The commands by name, for both `testimonials` and `flask`.

The module of a command is imported when the command is called; listing them imports none.
"""

import gc
import importlib
from pathlib import Path
from typing import cast

import click
from click.exceptions import NoSuchCommand

FILE = Path(__file__).parents[1] / "commands.txt"
# The module, the name and the help of each command.
COMMANDS = [line.split(maxsplit=2) for line in FILE.read_text(encoding="utf-8").splitlines()]
# The commands that `flask` has too.
ADMIN = [each for each in COMMANDS if each[0].startswith("cli.")]


class LateGroup(click.Group):
    """A group of the commands in `late`, each of which is imported when it is called."""

    late = ADMIN

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        for module, name, _ in self.late:
            if cmd_name == name:
                command = getattr(importlib.import_module(f"testimonials.{module}"), name)
                if not gc.isenabled():
                    # See `__main__`.
                    gc.freeze()
                    gc.enable()
                return cast(click.Command, command)
        if not ctx.resilient_parsing:
            # Without this, Flask would suggest one of its own commands.
            raise NoSuchCommand(cmd_name, possibilities=self.list_commands(ctx), ctx=ctx)
        return None

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(name for _, name, _ in self.late)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands like click, but without importing them."""
        commands = {name: click.Command(name, help=text) for _, name, text in self.late}
        click.Group(commands=commands).format_commands(ctx, formatter)
