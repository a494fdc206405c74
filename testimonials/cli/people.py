"""Commands about authors, privacy, reports of abuse and the record of events."""

import functools
import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from testimonials.auth.accounts import get_account
from testimonials.auth.email_addresses import parse_email
from testimonials.cli.output import (
    database_command,
    force_option,
    json_option,
    print_json,
    print_record,
    print_rows,
    writing_file,
)
from testimonials.collection.abuse import list_reports, read_reported, settle_report
from testimonials.collection.author_erasure import AboutAddress, find_about, forget_address
from testimonials.collection.models import AbuseReport
from testimonials.core.audit import EventFilter, find_types, list_events, record
from testimonials.core.clock import iso
from testimonials.core.extensions import begin_write, db
from testimonials.core.text import make_printable
from testimonials.testimonials.events import AUTHOR_ERASED, AUTHOR_EXPORTED
from testimonials.transfer.archives.writing import reading_one_moment
from testimonials.transfer.privacy import count_found, describe_person
from testimonials.transfer.tables.export import describe_event, find_names, write_events

# `testimonials authors`: help the people who wrote testimonials.

SHOWN_LETTERS = 60


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
        record(AUTHOR_ERASED, None, count=len(found.testimonials))
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
            say(f"    {row.id} {make_printable(row.text, SHOWN_LETTERS)}")
        say(f"  {found.pictures} picture(s)")
        say(f"  {found.requests} request(s) for a testimonial")
        say(f"  {found.mails} mail(s) in the outbox")
        say(f"  the address in {found.changes} change(s) of other testimonials")
    if found.has_account:
        say("This address also has an account; delete it with `accounts delete`.")


# `testimonials privacy`: what is stored about a person.


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
    record(AUTHOR_EXPORTED, None, count=len(found["testimonials"]))
    db.session.commit()
    counts = count_found(found)
    if as_json:
        print_json({"file": str(file), "bytes": file.stat().st_size, "found": counts})
        return
    click.echo(f"Wrote what is stored about {address} to {file}:")
    for name, count in counts.items():
        click.echo(f"  {name}: {count}")


# `testimonials reports`.


@click.group()
def reports() -> None:
    """Look at what visitors reported about public pages."""


@reports.command("list")
@click.option("--settled", is_flag=True, help="Those that are settled.")
@json_option
@database_command
def list_reports_command(settled: bool, as_json: bool) -> None:
    """List the reports that wait for somebody, the oldest first."""
    found = list_reports(is_settled=settled)
    rows = [_describe(report) | {"slug": project.slug} for report, project in found]
    print_rows(rows, as_json=as_json, empty="There are no reports.")


@reports.command("settle")
@click.argument("report_id", metavar="ID")
@json_option
@database_command
def settle_command(report_id: str, as_json: bool) -> None:
    """Note that a report is done with."""
    begin_write()
    report = settle_report(report_id)
    db.session.commit()
    print_record(_describe(report), as_json=as_json)


@reports.command("read")
@click.argument("report_id", metavar="ID")
@click.option("--reason", required=True, help="Why; the owner's activity shows it.")
@json_option
@database_command
def read_command(report_id: str, reason: str, as_json: bool) -> None:
    """Show the testimonial that a report is about; the owner's activity says so."""
    begin_write()
    row = read_reported(report_id, reason)
    shown = {"testimonialId": row.id, "authorName": row.author_name, "text": row.text}
    db.session.commit()
    print_record(shown, as_json=as_json)


def _describe(report: AbuseReport) -> dict[str, Any]:
    return {
        "id": report.id,
        "createdAt": iso(report.created_at),
        "projectId": report.project_id,
        "page": report.page,
        "testimonialId": report.testimonial_id,
        "reason": report.reason,
        "words": report.words,
        "settledAt": iso(report.settled_at) if report.settled_at else None,
    }


# `testimonials activity`: the record of events, for the operator.

SHOWN_COLUMNS = ("createdAt", "accountId", "type", "sentence")


@click.group()
def activity() -> None:
    """Read the record of what happened: who did what, from where, and when."""


@activity.command("list")
@click.option("--account", metavar="ID_OR_EMAIL", help="Only the record of this account.")
@click.option("--type", "type_", help="Only events of this type: `session`, or `session.refused`.")
@click.option("--since", type=click.DateTime(), help="Only events since this time, in UTC.")
@click.option("--limit", default=50, type=click.IntRange(1, 100_000), show_default=True)
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV.")
@json_option
@database_command
def list_activity_command(
    account: str | None,
    type_: str | None,
    since: datetime | None,
    limit: int,
    as_csv: bool,
    as_json: bool,
) -> None:
    """List what happened on the whole instance or to one account, newest first.

    Events without an account, such as sign-ins with an unknown address and deletions of accounts,
    are only in the list of the whole instance.
    """
    types = find_types(type_) if type_ else ()
    if type_ and not types:
        raise click.ClickException(f"There is no event type {type_}.")
    wanted = EventFilter(
        account_id=get_account(account).id if account else None,
        types=types,
        since=since and since.replace(tzinfo=UTC),
    )
    events = list(list_events(wanted, limit))
    people, projects = find_names(None)
    if as_csv:
        write_events(events, people, projects, sys.stdout.buffer)
        return
    rows = [describe_event(event, people, projects) for event in events]
    if not as_json:
        rows = [{name: row[name] for name in SHOWN_COLUMNS} for row in rows]
    print_rows(rows, as_json=as_json, empty="There are no events.")
