"""`testimonials team`: who has a role in all projects of an owner."""

from typing import Any

import click

from testimonials.activity.event_types import EventType
from testimonials.activity.recording import record_event
from testimonials.auth.models import Account
from testimonials.auth.services import get_account
from testimonials.core.commands import database_command, json_option, print_record, print_rows
from testimonials.extensions import begin_write, db
from testimonials.projects.access import ROLES
from testimonials.projects.team.workspace import (
    Colleague,
    find_colleague,
    list_colleagues,
    remove_colleague,
    set_workspace_role,
)

OWNER = click.argument("owner", metavar="OWNER")
PERSON = click.argument("person", metavar="PERSON")


@click.group()
def team() -> None:
    """List, add, change and remove who works in all projects of an owner.

    OWNER and PERSON are ids or e-mail addresses of accounts.
    """


@team.command("list")
@OWNER
@json_option
@database_command
def list_command(owner: str, as_json: bool) -> None:
    """List everybody in an owner's projects, with their roles in all of them and in single ones."""
    rows = [_describe(each) for each in list_colleagues(get_account(owner).id)]
    if not as_json:
        rows = [row | {"projects": ", ".join(row["projects"])} for row in rows]
    print_rows(rows, as_json=as_json, empty="Nobody but the owner is in these projects.")


@team.command("set")
@OWNER
@PERSON
@click.argument("role", type=click.Choice([*ROLES]))
@json_option
@database_command
def set_command(owner: str, person: str, role: str, as_json: bool) -> None:
    """Give somebody with a claimed account a role in all projects of an owner, without a mail."""
    begin_write()
    account, member = _find_both(owner, person)
    if set_workspace_role(account.id, member.id, role):
        details = {"email": member.email, "role": role, "member": member.id}
        record_event(EventType.MEMBER_CHANGED, account.id, **details)
    db.session.commit()
    print_record(_describe(find_colleague(account.id, member.id)), as_json=as_json)


@team.command("remove")
@OWNER
@PERSON
@json_option
@database_command
def remove_command(owner: str, person: str, as_json: bool) -> None:
    """End somebody's roles in all and in each of an owner's projects, and their tokens there."""
    begin_write()
    account, member = _find_both(owner, person)
    removed = remove_colleague(account.id, member.id)
    record_event(EventType.MEMBER_REMOVED, account.id, email=member.email, member=member.id)
    db.session.commit()
    print_record(_describe(removed), as_json=as_json)


def _find_both(owner: str, person: str) -> tuple[Account, Account]:
    account, member = get_account(owner), get_account(person)
    if account.id == member.id:
        raise click.ClickException("The owner is in all of their projects.")
    if not member.is_claimed:
        raise click.ClickException(f"Nobody has claimed the account of {member.email}.")
    return account, member


def _describe(colleague: Colleague) -> dict[str, Any]:
    return {
        "email": colleague.email,
        "accountId": colleague.account_id,
        "role": colleague.role,
        "source": colleague.source,
        "projects": [f"{project.slug} ({role})" for project, role in colleague.projects],
    }
