"""Commands about the database, the settings, the doctor and expired data."""

import dataclasses
import sys
from dataclasses import asdict
from urllib.parse import urlsplit

import click
from sqlalchemy import delete
from sqlalchemy.exc import DatabaseError

from testimonials.cli.output import Group, Output, Record, command
from testimonials.core.db import migrate
from testimonials.core.db.sqlite import describe_damage
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db as database
from testimonials.core.settings.instance import hold_alone
from testimonials.core.settings.parsers import parse_database_url
from testimonials.core.settings.table import PREFIX, Settings, current_settings, make_instance
from testimonials.operations.database import SecretMark, move_database
from testimonials.operations.doctor_network import examine, is_fine
from testimonials.operations.expiry import KINDS, preview, sweep
from testimonials.operations.server.serve import upgrade_database
from testimonials.testimonials.counts import find_wrong_counts, recount
from testimonials.testimonials.word_index import find_wrong_words, rebuild_index


@click.group(cls=Group)
def db() -> None:
    """Upgrade, check and move the database."""


@db.command("upgrade", needs_schema=False)
@click.option("--dry-run", is_flag=True, help="Try the upgrade and roll it back.")
@click.option("--no-backup", is_flag=True, help="Skip the backup.")
def upgrade_command(dry_run: bool, no_backup: bool) -> Output:
    """Upgrade the database to this program's schema, if it has an older one.

    With SQLite, a backup is made in BACKUP_PATH first. The upgrade is done completely or not at
    all. --dry-run does the same work and rolls it back, but nobody can write meanwhile: use a
    restored backup if the service is busy.
    """
    if dry_run:
        return _try_upgrade()
    make_instance(current_settings())
    before, after = upgrade_database(is_backed_up=not no_backup)
    if findings := migrate.find_differences(database.engine):
        raise click.ClickException(
            f"The database is at {after}, but its schema is wrong: {'; '.join(findings)}. "
            "Restore a backup, or undo the changes that were made to the tables by hand."
        )
    upgraded = f"The database was upgraded from {before or 'empty'} to {after}."
    shown = f"The database is already at {after}." if before == after else upgraded
    return Output({"before": before, "after": after}, shown)


@db.command("current", needs_schema=False)
def current_command() -> Output:
    """Show the revision of the database, and the one that this program needs."""
    revision, newest = migrate.current(database.engine), migrate.head()
    return Output(
        {"current": revision, "head": newest, "isHead": revision == newest},
        f"database {revision or 'empty'}, program {newest}",
    )


@db.command("check", needs_schema=False)
@click.option("--repair", is_flag=True, help="Repair counts and the index of words first.")
def check_command(repair: bool) -> Output:
    """Check the database for damage, and for differences from this program's schema.

    Exits with code 1 if something is wrong. The service may be running. An SQLite file is read
    completely; PostgreSQL checks its own files, so only its schema is compared. The stored counts
    of testimonials are compared with the rows, and SQLite's index of words with the texts; --repair
    corrects them, and nobody can write meanwhile.
    """
    findings = migrate.check_database(database.engine, describe_damage)
    if not findings and repair:
        with write():
            connection = database.session.connection()
            recount(connection)
            if find_wrong_words(connection):
                rebuild_index(connection)
    if not findings:
        connection = database.session.connection()
        findings = find_wrong_counts(connection) + find_wrong_words(connection)
    sound = f"The database is sound, and at {migrate.head()}."
    return Output(
        {"isSound": not findings, "findings": findings},
        "\n".join(findings) or sound,
        is_failure=bool(findings),
    )


@db.command("reindex", writes=True)
def reindex_command() -> Output:
    """Rebuild the index for searching testimonials.

    The index is always up to date, unless it is damaged or rows were changed by hand. Nobody can
    write meanwhile.
    """
    rebuild_index(database.session.connection())
    return Output({"rebuilt": True}, "The index of words was rebuilt.")


