"""`testimonials domains`: what an operator does with projects' own host names."""

import click

from testimonials.core.commands import database_command, json_option, print_record, print_rows
from testimonials.domains import services
from testimonials.domains.describe import describe_state
from testimonials.domains.looking import look_at
from testimonials.domains.schemas import DomainSchema
from testimonials.extensions import begin_write, db
from testimonials.projects.models import Project
from testimonials.projects.services import get_project, lock_project

PROJECT = click.argument("project", metavar="ID_OR_SLUG")


@click.group()
def domains() -> None:
    """List, set, check and remove projects' own host names."""


@domains.command("list")
@json_option
@database_command
def list_command(as_json: bool) -> None:
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
def set_command(project: str, host: str, as_json: bool) -> None:
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
def remove_command(project: str, as_json: bool) -> None:
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
