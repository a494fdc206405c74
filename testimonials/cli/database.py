"""Commands about the database, settings, the doctor and old data."""

import dataclasses
import sys
from dataclasses import asdict
from typing import Any
from urllib.parse import urlsplit

import click
from flask.cli import with_appcontext
from sqlalchemy.exc import DatabaseError

from testimonials.cli.output import (
    database_command,
    json_option,
    print_json,
    print_record,
    print_rows,
)
from testimonials.core.db import migrate
from testimonials.core.db.sqlite import describe_damage
from testimonials.core.extensions import begin_write
from testimonials.core.extensions import db as database
from testimonials.core.settings.current import current_settings
from testimonials.core.settings.instance import hold_alone
from testimonials.core.settings.parsers import parse_database_url
from testimonials.core.settings.table import PREFIX, Settings, make_instance
from testimonials.operations.database import forget_secret, move_database
from testimonials.operations.doctor_network import examine, is_fine
from testimonials.operations.expiry import KINDS, preview, sweep
from testimonials.operations.upgrading import upgrade_database
from testimonials.testimonials.counts import count_again, find_wrong_counts
from testimonials.testimonials.search import find_wrong_words, rebuild_index

# `testimonials db`: the schema of the database.


@click.group()
def db() -> None:
    """Upgrade, check and move the database."""


@db.command("upgrade")
@click.option("--dry-run", is_flag=True, help="Try the upgrade and roll it back.")
@click.option("--no-backup", is_flag=True, help="Skip the backup.")
@json_option
@with_appcontext
def upgrade_command(dry_run: bool, no_backup: bool, as_json: bool) -> None:
    """Upgrade the database to this program's schema, if it isn't there yet.

    With SQLite, a backup is made in BACKUP_PATH first. The upgrade is done completely or not at
    all. --dry-run does the same work and rolls it back; since nobody can write meanwhile, try it
    with a restored backup when the service is busy.
    """
    if dry_run:
        _try_upgrade(as_json)
        return
    make_instance(current_settings())
    before, after = upgrade_database(is_backed_up=not no_backup)
    if findings := migrate.find_differences(database.engine):
        raise click.ClickException(
            f"The database is at {after}, but its schema is wrong: {'; '.join(findings)}. "
            "Restore a backup, or undo the changes that were made to the tables by hand."
        )
    if as_json:
        print_json({"before": before, "after": after})
    elif before == after:
        click.echo(f"The database is already at {after}.")
    else:
        click.echo(f"The database went from {before or 'empty'} to {after}.")


@db.command("current")
@json_option
@with_appcontext
def current_command(as_json: bool) -> None:
    """Show the revision of the database, and the one this program needs."""
    revision, newest = migrate.current(database.engine), migrate.head()
    if as_json:
        print_json({"current": revision, "head": newest, "isHead": revision == newest})
    else:
        click.echo(f"database {revision or 'empty'}, program {newest}")


@db.command("check")
@click.option("--repair", is_flag=True, help="Mend counts and the index of words first.")
@json_option
@click.pass_context
@with_appcontext
def check_command(context: click.Context, repair: bool, as_json: bool) -> None:
    """Check the database for damage, and for differences from this program's schema.

    Exits with code 1 if something is wrong. The service may be running. An SQLite file is read
    completely; PostgreSQL checks its own files, so only its schema is compared. The counts that
    the database keeps of testimonials are compared with a count of all of them, and SQLite's index
    of words with their words; --repair replaces what is wrong, and nobody can write meanwhile.
    """
    findings = migrate.check_database(database.engine, describe_damage)
    if not findings and repair:
        _repair()
    if not findings:
        connection = database.session.connection()
        findings = find_wrong_counts(connection) + find_wrong_words(connection)
    if as_json:
        print_json({"isSound": not findings, "findings": findings})
    elif not findings:
        click.echo(f"The database is sound, and at {migrate.head()}.")
    else:
        click.echo("\n".join(findings))
    context.exit(1 if findings else 0)


@db.command("reindex")
@json_option
@database_command
def reindex_command(as_json: bool) -> None:
    """Make the index by which testimonials are searched again.

    The database keeps it with every change, so this is for one that was damaged or changed by
    hand. Nobody can write meanwhile.
    """
    begin_write()
    rebuild_index(database.session.connection())
    database.session.commit()
    if as_json:
        print_json({"rebuilt": True})
    else:
        click.echo("The index of words was made again.")


def _repair() -> None:
    begin_write()
    connection = database.session.connection()
    count_again(connection)
    if find_wrong_words(connection):
        rebuild_index(connection)
    database.session.commit()


