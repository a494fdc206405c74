"""Importing tables: choosing a file, mapping its columns, progress, undo."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar, NamedTuple

from flask import jsonify, request, url_for
from marshmallow import fields
from werkzeug import Response

from testimonials.core.extensions import limiter
from testimonials.core.http.blueprints import settings
from testimonials.core.http.errors import Errors, ServiceError, ValidationFailed, is_from_script
from testimonials.core.http.fields import Choice, Text
from testimonials.core.http.forms import Choices, FormSchema
from testimonials.core.http.i18n import format_figure, gettext_noop, ngettext, translate
from testimonials.core.http.i18n import gettext as _
from testimonials.core.http.rate_limits import Limit
from testimonials.core.http.signing import TokenPurpose
from testimonials.core.images.colors import colour_of, initials_of
from testimonials.core.jobs import enqueue_anew
from testimonials.dashboard.framework import Done, ProjectPage, Values
from testimonials.projects.access import Access
from testimonials.testimonials.undo import make_undo_token
from testimonials.transfer.models import TableImport
from testimonials.transfer.tables import jobs
from testimonials.transfer.tables.columns import FIELDS, REQUIRED, ColumnMapping, find_missing
from testimonials.transfer.tables.files import ENCODINGS, EncodingUnclear, read_table
from testimonials.transfer.tables.plan import NEW, REFUSED, THERE, Plan, plan_import
from testimonials.transfer.tables.rows import REPAIRS, STATUSES, Reading
from testimonials.transfer.tables.values import ORDERS, read_date

MEGABYTE = 1024 * 1024
# The worker accepts no larger body.
MAX_FILE_BYTES = 12 * MEGABYTE
FORM_BYTES = MAX_FILE_BYTES + 64 * 1024
# The preview reads all of them.
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
    "utf-16": "Unicode (UTF-16)",
}
MISSING = {
    "text": gettext_noop("Which column has the text?"),
    "authorName": gettext_noop("Which column has the name?"),
}
TOO_LARGE = gettext_noop(
    "The file is larger than 12 MB. Split it, or ask the operator of this service to import it."
)
START_SECONDS = 24 * 60 * 60

start_purpose = TokenPurpose("import")


@dataclass
class Preview:
    """What a draft would import, and the errors that prevent it."""

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
        """The token that starts exactly what this preview shows."""
        counts = self.plan.count() if self.plan else {}
        return start_purpose.sign([self.row.id, self.row.options, counts])

    @property
    def unused(self) -> list[str]:
        return self.reading.mapping.list_unused(self.reading.table.headings) if self.reading else []

    @property
    def repairs(self) -> dict[str, int]:
        """How many lines each repair would affect."""
        return self.plan.count_repairs() if self.plan else {}

    @property
    def date_choices(self) -> list[tuple[str, datetime]]:
        """The two readings of an ambiguous date."""
        date = self.plan.unclear_date if self.plan else ""
        return [(order, read_date(date, order)) for order in ORDERS] if date else []

    @property
    def columns(self) -> list[dict[str, Any]]:
        """The selects in which a person chooses the column of each field.

        A column's value is its index in the file; "0+1" joins first and last names.
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
    preview = Preview(row)
    try:
        preview.reading = jobs.read_file(jobs.read_content(row.id) or b"", row.options, MAX_LINES)
    except ServiceError as error:
        preview.errors["encoding"] = [error.shown]
        return preview
    for name in find_missing(preview.reading.mapping):
        preview.errors[f"map_{name}"] = [MISSING[name]]
    if not preview.errors:
        preview.plan = plan_import(row.project_id, preview.reading)
        if preview.plan.unclear_date:
            preview.errors["dates"] = [_("Do dates start with the day or the month?")]
    return preview


def read_options(row: TableImport, sent: Values) -> Values:
    """Return the options of a draft from the values of an `OptionsForm`."""
    encoding = sent["encoding"] or row.options["encoding"]
    options = row.options | {
        "encoding": encoding,
        "order": sent["dates"],
        "status": sent["status"] or row.options["status"],
        "repairs": sent["repairs"],
        "photos": sent["photos"] is not None,
    }
    if encoding != row.options["encoding"]:
        # The headings have changed.
        return options | {"columns": {}}
    return options | {"columns": _read_columns(row, sent)}


