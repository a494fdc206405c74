"""`testimonials restore`. It needs no application: it restores into an empty folder, too."""

import dataclasses
from pathlib import Path

import click

from testimonials.core.commands import json_option, print_json
from testimonials.migrations.runner import head
from testimonials.operations.backup.archive import SECRET, RestoreRefused, describe_rows
from testimonials.operations.backup.restoring import Restored, restore_backup
from testimonials.settings.table import load_settings


@click.command()
@click.argument("file")
@click.option("--replace", is_flag=True, help="Replace existing data; the old files are kept.")
@click.option("--dry-run", is_flag=True, help="Check FILE without changing anything.")
@click.option(
    "--identity",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="The file with the private key, in place of BACKUP_AGE_IDENTITY.",
)
@json_option
def restore(file: str, replace: bool, dry_run: bool, identity: Path | None, as_json: bool) -> None:
    """Restore a backup into the instance folder, or to PostgreSQL. Stop the service first.

    FILE is a file, or the name of a backup in BACKUP_TO, or "newest" there. It is checked before
    anything changes: its checksums, its database and its counts. With --dry-run this works while
    the service runs, too. Old files are moved to a folder named before-restore- and the time. An
    interrupted restore leaves the old data, or is completed by the next start.
    """
    settings = load_settings(makes_instance=False)
    settings.instance_path.mkdir(mode=0o700, parents=True, exist_ok=True)
    if identity:
        settings = dataclasses.replace(settings, backup_age_identity=str(identity.absolute()))
    try:
        done = restore_backup(file, settings, is_replacing=replace, is_trial=dry_run)
    except RestoreRefused as error:
        raise click.ClickException(
            f"{file} can't be restored: {error}. Nothing was changed."
        ) from None
    if not as_json:
        _report(done, dry_run)
        return
    values = {
        "restored": not dry_run,
        "database": done.database,
        "keptIn": [str(path) for path in done.kept],
        "erasedAgain": done.erased_again,
        "isUpgradedAtStart": done.manifest["schemaRevision"] != head(),
    }
    print_json(values | {**done.manifest})


def _report(done: Restored, is_trial: bool) -> None:
    manifest = done.manifest
    made = f"made {manifest['createdAt']} by version {manifest['programVersion']}"
    if is_trial:
        click.echo(
            f"The backup is sound: {made}, {describe_rows(manifest['rows'])}. Nothing was changed."
        )
    else:
        click.echo(
            f"Restored {done.database} from the backup {made}: {describe_rows(manifest['rows'])}."
        )
    if done.erased_again:
        click.echo(
            f"Of it {done.erased_again} row(s) had been erased since. They are left out, with what "
            "belongs to them."
        )
    for folder in done.kept:
        click.echo(f"The old files are in {folder}.")
    if (revision := manifest["schemaRevision"]) != head():
        click.echo(f"Its schema is {revision}; the next start upgrades it to {head()}.")
    if SECRET not in manifest["members"]:
        click.echo(
            "It has no secret_key: unless its settings have one, set TESTIMONIALS_SECRET_KEY to "
            "the old one, or links that were sent before stop working."
        )
