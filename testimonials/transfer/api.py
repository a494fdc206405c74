"""The API of imports."""

from collections.abc import Sequence

from marshmallow import Schema, fields, validate

from testimonials.auth.callers import Caller, Scope
from testimonials.core.http.blueprints import transfer
from testimonials.core.http.fields import StrictSchema, Switch, Time
from testimonials.projects.changes import Values
from testimonials.projects.models import Project
from testimonials.transfer.models import TableImport
from testimonials.transfer.tables.jobs import DONE, RUNNING, STOPPED, UNDONE, Undone, find_import
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


@transfer.resource(
    "GET /v1/projects/<project_id>/imports", scope=Scope.READ, data=ImportSchema, many=True
)
def list_imports(project: Project) -> Sequence[TableImport]:
    """List imports of files.

    The newest 20, with how far each is.
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

    What it added goes to the trash. What somebody has edited, replied to or
    decided since stays, unless ``alsoChanged``.
    """
    row = find_import(project.id, import_id, for_update=True)
    return take_back(project, row, caller.label, also_changed=body["alsoChanged"])
