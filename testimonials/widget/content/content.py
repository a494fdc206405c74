"""What a widget shows: the owner's settings, narrowed by the attributes of a container."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnExpressionArgument, func

from testimonials.projects.models import Project
from testimonials.testimonials.models import Testimonial
from testimonials.testimonials.moderation.tagged import match_tags
from testimonials.testimonials.moderation.tags import find_spellings, fold
from testimonials.widget.selection import Selection

NEWEST, BEST, BY_HAND = "newest", "best", "hand"
MAX_CHOSEN = 100


@dataclass(frozen=True)
class Content:
    """Which of the approved testimonials are shown, and in which order.

    With the order `hand` those of `chosen` come first, in their order, and the others by time.
    """

    order: str = NEWEST
    min_rating: float = 0
    # Any of them.
    tags: tuple[str, ...] = ()
    min_length: int = 0
    chosen: tuple[str, ...] = ()
    is_only_chosen: bool = False
    testimonial_id: str = ""


EVERYTHING = Content()


def read_content(design: Mapping[str, Any], selection: Selection) -> Content:
    """Return the content of a widget's design; a container's attributes override it."""
    tags = (selection.tag,) if selection.tag else tuple(design["tags"])
    if selection.testimonial_id:
        return Content(
            tags=tags if selection.tag else (),
            min_length=selection.min_length,
            testimonial_id=selection.testimonial_id,
        )
    return Content(
        order=design["order"],
        min_rating=design["minRating"],
        tags=tags,
        min_length=selection.min_length or design["minLength"],
        chosen=tuple(design["chosen"]),
        is_only_chosen=design["onlyChosen"],
    )


def find_conditions(project: Project, content: Content) -> list[ColumnExpressionArgument[bool]]:
    """Return what a testimonial must meet to be shown."""
    of_project: ColumnExpressionArgument[bool] = Testimonial.project_id == project.id
    found: list[ColumnExpressionArgument[bool]] = [Testimonial.is_visible]
    if content.tags:
        # Any spelling selects the tag as the inbox shows it.
        known = find_spellings(project.id)
        names = {known.get(fold(tag), tag) for tag in content.tags}
        of_project, has_tag = match_tags(project.id, sorted(names))
        found.append(has_tag)
    if content.testimonial_id:
        found.append(Testimonial.id == content.testimonial_id)
    if content.is_only_chosen:
        # Looked up by their ids; by the bare column, SQLite would read the whole project's.
        of_project = Testimonial.project_id.concat("") == project.id
        found.append(Testimonial.id.in_(content.chosen))
    if content.min_rating:
        found.append(Testimonial.rank >= content.min_rating)
    if content.min_length:
        found.append(func.length(Testimonial.text) >= content.min_length)
    return [of_project, *found]
