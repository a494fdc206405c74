"""`testimonials projects insights`: what was counted of a project."""

import click

from testimonials.core.commands import database_command, json_option, print_json, print_record
from testimonials.insights.schemas import MOST_LISTED, InsightsSchema
from testimonials.insights.services import PERIODS, USUAL_PERIOD, describe_insights
from testimonials.projects.services import get_project


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
    record = told["period"] | {
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
    print_record(record, as_json=False)
