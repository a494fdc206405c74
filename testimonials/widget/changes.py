"""Changes of the widget and its design, which may be proposed."""

from marshmallow import fields

from testimonials.auth.callers import Scope
from testimonials.core.http.i18n import gettext_noop
from testimonials.projects.changes import Outcome, Values, change, finish
from testimonials.projects.models import Project
from testimonials.projects.schemas import WidgetConfigUpdateSchema
from testimonials.projects.widget_design import WidgetDesignSchema, WidgetLabelsSchema, read_design
from testimonials.widget import settings
from testimonials.widget.events import WIDGET_CHANGED


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
    """The owner's own words on the widget's buttons; they take the place of all earlier ones."""


class DesignUpdateSchema(WidgetDesignSchema):
    """The widget's design beyond its specified settings; what is left out stays."""

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
    was = project.widget_design
    settings.change_widget(project, project, values)
    return finish(project, WIDGET_CHANGED, is_changed=project.widget_design != was)
