"""`testimonials forms`: a project's further forms."""

import click

from testimonials.activity.event_types import EventType
from testimonials.activity.recording import record_project_event
from testimonials.collection.forms import services
from testimonials.collection.forms.schemas import FormCreateSchema, FormSchema
from testimonials.core.commands import database_command, json_option, print_record, print_rows
from testimonials.core.web.endpoint import load
from testimonials.extensions import begin_write, db
from testimonials.projects.services import get_project, lock_project
from testimonials.testimonials.answers import count_sent

PROJECT = click.argument("project", metavar="PROJECT_ID_OR_SLUG")
_FORM = FormSchema()


@click.group()
def forms() -> None:
    """List, add and delete forms, each with an address of its own."""


@forms.command("list")
@PROJECT
@json_option
@database_command
def list_command(project: str, as_json: bool) -> None:
    """List a project's forms, and how many testimonials came by each."""
    found = get_project(project)
    counts = count_sent(found)
    rows = [
        _FORM.dump(services.describe_form(found, form)) | {"sent": counts.get(form.name, 0)}
        for form in services.list_forms(found)
    ]
    if not as_json:
        names = ("name", "title", "isOpen", "sent", "url")
        rows = [{name: row[name] for name in names} for row in rows]
    print_rows(rows, as_json=as_json, empty="This project has no forms but its page.")


@forms.command("add")
@PROJECT
@click.argument("title")
@click.option("--name", help="The name in its address, if not made of the title.")
@click.option("--headline", help="A headline other than the page’s.")
@click.option("--tag", help="The tag of what is sent by it.")
@json_option
@database_command
def add_command(
    project: str,
    title: str,
    name: str | None,
    headline: str | None,
    tag: str | None,
    as_json: bool,
) -> None:
    """Add a form to a project; its questions are added in the dashboard or by the API."""
    given = {"title": title, "name": name, "headline": headline, "tag": tag}
    values = {field: text for field, text in given.items() if text is not None}
    loaded = load(FormCreateSchema(), values)
    begin_write()
    found = lock_project(get_project(project).id)
    form = services.create_form(found, loaded)
    record_project_event(EventType.FORM_ADDED, found, form=form.name)
    db.session.commit()
    described = _FORM.dump(services.describe_form(found, form))
    if not as_json:
        described = {each: described[each] for each in ("name", "title", "url")}
    print_record(described, as_json=as_json)


@forms.command("delete")
@PROJECT
@click.argument("name")
@click.option("--yes", is_flag=True, help="Don't ask for confirmation.")
@json_option
@database_command
def delete_command(project: str, name: str, yes: bool, as_json: bool) -> None:
    """Delete a form. What was sent by it stays, with its answers."""
    found = get_project(project)
    services.find_form(found, name)
    if not yes:
        click.confirm(f"Delete the form {name} of {found.slug}?", abort=True, err=as_json)
    begin_write()
    found = lock_project(found.id)
    services.delete_form(found, services.find_form(found, name))
    record_project_event(EventType.FORM_DELETED, found, form=name)
    db.session.commit()
    print_record({"name": name, "deleted": True}, as_json=as_json)
