"""`testimonials backup` and `testimonials restore`.

Making, listing and restoring backups works without the application, which may not be able to start.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import click

from testimonials.cli.output import Group, Output, command
from testimonials.core.clock import iso
from testimonials.core.db.sqlite import find_kept, list_kept
from testimonials.core.db.transactions import write
from testimonials.core.settings.instance import hold_folder
from testimonials.core.settings.table import PREFIX, current_settings, load_settings
from testimonials.operations.backup import creating, restoring
from testimonials.operations.backup.archive import SECRET, Manifest, RestoreRefused, describe_rows
from testimonials.operations.backup.offsite import (
    CopyFailed,
    forget_stored,
    is_copy_wanted,
    list_copies,
)


class _BackupGroup(Group):
    """A group that takes a path, which no command looks like, as the FILE of `make`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and ("/" in args[0] or args[0].endswith(".tar.gz")):
            args = ["make", *args]
        return super().parse_args(ctx, args)


@click.group(cls=_BackupGroup)
def backup() -> None:
    """Make, list and verify backups.

    `backup /path/to/FILE` is short for `backup make FILE`.
    """


@backup.command("make", needs_app=False)
@click.argument("file", type=click.Path())
def make(file: str) -> Output:
    """Write all data to FILE, even while the service runs.

    FILE becomes a .tar.gz with the database (photos included, and PostgreSQL as an SQLite file),
    recordings, the secret key, testimonials.toml and a manifest with checksums. If FILE is a
    folder, the backup gets a name with the time. An existing file is never replaced. The backup
    contains all secrets: keep it as safe as the instance itself.
    """
    settings = load_settings(makes_instance=False)
    if settings.has_instance:
        hold_folder(settings.instance_path)
    target = Path(file).absolute()
    if target.is_dir():
        target /= creating.name_backup("backup")
    elif file.endswith("/"):
        raise click.ClickException(f"The folder {target} does not exist. Create it first.")
    try:
        manifest = creating.make_backup(settings, target)
    except creating.BackupFailed as error:
        raise click.ClickException(f"The backup failed: {error}.") from None
    size = target.stat().st_size
    notes = ["The secret key is in the environment, not in this file. Keep it as well."]
    return Output(
        {"file": str(target), "size": size, **manifest},
        f"{target}: {size} bytes, {describe_rows(manifest['rows'])}.",
        notes=notes if os.environ.get(f"{PREFIX}SECRET_KEY") else (),
    )


@backup.command("now")
def back_up_now_command() -> Output:
    """Make a scheduled backup now, copy it to BACKUP_TO and run BACKUP_COMMAND.

    This is what `serve` does every BACKUP_HOURS: the backup counts as one of the BACKUP_KEEP, and
    old ones are removed.
    """
    settings = current_settings()
    try:
        path = cast(Path, creating.run_backup_job(creating.BACKUP_JOB))
        if is_copy_wanted():
            with write():
                forget_stored()
            creating.run_backup_job(creating.COPY_JOB)
    except creating.BackupFailed as error:
        raise click.ClickException(f"There is {error.what}: {error}.") from None
    size = path.stat().st_size
    copy = str(Path(settings.backup_to) / path.name) if settings.backup_to else None
    has_command = bool(settings.backup_command)
    notes = [f"It was copied to {copy}."] if copy else []
    return Output(
        {"file": str(path), "size": size, "copiedTo": copy, "commandRan": has_command},
        f"{path}: {size} bytes.",
        notes=[*notes, "BACKUP_COMMAND has taken it."] if has_command else notes,
    )


@backup.command("list", needs_app=False, empty="There is no backup here.")
def list_command() -> Output:
    """List the backups in BACKUP_PATH and in BACKUP_TO, newest first."""
    settings = load_settings(makes_instance=False)
    backups = {settings.backup_path: list_kept(Path(settings.backup_path))}
    problems = []
    try:
        if settings.backup_to:
            backups[settings.backup_to] = list_copies(Path(settings.backup_to))
    except CopyFailed as error:
        problems.append(f"Error: {settings.backup_to} can't be read: {error}.")
    rows = [
        {"name": each.name, "madeAt": iso(each.made_at), "size": each.size, "place": place}
        for place, kept in backups.items()
        for each in kept
    ]
    return Output(rows, rows, problems=problems, is_failure=bool(problems))


