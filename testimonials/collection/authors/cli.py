"""`testimonials authors`: help the people who wrote testimonials."""

import functools
from typing import Any

import click

from testimonials.activity.event_types import EventType
from testimonials.activity.recording import record_event
from testimonials.auth.addresses import parse_email
from testimonials.collection.authors.address_lookup import AboutAddress, find_about, forget_address
from testimonials.core.commands import database_command, json_option, print_json
from testimonials.core.terminal_text import make_printable
from testimonials.extensions import begin_write, db

SHOWN = 60


@click.group()
def authors() -> None:
    """Help the authors of testimonials."""


@authors.command("erase")
@click.argument("email")
@click.option("--dry-run", is_flag=True, help="Show what would be deleted.")
@click.option("--yes", is_flag=True, help="Don't ask for confirmation.")
@json_option
@database_command
def erase_command(email: str, dry_run: bool, yes: bool, as_json: bool) -> None:
    """Permanently delete everything about an author's e-mail address, in all projects.

    That is: testimonials with their history and pictures, requests and other mail to the address,
    and the address in the history of other testimonials. An unsubscribed address stays
    unsubscribed: only its hash is kept. To delete an account with this address, use
    `accounts delete`.
    """
    address = parse_email(email)
    found = find_about(address)
    if not dry_run and not yes and not found.is_empty:
        # Keeps standard output pure JSON.
        _tell(found, address, "To delete", is_aside=as_json)
        click.confirm("Delete all of this permanently?", abort=True, err=as_json)
    if not dry_run:
        begin_write()
        found = forget_address(address)
        record_event(EventType.AUTHOR_ERASED, None, count=len(found.testimonials))
        db.session.commit()
    if as_json:
        print_json({"email": address, "removed": not dry_run, **_count(found)})
    else:
        _tell(found, address, "To delete" if dry_run else "Deleted")


def _count(found: AboutAddress) -> dict[str, Any]:
    return {
        "testimonials": len(found.testimonials),
        "projects": found.projects,
        "pictures": found.pictures,
        "invitations": found.requests,
        "mails": found.mails,
        "changes": found.changes,
        "hasAccount": found.has_account,
    }


def _tell(found: AboutAddress, email: str, verb: str, *, is_aside: bool = False) -> None:
    say = functools.partial(click.echo, err=is_aside)
    if found.is_empty:
        say(f"Nothing is stored about an author with the address {email}.")
    else:
        projects = ", ".join(f"{slug}: {count}" for slug, count in found.projects.items())
        where = f" ({projects})" if projects else ""
        say(f"{verb} about {email}:")
        say(f"  {len(found.testimonials)} testimonial(s) with their history{where}")
        for row in found.testimonials:
            say(f"    {row.id} {make_printable(row.text, SHOWN)}")
        say(f"  {found.pictures} picture(s)")
        say(f"  {found.requests} request(s) for a testimonial")
        say(f"  {found.mails} mail(s) in the outbox")
        say(f"  the address in {found.changes} change(s) of other testimonials")
    if found.has_account:
        say("This address also has an account; delete it with `accounts delete`.")