def read_start(row: TableImport, token: str) -> dict[str, int] | None:
    """Return the counts in a preview's token, or None if the draft has changed since."""
    import_id, options, counts = start_purpose.find(token, 3, START_SECONDS) or (None, None, {})
    if import_id != row.id or options != row.options or not counts.get(NEW):
        return None
    return {name: counts[name] for name in (NEW, THERE, REFUSED)}


def _read_columns(row: TableImport, sent: Values) -> dict[str, list[str]]:
    places = {name: sent[f"map_{name}"] or "" for name in FIELDS}
    if not any(places.values()):
        return dict(row.options["columns"])
    try:
        reading = jobs.read_file(jobs.read_content(row.id) or b"", row.options, MAX_LINES)
    except ServiceError:
        return {}
    headings = reading.table.headings
    return {name: _read_places(text, headings) for name, text in places.items()}


def _read_places(text: str, headings: Sequence[str]) -> list[str]:
    places = [part for part in text.split("+") if part.isascii() and part.isdigit()]
    return [headings[int(part)] for part in places if len(part) < 5 and int(part) < len(headings)]


LABELS = {
    jobs.RUNNING: gettext_noop("Importing"),
    jobs.STOPPED: gettext_noop("Stopped"),
    jobs.DONE: gettext_noop("Imported"),
    jobs.UNDONE: gettext_noop("Undone"),
}


def describe_progress(row: TableImport) -> dict[str, Any]:
    is_copying = row.photos_to is not None and row.photos > 0
    done, total = (row.photos_done, row.photos) if is_copying else (row.done, row.total)
    counts = {"done": format_figure(done), "total": format_figure(total)}
    if is_copying:
        text = _("%(done)s of %(total)s photos copied", **counts)
    elif row.done:
        text = _("%(done)s of %(total)s imported", **counts)
    else:
        text = _("Loading…")
    return {
        "state": row.state,
        "label": translate(LABELS.get(row.state, "")),
        "done": done,
        "total": total,
        "text": text,
    }


# Each preview costs as much as hundreds of other pages.
IMPORTS_PER_ACCOUNT = Limit("import-account", 240, "to import files, from one account")
PASTED = gettext_noop("Pasted lines")


class SourceForm(FormSchema):
    """A file, or lines copied from a table."""

    lines = Text(MAX_FILE_BYTES, load_default="")
    max_bytes = FORM_BYTES
    too_large: ClassVar = {"file": TOO_LARGE}


class Source(NamedTuple):
    name: str
    content: bytes
    encoding: str


choosing = ProjectPage(settings, "import", "transfer/import.html", nav="settings")


@choosing.show
def show_import(access: Access) -> Values:
    return {
        "imports": [(row, describe_progress(row)) for row in jobs.list_imports(access.project.id)],
        "max_bytes": MAX_FILE_BYTES,
        "too_large": TOO_LARGE,
        "typed": {"lines": ""},
    }


def _read_source(access: Access, lines: str) -> Source:
    """Return the chosen file or the pasted lines; raise `ValidationFailed`."""
    limiter.count(IMPORTS_PER_ACCOUNT, access.user.account_id)
    file = request.files.get("file")
    if file is not None and file.filename:
        name, content = file.filename[:NAME_LENGTH], file.read(MAX_FILE_BYTES + 1)
    elif lines:
        name, content = translate(PASTED), lines.encode()
    else:
        raise ValidationFailed.of({"file": [_("Choose a file.")]})
    if len(content) > MAX_FILE_BYTES:
        raise ValidationFailed.of({"file": [TOO_LARGE]})
    try:
        read_table(content, "utf-8", MAX_LINES)
    except EncodingUnclear as error:
        return Source(name, content, error.likely)
    except ServiceError as error:
        raise ValidationFailed.of({"file": [error.shown]}) from None
    return Source(name, content, "utf-8")


