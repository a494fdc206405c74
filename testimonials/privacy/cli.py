"""`testimonials privacy`: what is stored about a person."""

import json
from pathlib import Path

import click

from testimonials.activity.event_types import EventType
from testimonials.activity.recording import record_event
from testimonials.auth.addresses import parse_email
from testimonials.core.commands import database_command, json_option, print_json
from testimonials.extensions import begin_write, db
from testimonials.privacy.person import count_found, describe_person
from testimonials.transfer.archives.files import force_option, writing_file
from testimonials.transfer.archives.writing import reading_one_moment


@click.group()
def privacy() -> None:
    """Answer what people may ask about their data."""


@privacy.command("export")
@click.argument("email")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@force_option
@json_option
@database_command
def export_command(email: str, file: Path, force: bool, as_json: bool) -> None:
    """Export everything that is stored about an e-mail address to FILE, as JSON.

    That is, in all projects: testimonials with their history, requests, mails and invitations, and
    the account with this address, with its sessions and its activity. Make sure that who asks is
    who the address belongs to.
    """
    address = parse_email(email)
    with writing_file(file, is_forced=force) as out, reading_one_moment():
        found = describe_person(address)
        out.write(json.dumps(found, ensure_ascii=False, indent=1).encode())
    begin_write()
    record_event(EventType.AUTHOR_EXPORTED, None, count=len(found["testimonials"]))
    db.session.commit()
    counts = count_found(found)
    if as_json:
        print_json({"file": str(file), "bytes": file.stat().st_size, "found": counts})
        return
    click.echo(f"Wrote what is stored about {address} to {file}:")
    for name, count in counts.items():
        click.echo(f"  {name}: {count}")
