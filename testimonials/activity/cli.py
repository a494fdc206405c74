"""`testimonials activity`: what an operator sees of what happened."""

import sys
from collections.abc import Sequence
from datetime import UTC, datetime

import click
from sqlalchemy import select

from testimonials.activity.actors import ActorKind
from testimonials.activity.models import Event
from testimonials.activity.sentences import Names
from testimonials.activity.services import EventFilter, find_types, list_events
from testimonials.auth.models import Account
from testimonials.auth.services import get_account
from testimonials.core.commands import database_command, json_option, print_rows
from testimonials.extensions import db
from testimonials.projects.models import Project
from testimonials.transfer.tables.activity_table import describe_event, write_events

SHOWN = ("createdAt", "accountId", "type", "sentence")


@click.group()
def activity() -> None:
    """Look at the record of what happened: who did what, from where, and when."""


@activity.command("list")
@click.option("--account", metavar="ID_OR_EMAIL", help="Only the record of this account.")
@click.option("--type", "type_", help="Only these: `session`, or `session.refused`.")
@click.option("--since", type=click.DateTime(), help="Only what happened since then, in UTC.")
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
    """List what happened, newest first, on the whole instance or to one account.

    What belongs to no account, such as sign-ins with an unknown address and deleted accounts, is in
    the list of the whole instance alone.
    """
    types = find_types(type_) if type_ else ()
    if type_ and not types:
        raise click.ClickException(f"Nothing of the type {type_} is recorded.")
    wanted = EventFilter(
        account_id=get_account(account).id if account else None,
        types=types,
        since=since and since.replace(tzinfo=UTC),
    )
    events = list(list_events(wanted, limit))
    people, projects = _find_names(events)
    if as_csv:
        write_events(events, people, projects, sys.stdout.buffer)
        return
    rows = [describe_event(event, people, projects) for event in events]
    if not as_json:
        rows = [{name: row[name] for name in SHOWN} for row in rows]
    print_rows(rows, as_json=as_json, empty="Nothing is recorded.")


def _find_names(events: Sequence[Event]) -> tuple[Names, Names]:
    """Return the present addresses and project names that events speak of; an operator may know."""
    people = {each.actor_name for each in events if each.actor_kind == ActorKind.PERSON}
    projects = {each.project_id for each in events}
    accounts = db.session.execute(select(Account.id, Account.email).where(Account.id.in_(people)))
    found = db.session.scalars(select(Project).where(Project.id.in_(projects)))
    return {row.id: row.email for row in accounts}, {each.id: each.name for each in found}
