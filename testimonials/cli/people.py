"""Commands about authors, privacy, abuse reports, and the activity and public records."""

import json
from datetime import UTC, datetime
from pathlib import Path

import click
from sqlalchemy import ColumnElement

from testimonials.auth.email_addresses import parse_email
from testimonials.auth.models import Account
from testimonials.cli.output import (
    ACCOUNT,
    FILE,
    FORCE,
    YES,
    Group,
    Output,
    Record,
    Rows,
    command,
    confirm,
    wants_json,
    writing_file,
)
from testimonials.collection.abuse import list_reports, read_reported, settle_report
from testimonials.collection.author_erasure import AboutAddress, find_about, forget_address
from testimonials.collection.models import AbuseReport
from testimonials.core import clock
from testimonials.core.audit import Event
from testimonials.core.audit import record as record_event
from testimonials.core.chain import LogInvalid, read_log
from testimonials.core.clock import iso
from testimonials.core.db.identifiers import first_identifier
from testimonials.core.db.transactions import write
from testimonials.core.event_lists import find_types, list_events
from testimonials.core.text import make_printable
from testimonials.testimonials.events import AUTHOR_ERASED, AUTHOR_EXPORTED
from testimonials.testimonials.record_heads import add_up, check_record, rotate_key
from testimonials.transfer.archives.writing import reading_snapshot
from testimonials.transfer.privacy import count_found, describe_person
from testimonials.transfer.tables.export import describe_event, find_names

SHOWN_LETTERS = 60


@click.group(cls=Group)
def authors() -> None:
    """Help the authors of testimonials."""


@authors.command("erase")
@click.argument("email")
@click.option("--dry-run", is_flag=True, help="Show what would be deleted.")
@YES
def erase_command(email: str, dry_run: bool, yes: bool) -> Output:
    """Permanently delete everything about an author's email address, in all projects.

    This includes testimonials with their history and pictures, requests and other email to the
    address, agents' proposals that contain it, and the address in the history of other
    testimonials. An unsubscribed address stays unsubscribed, by a hash of it. To delete an account
    with this address, use `accounts delete`.
    """
    address = parse_email(email)
    about = find_about(address)
    if not dry_run and not yes and not about.is_empty:
        # With --json, standard output must be pure JSON.
        click.echo(_describe_all(about, address, "To delete"), err=wants_json())
        confirm("Delete all of this permanently?", yes=False)
    if not dry_run:
        with write():
            about = forget_address(address)
            record_event(AUTHOR_ERASED, None, count=len(about.testimonials))
    value = {"email": address, "removed": not dry_run, **_count(about)}
    return Output(value, _describe_all(about, address, "To delete" if dry_run else "Deleted"))


def _count(about: AboutAddress) -> Record:
    return {
        "testimonials": len(about.testimonials),
        "projects": about.projects,
        "pictures": about.pictures,
        "invitations": about.requests,
        "mails": about.mails,
        "changes": about.changes,
        "proposals": about.proposals,
        "hasAccount": about.has_account,
    }


def _describe_all(about: AboutAddress, email: str, verb: str) -> str:
    lines = [f"Nothing is stored about an author with the address {email}."]
    if not about.is_empty:
        projects = ", ".join(f"{slug}: {count}" for slug, count in about.projects.items())
        where = f" ({projects})" if projects else ""
        texts = [(row.id, make_printable(row.text, SHOWN_LETTERS)) for row in about.testimonials]
        lines = [
            f"{verb} about {email}:",
            f"  {len(about.testimonials)} testimonial(s) with their history{where}",
            *(f"    {testimonial_id} {text}" for testimonial_id, text in texts),
            f"  {about.pictures} picture(s)",
            f"  {about.requests} request(s) for a testimonial",
            f"  {about.mails} mail(s) in the outbox",
            f"  the address in {about.changes} change(s) to other testimonials",
            f"  {about.proposals} proposal(s) of agents with the address",
        ]
    if about.has_account:
        lines.append("This address also has an account; delete it with `accounts delete`.")
    return "\n".join(lines)


@click.group(cls=Group)
def privacy() -> None:
    """Answer people's requests about their data."""


