"""The admin commands; `testimonials` and `flask` offer the same ones."""

import click
from click.exceptions import NoSuchCommand
from flask.cli import AppGroup

from testimonials.cli.accounts import accounts, tokens, unlink_company
from testimonials.cli.accounts import restore as restore_account
from testimonials.cli.accounts import suspend as suspend_account
from testimonials.cli.archives import export_account, export_project, import_project
from testimonials.cli.backup import backup, restore
from testimonials.cli.database import config, db, doctor, prune
from testimonials.cli.delivery import mail, recordings, webhooks
from testimonials.cli.people import activity, authors, privacy, reports
from testimonials.cli.projects import domains, projects, show_insights, team
from testimonials.cli.testimonials import (
    forms,
    import_testimonials,
    list_imports,
    proposals,
    testimonials,
    undo,
)

# The admin commands; the `testimonials` command and `flask` offer the same ones (`AdminGroup`).

# These have several features' data, so a later feature defines them.
accounts.add_command(unlink_company)
accounts.add_command(export_account)
accounts.add_command(suspend_account)
accounts.add_command(restore_account)
projects.add_command(export_project)
projects.add_command(import_project)
projects.add_command(show_insights)
testimonials.add_command(import_testimonials)
testimonials.add_command(list_imports)
testimonials.add_command(undo)

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
