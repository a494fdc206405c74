"""The API of imports, and the case file."""

import hashlib
from collections.abc import Sequence
from functools import partial
from typing import IO

from flask import Response, request, send_file
from marshmallow import fields, validate

from testimonials.auth.tokens import Caller, Scope
from testimonials.core.extensions import db
from testimonials.core.http.answers import wrap
from testimonials.core.http.blueprints import transfer
from testimonials.core.http.fields import (
    List,
    Number,
    StrictSchema,
    String,
    Switch,
    Text,
    Time,
    WholeSchema,
)
from testimonials.projects.changes import Values
from testimonials.projects.models import Project
from testimonials.transfer.archives.writing import reading_snapshot, spool
from testimonials.transfer.case_file import CASE_FILES, write_case_json
from testimonials.transfer.models import TableImport
from testimonials.transfer.tables.jobs import DONE, RUNNING, STOPPED, UNDONE, Undone, find_import
from testimonials.transfer.tables.jobs import list_imports as list_newest
from testimonials.transfer.tables.jobs import undo_import as take_back


class ImportSchema(WholeSchema):
    """One import of a table."""

    _id = String(attribute="id")
    fileName = String(attribute="file_name")
    by = String(attribute="actor")
    state = String(validate=validate.OneOf((RUNNING, STOPPED, DONE, UNDONE)))
    problem = String(allow_none=True)
    totalCount = Number(attribute="total")
    doneCount = Number(attribute="done")
    addedCount = Number(attribute="added")
    createdAt = Time(attribute="created_at")
    finishedAt = Time(attribute="finished_at", allow_none=True)
    undoneAt = Time(attribute="undone_at", allow_none=True)


class UndoImportSchema(StrictSchema):
    alsoChanged = Switch(
        load_default=False, description="Also remove testimonials that were changed since."
    )


class UndoneImportSchema(WholeSchema):
    """The result of undoing an import."""

    removedCount = Number(attribute="removed", description="How many testimonials were removed.")
    keptCount = Number(attribute="kept", description="How many stay because they were changed.")


@transfer.resource(
    "GET /v1/projects/<project_id>/imports", scope=Scope.READ, data=ImportSchema, many=True
)
def list_imports(project: Project) -> Sequence[TableImport]:
    """List imports of files.

    The newest 20, with the progress of each.
    """
    return list_newest(project.id)


@transfer.resource(
    "POST /v1/projects/<project_id>/imports/<import_id>/undo",
    scope=Scope.PUBLISH,
    body=UndoImportSchema,
    example={"alsoChanged": False},
    data=UndoneImportSchema,
    done="Undone",
    raises=(409,),
)
def undo_import(caller: Caller, project: Project, import_id: str, body: Values) -> Undone:
    """Undo an import.

    The testimonials that it added go to the trash, except those that somebody has edited, replied
    to or decided on since; with ``alsoChanged``, those too.
    """
    row = find_import(project.id, import_id, for_update=True)
    return take_back(project, row, caller.label, also_changed=body["alsoChanged"])


# The case file.


class CaseFileQuerySchema(StrictSchema):
    testimonial = Text(24, description="The id of a testimonial. Default: all.")


class CaseFileSchema(WholeSchema):
    """The history of a project or testimonial, and how its numbers are computed."""

    format = String()
    version = Number()
    program = String()
    day = String()
    testimonial = String(allow_none=True)
    notes = fields.Dict()
    numbers = fields.Dict()
    keptRatings = List(fields.Dict())
    byStars = List(fields.Dict())
    settings = fields.Dict()
    forms = List(fields.Dict())
    savedWidgets = List(fields.Dict())
    rewards = List(fields.Dict())
    changesOfSettings = List(fields.Dict())
    orders = fields.Dict()
    lists = List(fields.Dict())
    requests = List(fields.Dict())
    complaints = List(fields.Dict())
    setAsideAndDeleted = List(fields.Dict())
    testimonials = List(fields.Dict())


@transfer.resource(
    "GET /v1/projects/<project_id>/case-file",
    scope=Scope.CONFIGURE,
    query=CaseFileQuerySchema,
    data=CaseFileSchema,
)
def get_case_file(project: Project, query: Values) -> Response:
    """Read the case file.

    Settings over time, who was asked, each decision with its reason, consents, edits, complaints,
    and the numbers with everything they are made of. With ``Accept: text/html`` it is a page to
    read or print.
    """
    project_id, testimonial_id = project.id, query.get("testimonial")
    is_page = request.accept_mimetypes.best_match(("application/json", "text/html")) == "text/html"
    fill, kind = CASE_FILES["html"] if is_page else (_write_wrapped, "application/json")
    with reading_snapshot():
        project = db.session.get_one(Project, project_id)
        file = spool(partial(fill, project, testimonial_id=testimonial_id))
    etag = hashlib.file_digest(file, "sha256").hexdigest()[:20]
    file.seek(0)
    response = send_file(file, kind, etag=etag, conditional=True)
    response.headers["Cache-Control"] = "private, no-cache"
    response.vary.add("Accept")
    return response


def _write_wrapped(project: Project, out: IO[bytes], testimonial_id: str | None) -> None:
    start, end = wrap("OK", b"|").split(b"|")
    out.write(start)
    write_case_json(project, out, testimonial_id)
    out.write(end)
