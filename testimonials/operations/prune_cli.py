"""`testimonials prune`: remove now what has had its time."""

import click

from testimonials.core.commands import database_command, json_option, print_json
from testimonials.operations.jobs.expiry import preview, sweep

WORDS = {
    "accounts": "unclaimed accounts past their days",
    "projects": "deleted projects past their days of grace",
    "testimonials": "testimonials from trash and spam",
    "sessions": "sessions that have ended",
    "formerAddresses": "addresses that can't take an account back any more",
    "teamInvitations": "invitations to teams that ran out",
    "askedPeople": "people who never answered a request",
    "mails": "old mails in the outbox",
    "websites": "websites on which a widget was seen long ago",
    "events": "events of the record that are too old",
    "networks": "networks of events that are older than 90 days",
    "subscriptions": "subscriptions that belong to no account",
    "images": "pictures that nothing shows",
    "rateLimits": "counters of rate limits",
}


@click.command()
@click.option("--dry-run", is_flag=True, help="Count what would be removed, and remove nothing.")
@json_option
@database_command
def prune(dry_run: bool, as_json: bool) -> None:
    """Remove what has had its time, as `serve` does each minute, and say what it was."""
    removed = preview() if dry_run else sweep()
    if as_json:
        print_json({"dryRun": dry_run, "removed": removed})
        return
    did = "Would remove" if dry_run else "Removed"
    found = [f"{did} {count} {WORDS[kind]}." for kind, count in removed.items() if count]
    click.echo("\n".join(found or ["There is nothing to remove."]))
