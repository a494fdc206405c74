"""`testimonials backup` and `testimonials restore`."""

import os
from pathlib import Path

import click

from testimonials.core.commands import json_option, print_json
from testimonials.migrations.runner import head, revisions
from testimonials.operations.backup.archive import SETTINGS
from testimonials.operations.backup.making import (
    BackupFailed,
    Instance,
    find_instance,
    make_backup,
    name_backup,
)
from testimonials.operations.backup.restoring import Restored, RestoreRefused, restore_backup
from testimonials.settings.checks import PREFIX
from testimonials.settings.instance_folder import hold_folder
from testimonials.settings.table import load_settings

SECRET_VARIABLE = f"{PREFIX}SECRET_KEY"

# Neither command needs the application: a backup must be possible whatever is wrong with it, and
# a restore begins with an empty folder.


@click.command()
@click.argument("file", type=click.Path())
@json_option
def backup(file: str, as_json: bool) -> None:
    """Write all data into FILE, also while the service runs; SQLite only.

    FILE becomes a .tar.gz with the database (images included), the secret key, testimonials.toml
    and a manifest with checksums. A folder gets a file named by the time. An existing file is
    never replaced. Whoever has the file has everything: keep it as safe as the instance.
    """
    settings = load_settings(makes_instance=False)
    if settings.has_instance:
        # What is copied must not be replaced by a restore meanwhile.
        hold_folder(settings.instance_path)
    try:
        target = Path(file).absolute()
    except FileNotFoundError:
        raise click.ClickException(f"The folder in which {file} would be is gone.") from None
    if target.is_dir():
        target /= name_backup("backup")
    elif file.endswith("/"):
        raise click.ClickException(f"There is no folder {target}. Create it first.")
    try:
        manifest = make_backup(find_instance(settings.instance_path, settings.database_url), target)
    except BackupFailed as error:
        raise click.ClickException(f"There is no backup: {error}.") from None
    if as_json:
        print_json({"file": str(target), "size": target.stat().st_size, **manifest.as_json()})
        return
    click.echo(f"{target}: {target.stat().st_size} bytes, {_count(manifest.rows)}.")
    if os.environ.get(SECRET_VARIABLE):
        # A file beside it holds another one, from before.
        click.echo("The secret key is in the environment and not in this file; keep it too.")


@click.command()
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--replace", is_flag=True, help="Replace the data that is there; it is kept aside.")
@click.option("--dry-run", is_flag=True, help="Only check FILE, and say what would be done.")
@json_option
def restore(file: Path, replace: bool, dry_run: bool, as_json: bool) -> None:
    """Put a backup into the instance folder, while no service runs on it; SQLite only.

    FILE is checked first: its checksums, its database and its counts; --dry-run does that beside
    a running service too. What was there is moved into
    a folder named before-restore- and the time. A restore that is cut off leaves the old data, or
    is finished by the next start.
    """
    settings = load_settings(makes_instance=False)
    settings.instance_path.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        done = restore_backup(
            file,
            settings.instance_path,
            _find_restored,
            known_revisions=revisions(),
            is_replacing=replace,
            is_trial=dry_run,
        )
    except (RestoreRefused, BackupFailed) as error:
        raise click.ClickException(f"{error}. Nothing was changed.") from None
    if as_json:
        print_json(_describe(done, dry_run))
    else:
        _say(done, dry_run)


def _find_restored(unpacked: Path) -> Instance:
    """Return the instance as it will be with what is unpacked; raises `BackupFailed`.

    Under the settings of the environment come those of the backup, or of the folder, where they
    stay if the backup has none.
    """
    file = unpacked / SETTINGS
    settings = load_settings(makes_instance=False, file=file if file.exists() else None)
    return find_instance(settings.instance_path, settings.database_url)


def _describe(done: Restored, is_trial: bool) -> dict[str, object]:
    return {
        "restored": not is_trial,
        "database": str(done.instance.database),
        "keptIn": [str(path) for path in done.kept],
        "isUpgradedAtStart": done.manifest.schema_revision != head(),
        **done.manifest.as_json(),
    }


def _say(done: Restored, is_trial: bool) -> None:
    manifest = done.manifest
    made = f"made {manifest.created_at} by version {manifest.program_version}"
    if is_trial:
        click.echo(f"The backup is sound: {made}, {_count(manifest.rows)}. Nothing was changed.")
    else:
        click.echo(f"{done.instance.database} holds the backup {made}: {_count(manifest.rows)}.")
    for folder in done.kept:
        click.echo(f"What was there before is in {folder}.")
    if manifest.schema_revision != head():
        click.echo(
            f"Its schema is {manifest.schema_revision}; the next start upgrades it to {head()}."
        )
    if not done.has_secret:
        click.echo(
            "It holds no secret key: set TESTIMONIALS_SECRET_KEY as it was, or links that were "
            "sent before stop working."
        )


def _count(rows: dict[str, int]) -> str:
    names = ("account", "project", "testimonial")
    return ", ".join(f"{rows.get(name, 0)} {name}(s)" for name in names)
