"""The commands by name; `testimonials` and `flask` offer the same ones.

A command's module is loaded when it is called, and none for the list of all.
"""

import importlib
from collections.abc import Mapping

import click
from click.exceptions import NoSuchCommand

# The module of each, and its first sentence, which is that of its docstring.
ADMIN = {
    "accounts": ("cli.accounts", "List, create and change accounts."),
    "tokens": ("cli.accounts", "List, make and revoke access tokens."),
    "projects": ("cli.projects", "List, show and remove projects."),
    "team": (
        "cli.projects",
        "List, add, change and remove who works in all projects of an owner.",
    ),
    "domains": ("cli.projects", "List, set, check and remove projects' own host names."),
    "testimonials": ("cli.testimonials", "Look at testimonials."),
    "recordings": (
        "cli.delivery",
        "Look at video and voice recordings, and at the room that they take.",
    ),
    "forms": (
        "cli.testimonials",
        "List, add and delete forms, each with an address of its own.",
    ),
    "proposals": ("cli.testimonials", "List and decide what agents proposed."),
    "authors": ("cli.people", "Help the authors of testimonials."),
    "privacy": ("cli.people", "Answer what people may ask about their data."),
    "activity": (
        "cli.people",
        "Read the record of what happened: who did what, from where, and when.",
    ),
    "webhooks": (
        "cli.delivery",
        "List webhook endpoints and what they were sent, and send again.",
    ),
    "mail": ("cli.delivery", "Look at the outbox, and test the mail settings."),
    "record": ("cli.record", "Change the key that signs the public records."),
    "verify": (
        "cli.record",
        "Check the log of a project that was downloaded, without network or database.",
    ),
    "backup": ("cli.backup", "Make, list and verify backups."),
    "reports": ("cli.people", "Look at what visitors reported about public pages."),
    "db": ("cli.database", "Upgrade, check and move the database."),
    "config": ("cli.database", "Show the settings."),
    "restore": (
        "cli.backup",
        "Restore a backup into the instance folder, or to PostgreSQL. Stop the service first.",
    ),
    "prune": (
        "cli.database",
        "Remove expired data, as `serve` does each minute, and say what it was.",
    ),
    "doctor": (
        "cli.database",
        "Check settings, files, database, clock, mail, addresses and backups, and say what to do.",
    ),
}
# What only `testimonials` offers.
OWN = {
    "serve": (
        "operations.server.serve",
        "Run the service: upgrade the database, then answer until SIGTERM or Ctrl-C.",
    ),
    "mcp": ("integrations.mcp.stdio", "Speak MCP over standard input and output."),
}


def load_command(name: str) -> click.Command:
    module, _ = (ADMIN | OWN)[name]
    command: click.Command = getattr(importlib.import_module(f"testimonials.{module}"), name)
    return command


class LateGroup(click.Group):
    """A group of the commands that `late` names."""

    late: Mapping[str, tuple[str, str]] = ADMIN

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in self.late:
            return load_command(cmd_name)
        if not ctx.resilient_parsing:
            # Flask's own command would name the nearest of its own.
            raise NoSuchCommand(cmd_name, possibilities=self.late, ctx=ctx)
        return None

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(self.late)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the sentences of the table, for which click would load each command."""
        named = {name: click.Command(name, help=text) for name, (_, text) in self.late.items()}
        click.Group(commands=named).format_commands(ctx, formatter)
