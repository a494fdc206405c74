"""`testimonials testimonials`: what an operator does with testimonials."""

import click

from testimonials.core.commands import database_command, json_option, print_json, print_rows
from testimonials.projects.services import get_project
from testimonials.testimonials.schemas import TestimonialSchema
from testimonials.testimonials.services import list_all_of_project

STATES = ("pending", "approved", "rejected", "spam", "withdrawn", "demo")


@click.group()
def testimonials() -> None:
    """Look at testimonials."""


@testimonials.command("list")
@click.argument("project", metavar="PROJECT_ID_OR_SLUG")
@click.option("--status", type=click.Choice(STATES), help="Only those in this state.")
@click.option("--limit", default=50, type=click.IntRange(1, 10_000), show_default=True)
@json_option
@database_command
def list_command(project: str, status: str | None, limit: int, as_json: bool) -> None:
    """List a project's testimonials, newest first, whatever state they are in."""
    rows = list_all_of_project(get_project(project).id, status, limit)
    records = TestimonialSchema(many=True).dump(rows)
    if as_json:
        print_json(records)
        return
    names = ("_id", "status", "source", "authorName", "rating", "createdAt", "text")
    short = [{name: record.get(name) for name in names} for record in records]
    for row in short:
        row["text"] = row["text"] if len(row["text"]) <= 60 else row["text"][:59] + "…"
    print_rows(short, as_json=False, empty="There are no testimonials here.")
