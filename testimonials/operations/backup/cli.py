"""`testimonials backup` and `testimonials restore`.

Neither needs the application: it must be possible to make a backup when it can't start, and to
restore one into an empty folder.
"""

import os
from pathlib import Path

import click

from testimonials.core.commands import json_option, print_json
from testimonials.migrations.runner import head
from testimonials.operations.backup.archive import SECRET, RestoreRefused
from testimonials.operations.backup.making import BackupFailed, make_backup, name_backup
from testimonials.operations.backup.restoring import Restored, restore_backup
from testimonials.settings.instance_folder import hold_folder
from testimonials.settings.table import PREFIX, load_settings


@click.command()
@click.argument("file", type=click.Path())
@json_option
def backup(file: str, as_json: bool) -> None:
    """Write all data to FILE, even while the service runs; SQLite only.

    FILE becomes a .tar.gz with the database (photos included), the secret key, testimonials.toml
    and a manifest with checksums. If FILE is a folder, the backup in it is named after the time. An
    existing file is never replaced. The backup contains every secret: keep it as safe as the
    instance itself.
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
    click.echo(f"{target}: {size} bytes, {_count(manifest['rows'])}.")
    if os.environ.get(f"{PREFIX}SECRET_KEY"):
        click.echo("The secret key is in the environment, not in this file. Keep it as well.")


@click.command()
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--replace", is_flag=True, help="Replace existing data; the old files are kept.")
@click.option("--dry-run", is_flag=True, help="Check FILE without changing anything.")
@json_option
def restore(file: Path, replace: bool, dry_run: bool, as_json: bool) -> None:
    """Restore a backup into the instance folder; SQLite only. Stop the service first.

    FILE is checked before anything changes: its checksums, its database and its counts. With
    --dry-run this works while the service runs, too. Old files are moved to a folder named
    before-restore- and the time. An interrupted restore leaves the old data, or is completed by the
    next start.
    """
    folder = load_settings(makes_instance=False).instance_path
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        done = restore_backup(file, folder, is_replacing=replace, is_trial=dry_run)
    except RestoreRefused as error:
        raise click.ClickException(
            f"{file} can't be restored: {error}. Nothing was changed."
        ) from None
    if not as_json:
        _report(done, dry_run)
        return
    values = {
        "restored": not dry_run,
        "database": str(done.database),
        "keptIn": [str(path) for path in done.kept],
        "isUpgradedAtStart": done.manifest["schemaRevision"] != head(),
    }
    print_json(values | {**done.manifest})


def _report(done: Restored, is_trial: bool) -> None:
    manifest = done.manifest
    made = f"made {manifest['createdAt']} by version {manifest['programVersion']}"
    if is_trial:
        click.echo(f"The backup is sound: {made}, {_count(manifest['rows'])}. Nothing was changed.")
    else:
        click.echo(f"Restored {done.database} from the backup {made}: {_count(manifest['rows'])}.")
    for folder in done.kept:
        click.echo(f"The old files are in {folder}.")
    if (revision := manifest["schemaRevision"]) != head():
        click.echo(f"Its schema is {revision}; the next start upgrades it to {head()}.")
    if SECRET not in manifest["members"]:
        click.echo(
            "It has no secret_key: unless its settings have one, set TESTIMONIALS_SECRET_KEY to "
            "the old one, or links that were sent before stop working."
        )


def _count(rows: dict[str, int]) -> str:
    names = ("account", "project", "testimonial")
    return ", ".join(f"{rows.get(name, 0)} {name}(s)" for name in names)
