"""`testimonials proposals`: what waits in a project, and deciding in the owner's place."""

from typing import Any

import click

from testimonials.core.commands import database_command, json_option, print_json, print_rows
from testimonials.extensions import begin_write, db
from testimonials.projects.models import Project
from testimonials.projects.services import get_project, lock_account, lock_project
from testimonials.proposals.deciding import Decider, decide_proposals
from testimonials.proposals.schemas import ProposalSchema
from testimonials.proposals.services import STATUSES, list_all

OPERATOR = Decider(None, "the operator")

PROJECT = click.option("--project", required=True, metavar="ID_OR_SLUG", help="Of which project.")
IDS = click.argument("ids", metavar="ID...", nargs=-1, required=True)


@click.group()
def proposals() -> None:
    """List and decide what agents proposed."""


@proposals.command("list")
@PROJECT
@click.option("--status", type=click.Choice(STATUSES), help="Only those in this state.")
@json_option
@database_command
def list_command(project: str, status: str | None, as_json: bool) -> None:
    """List a project's proposals, newest first."""
    records = ProposalSchema(many=True).dump(list_all(get_project(project), status))
    names = ("_id", "status", "kind", "createdAt", "reason")
    rows = records if as_json else [{name: each[name] for name in names} for each in records]
    print_rows(rows, as_json=as_json, empty="There are no proposals here.")


@proposals.command("accept")
@IDS
@PROJECT
@json_option
@database_command
def accept_command(ids: tuple[str, ...], project: str, as_json: bool) -> None:
    """Accept proposals: what they would change is changed."""
    _decide(get_project(project), ids, "accepted", "", as_json)


@proposals.command("decline")
@IDS
@PROJECT
@click.option("--note", default="", help="Words to the agent.")
@json_option
@database_command
def decline_command(ids: tuple[str, ...], project: str, note: str, as_json: bool) -> None:
    """Decline proposals: nothing changes."""
    _decide(get_project(project), ids, "declined", note[:500], as_json)


def _decide(project: Project, ids: tuple[str, ...], status: str, note: str, as_json: bool) -> None:
    account_id, project_id = project.account_id, project.id
    begin_write()
    lock_account(account_id)
    decided = decide_proposals(lock_project(project_id), ids, status, OPERATOR, note)
    done = [row.id for row in decided.done]
    db.session.commit()
    answer: dict[str, Any] = {status: done, "problems": decided.problems}
    if as_json:
        print_json(answer)
    else:
        click.echo(f"{status.capitalize()}: {len(done)}.")
        for each, text in decided.problems.items():
            click.echo(f"{each}: {text}", err=True)
    if decided.problems:
        click.get_current_context().exit(1)
