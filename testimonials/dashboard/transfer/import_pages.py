"""Importing testimonials from a file: choosing it, previewing, watching it, undoing it."""

from functools import partial
from typing import NamedTuple

from flask import Blueprint, jsonify, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from werkzeug.exceptions import RequestEntityTooLarge

from testimonials.core.pictures.portraits import colour_of, initials_of
from testimonials.core.web.errors import ServiceError
from testimonials.core.web.languages import format_figure, ngettext
from testimonials.core.web.languages import gettext as _
from testimonials.core.web.rate_limits import Limit
from testimonials.dashboard.forms import Errors, wants_json
from testimonials.dashboard.guards import build_shell, go_on_writing, lock_again, require_role
from testimonials.dashboard.notices import add_notice, read_notice
from testimonials.dashboard.transfer.import_form import (
    ENCODING_LABELS,
    FORM_BYTES,
    MAX_FILE_BYTES,
    MAX_LINES,
    NAME_LENGTH,
    TOO_LARGE,
    read_options,
    read_start,
    show_draft,
)
from testimonials.dashboard.transfer.import_view import describe_progress, describe_result
from testimonials.extensions import begin_write, db, limiter
from testimonials.projects.access import Access, Role, find_access
from testimonials.testimonials.moderation.undoing import make_undo_token
from testimonials.transfer.imports.drafts import (
    DRAFT,
    RUNNING,
    STOPPED,
    add_draft,
    find_import,
    list_imports,
    pack,
)
from testimonials.transfer.imports.undoing import undo_import
from testimonials.transfer.models import TableImport
from testimonials.transfer.tables.importing import NEW
from testimonials.transfer.tables.rows import STATUSES
from testimonials.transfer.tables.table_files import EncodingUnclear, read_table

importing = Blueprint("importing", __name__)

# Each preview costs as much as hundreds of other pages.
IMPORTS_PER_ACCOUNT = Limit("import-account", 240, "to import files, from one account")


@importing.get("/dashboard/projects/<project_id>/import")
@require_role(Role.ADMIN)
def show_import(access: Access) -> ResponseReturnValue:
    return _show_form(access, {}, STATUSES[0])


@importing.post("/dashboard/projects/<project_id>/import")
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


@importing.get("/dashboard/projects/<project_id>/imports/<import_id>")
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


@importing.post("/dashboard/projects/<project_id>/imports/<import_id>")
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


@importing.post("/dashboard/projects/<project_id>/imports/<import_id>/start")
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
    db.session.commit()
    return redirect(url_for(".show_one", import_id=import_id), 303)


@importing.post("/dashboard/projects/<project_id>/imports/<import_id>/stop")
@require_role(Role.ADMIN, for_update=True)
def stop_import(access: Access, import_id: str) -> ResponseReturnValue:
    row = find_import(access.project.id, import_id, for_update=True)
    if row.state == RUNNING:
        row.state, row.leased_until = STOPPED, None
    db.session.commit()
    return redirect(url_for(".show_one", import_id=import_id), 303)


@importing.post("/dashboard/projects/<project_id>/imports/<import_id>/undo")
@require_role(Role.ADMIN, for_update=True)
def undo(access: Access, import_id: str) -> ResponseReturnValue:
    row = find_import(access.project.id, import_id, for_update=True)
    target = url_for(".show_one", import_id=import_id)
    try:
        also = "also_changed" in request.form
        go_on = partial(go_on_writing, access, Role.ADMIN)
        done = undo_import(access.project, row, access.user.email, go_on, also_changed=also)
    except ServiceError as error:
        db.session.rollback()
        return redirect(add_notice(target, error.shown), 303)
    token = make_undo_token(access.project, done.batch)
    db.session.commit()
    return redirect(add_notice(target, _tell_moved(done.removed), token), 303)


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
