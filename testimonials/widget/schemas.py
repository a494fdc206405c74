"""Schemas of saved widgets and drafts, and of the API's answers about the widget."""

from marshmallow import Schema, fields, validate

from testimonials.core.web.endpoint import QuerySchema
from testimonials.core.web.fields import StrictSchema, Text, Time
from testimonials.projects import schemas
from testimonials.projects.configuration.dashboard_config import CtaSchema
from testimonials.projects.configuration.widget_design import WidgetDesignSchema
from testimonials.projects.schemas import WidgetConfigSchema, WidgetConfigUpdateSchema

NAME_PATTERN = r"[a-z0-9-]{1,40}"
WIDGET_NAME = Text(
    40,
    one_line=True,
    blank=False,
    metadata={"pattern": f"^{NAME_PATTERN}$"},
    validate=validate.Regexp(
        rf"{NAME_PATTERN}\Z", error="Must be 1 to 40 lower-case letters, digits and dashes."
    ),
)


class WidgetDraftSchema(StrictSchema):
    """What the editor is changing, until it is published; never public."""

    config = fields.Nested(WidgetConfigUpdateSchema)
    design = fields.Nested(WidgetDesignSchema)
    cta = fields.Nested(CtaSchema)


class WidgetSchema(Schema):
    """One widget of a project, with a look and a selection of its own."""

    name = fields.String(
        required=True,
        allow_none=True,
        metadata={"description": "Value of `data-testimonials-widget`; null: the project's own."},
    )
    widgetConfig = fields.Nested(WidgetConfigSchema, attribute="config", required=True)
    widgetDesign = fields.Nested(schemas.WidgetDesignSchema, attribute="design", required=True)
    createdAt = Time(attribute="created_at", required=True)
    updatedAt = Time(attribute="updated_at", required=True)


class EmbedSnippetQuerySchema(QuerySchema):
    """The query of the embed snippet."""

    widget = Text(
        40,
        one_line=True,
        load_default="",
        description="Name of a saved widget; without it, the project's own.",
    )


class EmbedSnippetSchema(Schema):
    """What to place in a web page."""

    projectId = fields.String(required=True)
    widgetUrl = fields.String(required=True, metadata={"description": "URL of the widget script."})
    script = fields.String(
        required=True, metadata={"description": "Script element, once on a page."}
    )
    container = fields.String(
        required=True, metadata={"description": "Element that the widget renders into."}
    )
