"""The order by hand in a widget's draft: which testimonials come first, and how one is moved."""

from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy import select

from testimonials.core.extensions import db
from testimonials.core.http.errors import ServiceError
from testimonials.core.http.i18n import gettext_noop
from testimonials.projects.models import Project
from testimonials.testimonials.models import Testimonial
from testimonials.widget import selection
from testimonials.widget.container import WHOLE
from testimonials.widget.drafts import Widget, change_draft, read_draft, read_published


class OrderFull(ServiceError):
    status = 409
    code = "ORDER_FULL"
    default_message = gettext_noop(
        "At most %(most)s testimonials can be ordered by hand. Take one out first."
    )

    def __init__(self) -> None:
        super().__init__(values={"most": selection.MAX_CHOSEN})


def list_first(project: Project, widget: Widget) -> tuple[list[Testimonial], set[str]]:
    """Return those that come first, in their order, and the ids of those that show.

    Until something is ordered by hand these are the pinned ones, so that ordering begins with what
    visitors see.
    """
    content = selection.read_content(read_draft(widget)["design"], WHOLE)
    if content.order != selection.BY_HAND and not content.is_only_chosen:
        pinned = _list_pinned(project, content)
        return pinned, {row.id for row in pinned}
    found = db.session.scalars(select(Testimonial).where(Testimonial.id.in_(content.chosen)))
    rows = [row for row in found if row.project_id == project.id]
    rows.sort(key=lambda row: content.chosen.index(row.id))
    return rows, {row.id for row in selection.list_chosen(project, content)}


def list_others(
    project: Project, first: Sequence[Testimonial], after: str | None, limit: int
) -> tuple[Sequence[Testimonial], str | None]:
    """Return a page of all other approved ones, newest first, and the cursor of the next page."""
    query = select(Testimonial).where(
        *selection.find_conditions(project, selection.EVERYTHING),
        Testimonial.id.not_in([row.id for row in first]),
    )
    return selection.read_page(query, selection.NEWEST, after, limit)


def add_to_order(project: Project, widget: Widget, testimonial: Testimonial) -> None:
    """Put a testimonial behind those that come first already; raise `OrderFull`."""
    ids = _list_ids(project, widget)
    if testimonial.id in ids:
        return
    if len(ids) >= selection.MAX_CHOSEN:
        raise OrderFull
    _keep(project, widget, [*ids, testimonial.id])


def take_out(project: Project, widget: Widget, testimonial_id: str) -> None:
    """Take a testimonial out of the order, so that it is shown by its time again."""
    ids = _list_ids(project, widget)
    if testimonial_id in ids:
        _keep(project, widget, [each for each in ids if each != testimonial_id])


def move(project: Project, widget: Widget, testimonial_id: str, places: int) -> None:
    """Move a testimonial down by so many places, or up if they are negative."""
    ids = _list_ids(project, widget)
    if testimonial_id in ids:
        place = max(0, ids.index(testimonial_id) + places)
        ids.remove(testimonial_id)
        ids.insert(place, testimonial_id)
        _keep(project, widget, ids)


def arrange(project: Project, widget: Widget, wanted: Sequence[str]) -> None:
    """Bring those that come first into this order; those that it doesn't name stay behind."""
    ids = _list_ids(project, widget)
    places = {each: place for place, each in enumerate(wanted)}
    _keep(project, widget, sorted(ids, key=lambda each: places.get(each, len(places))))


def _list_pinned(project: Project, content: selection.Content) -> list[Testimonial]:
    query = select(Testimonial).where(
        *selection.find_conditions(project, content), Testimonial.is_pinned
    )
    return list(selection.read_page(query, content.order, None, selection.MAX_CHOSEN)[0])


def _list_ids(project: Project, widget: Widget) -> list[str]:
    """Return the ids in their order, without testimonials that are gone."""
    return [row.id for row in list_first(project, widget)[0]]


def _keep(project: Project, widget: Widget, ids: list[str]) -> None:
    """Write an order into the draft; one that changes nothing for visitors isn't one by hand."""
    published, content = (
        selection.read_content(settings["design"], WHOLE)
        for settings in (read_published(widget), read_draft(widget))
    )
    changes = {"chosen": ids, "order": selection.BY_HAND}
    if published.order != selection.BY_HAND and not content.is_only_chosen:
        usual = replace(content, order=published.order)
        if ids == [row.id for row in _list_pinned(project, usual)]:
            changes = {"chosen": list(published.chosen), "order": published.order}
    change_draft(widget, {"design": changes}, step="order")
