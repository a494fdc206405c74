"""The admin commands; `testimonials` and `flask` offer the same ones."""

import click
from click.exceptions import NoSuchCommand
from flask.cli import AppGroup

from testimonials.cli.accounts import accounts, tokens
from testimonials.cli.backup import backup, restore
from testimonials.cli.database import config, db, doctor, prune
from testimonials.cli.delivery import mail, recordings, webhooks
from testimonials.cli.people import activity, authors, privacy, reports
from testimonials.cli.projects import domains, projects, team
from testimonials.cli.testimonials import forms, proposals, testimonials

GROUPS: tuple[click.Group, ...] = (
    accounts,
    tokens,
    projects,
    team,
    domains,
    testimonials,
    recordings,
    forms,
    proposals,
    authors,
    privacy,
    activity,
    webhooks,
    mail,
    backup,
    reports,
    db,
    config,
)
# Commands outside any group.
COMMANDS: tuple[click.Command, ...] = (restore, prune, doctor)


# The group of the admin commands, for `testimonials` and for `flask`.


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

        for command in (*GROUPS, *COMMANDS):
            self.add_command(command)
