"""What was counted in a period, as CSV: its days, the testimonials that were seen, the websites."""

import io
from collections.abc import Callable, Iterator
from typing import Any

from testimonials.core.clock import iso
from testimonials.insights.services import list_days, list_testimonials, list_websites
from testimonials.projects.models import Project
from testimonials.testimonials.services import find_authors
from testimonials.transfer.tables.table_export import write_csv

# Lines of a table.
MOST = 5_000

Rows = Iterator[tuple[Any, ...]]


def write_figures(project: Project, days: int, name: str) -> io.BytesIO:
    """Return one of the `TABLES` of a period."""
    headings, read = TABLES[name]
    out = io.BytesIO()
    write_csv(headings, read(project, days), out)
    out.seek(0)
    return out


def _read_days(project: Project, days: int) -> Rows:
    for each in list_days(project, days):
        yield each["day"], each["widget"], each["wall"], each["clicks"]


def _read_testimonials(project: Project, days: int) -> Rows:
    listed = list_testimonials(project, days, MOST)
    authors = find_authors([each["id"] for each in listed])
    for each in listed:
        yield each["id"], authors.get(each["id"]), each["seen"], each["read"]


def _read_websites(project: Project, days: int) -> Rows:
    for each in list_websites(project, days, MOST):
        # The wall has no name of its own.
        yield each["website"], each["views"], each["clicks"], iso(each["last_seen_at"])


# By the word in the file's name and address.
TABLES: dict[str, tuple[tuple[str, ...], Callable[[Project, int], Rows]]] = {
    "views": (("day", "widget", "wall", "clicks"), _read_days),
    "testimonials": (("id", "authorName", "seen", "read"), _read_testimonials),
    "websites": (("website", "views", "clicks", "lastSeenAt"), _read_websites),
}
