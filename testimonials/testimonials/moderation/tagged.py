"""How testimonials with tags are found among a project's."""

from collections.abc import Collection
from typing import Any

from sqlalchemy import ColumnElement, exists, select

from testimonials.testimonials.counts.services import count_tags
from testimonials.testimonials.models import Testimonial, TestimonialTag

# Of which all are read rather than looked for among the others.
FEW = 5_000


def match_tags(
    project_id: str, names: Collection[str]
) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    """Return the conditions for being a project's, and for having any of these tags."""
    of_project: Any = Testimonial.project_id
    has_tag: ColumnElement[bool]
    tag = TestimonialTag
    counts = count_tags(project_id)
    if sum(sum(counts.get(name, ())) for name in names) > FEW:
        has_tag = exists().where(tag.testimonial_id == Testimonial.id, tag.name.in_(names))
    else:
        # By the bare column, a database may look for them among all of the project's.
        of_project = of_project.concat("")
        ids = select(tag.testimonial_id).where(tag.project_id == project_id, tag.name.in_(names))
        has_tag = Testimonial.id.in_(ids)
    return of_project == project_id, has_tag
