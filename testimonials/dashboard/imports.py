"""Importing: choosing a file, mapping its columns, watching, undoing."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from flask import jsonify, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from werkzeug.datastructures import MultiDict
from werkzeug.exceptions import RequestEntityTooLarge

from testimonials.core.db.transactions import write
from testimonials.core.extensions import begin_write, db, limiter
from testimonials.core.http.blueprints import settings
from testimonials.core.http.errors import ServiceError
from testimonials.core.http.form_errors import Errors, wants_json
from testimonials.core.http.forms import add_notice, read_notice
from testimonials.core.http.i18n import format_figure, gettext_noop, ngettext, translate
from testimonials.core.http.i18n import gettext as _
from testimonials.core.http.rate_limits import Limit
from testimonials.core.http.signing import TokenPurpose
from testimonials.core.images.colors import colour_of, initials_of
from testimonials.core.jobs import enqueue_anew
from testimonials.dashboard.framework import lock_again, require_role
from testimonials.dashboard.shell import build_shell
from testimonials.projects.access import Access, Role, find_access
from testimonials.projects.models import Project
from testimonials.testimonials.models import Testimonial
from testimonials.testimonials.undo import make_undo_token
from testimonials.transfer.models import TableImport
from testimonials.transfer.tables.columns import FIELDS, REQUIRED, ColumnMapping, find_missing
from testimonials.transfer.tables.files import ENCODINGS, EncodingUnclear, read_table
from testimonials.transfer.tables.jobs import (
    DONE,
    DRAFT,
    IMPORT,
    RUNNING,
    STOPPED,
    UNDONE,
    NothingToUndo,
    Reading,
    add_draft,
    count_here,
    find_import,
    list_changed,
    list_here,
    list_imports,
    pack,
    read_content,
    read_file,
    undo_import,
)
from testimonials.transfer.tables.plan import NEW, REFUSED, THERE, Plan, plan_import
from testimonials.transfer.tables.rows import REPAIRS, STATUSES
from testimonials.transfer.tables.values import ORDERS, read_date

# The form that says how a file is imported: which columns are which, and how they are read.

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


# How far an import is and what came of it, in words.

LABELS = {
    RUNNING: gettext_noop("Importing"),
    STOPPED: gettext_noop("Stopped"),
    DONE: gettext_noop("Imported"),
    UNDONE: gettext_noop("Undone"),
}


@dataclass(frozen=True)
class Result:
    """What is still here of an import, and which of it somebody has changed."""

    here: int
    changed: Sequence[Testimonial]


def describe_progress(row: TableImport) -> dict[str, Any]:
    """Return how far an import is, for the page and its script."""
    is_copying = row.photos_to is not None and row.photos > 0
    done, total = (row.photos_done, row.photos) if is_copying else (row.done, row.total)
    counted = {"done": format_figure(done), "total": format_figure(total)}
    if is_copying:
        text = _("%(done)s of %(total)s photos copied", **counted)
    elif row.done:
        text = _("%(done)s of %(total)s imported", **counted)
    else:
        text = _("Reading the file…")
    return {
        "state": row.state,
        "label": translate(LABELS.get(row.state, "")),
        "done": done,
        "total": total,
        "text": text,
    }


def describe_result(row: TableImport) -> Result:
    # After undoing, all that is here was kept.
    return Result(count_here(row), (list_here if row.undone_at else list_changed)(row))


# Importing testimonials from a file: choosing it, previewing, watching it, undoing it.


# Each preview costs as much as hundreds of other pages.
IMPORTS_PER_ACCOUNT = Limit("import-account", 240, "to import files, from one account")


@settings.get("/dashboard/projects/<project_id>/import")
@require_role(Role.ADMIN)
def show_import(access: Access) -> ResponseReturnValue:
    return _show_form(access, {}, STATUSES[0])


@settings.post("/dashboard/projects/<project_id>/import")
@require_role(Role.ADMIN)
def upload_import(access: Access) -> ResponseReturnValue:
    """Keep a file, and show what would happen to each of its lines."""
    limiter.count(IMPORTS_PER_ACCOUNT, access.user.account_id)
    sent = _read_upload()
    if sent.problem:
        return _show_form(access, {"file": [sent.problem]}, sent.status), 422
    packed = pack(sent.content)
    begin_write()
    who = find_access(access.user, access.project.id, Role.ADMIN, for_update=True)
    options = {"encoding": sent.encoding, "status": sent.status}
    row = add_draft(who.project, who.user, sent.name, packed, options)
    db.session.commit()
    return redirect(url_for(".show_one", import_id=row.id), 303)


@settings.get("/dashboard/projects/<project_id>/imports/<import_id>")
@require_role(Role.ADMIN)
def show_one(access: Access, import_id: str) -> ResponseReturnValue:
    """Show a draft's preview, how far an import is, or what came of it."""
    row = find_import(access.project.id, import_id)
    if wants_json():
        return jsonify({"ok": True, **describe_progress(row)})
    if row.state != DRAFT:
        return _show_progress(access, row)
    limiter.count(IMPORTS_PER_ACCOUNT, access.user.account_id)
    return _show_draft(access, row)


