"""What the pages of an import show: the columns, the first testimonials, and what is left out."""

from typing import Any

from testimonials.core import clock
from testimonials.core.terminal_text import make_printable
from testimonials.dashboard.describe import choose_colour, make_initials
from testimonials.dashboard.transfer.import_form import ImportForm, list_columns, name_places
from testimonials.transfer.tables.headings import FIELDS, REQUIRED
from testimonials.transfer.tables.importing import NEW, REFUSED, SHOWN_LENGTH, THERE, Outcome, Plan

SHOWN_NEW, SHOWN_REFUSED = 5, 100
ENCODINGS = {
    "utf-8": "UTF-8",
    "windows-1252": "Western European (Windows-1252)",
    "latin-1": "Western European (Latin-1)",
    "utf-16": "Unicode (UTF-16)",
}


def describe_columns(form: ImportForm) -> list[dict[str, Any]]:
    """Return a select for each field: its choices, and which is chosen."""
    if form.table is None:
        return []
    headings, mapping = form.table.headings, form.mapping
    places = {heading: str(place) for place, heading in enumerate(headings)}
    choices = list_columns(headings, mapping)
    return [
        {
            "name": f"map_{field}",
            "label": label,
            "is_required": field in REQUIRED,
            "chosen": name_places(places, mapping.columns.get(field, ())) if mapping else "",
            "choices": choices,
        }
        for field, label in FIELDS.items()
    ]


def describe_plan_of_import(plan: Plan) -> dict[str, Any]:
    """Return what would happen: counts, how the first ones look, what is left out and why."""
    counts = plan.count()
    newest = list(reversed(plan.new))[:SHOWN_NEW]
    refused, there = plan.list_in(REFUSED), plan.list_in(THERE)
    return {
        "counts": {"new": counts[NEW], "there": counts[THERE], "refused": counts[REFUSED]},
        "first": [_describe_new(each.columns, each.tags) for each in newest],
        "more": counts[NEW] - len(newest),
        "refused": [_describe_line(each) for each in refused[:SHOWN_REFUSED]],
        "more_refused": max(0, len(refused) - SHOWN_REFUSED),
        "there": [_describe_line(each) for each in there[:SHOWN_REFUSED]],
        "more_there": max(0, len(there) - SHOWN_REFUSED),
        "asks_for_order": plan.asks_for_order,
    }


def _describe_new(columns: dict[str, Any], tags: list[str]) -> dict[str, Any]:
    name, time = columns["author_name"], columns["submitted_at"]
    about = ", ".join(filter(None, (columns["author_role"], columns["author_company"])))
    return {
        "name": name,
        "about": about,
        "initials": make_initials(name),
        "colour": choose_colour(name),
        "avatar": columns["author_avatar"],
        "rating": columns["rating"],
        "text": columns["text"],
        "day": time and clock.day(time),
        "tags": tags,
        "status": columns["status"],
    }


def _describe_line(outcome: Outcome) -> dict[str, Any]:
    return {
        "line": outcome.line,
        "name": make_printable(outcome.name, SHOWN_LENGTH),
        "text": make_printable(outcome.text, SHOWN_LENGTH),
        "reason": outcome.reason,
    }
