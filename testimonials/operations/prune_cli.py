"""`testimonials prune`: remove expired data now."""

import click

from testimonials.core.commands import database_command, json_option, print_json
from testimonials.operations.jobs.expiry import KINDS, preview, sweep


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
