"""`testimonials activity`: the record of events, for the operator."""

import sys
from datetime import UTC, datetime

import click

from testimonials.activity.services import EventFilter, find_types, list_events
from testimonials.auth.services import get_account
from testimonials.core.commands import database_command, json_option, print_rows
from testimonials.transfer.tables.activity_table import describe_event, find_names, write_events

SHOWN = ("createdAt", "accountId", "type", "sentence")


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
def list_command(
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
        rows = [{name: row[name] for name in SHOWN} for row in rows]
    print_rows(rows, as_json=as_json, empty="There are no events.")
