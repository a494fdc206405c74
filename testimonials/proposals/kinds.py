"""What agents may change or propose: for each kind its rules, its scope and its service.

The API's views and accepted proposals both come here, so that both do the same.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from testimonials.access.scopes import Scope
from testimonials.activity.event_types import EventType
from testimonials.activity.recording import record_project_event
from testimonials.core.web.fields import StrictSchema
from testimonials.projects.models import Project
from testimonials.projects.schemas import ProjectSchema, WidgetConfigUpdateSchema
from testimonials.testimonials.schemas import TestimonialCreateSchema, TestimonialSchema
from testimonials.testimonials.services import add_approved_testimonial
from testimonials.widget.services import update_widget_config

_PROJECT = ProjectSchema()
_TESTIMONIAL = TestimonialSchema()

Values = dict[str, Any]
# Takes the locked project, the target's id, the loaded values and how the history names who acts;
# returns what the API answers.
Apply = Callable[[Project, str | None, Values, str], Any]


@dataclass(frozen=True)
class Kind:
    """One kind of change."""

    # Checks the values. A proposal stores what it dumps, and loads that again when it is accepted.
    schema: StrictSchema
    # Lets a caller do it at once.
    scope: Scope
    apply: Apply
    # The message of the API's answer when it was done.
    done: str


def _change_widget(project: Project, _target: str | None, values: Values, _actor: str) -> Any:
    update_widget_config(project, values)
    if values:
        record_project_event(EventType.WIDGET_CHANGED, project)
    return _PROJECT.dump(project)


def _add_testimonial(project: Project, _target: str | None, values: Values, _actor: str) -> Any:
    row = add_approved_testimonial(project, values)
    record_project_event(EventType.TESTIMONIAL_CREATED, project, testimonial=row.id)
    return _TESTIMONIAL.dump(row)


KINDS: dict[str, Kind] = {
    "widget": Kind(
        WidgetConfigUpdateSchema(), Scope.CONFIGURE, _change_widget, "Widget configuration updated"
    ),
    "testimonial.add": Kind(
        TestimonialCreateSchema(), Scope.PUBLISH, _add_testimonial, "Testimonial created"
    ),
}
