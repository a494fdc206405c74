"""The admin commands; the `testimonials` command and `flask` offer the same ones."""

import click
from flask import Flask

from testimonials.auth.cli import accounts
from testimonials.operations.backup_cli import backup, restore
from testimonials.operations.config_cli import config
from testimonials.operations.db_cli import db
from testimonials.operations.doctor_cli import doctor
from testimonials.operations.mail_cli import mail
from testimonials.operations.prune_cli import prune
from testimonials.projects.cli import projects
from testimonials.testimonials.cli import testimonials

GROUPS: tuple[click.Group, ...] = (accounts, projects, testimonials, mail, db, config)
# Those that stand by themselves.
COMMANDS: tuple[click.Command, ...] = (backup, restore, prune, doctor)


def register_commands(app: Flask) -> None:
    """Add all of them to ``flask``."""
    for command in (*GROUPS, *COMMANDS):
        app.cli.add_command(command)
