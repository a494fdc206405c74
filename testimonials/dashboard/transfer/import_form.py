"""The form that says how a file is imported: which columns are which, and how they are read."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from werkzeug.datastructures import MultiDict

from testimonials.core.web.errors import ServiceError
from testimonials.core.web.languages import gettext as _
from testimonials.core.web.languages import gettext_noop
from testimonials.core.web.signing import TokenPurpose
from testimonials.dashboard.forms import Errors
from testimonials.transfer.imports.drafts import Reading, read_content, read_file
from testimonials.transfer.models import TableImport
from testimonials.transfer.tables.dates import ORDERS, read_date
from testimonials.transfer.tables.headings import FIELDS, REQUIRED, ColumnMapping, find_missing
from testimonials.transfer.tables.importing import NEW, REFUSED, THERE, Plan, plan_import
from testimonials.transfer.tables.rows import REPAIRS, STATUSES
from testimonials.transfer.tables.table_files import ENCODINGS

MEGABYTE = 1024 * 1024
# The worker takes no larger body.
MAX_FILE_BYTES = 12 * MEGABYTE
FORM_BYTES = MAX_FILE_BYTES + 64 * 1024
# The user waits for the preview while all of them are read.
MAX_LINES = 20_000
NAME_LENGTH = 120
ENCODING_LABELS = {
    "utf-8": "UTF-8",
    "windows-1252": gettext_noop("Western European (Windows-1252)"),
    "latin-1": gettext_noop("Western European (Latin-1)"),
    "windows-1250": gettext_noop("Central European (Windows-1250)"),
    "windows-1254": gettext_noop("Turkish (Windows-1254)"),
    "windows-1256": gettext_noop("Arabic (Windows-1256)"),
    "shift-jis": gettext_noop("Japanese (Shift-JIS)"),
    "utf-16": gettext_noop("Unicode (UTF-16)"),
}
MISSING = {
    "text": gettext_noop("Which column has the text?"),
    "authorName": gettext_noop("Which column has the name?"),
}
TOO_LARGE = gettext_noop(
    "The file is larger than 12 MB. Split it, or ask the operator of this service to import it by "
    "command."
)
START_SECONDS = 24 * 60 * 60

start_purpose = TokenPurpose("import")


@dataclass
class Preview:
    """What a draft would do, and the errors that keep it from being started."""

    row: TableImport
    reading: Reading | None = None
    plan: Plan | None = None
    errors: Errors = field(default_factory=dict)

    @property
    def mapping(self) -> ColumnMapping | None:
        return self.reading.mapping if self.reading else None

    @property
    def can_start(self) -> bool:
        return self.plan is not None and not self.errors and bool(self.plan.new)

    @property
    def token(self) -> str:
        """What starts exactly this: only what a preview has shown is imported."""
        counts = self.plan.count() if self.plan else {}
        return start_purpose.sign([self.row.id, self.row.options, counts])

    @property
    def unused(self) -> list[str]:
        """The columns that are not imported."""
        return self.reading.mapping.list_unused(self.reading.table.headings) if self.reading else []

    @property
    def repairs(self) -> dict[str, int]:
        """How many lines each way of mending them concerns."""
        return self.plan.count_repairs() if self.plan else {}

    @property
    def date_choices(self) -> list[tuple[str, datetime]]:
        """The two days that an ambiguous date may be."""
        date = self.plan.unclear_date if self.plan else ""
        return [(order, read_date(date, order)) for order in ORDERS] if date else []

    @property
    def columns(self) -> list[dict[str, Any]]:
        """A select for each field: its choices, and which is chosen.

        A column's value is its place in the file; first and last names are chosen together: "0+1".
        """
        headings = self.reading.table.headings if self.reading else []
        places = {heading: str(place) for place, heading in enumerate(headings)}
        choices, chosen = {place: heading for heading, place in places.items()}, {}
        for field_name, names in (self.mapping.columns if self.mapping else {}).items():
            chosen[field_name] = "+".join(places[name] for name in names)
            choices[chosen[field_name]] = " + ".join(names)
        return [
            {
                "name": f"map_{name}",
                "label": label,
                "is_required": name in REQUIRED,
                "chosen": chosen.get(name, ""),
                "choices": list(choices.items()),
            }
            for name, label in FIELDS.items()
        ]


def show_draft(row: TableImport) -> Preview:
    """Read the file of a draft; return what would happen to each of its lines."""
    preview = Preview(row)
    try:
        preview.reading = read_file(read_content(row.id) or b"", row.options, MAX_LINES)
    except ServiceError as error:
        preview.errors["encoding"] = [error.shown]
        return preview
    for name in find_missing(preview.reading.mapping):
        preview.errors[f"map_{name}"] = [MISSING[name]]
    if not preview.errors:
        preview.plan = plan_import(row.project_id, preview.reading.table, preview.reading.options)
        if preview.plan.unclear_date:
            preview.errors["dates"] = [_("Does the day or the month come first in its dates?")]
    return preview


def read_options(row: TableImport, form: MultiDict[str, str]) -> dict[str, Any]:
    """Return how a draft is to be read, by the form that was sent."""
    encoding = _choose(form.get("encoding"), tuple(ENCODINGS), row.options["encoding"])
    options = row.options | {
        "encoding": encoding,
        "order": _choose(form.get("dates"), ORDERS, None),
        "status": _choose(form.get("status"), STATUSES, row.options["status"]),
        "repairs": [name for name in REPAIRS if name in form.getlist("repairs")],
        "photos": "photos" in form,
    }
    if encoding != row.options["encoding"]:
        # The headings were others.
        return options | {"columns": {}}
    return options | {"columns": _read_columns(row, form)}


def read_start(row: TableImport, token: str) -> dict[str, int] | None:
    """Return how many lines are new, there and refused, if a preview showed the draft like this."""
    import_id, options, counts = start_purpose.find(token, 3, START_SECONDS) or (None, None, {})
    if import_id != row.id or options != row.options or not counts.get(NEW):
        return None
    return {name: counts[name] for name in (NEW, THERE, REFUSED)}


def _read_columns(row: TableImport, form: MultiDict[str, str]) -> dict[str, list[str]]:
    sent = {name: form[f"map_{name}"] for name in FIELDS if f"map_{name}" in form}
    if not sent:
        return dict(row.options["columns"])
    try:
        reading = read_file(read_content(row.id) or b"", row.options, MAX_LINES)
    except ServiceError:
        return {}
    headings = reading.table.headings
    return {name: _read_places(text, headings) for name, text in sent.items()}


def _read_places(text: str, headings: Sequence[str]) -> list[str]:
    places = [part for part in text.split("+") if part.isascii() and part.isdigit()]
    return [headings[int(part)] for part in places if len(part) < 5 and int(part) < len(headings)]


def _choose(text: str | None, choices: Sequence[str], usual: Any) -> Any:
    return text if text is not None and text in choices else usual