@privacy.command("export")
@click.argument("email")
@FILE
@FORCE
def export_command(email: str, file: Path, force: bool) -> Output:
    """Export everything that is stored about an email address to FILE, as JSON.

    This includes testimonials with their history, requests, emails and invitations in all projects,
    and the account with this address, with its sessions and its activity. Make sure that the
    address belongs to the person who asks.
    """
    address = parse_email(email)
    with writing_file(file, is_forced=force) as out, reading_snapshot():
        data = describe_person(address)
        out.write(json.dumps(data, ensure_ascii=False, indent=1).encode())
    with write():
        record_event(AUTHOR_EXPORTED, None, count=len(data["testimonials"]))
    counts = count_found(data)
    return Output(
        {"file": str(file), "bytes": file.stat().st_size, "found": counts},
        f"Wrote what is stored about {address} to {file}:",
        notes=[f"  {name}: {count}" for name, count in counts.items()],
    )


@click.group(cls=Group)
def reports() -> None:
    """Handle visitors' reports about public pages."""


@reports.command("list", empty="There are no reports.")
@click.option("--settled", is_flag=True, help="List those that are settled.")
def list_reports_command(settled: bool) -> Rows:
    """List the open reports, oldest first."""
    rows = list_reports(is_settled=settled)
    return [_describe(report) | {"slug": project.slug} for report, project in rows]


@reports.command("settle", writes=True)
@click.argument("report_id", metavar="ID")
def settle_command(report_id: str) -> Record:
    """Mark a report as settled."""
    return _describe(settle_report(report_id))


@reports.command("read", writes=True)
@click.argument("report_id", metavar="ID")
@click.option("--reason", required=True, help="Shown in the owner's activity.")
def read_command(report_id: str, reason: str) -> Record:
    """Show the testimonial that a report is about, and record that in the owner's activity."""
    row = read_reported(report_id, reason)
    return {"testimonialId": row.id, "authorName": row.author_name, "text": row.text}


def _describe(report: AbuseReport) -> Record:
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


@click.group(cls=Group)
def activity() -> None:
    """Read the activity record: who did what, from where, and when."""


@activity.command(
    "list",
    columns=("createdAt", "accountId", "type", "sentence"),
    empty="There are no events.",
)
@click.option("--account", type=ACCOUNT, help="Only the record of this account.")
@click.option("--type", "type_", help="Only events of this type: `session`, or `session.refused`.")
@click.option("--since", type=click.DateTime(), help="Only events since this time, in UTC.")
@click.option("--limit", default=50, type=click.IntRange(1, 100_000), show_default=True)
def list_activity_command(
    account: Account | None, type_: str | None, since: datetime | None, limit: int
) -> Rows:
    """List the events of the whole instance or of one account, newest first.

    Events without an account, such as sign-ins with an unknown address and deletions of accounts,
    are only in the list of the whole instance.
    """
    types = find_types(type_) if type_ else ()
    if type_ and not types:
        raise click.ClickException(f"There is no event type {type_}.")
    conditions: list[ColumnElement[bool]] = [Event.type.in_(types)] if types else []
    conditions += [Event.id >= first_identifier(since.replace(tzinfo=UTC))] if since else []
    account_id = account.id if account else None
    events = list(list_events(*conditions, limit=limit, account_id=account_id))
    people, projects = find_names(None)
    return [describe_event(event, people, projects) for event in events]


@command("verify", needs_app=False)
@FILE
@click.option("--key", help="The public key that must have signed it, as in /record/keys.")
@click.option(
    "--record", type=Path, help="The record.json of a testimonial that must match the log."
)
def verify(file: Path, key: str | None, record: Path | None) -> Output:
    """Verify a downloaded log of a project, without network or database.

    Every entry has the hash of the one before it, and the last line is the head, signed by the
    service. Prints the totals of the entries. Exits with 1 if any byte was changed.
    """
    try:
        log = read_log(file.read_bytes())
        if key not in (None, log.key):
            raise LogInvalid(f"Another key signed it: {log.key}.")
        if record is not None:
            check_record(log, record.read_bytes())
    except OSError as error:
        raise click.ClickException(f"{error.filename} can’t be read: {error.strerror}.") from None
    except LogInvalid as error:
        return Output({"isWhole": False, "problem": str(error)}, str(error), is_failure=True)
    ratings, average = add_up(log)
    facts = {"project": log.head["project"], "entries": log.head["seq"], "time": log.head["time"]}
    facts |= {"hash": log.head["hash"], "key": log.key, "ratings": ratings, "average": average}
    return Output({"isWhole": True} | facts, facts, ["Every entry is as it was signed."])


@click.group(cls=Group)
def record() -> None:
    """Replace the key that signs the public records."""


@record.command("rotate-key", writes=True)
def rotate_key_command() -> Record:
    """Create a new signing key; signatures made with earlier keys stay valid."""
    key = rotate_key()
    return {"id": key.id, "key": key.public_key, "createdAt": clock.iso(key.created_at)}
