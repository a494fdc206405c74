"""`testimonials db`: the schema of the database."""

import click
from flask.cli import with_appcontext

from testimonials.core.commands import json_option, print_json
from testimonials.extensions import db as database
from testimonials.migrations import runner


@click.group()
def db() -> None:
    """Upgrade the database's schema, or say where it stands."""


@db.command("upgrade")
@json_option
@with_appcontext
def upgrade_command(as_json: bool) -> None:
    """Bring the database to this program's schema; changes nothing when it is there."""
    before, after = runner.upgrade(database.engine)
    if as_json:
        print_json({"before": before, "after": after})
    elif before == after:
        click.echo(f"The database is at {after} already.")
    else:
        click.echo(f"The database went from {before or 'empty'} to {after}.")


@db.command("current")
@json_option
@with_appcontext
def current_command(as_json: bool) -> None:
    """Say which revision the database has, and which one this program needs."""
    revision, newest = runner.current(database.engine), runner.head()
    if as_json:
        print_json({"current": revision, "head": newest, "isHead": revision == newest})
    else:
        click.echo(f"database {revision or 'empty'}, program {newest}")
