"""The form that imports testimonials: the file, what its columns are, and what is asked besides.

The server keeps nothing between the steps: the file rides along in the page, packed.
"""

import base64
import binascii
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from werkzeug.datastructures import FileStorage

from testimonials.core.data.identifiers import hash_secret
from testimonials.core.web.errors import ServiceError
from testimonials.dashboard.forms import Errors
from testimonials.transfer.tables.dates import ORDERS
from testimonials.transfer.tables.headings import (
    FIELDS,
    ColumnMapping,
    change_mapping,
    guess_mapping,
    require_mapping,
)
from testimonials.transfer.tables.rows import STATUSES, ReadingOptions
from testimonials.transfer.tables.table_files import ENCODINGS, EncodingUnclear, Table, read_table

MEGABYTE = 1024 * 1024
MAX_FILE_BYTES = 5 * MEGABYTE
# All of them are looked at while somebody waits for the preview.
MAX_LINES = 5_000
# Packed and written in letters a file may take a little more than it has.
FORM_BYTES = 2 * MAX_FILE_BYTES
NAME_LENGTH = 120
TOO_LARGE = (
    "The file is too large: 5 MB are the most here. Divide it, or ask whoever runs this service to "
    "import it by a command."
)


@dataclass
class ImportForm:
    """What was sent, and what of it must be changed before anything can be imported."""

    name: str = ""
    content: bytes = b""
    status: str = STATUSES[0]
    encoding: str = "utf-8"
    order: str | None = None
    table: Table | None = None
    mapping: ColumnMapping | None = None
    errors: Errors = field(default_factory=dict)
    # Where it must be said: what is chosen there at first.
    likely_encoding: str = ""

    @property
    def packed(self) -> str:
        """The file as the page carries it."""
        return base64.b64encode(zlib.compress(self.content, 6)).decode("ascii")

    @property
    def seen(self) -> str:
        """What was chosen, so that only what a preview has shown is imported."""
        columns = self.mapping.columns if self.mapping else {}
        chosen = [sorted(columns.items()), self.order, self.status, self.encoding]
        return hash_secret(json.dumps(chosen))[:16]

    @property
    def options(self) -> ReadingOptions:
        """How to read the lines of a form without errors."""
        assert self.mapping is not None  # noqa: S101 - a form without errors has one.
        return ReadingOptions(self.mapping, self.order, self.status)


def read_import_form(form: Mapping[str, str], file: FileStorage | None) -> ImportForm:
    """Read the form with a new file, or with the one that it carries."""
    found = ImportForm(
        status=_choose(form.get("status"), STATUSES),
        encoding=_choose(form.get("encoding"), tuple(ENCODINGS)),
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


def list_columns(headings: Sequence[str], mapping: ColumnMapping | None) -> list[tuple[str, str]]:
    """Return what can be chosen for a field: by their places, and as a person reads them."""
    places = {heading: str(place) for place, heading in enumerate(headings)}
    choices = [(place, heading) for heading, place in places.items()]
    joined = [each for each in (mapping.columns.values() if mapping else ()) if len(each) > 1]
    # First and last name, which nobody can choose together by hand.
    return choices + [
        (name_places(places, each), " + ".join(each)) for each in dict.fromkeys(joined)
    ]


def name_places(places: Mapping[str, str], headings: Sequence[str]) -> str:
    """Return the value under which columns are chosen together."""
    return "+".join(places[heading] for heading in headings)


def _read_content(found: ImportForm, form: Mapping[str, str]) -> None:
    try:
        found.table = read_table(found.content, found.encoding, MAX_LINES)
    except EncodingUnclear as error:
        found.likely_encoding = error.likely
        seems = "seems to be in UTF-16" if error.likely == "utf-16" else "isn’t in UTF-8"
        found.errors["encoding"] = [f"The file {seems}. Say in which encoding it is."]
        return
    except ServiceError as error:
        found.errors["file"] = [error.message]
        return
    headings = found.table.headings
    guessed = guess_mapping(headings)
    said = {
        name: _read_places(form[f"map_{name}"], headings)
        for name in FIELDS
        if f"map_{name}" in form
    }
    try:
        found.mapping = change_mapping(guessed, headings, said)
        require_mapping(found.mapping, headings)
    except ServiceError:
        missing = [name for name in ("text", "authorName") if not _has(found.mapping, name)]
        for name in missing:
            found.errors[f"map_{name}"] = [f"Which column has the {FIELDS[name].lower()}?"]


def _has(mapping: ColumnMapping | None, name: str) -> bool:
    return mapping is not None and name in mapping.columns


def _read_places(text: str, headings: Sequence[str]) -> list[str]:
    places = [part for part in text.split("+") if part.isascii() and part.isdigit()]
    return [headings[int(part)] for part in places if len(part) < 5 and int(part) < len(headings)]


def _choose(text: str | None, choices: Sequence[str]) -> str:
    return text if text is not None and text in choices else choices[0]


def _unpack(packed: str) -> bytes:
    """Return the carried file, never more of it than is allowed."""
    try:
        unpacker = zlib.decompressobj()
        return unpacker.decompress(base64.b64decode(packed, validate=True), MAX_FILE_BYTES + 1)
    except (binascii.Error, ValueError, zlib.error):
        return b""
