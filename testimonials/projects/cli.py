"""`testimonials projects`: what an operator does with projects."""

from typing import Any

import click

from testimonials.activity.event_types import EventType
from testimonials.activity.recording import record_event, record_project_event
from testimonials.auth.services import get_account
from testimonials.core import clock
from testimonials.core.clock import iso
from testimonials.core.commands import (
    database_command,
    json_option,
    print_json,
    print_record,
    print_rows,
)
from testimonials.extensions import begin_write, db, let_others_write
from testimonials.projects.changes import give_up_projects
from testimonials.projects.models import Project
from testimonials.projects.schemas import ProjectSchema
from testimonials.projects.services import (
    delete_project,
    get_project,
    list_all_projects,
    lock_account,
    lock_project,
)
from testimonials.projects.team.invitations import list_invitations
from testimonials.projects.team.services import list_members
from testimonials.testimonials.moderation.parts import of_projects, remove_some
from testimonials.testimonials.services import count_by_project, count_by_status
from testimonials.transfer.ownership import hand_over
from testimonials.widget.content.saved_widgets import describe_widgets
from testimonials.widget.schemas import WidgetSchema

PROJECT = click.argument("project", metavar="ID_OR_SLUG")


@click.group()
def projects() -> None:
    """List, show and remove projects."""


@projects.command("list")
@json_option
@database_command
def list_command(as_json: bool) -> None:
    """List all projects, newest first."""
    counts = count_by_project()
    rows = [
        {
            "_id": project.id,
            "userId": project.account_id,
            "slug": project.slug,
            "status": project.status,
            "testimonials": sum(counts[project.id].values()),
            "createdAt": iso(project.created_at),
        }
        for project in list_all_projects()
    ]
    print_rows(rows, as_json=as_json, empty="There are no projects yet.")


@projects.command("show")
@PROJECT
@json_option
@database_command
def show_command(project: str, as_json: bool) -> None:
    """Show one project with its settings and how many testimonials it has in each state."""
    found = get_project(project)
    record = ProjectSchema().dump(found) | {"testimonials": count_by_status(found.id)}
    print_record(record, as_json=as_json)


@projects.command("members")
@PROJECT
@json_option
@database_command
def members_command(project: str, as_json: bool) -> None:
    """List the people of one project: its owner, members and open invitations."""
    found = get_project(project)
    rows: list[dict[str, Any]] = [
        {
            "email": member.email,
            "name": member.display_name,
            "accountId": member.account_id,
            "role": member.role.name.lower(),
            "state": "member",
            "since": iso(member.since),
        }
        for member in list_members(found)
    ]
    rows += [
        {
            "email": invitation.email,
            "name": None,
            "accountId": None,
            "role": invitation.role,
            "state": "invited" if invitation.expires_at > clock.now() else "expired",
            "since": iso(invitation.created_at),
        }
        for invitation in list_invitations(found)
    ]
    print_rows(rows, as_json=as_json, empty="")


@projects.command("widgets")
@PROJECT
@json_option
@database_command
def widgets_command(project: str, as_json: bool) -> None:
    """List the widgets of one project: its own, without a name, and the saved ones."""
    records = WidgetSchema(many=True).dump(describe_widgets(get_project(project)))
    if as_json:
        print_json(records)
        return
    rows = [
        {
            "name": record["name"] or "(own)",
            "shape": record["widgetDesign"]["shape"] or record["widgetConfig"]["layout"],
            "order": record["widgetDesign"]["order"],
            "updatedAt": record["updatedAt"],
        }
        for record in records
    ]
    print_rows(rows, as_json=False, empty="")


@projects.command("delete")
@PROJECT
@click.option("--yes", is_flag=True, help="Don't ask for confirmation.")
@json_option
@database_command
def delete_command(project: str, yes: bool, as_json: bool) -> None:
    """Delete a project with its testimonials."""
    found = get_project(project)
    count = sum(count_by_status(found.id).values())
    if not yes:
        question = f"Delete {found.slug} and {count} testimonial(s) permanently?"
        click.confirm(question, abort=True, err=as_json)
    begin_write()
    found = get_project(project)
    record_project_event(EventType.PROJECT_DELETED, found, name=found.name)
    give_up_projects(Project.id == found.id)
    while remove_some(of_projects(Project.id == found.id)):
        db.session.commit()
        let_others_write()
        begin_write()
    delete_project(found)
    db.session.commit()
    if as_json:
        print_json({"_id": found.id, "deleted": True, "testimonials": count})
    else:
        click.echo(f"Deleted {found.slug} and {count} testimonial(s).")


@projects.command("transfer")
@PROJECT
@click.argument("account", metavar="ACCOUNT")
@click.option("--without-team", is_flag=True, help="The former owner and their team leave.")
@json_option
@database_command
def transfer_command(project: str, account: str, without_team: bool, as_json: bool) -> None:
    """Hand a project over to another account (an id or an address), without asking either."""
    begin_write()
    receiver = lock_account(get_account(account).id)
    found = lock_project(get_project(project).id)
    former = get_account(found.account_id)
    if receiver.id == former.id or not receiver.is_claimed or receiver.is_suspended:
        raise click.ClickException(f"{receiver.email} owns it already, or can’t own projects now.")
    hand_over(found, receiver, keeps_team=not without_team)
    details = {"name": found.name, "old": former.email, "email": receiver.email}
    record_event(EventType.OWNERSHIP_TAKEN, former.id, **details)
    record_project_event(EventType.OWNERSHIP_TAKEN, found, **details)
    db.session.commit()
    print_record(ProjectSchema().dump(found), as_json=as_json)
