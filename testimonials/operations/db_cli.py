"""`testimonials db`: the schema of the database."""

import sys
from dataclasses import asdict

import click
from flask.cli import with_appcontext

from testimonials.config_parsers import parse_database_url
from testimonials.core.commands import json_option, print_json, print_rows
from testimonials.core.errors import ServiceError
from testimonials.extensions import db as database
from testimonials.migrations import runner
from testimonials.operations.move import move_database


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


@db.command("move")
@click.argument("target")
@json_option
@with_appcontext
def move_command(target: str, as_json: bool) -> None:
    """Copy this instance's SQLite database to an empty PostgreSQL database.

    TARGET is its address, postgresql://user:password@host/name, or - to read it from standard
    input, where other users of the machine don't see it. Stop the service first: what it would
    write afterwards stays behind. All is copied and checked, or nothing is.
    """
    if target == "-":
        target = sys.stdin.readline()
    try:
        url = parse_database_url(target)
    except ValueError as error:
        raise click.ClickException(f"TARGET {error}") from None
    if not url.startswith("postgresql://"):
        raise click.ClickException("TARGET must be a postgresql:// address.")
    try:
        moved = move_database(database.engine, url)
    except ServiceError as error:
        raise click.ClickException(error.message) from None
    print_rows([asdict(table) for table in moved], as_json=as_json, empty="")
    if not as_json:
        click.echo(
            "\nEverything is there, counted and compared. Set TESTIMONIALS_DATABASE_URL (or "
            "database_url in\ntestimonials.toml) to the new address and start the service. The "
            "SQLite file is as it was."
        )
