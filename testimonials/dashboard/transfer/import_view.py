"""What the preview of an import shows: columns, the newest testimonials, and what is left out."""

from typing import Any

from testimonials.core import clock
from testimonials.core.pictures.portraits import colour_of, initials_of
from testimonials.dashboard.transfer.import_form import ImportForm
from testimonials.transfer.tables.headings import FIELDS, REQUIRED
from testimonials.transfer.tables.importing import NEW, REFUSED, THERE, Plan

SHOWN_NEW, SHOWN_REFUSED = 5, 100
ENCODINGS = {
    "utf-8": "UTF-8",
    "windows-1252": "Western European (Windows-1252)",
    "latin-1": "Western European (Latin-1)",
    "utf-16": "Unicode (UTF-16)",
}


def describe_columns(form: ImportForm) -> list[dict[str, Any]]:
    """Return a select for each field: its choices, and which is chosen.

    A column's value is its place in the file; first and last names are chosen together, as "0+1".
    """
    if form.table is None or form.mapping is None:
        return []
    headings, columns = form.table.headings, form.mapping.columns
    places = {heading: str(place) for place, heading in enumerate(headings)}
    choices = {place: heading for heading, place in places.items()}
    chosen = {}
    for field, names in columns.items():
        chosen[field] = "+".join(places[name] for name in names)
        choices[chosen[field]] = " + ".join(names)
    return [
        {
            "name": f"map_{field}",
            "label": label,
            "is_required": field in REQUIRED,
            "chosen": chosen.get(field, ""),
            "choices": list(choices.items()),
        }
        for field, label in FIELDS.items()
    ]


def describe_plan(plan: Plan) -> dict[str, Any]:
    """Return what would happen: counts, the newest testimonials, and the lines left out."""
    counts = plan.count()
    newest = list(reversed(plan.new))[:SHOWN_NEW]
    refused, there = plan.list_in(REFUSED), plan.list_in(THERE)
    return {
        "counts": counts,
        "first": [_describe_new(each.columns, each.tags) for each in newest],
        "more": counts[NEW] - len(newest),
        "refused": refused[:SHOWN_REFUSED],
        "more_refused": max(0, len(refused) - SHOWN_REFUSED),
        "there": there[:SHOWN_REFUSED],
        "more_there": max(0, len(there) - SHOWN_REFUSED),
    }


def _describe_new(columns: dict[str, Any], tags: list[str]) -> dict[str, Any]:
    name, time = columns["author_name"], columns["submitted_at"]
    about = ", ".join(filter(None, (columns["author_role"], columns["author_company"])))
    return {
        "name": name,
        "about": about,
        "initials": initials_of(name),
        "colour": colour_of(name),
        "avatar": columns["author_avatar"],
        "rating": columns["rating"],
        "text": columns["text"],
        "day": time and clock.day(time),
        "tags": tags,
        "status": columns["status"],
    }