@backup.command("verify")
@click.argument("file", type=click.Path(path_type=Path), required=False)
def verify_command(file: Path | None) -> Output:
    """Restore a backup into a temporary folder and check all of it, as `serve` does each night.

    By default, this is the newest one in BACKUP_TO or BACKUP_PATH, and the result is recorded. The
    temporary folder is in the instance folder, and needs space for the database.
    """
    settings = current_settings()
    try:
        if file is None:
            result = cast(restoring.Verified, creating.run_backup_job(creating.VERIFY_JOB))
        else:
            result = restoring.verify(settings, find_kept(file, settings).absolute())
    except restoring.VerifyFailed as error:
        raise click.ClickException(f"The backup can't be restored: {error}.") from None
    except creating.BackupFailed as error:
        raise click.ClickException(f"Nothing was verified: {error}.") from None
    return Output(
        {"source": str(result.source), "erasedAgain": result.erased_again, **result.manifest},
        f"{result.source} can be restored: {_describe(result.manifest)}, its database sound.",
    )


@backup.command("drop", needs_schema=False)
@click.option("--dry-run", is_flag=True, help="List them without removing any.")
def drop(dry_run: bool) -> Output:
    """Remove all backups from BACKUP_PATH except the newest, and the newest made before an upgrade.

    Use this if the disk is full. Copies in BACKUP_TO stay.
    """
    try:
        dropped = restoring.drop_old(is_trial=dry_run)
    except creating.BackupFailed as error:
        raise click.ClickException(f"{str(error).capitalize()}.") from None
    verb = "would be removed" if dry_run else "were removed"
    names, size = [each.name for each in dropped], sum(each.size for each in dropped)
    summary = f"{len(names)} backup(s) {verb}: {size} bytes."
    value = {"removed": not dry_run, "names": names, "size": size}
    return Output(value, "\n".join([*names, summary]))


@command("restore", needs_app=False)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--replace", is_flag=True, help="Replace existing data; the old files are kept.")
@click.option("--dry-run", is_flag=True, help="Check FILE without changing anything.")
def restore(file: Path, replace: bool, dry_run: bool) -> Output:
    """Restore a backup into the instance folder, or to PostgreSQL. Stop the service first.

    FILE may be the name of a backup in BACKUP_PATH or BACKUP_TO. Its checksums, database and counts
    are checked before anything changes. Rows listed in the erased.json next to it are left out. Old
    files are moved to a folder named before-restore- and the time. Run an interrupted restore
    again. With --dry-run the service may be running.
    """
    settings = load_settings(makes_instance=False)
    file = find_kept(file, settings)
    if not file.exists():
        raise click.ClickException(
            f"{file} can't be restored: there is no such file, nor is it in "
            f"{settings.backup_path}. Nothing was changed."
        )
    settings.instance_path.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        restored = restoring.restore_backup(file, settings, is_replacing=replace, is_trial=dry_run)
    except RestoreRefused as error:
        raise click.ClickException(
            f"{file} can't be restored: {error}. Nothing was changed."
        ) from None
    value = {
        "restored": not dry_run,
        "database": restored.database,
        "keptIn": [str(path) for path in restored.kept],
        "erasedAgain": restored.erased_again,
        **restored.manifest,
    }
    return Output(value, "\n".join(_report(restored, dry_run)))


def _describe(manifest: Manifest) -> str:
    made = f"made {manifest['createdAt']} by version {manifest['programVersion']}"
    return f"{made}, {describe_rows(manifest['rows'])}"


def _report(restored: restoring.Restored, is_trial: bool) -> Iterator[str]:
    manifest = restored.manifest
    if is_trial:
        yield f"The backup is sound: {_describe(manifest)}. Nothing was changed."
    else:
        yield f"Restored {restored.database} from the backup {_describe(manifest)}."
    if restored.erased_again:
        yield (
            f"{restored.erased_again} of its row(s) were erased after it was made. They are "
            "left out, with everything that belongs to them."
        )
    for folder in restored.kept:
        yield f"The old files are in {folder}."
    if SECRET not in manifest["members"]:
        yield (
            "It has no secret_key: unless its settings have one, set TESTIMONIALS_SECRET_KEY to "
            "the old one, or links sent earlier stop working."
        )