@settings.post("/dashboard/projects/<project_id>/imports/<import_id>")
@require_role(Role.ADMIN)
def change_import(access: Access, import_id: str) -> ResponseReturnValue:
    """Read a draft in another way."""
    limiter.count(IMPORTS_PER_ACCOUNT, access.user.account_id)
    # Read before the lock: a file takes a moment.
    options = read_options(find_import(access.project.id, import_id), request.form)
    project = lock_again(access, Role.ADMIN)
    row = find_import(project.id, import_id, for_update=True)
    if row.state == DRAFT:
        row.options = options
    db.session.commit()
    return redirect(url_for(".show_one", import_id=import_id), 303)


@settings.post("/dashboard/projects/<project_id>/imports/<import_id>/start")
@require_role(Role.ADMIN, for_update=True)
def start_import(access: Access, import_id: str) -> ResponseReturnValue:
    """Import what the preview showed, or go on where it was stopped; the background does it."""
    row = find_import(access.project.id, import_id, for_update=True)
    counts = read_start(row, request.form.get("token", "")) if row.state == DRAFT else None
    if counts is not None:
        row.total, row.outcome = counts.pop(NEW), counts
        row.state, row.account_id, row.actor = RUNNING, access.user.account_id, access.user.email
    elif row.state == STOPPED:
        row.state, row.problem = RUNNING, None
    if row.state == RUNNING:
        enqueue_anew(IMPORT, [row.id])
    db.session.commit()
    return redirect(url_for(".show_one", import_id=import_id), 303)


@settings.post("/dashboard/projects/<project_id>/imports/<import_id>/stop")
@require_role(Role.ADMIN, for_update=True)
def stop_import(access: Access, import_id: str) -> ResponseReturnValue:
    row = find_import(access.project.id, import_id, for_update=True)
    if row.state == RUNNING:
        row.state = STOPPED
    db.session.commit()
    return redirect(url_for(".show_one", import_id=import_id), 303)


@settings.post("/dashboard/projects/<project_id>/imports/<import_id>/undo")
@require_role(Role.ADMIN)
def undo_import_here(access: Access, import_id: str) -> ResponseReturnValue:
    target = url_for(".show_one", import_id=import_id)
    try:
        also = "also_changed" in request.form
        with write(_lock(access)) as project:
            row = find_import(project.id, import_id, for_update=True)
            done = undo_import(project, row, access.user.email, also_changed=also)
    except NothingToUndo as error:
        return redirect(add_notice(target, error.shown), 303)
    token = make_undo_token(access.project, done.batch)
    return redirect(add_notice(target, _tell_moved(done.removed), token), 303)


def _lock(access: Access) -> Callable[[], Project]:
    return lambda: find_access(access.user, access.project.id, Role.ADMIN, for_update=True).project


def _tell_moved(number: int) -> str:
    return ngettext(
        "Moved one testimonial to the trash",
        "Moved %(num)s testimonials to the trash",
        number,
        num=format_figure(number),
    )


class Upload(NamedTuple):
    """A file that was chosen, and what is wrong with it."""

    name: str = ""
    content: bytes = b""
    encoding: str = "utf-8"
    status: str = STATUSES[0]
    problem: str = ""


def _read_upload() -> Upload:
    request.max_content_length = FORM_BYTES
    try:
        file, status = request.files.get("file"), request.form.get("status", "")
    except RequestEntityTooLarge:
        return Upload(problem=TOO_LARGE)
    found = Upload(status=status if status in STATUSES else STATUSES[0])
    if file is None or not file.filename:
        return found._replace(problem=_("Choose a file."))
    found = found._replace(name=file.filename[:NAME_LENGTH], content=file.read(MAX_FILE_BYTES + 1))
    if len(found.content) > MAX_FILE_BYTES:
        return found._replace(problem=TOO_LARGE)
    try:
        read_table(found.content, found.encoding, MAX_LINES)
    except EncodingUnclear as error:
        return found._replace(encoding=error.likely)
    except ServiceError as error:
        return found._replace(problem=error.shown)
    return found


def _show_form(access: Access, errors: Errors, status: str) -> str:
    return render_template(
        "dashboard/transfer/import.html",
        shell=build_shell(access, "settings"),
        errors=errors,
        status=status,
        imports=[(row, describe_progress(row)) for row in list_imports(access.project.id)],
        max_bytes=MAX_FILE_BYTES,
        too_large=TOO_LARGE,
    )


def _show_draft(access: Access, row: TableImport) -> str:
    preview = show_draft(row)
    return render_template(
        "dashboard/transfer/import_preview.html",
        shell=build_shell(access, "settings"),
        form=preview,
        errors=preview.errors,
        plan=preview.plan,
        options=row.options,
        encodings=ENCODING_LABELS,
        initials_of=initials_of,
        colour_of=colour_of,
    )


def _show_progress(access: Access, row: TableImport) -> str:
    return render_template(
        "dashboard/transfer/import_progress.html",
        shell=build_shell(access, "settings"),
        row=row,
        progress=describe_progress(row),
        result=None if row.state == RUNNING else describe_result(row),
        notice=read_notice(),
    )