def _try_upgrade() -> Output:
    try:
        before, after = migrate.upgrade(database.engine, is_trial=True)
    except DatabaseError as error:
        reason = " ".join(str(error.orig).split())
        raise click.ClickException(
            f"The upgrade would fail, and leave the database as it is: {reason}"
        ) from None
    pending = migrate.list_pending(before)
    shown = f"The database is already at {before}."
    if before != after:
        shown = (
            f"The upgrade from {before or 'empty'} would run {', '.join(pending)}. It was tried "
            "successfully and rolled back."
        )
    return Output({"before": before, "after": after, "revisions": pending}, shown)


@db.command("forget-secret", writes=True)
def forget_secret_command() -> Output:
    """Accept a different secret key at the next start, if you changed it on purpose.

    Stop all hosts first. Links that were sent before stop working.
    """
    database.session.execute(delete(SecretMark))
    return Output(
        {"forgotten": True}, "The database accepts the secret key used at the next start."
    )


@db.command("move", needs_schema=False)
@click.argument("target")
def move_command(target: str) -> Output:
    """Copy this instance's SQLite database to an empty PostgreSQL database.

    TARGET is its URL, postgresql://user:password@host/name, or - to read that from standard input,
    where other users of the machine can't see it. Stop the service first. Everything is copied and
    counted, or nothing is.
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
    rows = [asdict(table) for table in moved]
    return Output(
        rows,
        rows,
        notes=[
            "\nEverything was copied and counted; the SQLite file is unchanged.\n"
            "Set TESTIMONIALS_DATABASE_URL (or database_url in testimonials.toml) to the new\n"
            "address and start the service."
        ],
    )


HIDDEN = "(hidden)"


@click.group(cls=Group)
def config() -> None:
    """Show the settings."""


@config.command("show", needs_schema=False)
def show_command() -> Record:
    """Show all settings in effect, with secrets hidden."""
    return describe_settings(current_settings())


def describe_settings(settings: Settings) -> Record:
    values = {}
    for field in dataclasses.fields(settings):
        value = getattr(settings, field.name)
        if field.metadata["secret"] and value:
            value = _hide(str(value))
        elif isinstance(value, tuple):
            value = [str(each) for each in value]
        elif not isinstance(value, str | int | float):
            value = str(value)
        values[PREFIX + field.name.upper()] = value
    return values


def _hide(value: str) -> str:
    """Hide the password in a URL, or any other secret completely."""
    parts = urlsplit(value)
    if not parts.scheme or "://" not in value:
        return HIDDEN
    # In the URL of a web service, the user is a key.
    is_key = parts.scheme.startswith("http")
    secret = parts.password or (parts.username if is_key else None)
    return value.replace(f"{secret}@", f"{HIDDEN}@", 1) if secret else value


@command("doctor", needs_schema=False)
def doctor() -> Output:
    """Check settings, files, database, clock, mail, addresses and backups, and give advice.

    Changes no data and sends no mail. Exits with 1 if it finds a problem.
    """
    results = examine()
    is_healthy = all(map(is_fine, results.values()))
    checks = [
        {"check": name, "ok": is_fine(each), "findings": list(map(asdict, each))}
        for name, each in results.items()
    ]
    lines = []
    for name, findings in results.items():
        sign = "ok " if not findings else "-- " if is_fine(findings) else "!! "
        lines.append(f"{sign} {name}")
        lines += [f"      {each.problem}\n      -> {each.advice}" for each in findings]
    value = {"ok": is_healthy, "checks": checks}
    return Output(value, "\n".join(lines), is_failure=not is_healthy)


@command("prune")
@click.option("--dry-run", is_flag=True, help="Count what would be removed, and remove nothing.")
def prune(dry_run: bool) -> Output:
    """Remove expired data, as `serve` does each minute, and report it."""
    removed = preview() if dry_run else sweep()
    verb = "Would remove" if dry_run else "Removed"
    lines = [f"{verb} {count} {KINDS[name].words}." for name, count in removed.items() if count]
    value = {"dryRun": dry_run, "removed": removed}
    return Output(value, "\n".join(lines) or "Nothing to remove.")
