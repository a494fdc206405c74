"""What agents may change or propose: for each kind its rules, its scope and its service.

The API's views and accepted proposals both come here, so that both do the same.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from testimonials.auth.scopes import Scope
from testimonials.collection import changes as page_changes
from testimonials.collection.changes import (
    DesignUpdateSchema,
    FormChangeSchema,
    FormNameSchema,
    PagePictureSchema,
    RequestSchema,
    TestimonialEditSchema,
)
from testimonials.core.http.errors import ValidationFailed
from testimonials.core.http.fields import StrictSchema
from testimonials.core.http.i18n import gettext_noop
from testimonials.projects.models import Project
from testimonials.projects.page_design import PageDesignSchema
from testimonials.projects.schemas import PageConfigUpdateSchema, WidgetConfigUpdateSchema
from testimonials.testimonials import changes
from testimonials.testimonials.schemas import DecisionSchema, TestimonialAddSchema

Values = dict[str, Any]


@dataclass(frozen=True)
class Kind:
    """One kind of change."""

    # In a few words, after "would" or "proposed to".
    title: str
    # Checks the values. A proposal stores what it dumps, and loads that again when it is accepted.
    schema: StrictSchema
    # Lets a caller do it at once.
    scope: Scope
    # Takes the locked project, the target's id, the loaded values and how the history names who
    # acts. Where people are asked by mail, the account is locked before the project.
    apply: Callable[[Project, str | None, Values, str], changes.Outcome]
    # The values as they are now, by the names that the API uses. Raises `NotFound` for a target
    # or a picture that isn't there.
    before: Callable[[Project, str | None, Values], Values]
    # The message of the API's answer when it was done.
    done: str
    needs_target: bool = False

    def read_before(self, project: Project, target_id: str | None, values: Values) -> Values:
        """Return what is there now of the fields that `values` would change."""
        if (target_id is None) is self.needs_target:
            rule = "Name the testimonial." if self.needs_target else "This kind has no target."
            raise ValidationFailed.of({"targetId": [rule]})
        now = self.before(project, target_id, values)
        wanted = self.schema.dump(values)
        return {name: value for name, value in now.items() if name in wanted}


KINDS: dict[str, Kind] = {
    "page": Kind(
        gettext_noop("change the collection page"),
        PageConfigUpdateSchema(),
        Scope.CONFIGURE,
        page_changes.change_page,
        page_changes.read_page,
        "Page updated",
    ),
    "logo": Kind(
        gettext_noop("change the logo"),
        PagePictureSchema(),
        Scope.CONFIGURE,
        page_changes.change_logo,
        page_changes.read_picture("logo"),
        "Logo updated",
    ),
    "cover": Kind(
        gettext_noop("change the page’s cover"),
        PagePictureSchema(),
        Scope.CONFIGURE,
        page_changes.change_cover,
        page_changes.read_picture("cover"),
        "Cover updated",
    ),
    "portrait": Kind(
        gettext_noop("change the face beside the page’s signature"),
        PagePictureSchema(),
        Scope.CONFIGURE,
        page_changes.change_portrait,
        page_changes.read_picture("portrait"),
        "Portrait updated",
    ),
    "page.design": Kind(
        gettext_noop("change the page’s questions and look"),
        PageDesignSchema(),
        Scope.CONFIGURE,
        page_changes.change_design,
        page_changes.read_design,
        "Page design updated",
    ),
    "form": Kind(
        gettext_noop("add or change a form"),
        FormChangeSchema(),
        Scope.CONFIGURE,
        page_changes.save_form,
        page_changes.read_form,
        "Form saved",
    ),
    "form.delete": Kind(
        gettext_noop("delete a form"),
        FormNameSchema(),
        Scope.CONFIGURE,
        page_changes.remove_form,
        page_changes.read_form,
        "Form deleted",
    ),
    "widget": Kind(
        gettext_noop("change the widget"),
        WidgetConfigUpdateSchema(),
        Scope.CONFIGURE,
        changes.change_widget,
        changes.read_widget,
        "Widget configuration updated",
    ),
    "design": Kind(
        gettext_noop("change the widget’s design"),
        DesignUpdateSchema(),
        Scope.CONFIGURE,
        changes.change_design,
        changes.read_design,
        "Widget design updated",
    ),
    "testimonial.add": Kind(
        gettext_noop("add a testimonial"),
        TestimonialAddSchema(),
        Scope.PUBLISH,
        changes.add_testimonial,
        changes.read_nothing,
        "Testimonial created",
    ),
    "testimonial.edit": Kind(
        gettext_noop("edit a testimonial"),
        TestimonialEditSchema(),
        Scope.PUBLISH,
        changes.edit,
        changes.read_testimonial,
        "Testimonial updated",
        needs_target=True,
    ),
    "testimonial.decide": Kind(
        gettext_noop("decide about testimonials"),
        DecisionSchema(),
        Scope.PUBLISH,
        changes.decide,
        changes.read_states,
        "Decided",
    ),
    "request": Kind(
        gettext_noop("ask customers by mail"),
        RequestSchema(),
        Scope.CONFIGURE,
        changes.ask,
        changes.read_nothing,
        "Requests accepted",
    ),
}