def _try_upgrade(as_json: bool) -> None:
    try:
        before, after = migrate.upgrade(database.engine, is_trial=True)
    except DatabaseError as error:
        reason = " ".join(str(error.orig).split())
        raise click.ClickException(
            f"The upgrade would fail, and leave the database as it is: {reason}"
        ) from None
    pending = migrate.list_pending(before)
    if as_json:
        print_json({"before": before, "after": after, "revisions": pending})
    elif before == after:
        click.echo(f"The database is already at {before}.")
    else:
        click.echo(
            f"The upgrade from {before or 'empty'} would run {', '.join(pending)}. It was tried "
            "successfully and rolled back."
        )


@db.command("forget-secret")
@json_option
@database_command
def forget_secret_command(as_json: bool) -> None:
    """Accept another secret key at the next start, after you have changed it on purpose.

    Stop all hosts first. Links that were sent earlier stop working.
    """
    begin_write()
    forget_secret()
    database.session.commit()
    if as_json:
        print_json({"forgotten": True})
    else:
        click.echo("The database now accepts the secret key of the next start.")


@db.command("move")
@click.argument("target")
@json_option
@with_appcontext
def move_command(target: str, as_json: bool) -> None:
    """Copy this instance's SQLite database to an empty PostgreSQL database.

    TARGET is its address, postgresql://user:password@host/name, or - to read it from standard
    input, where other users of the machine can't see it. Stop the service first. Everything is
    copied and compared, or nothing is.
    """
    if target == "-":
        target = sys.stdin.readline()
    try:
        url = parse_database_url(target)
    except ValueError as error:
        raise click.ClickException(f"TARGET {error}") from None
    if not url.startswith("postgresql://"):
        raise click.ClickException("TARGET must be a postgresql:// address.")
    with hold_alone(current_settings().instance_path):
        moved = move_database(database.engine, url)
    print_rows([asdict(table) for table in moved], as_json=as_json, empty="")
    if not as_json:
        click.echo(
            "\nEverything was copied and compared; the SQLite file is unchanged.\n"
            "Set TESTIMONIALS_DATABASE_URL (or database_url in testimonials.toml) to the new\n"
            "address and start the service."
        )


# `testimonials config`: the settings in force.

HIDDEN = "(hidden)"


@click.group()
def config() -> None:
    """Show the settings."""


@config.command("show")
@json_option
@with_appcontext
def show_command(as_json: bool) -> None:
    """Show every setting in force, with secrets hidden."""
    print_record(describe_settings(current_settings()), as_json=as_json)


def describe_settings(settings: Settings) -> dict[str, Any]:
    """Return each setting's variable and value, with secrets hidden."""
    described = {}
    for field in dataclasses.fields(settings):
        value = getattr(settings, field.name)
        if field.metadata["secret"] and value:
            value = _hide(str(value))
        elif isinstance(value, tuple):
            value = [str(each) for each in value]
        elif not isinstance(value, str | int | float):
            value = str(value)
        described[PREFIX + field.name.upper()] = value
    return described


def _hide(value: str) -> str:
    """Hide the password in a URL, or any other secret as a whole."""
    parts = urlsplit(value)
    if not parts.scheme or "://" not in value:
        return HIDDEN
    # In the URL of a web service, the user is its key.
    is_key = parts.scheme.startswith("http")
    secret = parts.password or (parts.username if is_key else None)
    return value.replace(f"{secret}@", f"{HIDDEN}@", 1) if secret else value


# `testimonials doctor`: check everything, and say what to do.


@click.command()
@json_option
@with_appcontext
def doctor(as_json: bool) -> None:
    """Check settings, files, database, clock, mail, addresses and backups, and say what to do.

    Changes no data and sends no mail. Exits with 1 if it finds a problem.
    """
    found = examine()
    is_healthy = all(map(is_fine, found.values()))
    if as_json:
        checks = [
            {"check": name, "ok": is_fine(each), "findings": list(map(asdict, each))}
            for name, each in found.items()
        ]
        print_json({"ok": is_healthy, "checks": checks})
    else:
        for name, findings in found.items():
            sign = "ok " if not findings else "-- " if is_fine(findings) else "!! "
            click.echo(f"{sign} {name}")
            for each in findings:
                click.echo(f"      {each.problem}\n      -> {each.advice}")
    if not is_healthy:
        click.get_current_context().exit(1)


# `testimonials prune`: remove expired data now.


@click.command()
@click.option("--dry-run", is_flag=True, help="Count what would be removed, and remove nothing.")
@json_option
@database_command
def prune(dry_run: bool, as_json: bool) -> None:
    """Remove expired data, as `serve` does each minute, and say what it was."""
    removed = preview() if dry_run else sweep()
    if as_json:
        print_json({"dryRun": dry_run, "removed": removed})
        return
    did = "Would remove" if dry_run else "Removed"
    found = [f"{did} {count} {KINDS[name].words}." for name, count in removed.items() if count]
    click.echo("\n".join(found or ["Nothing to remove."]))
