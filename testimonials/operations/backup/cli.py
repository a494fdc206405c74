"""`testimonials backup`: backups made by hand, and what is known of all of them.

Making, listing and fetching one don't need the application, which may be unable to start.
"""

import os
from pathlib import Path
from typing import cast

import click
from flask.cli import with_appcontext

from testimonials.core.clock import iso
from testimonials.core.commands import database_command, json_option, print_json, print_rows
from testimonials.extensions import begin_write, db
from testimonials.operations.backup.archive import RestoreRefused, describe_rows
from testimonials.operations.backup.elsewhere.buckets import PlaceFailed
from testimonials.operations.backup.elsewhere.copying import forget_stored
from testimonials.operations.backup.elsewhere.fetching import NEWEST, fetch_backup
from testimonials.operations.backup.elsewhere.places import open_place
from testimonials.operations.backup.elsewhere.rehearsal import (
    RehearsalFailed,
    Rehearsed,
    rehearse,
)
from testimonials.operations.backup.kept import list_kept
from testimonials.operations.backup.making import (
    BackupFailed,
    make_backup,
    name_backup,
)
from testimonials.operations.backup.models import BACKUP_JOB, COPY_JOB, REHEARSAL_JOB
from testimonials.operations.backup.state import drop_old
from testimonials.operations.jobs.registry import run_backup_job
from testimonials.settings.current import current_settings
from testimonials.settings.instance_folder import hold_folder
from testimonials.settings.table import PREFIX, load_settings


class _BackupGroup(click.Group):
    """Takes what is none of its commands as the FILE of `make`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in {*self.commands, *self.get_help_option_names(ctx)}:
            args = ["make", *args]
        return super().parse_args(ctx, args)


@click.group(cls=_BackupGroup)
def backup() -> None:
    """Make, list, fetch and rehearse backups; `backup FILE` is short for `backup make FILE`."""


@backup.command("make")
@click.argument("file", type=click.Path())
@json_option
def make(file: str, as_json: bool) -> None:
    """Write all data to FILE, even while the service runs.

    FILE becomes a .tar.gz with the database (photos included, and that of PostgreSQL as an SQLite
    file), recordings, the secret key, testimonials.toml and a manifest with checksums. If FILE is a
    folder, the backup in it is named after the time. An existing file is never replaced. The backup
    contains every secret: keep it as safe as the instance itself.
    """
    settings = load_settings(makes_instance=False)
    if settings.has_instance:
        hold_folder(settings.instance_path)
    target = Path(file).absolute()
    if target.is_dir():
        target /= name_backup("backup")
    elif file.endswith("/"):
        raise click.ClickException(f"The folder {target} does not exist. Create it first.")
    try:
        manifest = make_backup(settings, target)
    except BackupFailed as error:
        raise click.ClickException(f"The backup failed: {error}.") from None
    size = target.stat().st_size
    if as_json:
        print_json({"file": str(target), "size": size, **manifest})
        return
    click.echo(f"{target}: {size} bytes, {describe_rows(manifest['rows'])}.")
    if os.environ.get(f"{PREFIX}SECRET_KEY"):
        click.echo("The secret key is in the environment, not in this file. Keep it as well.")


@backup.command("now")
@json_option
@database_command
def back_up_now_command(as_json: bool) -> None:
    """Make a scheduled backup now, and copy it to BACKUP_TO.

    This is what `serve` does every BACKUP_HOURS: it counts as one of the BACKUP_KEEP, and old ones
    are removed.
    """
    copied = None
    try:
        made = cast(Path, run_backup_job(BACKUP_JOB))
        if current_settings().backup_to:
            begin_write()
            forget_stored()
            db.session.commit()
            copied = cast(str, run_backup_job(COPY_JOB))
    except BackupFailed as error:
        raise click.ClickException(f"There is {error.what}: {error}.") from None
    size = made.stat().st_size
    if as_json:
        print_json({"file": str(made), "size": size, "copiedAs": copied})
        return
    click.echo(f"{made}: {size} bytes.")
    if copied:
        click.echo(f"It was copied to {current_settings().backup_to} as {copied}.")


@backup.command("list")
@json_option
def list_command(as_json: bool) -> None:
    """List the backups in BACKUP_PATH and in BACKUP_TO, newest first."""
    settings = load_settings(makes_instance=False)
    found = {settings.backup_path: list_kept(Path(settings.backup_path))}
    failure = None
    try:
        if settings.backup_to:
            found[settings.backup_to] = open_place(settings.backup_to).list_backups()
    except PlaceFailed as error:
        failure = f"{settings.backup_to} can't be read: {error}."
    rows = [
        {"name": each.name, "madeAt": iso(each.made_at), "size": each.size, "place": place}
        for place, kept in found.items()
        for each in kept
    ]
    print_rows(rows, as_json=as_json, empty="There is no backup here.")
    if failure:
        raise click.ClickException(failure)


@backup.command("get")
@click.argument("name")
@click.argument("target", type=click.Path(path_type=Path), default=Path("."))
@json_option
def get(name: str, target: Path, as_json: bool) -> None:
    """Fetch the backup NAME, or the newest, from BACKUP_TO into the file or folder TARGET.

    It is decrypted with BACKUP_AGE_IDENTITY. Without TARGET it goes into the working directory.
    `restore` fetches by itself.
    """
    settings = load_settings(makes_instance=False)
    try:
        file = fetch_backup(settings, name, target.absolute())
    except RestoreRefused as error:
        raise click.ClickException(f"{name} can't be fetched: {error}.") from None
    size = file.stat().st_size
    if as_json:
        print_json({"file": str(file), "size": size})
    else:
        click.echo(f"{file}: {size} bytes.")


@backup.command("rehearse")
@click.argument("name", default=NEWEST)
@json_option
@database_command
def rehearse_command(name: str, as_json: bool) -> None:
    """Restore a backup into a temporary folder and check all of it, as `serve` does each week.

    NAME is a backup in BACKUP_TO, or a file; by default the newest, whose rehearsal is recorded.
    The temporary folder is in the instance folder and needs room for the database.
    """
    try:
        if name == NEWEST:
            done = cast(Rehearsed, run_backup_job(REHEARSAL_JOB))
        else:
            done = rehearse(current_settings(), name)
    except RehearsalFailed as error:
        raise click.ClickException(f"The rehearsal failed: {error}.") from None
    except BackupFailed as error:
        raise click.ClickException(f"There is no rehearsal: {error}.") from None
    manifest = done.manifest
    if as_json:
        print_json({"source": done.source, "erasedAgain": done.erased_again, **manifest})
        return
    made = f"made {manifest['createdAt']} by version {manifest['programVersion']}"
    rows = describe_rows(manifest["rows"])
    click.echo(f"{done.source} can be restored: {made}, {rows}, its database sound.")


@backup.command("drop")
@click.option("--dry-run", is_flag=True, help="List them without removing any.")
@json_option
@with_appcontext
def drop(dry_run: bool, as_json: bool) -> None:
    """Remove all backups from BACKUP_PATH but the newest, and the newest before an upgrade.

    For a disk that is full. Copies in BACKUP_TO stay.
    """
    try:
        dropped = drop_old(is_trial=dry_run)
    except BackupFailed as error:
        raise click.ClickException(f"{str(error).capitalize()}.") from None
    if as_json:
        print_json({"removed": not dry_run, "names": dropped.names, "size": dropped.size})
        return
    for name in dropped.names:
        click.echo(name)
    words = "would be removed" if dry_run else "were removed"
    click.echo(f"{len(dropped.names)} backup(s) {words}: {dropped.size} bytes.")
