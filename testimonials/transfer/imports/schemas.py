"""Shapes of the API's answers about imports."""

from marshmallow import Schema, fields, validate

from testimonials.core.web.fields import StrictSchema, Switch, Time
from testimonials.transfer.imports.drafts import DONE, RUNNING, STOPPED, UNDONE


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
