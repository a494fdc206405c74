"""The API of imports."""

from functools import partial
from typing import Any

from flask import Response
from marshmallow import Schema, fields, validate

from testimonials.auth.api_auth import require_access
from testimonials.auth.callers import Caller
from testimonials.auth.scopes import Scope
from testimonials.core.http.blueprints import transfer
from testimonials.core.http.fields import StrictSchema, Switch, Time
from testimonials.core.http.idempotency import begin_call, commit_answer
from testimonials.core.http.resource import answer, endpoint
from testimonials.projects.access import find_project, go_on_writing
from testimonials.transfer.tables.jobs import DONE, RUNNING, STOPPED, UNDONE, find_import
from testimonials.transfer.tables.jobs import list_imports as list_newest
from testimonials.transfer.tables.jobs import undo_import as take_back

# Shapes of the API's answers about imports.


class ImportSchema(Schema):
    """One import of a table."""

    _id = fields.String(attribute="id", required=True)
    fileName = fields.String(attribute="file_name", required=True)
    by = fields.String(attribute="actor", required=True)
    state = fields.String(required=True, validate=validate.OneOf((RUNNING, STOPPED, DONE, UNDONE)))
    problem = fields.String(required=True, allow_none=True)
    totalCount = fields.Integer(attribute="total", required=True)
    doneCount = fields.Integer(attribute="done", required=True)
    addedCount = fields.Integer(attribute="added", required=True)
    createdAt = Time(attribute="created_at", required=True)
    finishedAt = Time(attribute="finished_at", required=True, allow_none=True)
    undoneAt = Time(attribute="undone_at", required=True, allow_none=True)


class UndoImportSchema(StrictSchema):
    """How an import is undone."""

    alsoChanged = Switch(
        load_default=False, description="Also remove what somebody has changed since."
    )


class UndoneImportSchema(Schema):
    """What undoing an import did."""

    removedCount = fields.Integer(
        attribute="removed", required=True, metadata={"description": "How many it removed."}
    )
    keptCount = fields.Integer(
        attribute="kept",
        required=True,
        metadata={"description": "How many stay, because they were changed since."},
    )


# The API's doors to imports: looking at them, and undoing one.


_IMPORTS = ImportSchema(many=True)


@transfer.get("/v1/projects/<project_id>/imports")
@require_access(Scope.READ)
@endpoint(data=ImportSchema, many=True, raises=(404,))
def list_imports(caller: Caller, project_id: str) -> Response:
    """List imports of files.

    The newest 20, with how far each is.
    """
    return answer("OK", _IMPORTS.dump(list_newest(find_project(caller, project_id).id)))


@transfer.post("/v1/projects/<project_id>/imports/<import_id>/undo")
@require_access(Scope.PUBLISH)
@endpoint(
    data=UndoneImportSchema,
    body=UndoImportSchema,
    raises=(404, 409),
    example={"alsoChanged": False},
)
def undo_import(caller: Caller, project_id: str, import_id: str, body: dict[str, Any]) -> Response:
    """Undo an import.

    What it added goes to the trash. What somebody has edited, replied to or
    decided since stays, unless ``alsoChanged``.
    """
    begin_call(caller.id)
    project = find_project(caller, project_id, for_update=True)
    row = find_import(project.id, import_id, for_update=True)
    go_on = partial(go_on_writing, caller, project_id)
    undone = take_back(project, row, caller.label, go_on, also_changed=body["alsoChanged"])
    return commit_answer("Undone", UndoneImportSchema().dump(undone))
