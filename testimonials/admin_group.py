"""The group of the admin commands, for `testimonials` and for `flask`."""

import click
from flask.cli import AppGroup


class AdminGroup(AppGroup):
    """Loads the admin commands only when one of them or their list is needed, never for `serve`."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return super().get_command(ctx, cmd_name) or self._load().get(cmd_name)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*super().list_commands(ctx), *self._load()})

    def _load(self) -> dict[str, click.Command]:
        from testimonials.commands import COMMANDS, GROUPS

        return {str(command.name): command for command in (*GROUPS, *COMMANDS)}