@choosing.save(SourceForm, prepare=_read_source)
def upload_import(access: Access, prepared: Source, lines: str) -> Done:
    options = {"encoding": prepared.encoding, "status": STATUSES[0]}
    packed = jobs.pack(prepared.content)
    row = jobs.add_draft(access.project, access.user, prepared.name, packed, options)
    return Done(to=url_for(".show_one", import_id=row.id))


one = ProjectPage(settings, "imports/<import_id>", "transfer/one.html", nav="settings")


@one.show
def show_one(access: Access, import_id: str) -> Values | Response:
    """Show the preview, the progress or the result of an import."""
    row = jobs.find_import(access.project.id, import_id)
    progress = describe_progress(row)
    if is_from_script():
        return jsonify({"ok": True, **progress})
    if row.state != jobs.DRAFT:
        result = {}
        if row.state != jobs.RUNNING:
            # After an undo, all that is left was kept.
            list_kept = jobs.list_here if row.undone_at else jobs.list_changed
            result = {"here": jobs.count_here(row), "changed": list_kept(row)}
        return {"row": row, "progress": progress, "result": result}
    limiter.count(IMPORTS_PER_ACCOUNT, access.user.account_id)
    return _describe_draft(row)


def _describe_draft(row: TableImport) -> Values:
    preview = show_draft(row)
    return {
        "row": row,
        "form": preview,
        "errors": preview.errors,
        "plan": preview.plan,
        "options": row.options,
        "encodings": [(name, translate(label)) for name, label in ENCODING_LABELS.items()],
        "initials_of": initials_of,
        "colour_of": colour_of,
    }


class OptionsForm(FormSchema):
    encoding = Choice(*ENCODINGS)
    dates = Choice(*ORDERS)
    status = Choice(*STATUSES)
    repairs = Choices(*REPAIRS)
    photos = fields.String()

    class Meta(FormSchema.Meta):
        # The column of each field, by its index.
        include: ClassVar[dict[str, Any]] = {f"map_{name}": fields.String() for name in FIELDS}


def _prepare_options(access: Access, import_id: str, **sent: Any) -> Values:
    limiter.count(IMPORTS_PER_ACCOUNT, access.user.account_id)
    return read_options(jobs.find_import(access.project.id, import_id), sent)


@one.save(OptionsForm, prepare=_prepare_options)
def change_import(access: Access, import_id: str, prepared: Values, **sent: Any) -> Done:
    row = jobs.find_import(access.project.id, import_id, for_update=True)
    if row.state == jobs.DRAFT:
        row.options = prepared
    return Done()


@one.save({"token": fields.String(load_default="")}, at="/start")
def start_import(access: Access, import_id: str, token: str) -> Done:
    """Import what the preview has shown, or resume a stopped import, in the background."""
    row = jobs.find_import(access.project.id, import_id, for_update=True)
    counts = read_start(row, token) if row.state == jobs.DRAFT else None
    if counts is not None:
        row.total, row.outcome = counts.pop(NEW), counts
        row.state, row.actor = jobs.RUNNING, access.user.email
        row.account_id = access.user.account_id
    elif row.state == jobs.STOPPED:
        row.state, row.problem = jobs.RUNNING, None
    if row.state == jobs.RUNNING:
        enqueue_anew(jobs.IMPORT, [row.id])
    return Done()


@one.save(at="/stop")
def stop_import(access: Access, import_id: str) -> Done:
    row = jobs.find_import(access.project.id, import_id, for_update=True)
    if row.state == jobs.RUNNING:
        row.state = jobs.STOPPED
    return Done()


@one.save({"also_changed": fields.String()}, at="/undo")
def undo_import_here(access: Access, import_id: str, also_changed: str | None) -> Done:
    row = jobs.find_import(access.project.id, import_id, for_update=True)
    also = also_changed is not None
    undone = jobs.undo_import(access.project, row, access.user.email, also_changed=also)
    text = ngettext(
        "Moved one testimonial to the trash",
        "Moved %(num)s testimonials to the trash",
        undone.removed,
        num=format_figure(undone.removed),
    )
    return Done(text, undo=make_undo_token(access.project, undone.batch))
