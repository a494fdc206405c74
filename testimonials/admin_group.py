"""The group of the admin commands, for `testimonials` and for `flask`."""

import click
from click.exceptions import NoSuchCommand
from flask.cli import AppGroup


class AdminGroup(AppGroup):
    """Loads the admin commands only when one of them or their list is needed, never for `serve`."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.commands:
            self._load()
        found = super().get_command(ctx, cmd_name)
        if found is None and not ctx.resilient_parsing:
            # Flask's own command would name the nearest of its own.
            raise NoSuchCommand(cmd_name, possibilities=self.commands, ctx=ctx)
        return found

    def list_commands(self, ctx: click.Context) -> list[str]:
        self._load()
        return super().list_commands(ctx)

    def _load(self) -> None:
        from testimonials.commands import COMMANDS, GROUPS

        for command in (*GROUPS, *COMMANDS):
            self.add_command(command)
