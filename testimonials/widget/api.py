"""The API of widgets: settings, which may be proposed, the snippet, and saved widgets."""

from typing import Any

from marshmallow import fields, validate

from testimonials.auth.tokens import Scope
from testimonials.core.http.blueprints import widget
from testimonials.core.http.fields import (
    Choice,
    List,
    OneLine,
    StrictSchema,
    String,
    Time,
    WholeSchema,
)
from testimonials.core.http.i18n import gettext_noop
from testimonials.core.text import TAG_LENGTH
from testimonials.projects import schemas
from testimonials.projects.api import get_project
from testimonials.projects.changes import Outcome, Values, change, finish
from testimonials.projects.defaults import PALETTES, CtaSchema
from testimonials.projects.models import Project
from testimonials.projects.schemas import WidgetConfigUpdateSchema
from testimonials.projects.widget_design import WidgetDesignSchema, WidgetLabelsSchema, read_design
from testimonials.widget import settings
from testimonials.widget.container import Selection
from testimonials.widget.drafts import MAX_STEPS
from testimonials.widget.embed import build_snippet
from testimonials.widget.events import WIDGET_CHANGED
from testimonials.widget.settings import describe_widgets, find_widget


@change(
    "widget",
    title=gettext_noop("change the widget"),
    schema=WidgetConfigUpdateSchema,
    scope=Scope.CONFIGURE,
    before=lambda project, _target, _values: project.widget_config,
    done="Widget configuration updated",
)
def change_widget(project: Project, _target: str | None, values: Values, _actor: str) -> Outcome:
    settings.update_widget_config(project, values)
    return finish(project, WIDGET_CHANGED, is_changed=bool(values))


class LabelsUpdateSchema(WidgetLabelsSchema):
    """The owner's labels for the widget's buttons, which replace all earlier ones."""


class DesignUpdateSchema(WidgetDesignSchema):
    """The widget's design beyond its specified settings; missing fields stay as they are."""

    labels = fields.Nested(LabelsUpdateSchema)


@change(
    "design",
    title=gettext_noop("change the widget’s design"),
    schema=DesignUpdateSchema,
    scope=Scope.CONFIGURE,
    before=lambda project, _target, _values: read_design(project.widget_design),
    done="Widget design updated",
)
def change_design(project: Project, _target: str | None, values: Values, _actor: str) -> Outcome:
    before = project.widget_design
    settings.change_widget(project, project, values)
    return finish(project, WIDGET_CHANGED, is_changed=project.widget_design != before)


NAME_PATTERN = r"[a-z0-9-]{1,40}"
WIDGET_NAME = OneLine(
    40,
    blank=False,
    metadata={"pattern": f"^{NAME_PATTERN}$"},
    validate=validate.Regexp(
        rf"{NAME_PATTERN}\Z", error="Must be 1 to 40 lower-case letters, digits and dashes."
    ),
)


class DraftConfigSchema(schemas.WidgetConfigUpdateSchema):
    palette = Choice(*PALETTES, allow_none=True)


class DraftStepSchema(StrictSchema):
    """The draft as it was before a step that can be undone."""

    step = OneLine(TAG_LENGTH, blank=False)
    config = fields.Nested(DraftConfigSchema)
    design = fields.Nested(WidgetDesignSchema)
    cta = fields.Nested(CtaSchema)


class WidgetDraftSchema(DraftStepSchema):
    """The editor's unpublished changes, which are never public."""

    class Meta(DraftStepSchema.Meta):
        exclude = ("step",)

    # Oldest first.
    steps = List(fields.Nested(DraftStepSchema), validate=validate.Length(max=MAX_STEPS))


class WidgetSchema(WholeSchema):
    """A widget of a project, with its own look and selection."""

    name = String(
        allow_none=True, description="Value of `data-testimonials-widget`; null: the project's own."
    )
    widgetConfig = fields.Nested(schemas.WidgetConfigSchema, attribute="config")
    widgetDesign = fields.Nested(schemas.WidgetDesignSchema, attribute="design")
    createdAt = Time(attribute="created_at")
    updatedAt = Time(attribute="updated_at")


class EmbedSnippetQuerySchema(StrictSchema):
    widget = OneLine(
        40, load_default="", description="Name of a saved widget. Default: the project's own."
    )


class EmbedSnippetSchema(WholeSchema):
    """The code to add to a web page."""

    projectId = String()
    widgetUrl = String(description="URL of the widget script.")
    script = String(description="Script element, needed once on a page.")
    container = String(description="Element that the widget renders into.")


@widget.resource(
    "PATCH /v1/projects/<project_id>/widget-config",
    scope=Scope.CONFIGURE,
    by_key=True,
    change="widget",
    match=get_project,
    body=schemas.WidgetConfigUpdateSchema,
    example={"layout": "carousel", "palette": "indigo", "initialCount": 6},
)
def update_widget_config(body: Values) -> Values:
    """Change the widget.

    Only the fields sent are changed. Returns the full project. ``PATCH widget-design`` changes its
    ``widgetDesign``; setting ``layout`` or ``animation`` here resets the layout there.
    """
    return body


@widget.resource(
    "PATCH /v1/projects/<project_id>/widget-design",
    scope=Scope.CONFIGURE,
    change="design",
    match=get_project,
    body=DesignUpdateSchema,
    example={"brandColor": "#0F766E", "font": "serif", "order": "best", "minRating": 4},
)
def update_widget_design(body: Values) -> Values:
    """Change the widget’s design.

    What the specified settings of ``widget-config`` don’t say: colors, fonts, sizes, and which
    testimonials show in which order. Only the fields sent are changed; ``labels`` is replaced as a
    whole. Returns the full project.
    """
    return body


@widget.resource(
    "GET /v1/projects/<project_id>/widgets",
    scope=Scope.READ,
    by_key=True,
    data=WidgetSchema,
    many=True,
)
def list_widgets(project: Project) -> Any:
    """List the widgets.

    The project's own first, then at most 20 saved ones by name. Saved widgets are created and
    changed in the dashboard.
    """
    return describe_widgets(project)


@widget.resource(
    "GET /v1/projects/<project_id>/embed-snippet",
    scope=Scope.READ,
    by_key=True,
    query=EmbedSnippetQuerySchema,
    data=EmbedSnippetSchema,
)
def get_embed_snippet(project: Project, query: Values) -> Values:
    """Get the embed snippet.

    Place ``container`` where the testimonials should show, and ``script`` once on the page.
    """
    find_widget(project, query["widget"])
    return build_snippet(project, Selection(widget=query["widget"]))
