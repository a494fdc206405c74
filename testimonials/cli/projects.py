"""Commands about projects, their teams, host names and insights."""

from pathlib import Path
from typing import IO

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
    ACCOUNT,
    FILE,
    FORCE,
    PROJECT,
    YES,
    Group,
    Output,
    Record,
    Rows,
    confirm,
    report_written,
    writing_file,
)
from testimonials.core.audit import record
from testimonials.core.clock import iso
from testimonials.core.db.transactions import next_batch, write
from testimonials.projects import domains as services
from testimonials.projects import events
from testimonials.projects.access import ROLES
from testimonials.projects.brand import find_brand
from testimonials.projects.models import Project
from testimonials.projects.projects import (
    delete_project,
    get_project,
    list_all_projects,
    lock_account,
    lock_project,
    make_slug,
)
from testimonials.projects.schemas import BrandSchema, DomainSchema, ProjectSchema
from testimonials.projects.settings import hide_for_good
from testimonials.projects.team import (
    Colleague,
    find_colleague,
    list_colleagues,
    remove_colleague,
    set_role,
)
from testimonials.testimonials.history import remove_some
from testimonials.testimonials.testimonials import count_by_project, count_by_status
from testimonials.transfer.archives.reading import open_archive, storing_recordings
from testimonials.transfer.archives.restoring import Restored, restore_project
from testimonials.transfer.archives.writing import finish_records, reading_snapshot, write_archive
from testimonials.transfer.case_file import CASE_FILES
from testimonials.transfer.ownership import hand_over
from testimonials.transfer.tables.export import write_table


@click.group(cls=Group)
def projects() -> None:
    """List, show and remove projects."""


