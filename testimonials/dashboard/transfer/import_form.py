"""The form that imports testimonials: the file, what its columns are, and how to read them.

The server keeps nothing between the steps: the page carries the file along, compressed.
"""

import base64
import binascii
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from werkzeug.datastructures import FileStorage

from testimonials.core.data.identifiers import hash_secret
from testimonials.core.web.errors import ServiceError
from testimonials.dashboard.forms import Errors
from testimonials.transfer.tables.dates import ORDERS
from testimonials.transfer.tables.headings import (
    FIELDS,
    REQUIRED,
    ColumnMapping,
    change_mapping,
    find_missing,
    guess_mapping,
)
from testimonials.transfer.tables.importing import Plan, plan_import
from testimonials.transfer.tables.rows import STATUSES, ReadingOptions
from testimonials.transfer.tables.table_files import EncodingUnclear, Table, read_table

MEGABYTE = 1024 * 1024
MAX_FILE_BYTES = 5 * MEGABYTE
# The user waits for the preview while all of them are read.
MAX_LINES = 5_000
# Compressed and in base64, a file may take more than its own size.
FORM_BYTES = 2 * MAX_FILE_BYTES
NAME_LENGTH = 120
ENCODING_LABELS = {
    "utf-8": "UTF-8",
    "windows-1252": "Western European (Windows-1252)",
    "latin-1": "Western European (Latin-1)",
    "utf-16": "Unicode (UTF-16)",
}
TOO_LARGE = (
    "The file is larger than 5 MB. Split it, or ask the operator of this service to import it by "
    "command."
)


@dataclass
class ImportForm:
    """What was sent, and the errors that keep it from being imported."""

    name: str = ""
    content: bytes = b""
    status: str = STATUSES[0]
    encoding: str = "utf-8"
    order: str | None = None
    table: Table | None = None
    mapping: ColumnMapping | None = None
    errors: Errors = field(default_factory=dict)
    # The encoding to suggest if the file's is unclear.
    likely_encoding: str = ""

    @property
    def packed(self) -> str:
        return base64.b64encode(zlib.compress(self.content, 6)).decode("ascii")

    @property
    def seen(self) -> str:
        """A hash of what was chosen: only what a preview has shown is imported."""
        columns = self.mapping.columns if self.mapping else {}
        chosen = [sorted(columns.items()), self.order, self.status, self.encoding]
        return hash_secret(json.dumps(chosen))[:16]

    def plan(self, project_id: str) -> Plan | None:
        """Return what would be imported, unless something is wrong with the form."""
        if self.table is None or self.mapping is None or self.errors:
            return None
        options = ReadingOptions(self.mapping, self.order, self.status)
        plan = plan_import(project_id, self.table, options)
        if plan.asks_for_order:
            self.errors["dates"] = [
                "Choose whether dates such as 03/04/2026 begin with day or month."
            ]
        return plan

    @property
    def columns(self) -> list[dict[str, Any]]:
        """A select for each field: its choices, and which is chosen.

        A column's value is its place in the file; first and last names are chosen together: "0+1".
        """
        headings = self.table.headings if self.table else []
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


def read_import_form(form: Mapping[str, str], file: FileStorage | None) -> ImportForm:
    """Read the form with a new file, or with the one that the page carries."""
    found = ImportForm(
        status=_choose(form.get("status"), STATUSES),
        encoding=_choose(form.get("encoding"), tuple(ENCODING_LABELS)),
        order=form.get("dates") if form.get("dates") in ORDERS else None,
    )
    is_new = file is not None and bool(file.filename)
    if is_new and file is not None:
        found.name, found.content = (file.filename or "")[:NAME_LENGTH], file.read()
    else:
        found.name = form.get("file_name", "")[:NAME_LENGTH]
        found.content = _unpack(form.get("packed", ""))
    if not found.content and not is_new:
        found.errors["file"] = ["Choose a file."]
    elif len(found.content) > MAX_FILE_BYTES:
        found.errors["file"] = [TOO_LARGE]
    else:
        _read_content(found, form)
    return found


def _read_content(found: ImportForm, form: Mapping[str, str]) -> None:
    try:
        found.table = read_table(found.content, found.encoding, MAX_LINES)
    except EncodingUnclear as error:
        found.likely_encoding = error.likely
        found.errors["encoding"] = [error.message]
        return
    except ServiceError as error:
        found.errors["file"] = [error.message]
        return
    headings = found.table.headings
    choices = {
        name: _read_places(form[f"map_{name}"], headings)
        for name in FIELDS
        if f"map_{name}" in form
    }
    found.mapping = change_mapping(guess_mapping(headings), headings, choices)
    for name in find_missing(found.mapping):
        found.errors[f"map_{name}"] = [f"Which column has the {FIELDS[name].lower()}?"]


def _read_places(text: str, headings: Sequence[str]) -> list[str]:
    places = [part for part in text.split("+") if part.isascii() and part.isdigit()]
    return [headings[int(part)] for part in places if len(part) < 5 and int(part) < len(headings)]


def _choose(text: str | None, choices: Sequence[str]) -> str:
    return text if text is not None and text in choices else choices[0]


def _unpack(packed: str) -> bytes:
    """Return the file that the page carries, unpacked up to the limit."""
    try:
        unpacker = zlib.decompressobj()
        return unpacker.decompress(base64.b64decode(packed, validate=True), MAX_FILE_BYTES + 1)
    except (binascii.Error, ValueError, zlib.error):
        return b""
