"""The API of the case file."""

import hashlib
from functools import partial
from typing import IO

from flask import Response, request, send_file
from marshmallow import fields

from testimonials.auth.tokens import Scope
from testimonials.core.extensions import db
from testimonials.core.http.answers import wrap
from testimonials.core.http.blueprints import transfer
from testimonials.core.http.fields import List, Number, StrictSchema, String, Text, WholeSchema
from testimonials.projects.changes import Values
from testimonials.projects.models import Project
from testimonials.transfer.archives.writing import reading_snapshot, spool
from testimonials.transfer.case_file import CASE_FILES, write_case_json


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
