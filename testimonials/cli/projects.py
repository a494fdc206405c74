"""Commands about projects, their teams, host names and insights."""

from typing import Any

import click

from testimonials.analytics.reports import (
    MOST_LISTED,
    PERIODS,
    USUAL_PERIOD,
    InsightsSchema,
    describe_insights,
)
from testimonials.auth.accounts import get_account
from testimonials.auth.models import Account
from testimonials.cli.output import (
    database_command,
    json_option,
    print_json,
    print_record,
    print_rows,
)
from testimonials.core import clock
from testimonials.core.audit import record
from testimonials.core.clock import iso
from testimonials.core.extensions import begin_write, db, let_others_write
from testimonials.projects import domains as services
from testimonials.projects.access import ROLES
from testimonials.projects.domains import describe_state, look_at
from testimonials.projects.events import (
    MEMBER_CHANGED,
    MEMBER_REMOVED,
    OWNERSHIP_TAKEN,
    PROJECT_DELETED,
)
from testimonials.projects.invitations import list_invitations
from testimonials.projects.models import Project
from testimonials.projects.projects import (
    delete_project,
    get_project,
    list_all_projects,
    lock_account,
    lock_project,
)
from testimonials.projects.schemas import DomainSchema, ProjectSchema
from testimonials.projects.settings import give_up_projects
from testimonials.projects.team import (
    Colleague,
    find_colleague,
    list_colleagues,
    list_members,
    remove_colleague,
    set_workspace_role,
)
from testimonials.testimonials.batches import of_projects, remove_some
from testimonials.testimonials.testimonials import count_by_project, count_by_status
from testimonials.transfer.ownership import hand_over
from testimonials.widget.api import WidgetSchema
from testimonials.widget.settings import describe_widgets

# `testimonials projects`: what an operator does with projects.

PROJECT = click.argument("project", metavar="ID_OR_SLUG")


@click.group()
def projects() -> None:
    """List, show and remove projects."""


@projects.command("list")
@json_option
@database_command
def list_projects_command(as_json: bool) -> None:
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
    shown = ProjectSchema().dump(found) | {"testimonials": count_by_status(found.id)}
    print_record(shown, as_json=as_json)


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
            "name": each["name"] or "(own)",
            "shape": each["widgetDesign"]["shape"] or each["widgetConfig"]["layout"],
            "order": each["widgetDesign"]["order"],
            "updatedAt": each["updatedAt"],
        }
        for each in records
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
    record(PROJECT_DELETED, found, name=found.name)
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
    record(OWNERSHIP_TAKEN, former.id, **details)
    record(OWNERSHIP_TAKEN, found, **details)
    db.session.commit()
    print_record(ProjectSchema().dump(found), as_json=as_json)


# `testimonials team`: who has a role in all projects of an owner.

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
def list_team_command(owner: str, as_json: bool) -> None:
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
def set_role_command(owner: str, person: str, role: str, as_json: bool) -> None:
    """Give somebody with a claimed account a role in all projects of an owner, without a mail."""
    begin_write()
    account, member = _find_both(owner, person)
    if set_workspace_role(account.id, member.id, role):
        details = {"email": member.email, "role": role, "member": member.id}
        record(MEMBER_CHANGED, account.id, **details)
    db.session.commit()
    print_record(_describe(find_colleague(account.id, member.id)), as_json=as_json)


@team.command("remove")
@OWNER
@PERSON
@json_option
@database_command
def remove_member_command(owner: str, person: str, as_json: bool) -> None:
    """End somebody's roles in all and in each of an owner's projects, and their tokens there."""
    begin_write()
    account, member = _find_both(owner, person)
    removed = remove_colleague(account.id, member.id)
    record(MEMBER_REMOVED, account.id, email=member.email, member=member.id)
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


# `testimonials domains`: what an operator does with projects' own host names.


@click.group()
def domains() -> None:
    """List, set, check and remove projects' own host names."""


@domains.command("list")
@json_option
@database_command
def list_domains_command(as_json: bool) -> None:
    """List all own host names with their projects."""
    rows = [
        {
            "host": domain.host,
            "project": project.slug,
            "state": describe_state(domain),
            "pointsTo": ", ".join(domain.points_to),
            "problem": domain.problem,
        }
        for domain, project in services.list_domains()
    ]
    print_rows(rows, as_json=as_json, empty="No project has its own host name.")


@domains.command("set")
@PROJECT
@click.argument("host")
@json_option
@database_command
def set_domain_command(project: str, host: str, as_json: bool) -> None:
    """Set a project's own host name; say which records its zone needs."""
    found = _lock(project)
    domain = services.set_domain(found, host)
    db.session.commit()
    print_record(DomainSchema().dump(domain), as_json=as_json)


@domains.command("check")
@PROJECT
@json_option
@database_command
def check_command(project: str, as_json: bool) -> None:
    """Look a project's own host name up now."""
    host = services.get_domain(get_project(project)).host
    finding = look_at(host)
    found = _lock(project)
    services.note_finding(found, host, finding)
    db.session.commit()
    print_record(DomainSchema().dump(services.get_domain(found)), as_json=as_json)


@domains.command("remove")
@PROJECT
@json_option
@database_command
def remove_domain_command(project: str, as_json: bool) -> None:
    """Remove a project's own host name; its links use the service's address again."""
    found = _lock(project)
    host = services.get_domain(found).host
    services.remove_domain(found)
    db.session.commit()
    print_record({"removed": host}, as_json=as_json)


def _lock(reference: str) -> Project:
    project_id = get_project(reference).id
    begin_write()
    return lock_project(project_id)


# `testimonials projects insights`: what was counted of a project.


@click.command("insights")
@click.argument("project", metavar="ID_OR_SLUG")
@click.option(
    "--days",
    type=click.Choice([str(days) for days in PERIODS]),
    default=str(USUAL_PERIOD),
    show_default=True,
    help="Of so many days, today included.",
)
@json_option
@database_command
def show_insights(project: str, days: str, as_json: bool) -> None:
    """Show views, clicks, forms and ratings of one project.

    With --json also each day, the testimonials that were read most, and websites.
    """
    found = describe_insights(get_project(project), int(days), top=MOST_LISTED)
    told = InsightsSchema().dump(found)
    if as_json:
        print_json(told)
        return
    views, ratings = told["views"], told["ratings"]
    shown = told["period"] | {
        "views": views["total"],
        "ofWidget": views["widget"],
        "ofWall": views["wall"],
        "viewsBefore": views["previous"],
        "clicks": told["clicks"],
        **told["funnel"],
        "asked": told["requests"]["sent"],
        "answered": told["requests"]["answered"],
        "averageRating": ratings["average"],
        "ratings": ratings["count"],
    }
    print_record(shown, as_json=False)