@projects.command("list", empty="There are no projects yet.")
def list_projects_command() -> Rows:
    """List all projects, newest first."""
    counts = count_by_project()
    return [
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


@projects.command("show")
@click.argument("project", type=PROJECT)
def show_command(project: Project) -> Record:
    """Show a project with its settings and the number of testimonials in each state."""
    return {**ProjectSchema().dump(project), "testimonials": count_by_status(project.id)}


@projects.command("brand")
@click.argument("project", type=PROJECT)
def brand_command(project: Project) -> Record:
    """Show a project's brand."""
    return dict(BrandSchema().dump(find_brand(project)))


@projects.command("delete")
@click.argument("project", type=PROJECT)
@YES
def delete_command(project: Project, yes: bool) -> Output:
    """Delete a project with its testimonials."""
    count = sum(count_by_status(project.id).values())
    confirm(f"Delete {project.slug} and {count} testimonial(s) permanently?", yes=yes)
    with write(lambda: get_project(project.id)) as locked:
        record(events.PROJECT_DELETED, locked, name=locked.name)
        hide_for_good(Project.id == locked.id)
        while remove_some(Project.id == locked.id):
            next_batch()
        delete_project(locked)
    return Output(
        {"_id": project.id, "deleted": True, "testimonials": count},
        f"Deleted {project.slug} and {count} testimonial(s).",
    )


@projects.command("transfer", writes=True)
@click.argument("project", metavar="ID_OR_SLUG")
@click.argument("account", metavar="ACCOUNT")
@click.option("--without-team", is_flag=True, help="Remove the former owner and their team.")
def transfer_command(project: str, account: str, without_team: bool) -> Record:
    """Transfer a project to another account (an id or an address), without asking either side."""
    receiver = lock_account(get_account(account).id)
    row = lock_project(get_project(project).id)
    former = get_account(row.account_id)
    if receiver.id == former.id or not receiver.is_claimed or receiver.is_suspended:
        raise click.ClickException(f"{receiver.email} owns it already, or can’t own projects now.")
    hand_over(row, receiver, keeps_team=not without_team)
    details = {"name": row.name, "old": former.email, "email": receiver.email}
    record(events.OWNERSHIP_TAKEN, former.id, **details)
    record(events.OWNERSHIP_TAKEN, row, **details)
    return dict(ProjectSchema().dump(row))


@projects.command("insights")
@click.argument("project", type=PROJECT)
@click.option(
    "--days",
    type=click.Choice([str(days) for days in PERIODS]),
    default=str(USUAL_PERIOD),
    show_default=True,
    help="The number of days, including today.",
)
def show_insights(project: Project, days: str) -> Output:
    """Show views, clicks, forms and ratings of a project.

    --json adds each day, the most read testimonials, and websites.
    """
    insights = InsightsSchema().dump(describe_insights(project, int(days), top=MOST_LISTED))
    views, ratings = insights["views"], insights["ratings"]
    shown = insights["period"] | {
        "views": views["total"],
        "ofWidget": views["widget"],
        "ofWall": views["wall"],
        "viewsBefore": views["previous"],
        "clicks": insights["clicks"],
        **insights["funnel"],
        "asked": insights["requests"]["sent"],
        "answered": insights["requests"]["answered"],
        "averageRating": ratings["average"],
        "ratings": ratings["count"],
    }
    return Output(insights, shown)


@projects.command("export")
@click.argument("project", metavar="ID_OR_SLUG")
@FILE
@click.option("--csv", "as_csv", is_flag=True, help="Export only the testimonials, as CSV.")
@click.option("--samples", is_flag=True, help="With --csv, include samples.")
@FORCE
def export_project(project: str, file: Path, as_csv: bool, samples: bool, force: bool) -> Output:
    """Export a project to FILE, a zip that `projects import` can import here or elsewhere.

    The zip contains the settings, testimonials, history, consent and pictures.
    """
    finish_records(Project.id == get_project(project).id)
    with writing_file(file, is_forced=force) as out, reading_snapshot():
        row = get_project(project)
        if as_csv:
            write_table(row, out, has_samples=samples)
        else:
            write_archive(row, out)
    with write():
        record(events.PROJECT_EXPORTED, row, form="a table" if as_csv else "an archive")
    return report_written(project, file)


@projects.command("case-file")
@click.argument("project", metavar="ID_OR_SLUG")
@FILE
@click.option("--testimonial", metavar="ID", help="Only include this testimonial.")
@FORCE
def case_file_command(project: str, file: Path, testimonial: str | None, force: bool) -> Output:
    """Write the case file of a project to FILE: as JSON if its name ends in .json, or as HTML.

    It contains the numbers and how they are computed, requests, decisions, and past settings.
    """
    write_case_file, _ = CASE_FILES["json" if file.suffix == ".json" else "html"]
    with writing_file(file, is_forced=force) as out, reading_snapshot():
        row = get_project(project)
        write_case_file(row, out, testimonial_id=testimonial)
    with write():
        record(events.PROJECT_EXPORTED, row, form="a case file")
    return report_written(project, file)


@projects.command("import")
@click.argument("file", type=click.File("rb"))
@click.option(
    "--account", required=True, metavar="ID_OR_EMAIL", help="The account that gets the project."
)
@click.option("--slug", help="A slug other than the archive’s.")
@click.option("--ignore-limit", is_flag=True, help="Import even at the account’s project limit.")
@click.option("--resume-requests", is_flag=True, help="Send the requests that were still waiting.")
def import_project(
    file: IO[bytes], account: str, slug: str | None, ignore_limit: bool, resume_requests: bool
) -> Output:
    """Import the project of an archive into an account, completely or not at all.

    Ids are kept unless they are taken here.
    """
    if slug is not None and make_slug(slug) != slug:
        raise click.ClickException(f"Write the slug as {make_slug(slug) or 'letters and digits'}.")
    with (
        open_archive(file) as archive,
        storing_recordings(archive) as recordings,
        write(lambda: lock_account(get_account(account).id)) as owner,
    ):
        restored = restore_project(
            archive,
            owner,
            recordings,
            slug=slug,
            has_limit=not ignore_limit,
            resumes_requests=resume_requests,
            by_operator=True,
        )
        record(events.PROJECT_IMPORTED, restored.project, name=restored.project.name)
        return _report(restored, resumes=resume_requests)


def _report(restored: Restored, *, resumes: bool) -> Output:
    project = restored.project
    notes = []
    if restored.renewed:
        notes.append(f"{restored.renewed} id(s) were taken here and have been replaced.")
    if restored.erased:
        what = f"{restored.erased} testimonial(s) and request(s)"
        notes.append(f"{what} are left out: they were erased here.")
    if restored.differing:
        what = f"{len(restored.differing)} testimonial(s) differ from the archive’s record"
        notes.append(f"{what}, and count as imported: {', '.join(restored.differing)}")
    if restored.missing:
        what = f"{restored.missing} rating(s) of the archive’s record are not in its rows"
        notes.append(f"{what}. They still count.")
    if restored.lost_slugs:
        lost = ", ".join(restored.lost_slugs)
        notes.append(f"Former addresses left out because others use them: {lost}")
    if restored.waiting and not resumes:
        notes.append(
            f"{restored.waiting} waiting request(s) will not be sent. Import with "
            "--resume-requests to send them from here."
        )
    value = {
        "_id": project.id,
        "slug": project.slug,
        "testimonials": restored.testimonials,
        "images": restored.images,
        "renewedIds": restored.renewed,
        "lostSlugs": restored.lost_slugs,
        "waitingRequests": restored.waiting,
        "erased": restored.erased,
        "differing": restored.differing,
        "missing": restored.missing,
    }
    done = f"Imported {project.slug} with {restored.testimonials} testimonial(s)"
    return Output(value, f"{done} and {restored.images} picture(s); its id is {project.id}.", notes)


OWNER = click.argument("owner", type=ACCOUNT, metavar="OWNER")
PERSON = click.argument("person", type=ACCOUNT, metavar="PERSON")


@click.group(cls=Group)
def team() -> None:
    """List, add, change and remove the people who work in all projects of an owner.

    OWNER and PERSON are ids or email addresses of accounts.
    """


@team.command("list", empty="Nobody but the owner is in these projects.")
@OWNER
def list_team_command(owner: Account) -> Output:
    """List the people in an owner's projects, with their roles in all or single projects."""
    rows = [_describe(each) for each in list_colleagues(owner.id)]
    return Output(rows, [row | {"projects": ", ".join(row["projects"])} for row in rows])


@team.command("set", writes=True)
@OWNER
@PERSON
@click.argument("role", type=click.Choice([*ROLES]))
def set_role_command(owner: Account, person: Account, role: str) -> Record:
    """Give somebody a role in all of an owner's projects, without notifying them.

    Their account must be claimed.
    """
    _require_colleague(owner, person)
    if set_role(lock_account(owner.id), person.id, role):
        record(events.MEMBER_CHANGED, owner.id, email=person.email, role=role, member=person.id)
    return _describe(find_colleague(owner.id, person.id))


@team.command("remove", writes=True)
@OWNER
@PERSON
def remove_member_command(owner: Account, person: Account) -> Record:
    """Remove somebody from an owner's projects, and revoke their tokens there."""
    _require_colleague(owner, person)
    removed = remove_colleague(owner.id, person.id)
    record(events.MEMBER_REMOVED, owner.id, email=person.email, member=person.id)
    return _describe(removed)


def _require_colleague(owner: Account, person: Account) -> None:
    if owner.id == person.id:
        raise click.ClickException("The owner is in all of their projects.")
    if not person.is_claimed:
        raise click.ClickException(f"Nobody has claimed the account of {person.email}.")


def _describe(colleague: Colleague) -> Record:
    return {
        "email": colleague.email,
        "accountId": colleague.account_id,
        "role": colleague.role,
        "source": colleague.source,
        "projects": [f"{project.slug} ({role})" for project, role in colleague.projects],
    }


@click.group(cls=Group)
def domains() -> None:
    """List, set, check and remove projects' own host names."""


@domains.command("list", empty="No project has its own host name.")
def list_domains_command() -> Rows:
    """List all own host names, with their projects."""
    return [
        {
            "host": domain.host,
            "project": project.slug,
            "state": services.describe_state(domain),
            "pointsTo": ", ".join(domain.points_to),
            "problem": domain.problem,
        }
        for domain, project in services.list_domains()
    ]


@domains.command("set", writes=True)
@click.argument("project", type=PROJECT)
@click.argument("host")
def set_domain_command(project: Project, host: str) -> Record:
    """Set a project's own host name, and show the DNS records that it needs."""
    return dict(DomainSchema().dump(services.set_domain(project, host)))


@domains.command("check")
@click.argument("project", type=PROJECT)
def check_command(project: Project) -> Record:
    """Check the DNS of a project's own host name now."""
    host = services.get_domain(project).host
    finding = services.check_host(host)
    with write(lambda: lock_project(project.id)) as locked:
        services.store_finding(locked, host, finding)
        return dict(DomainSchema().dump(services.get_domain(locked)))


@domains.command("remove", writes=True)
@click.argument("project", type=PROJECT)
def remove_domain_command(project: Project) -> Record:
    """Remove a project's own host name; links use the service's host again."""
    host = services.get_domain(project).host
    services.remove_domain(project)
    return {"removed": host}
