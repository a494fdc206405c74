"""Importing testimonials from a file: choosing it, previewing, and importing."""

import json
import logging
from collections.abc import Iterator, Sequence

from flask import (
    Blueprint,
    Response,
    redirect,
    render_template,
    request,
    stream_with_context,
    url_for,
)
from flask.typing import ResponseReturnValue
from sqlalchemy.exc import DBAPIError
from werkzeug.exceptions import RequestEntityTooLarge

from testimonials.core.data.outages import log_fault
from testimonials.core.pictures.portraits import colour_of, initials_of
from testimonials.core.web.errors import ServiceError
from testimonials.core.web.rate_limits import Limit
from testimonials.dashboard.guards import build_shell, require_role
from testimonials.dashboard.notices import add_notice
from testimonials.dashboard.transfer.import_form import (
    ENCODING_LABELS,
    FORM_BYTES,
    TOO_LARGE,
    ImportForm,
    read_import_form,
)
from testimonials.extensions import db, limiter
from testimonials.projects.access import Access, Role, find_access
from testimonials.projects.models import Project
from testimonials.transfer.tables.importing import Plan, write_import
from testimonials.transfer.tables.rows import NewTestimonial

importing = Blueprint("importing", __name__)

logger = logging.getLogger("testimonials")

# The page's script reads the answer line by line, each a JSON object.
LINES = "application/x-ndjson"

# Each preview costs as much as hundreds of other pages, and each import follows one.
IMPORTS_PER_ACCOUNT = Limit("import-account", 120, "to import files, from one account")


@importing.get("/dashboard/projects/<project_id>/import")
@require_role(Role.ADMIN)
def show_import(access: Access) -> ResponseReturnValue:
    return _show_form(access, ImportForm())


@importing.post("/dashboard/projects/<project_id>/import/preview")
@require_role(Role.ADMIN)
def preview_import(access: Access) -> ResponseReturnValue:
    """Show what would happen to each line, without writing anything."""
    form, plan = _read_form(access)
    return _show_form(access, form, plan), 422 if form.errors else 200


@importing.post("/dashboard/projects/<project_id>/import")
@require_role(Role.ADMIN)
def run_import(access: Access) -> ResponseReturnValue:
    """Import what the preview showed, in short transactions; a script reads the progress."""
    form, plan = _read_form(access)
    if plan is None or form.errors or not plan.new or request.form.get("seen") != form.seen:
        return _show_form(access, form, plan), 422
    steps = _write(access, plan.new)
    target = url_for("inbox.show_inbox", status=form.status, source="import")
    if request.accept_mimetypes.best == LINES:
        lines = stream_with_context(_write_lines(steps, len(plan.new), target))
        # A proxy that waits for the whole answer would hide the progress.
        return Response(lines, mimetype=LINES, headers={"X-Accel-Buffering": "no"})
    return redirect(add_notice(target, _say(sum(steps))), 303)


def _write(access: Access, found: Sequence[NewTestimonial]) -> Iterator[int]:
    def lock() -> Project:
        return find_access(access.user, access.project.id, Role.ADMIN, for_update=True).project

    for count in write_import(found, lock, access.user.email):
        db.session.commit()
        yield count
    db.session.commit()


def _write_lines(steps: Iterator[int], total: int, target: str) -> Iterator[str]:
    """Yield the progress as JSON lines, and finally the page to go to."""
    done = 0
    try:
        for written in steps:
            done += written
            yield json.dumps({"done": done, "total": total}) + "\n"
    except ServiceError as error:
        db.session.rollback()
        yield json.dumps({"message": f"{error.message} {_say(done)}."}) + "\n"
    except DBAPIError as error:
        # The status has already been sent, so the error handler can't answer.
        db.session.rollback()
        outage = log_fault(logger, "an import was interrupted", error)
        reason = outage.message if outage else "Something went wrong on our side."
        yield json.dumps({"message": f"{reason} {_say(done)}."}) + "\n"
    else:
        yield json.dumps({"url": add_notice(target, _say(done))}) + "\n"


def _say(count: int) -> str:
    return "Imported one testimonial" if count == 1 else f"Imported {count:,} testimonials"


def _read_form(access: Access) -> tuple[ImportForm, Plan | None]:
    limiter.count(IMPORTS_PER_ACCOUNT, access.user.account_id)
    request.max_content_length = request.max_form_memory_size = FORM_BYTES
    try:
        form = read_import_form(request.form, request.files.get("file"))
    except RequestEntityTooLarge:
        form = ImportForm(errors={"file": [TOO_LARGE]})
    return form, form.plan(access.project.id)


def _show_form(access: Access, form: ImportForm, plan: Plan | None = None) -> str:
    """Return the preview, or the page to choose a file if there is none yet."""
    return render_template(
        f"dashboard/transfer/{'import_preview' if form.table else 'import'}.html",
        shell=build_shell(access, "settings"),
        form=form,
        errors=form.errors,
        encodings=ENCODING_LABELS,
        plan=plan,
        initials_of=initials_of,
        colour_of=colour_of,
    )
