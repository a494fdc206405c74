"""The days of a period as CSV."""

import io

from testimonials.insights.services import describe_insights
from testimonials.projects.models import Project
from testimonials.transfer.tables.table_export import write_csv

COLUMNS = ("day", "widget", "wall", "clicks")


def write_days(project: Project, days: int) -> io.BytesIO:
    """Return a table with the views and clicks of each day."""
    out = io.BytesIO()
    found = describe_insights(project, days)["days"]
    write_csv(COLUMNS, ([str(each[name]) for name in COLUMNS] for each in found), out)
    out.seek(0)
    return out
