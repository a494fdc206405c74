"""What a caller of the API may see of one testimonial."""

from typing import Any

from testimonials.auth.callers import Caller
from testimonials.auth.scopes import Scope
from testimonials.core.http.errors import NotFound
from testimonials.core.http.i18n import gettext_noop
from testimonials.projects.models import Project
from testimonials.testimonials.history import list_history
from testimonials.testimonials.models import Testimonial
from testimonials.testimonials.moderation import find_testimonial
from testimonials.testimonials.schemas import TestimonialDetailSchema, VisibleTestimonialSchema

_DETAIL = TestimonialDetailSchema()
_VISIBLE = VisibleTestimonialSchema()


def may_see_all(caller: Caller) -> bool:
    return not caller.is_key and Scope.READ in caller.scopes


def find_seen(caller: Caller, project: Project, testimonial_id: str) -> Testimonial:
    """Return a testimonial that the caller may read; raise `NotFound`.

    Without the scope Read those that the specified list shows.
    """
    row = find_testimonial(project, testimonial_id)
    if not (row.is_visible or may_see_all(caller)):
        raise NotFound(gettext_noop("There is no such testimonial in this project."))
    return row


def describe_testimonial(caller: Caller, row: Testimonial) -> dict[str, Any]:
    """Return a testimonial as `get_testimonial` answers it to the caller."""
    if not may_see_all(caller):
        described: dict[str, Any] = _VISIBLE.dump(row)
        return described
    described = _DETAIL.dump(row)
    described["history"] = _DETAIL.fields["history"].serialize(
        "history", {"history": list_history(row.id)}
    )
    return described
