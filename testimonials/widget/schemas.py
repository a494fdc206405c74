"""Schemas of the API's answers about the widget."""

from marshmallow import Schema, fields


class EmbedSnippetSchema(Schema):
    """What to place in a web page."""

    projectId = fields.String(required=True)  # noqa: N815
    widgetUrl = fields.String(  # noqa: N815
        required=True, metadata={"description": "URL of the widget script."}
    )
    script = fields.String(
        required=True, metadata={"description": "Script element, once on a page."}
    )
    container = fields.String(
        required=True, metadata={"description": "Element that the widget renders into."}
    )
