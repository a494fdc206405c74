"""The commands by name; `testimonials` and `flask` offer the same ones.

A command's module is loaded when it is called, and none for the list of all.
"""

import gc
import importlib
from collections.abc import Mapping
from typing import cast

import click
from click.exceptions import NoSuchCommand

# The modules, and the first sentence of each command, which is that of its docstring.
ADMIN = {
    "cli.accounts": {
        "accounts": "List, create and change accounts.",
        "tokens": "List, make and revoke access tokens.",
    },
    "cli.projects": {
        "projects": "List, show and remove projects.",
        "team": "List, add, change and remove who works in all projects of an owner.",
        "domains": "List, set, check and remove projects' own host names.",
    },
    "cli.testimonials": {
        "testimonials": "Look at testimonials.",
        "forms": "List, add and delete forms, each with an address of its own.",
        "proposals": "List and decide what agents proposed.",
    },
    "cli.delivery": {
        "recordings": "Look at video and voice recordings, and at the room that they take.",
        "webhooks": "List webhook endpoints and what they were sent, and send again.",
        "mail": "Look at the outbox, and test the mail settings.",
    },
    "cli.people": {
        "authors": "Help the authors of testimonials.",
        "privacy": "Answer what people may ask about their data.",
        "activity": "Read the record of what happened: who did what, from where, and when.",
        "reports": "Look at what visitors reported about public pages.",
    },
    "cli.record": {
        "record": "Change the key that signs the public records.",
        "verify": "Check the log of a project that was downloaded, without network or database.",
    },
    "cli.backup": {
        "backup": "Make, list and verify backups.",
        "restore": "Restore a backup into the instance folder, or to PostgreSQL. Stop the service "
        "first.",
    },
    "cli.database": {
        "db": "Upgrade, check and move the database.",
        "config": "Show the settings.",
        "prune": "Remove expired data, as `serve` does each minute, and say what it was.",
        "doctor": "Check settings, files, database, clock, mail, addresses and backups, and say "
        "what to do.",
    },
}
# What only `testimonials` offers.
OWN = {
    "operations.server.serve": {
        "serve": "Run the service: upgrade the database, then answer until SIGTERM or Ctrl-C."
    },
    "integrations.mcp.stdio": {"mcp": "Speak MCP over standard input and output."},
}


class LateGroup(click.Group):
    """A group of the commands of `late`."""

    late: Mapping[str, Mapping[str, str]] = ADMIN

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        for module, texts in self.late.items():
            if cmd_name in texts:
                command = getattr(importlib.import_module(f"testimonials.{module}"), cmd_name)
                if not gc.isenabled():
                    # See `__main__`.
                    gc.freeze()
                    gc.enable()
                return cast(click.Command, command)
        if not ctx.resilient_parsing:
            # Flask's own command would name the nearest of its own.
            raise NoSuchCommand(cmd_name, possibilities=self.list_commands(ctx), ctx=ctx)
        return None

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(name for texts in self.late.values() for name in texts)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the sentences of the table, for which click would load each command."""
        pairs = (pair for texts in self.late.values() for pair in texts.items())
        named = {name: click.Command(name, help=text) for name, text in pairs}
        click.Group(commands=named).format_commands(ctx, formatter)
