"""`testimonials db`: the schema of the database."""

import sys
from dataclasses import asdict

import click
from flask.cli import with_appcontext
from sqlalchemy.exc import DatabaseError

from testimonials.core.commands import database_command, json_option, print_json, print_rows
from testimonials.core.web.errors import ServiceError
from testimonials.extensions import begin_write
from testimonials.extensions import db as database
from testimonials.migrations import checks, runner
from testimonials.operations.database.move import move_database
from testimonials.operations.database.shared_secret import forget_secret
from testimonials.operations.database.upgrading import upgrade_database
from testimonials.settings.current import current_settings
from testimonials.settings.instance_folder import hold_alone
from testimonials.settings.parsers import parse_database_url
from testimonials.settings.table import make_instance


@click.group()
def db() -> None:
    """Upgrade the database's schema, check it, or say where it stands."""


@db.command("upgrade")
@click.option("--dry-run", is_flag=True, help="Only try it, and take it back.")
@click.option("--no-backup", is_flag=True, help="Make no backup before.")
@json_option
@with_appcontext
def upgrade_command(dry_run: bool, no_backup: bool, as_json: bool) -> None:
    """Bring the database to this program's schema; changes nothing when it is there.

    A backup into BACKUP_PATH comes first, with SQLite. The upgrade is done whole or not at all.
    --dry-run does the same work in a transaction that is taken back at its end; nobody can write
    meanwhile, so try it on a busy service with the restored copy of a backup.
    """
    if dry_run:
        _try_upgrade(as_json)
        return
    make_instance(current_settings())
    before, after = upgrade_database(is_backed_up=not no_backup)
    if findings := checks.find_differences(database.engine):
        raise click.ClickException(
            f"The database is at {after}, but not as this program needs it: {'; '.join(findings)}. "
            "Restore a backup, or undo what changed the tables by hand."
        )
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


@db.command("check")
@json_option
@click.pass_context
@with_appcontext
def check_command(context: click.Context, as_json: bool) -> None:
    """Look through the database: whether it is sound, and of this program's schema.

    Ends with exit code 1 when something is wrong. Reads all of an SQLite file, beside a running
    service; PostgreSQL looks after its files itself, and only its schema is compared.
    """
    findings = checks.check_database(database.engine)
    if as_json:
        print_json({"isSound": not findings, "findings": findings})
    elif not findings:
        click.echo(f"The database is sound, and at {runner.head()}.")
    else:
        click.echo("\n".join(findings))
    context.exit(1 if findings else 0)


def _try_upgrade(as_json: bool) -> None:
    before = runner.current(database.engine)
    try:
        pending = runner.try_upgrade(database.engine)
    except DatabaseError as error:
        reason = " ".join(str(error.orig).split())
        raise click.ClickException(
            f"The upgrade would fail, and leave the database as it is: {reason}"
        ) from None
    if as_json:
        print_json({"before": before, "after": runner.head(), "revisions": pending})
    elif not pending:
        click.echo(f"The database is at {before} already.")
    else:
        click.echo(
            f"The upgrade from {before or 'empty'} would run {', '.join(pending)}; it was tried "
            "without a fault and taken back."
        )


@db.command("forget-secret")
@json_option
@database_command
def forget_secret_command(as_json: bool) -> None:
    """Let the next start choose the secret key: after you have changed it on purpose.

    Stop all hosts first. Links that were sent before stop working.
    """
    begin_write()
    forget_secret()
    database.session.commit()
    if as_json:
        print_json({"forgotten": True})
    else:
        click.echo("The next start decides which secret key counts.")


@db.command("move")
@click.argument("target")
@json_option
@with_appcontext
def move_command(target: str, as_json: bool) -> None:
    """Copy this instance's SQLite database to an empty PostgreSQL database.

    TARGET is its address, postgresql://user:password@host/name, or - to read it from standard
    input, where other users of the machine don't see it. Stop the service first: what it would
    write afterwards would stay behind, so the move is refused while it runs. All is copied and
    checked, or nothing is.
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
        with hold_alone(current_settings().instance_path):
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
