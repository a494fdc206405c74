"""The order by hand: which testimonials come first in a widget, and how one is moved."""

from collections.abc import Sequence

from sqlalchemy import select

from testimonials.core.extensions import db
from testimonials.core.http.errors import ServiceError
from testimonials.core.http.i18n import gettext_noop
from testimonials.projects.models import Project
from testimonials.testimonials.models import Testimonial
from testimonials.widget.models import SavedWidget
from testimonials.widget.selection import (
    BY_HAND,
    EVERYTHING,
    MAX_CHOSEN,
    NEWEST,
    WHOLE,
    find_conditions,
    list_chosen,
    read_content,
    read_page,
)
from testimonials.widget.settings import change_widget, read_settings

Widget = Project | SavedWidget


class OrderFull(ServiceError):
    status = 409
    code = "ORDER_FULL"
    default_message = gettext_noop(
        "At most %(most)s testimonials can be ordered by hand. Take one out first."
    )

    def __init__(self) -> None:
        super().__init__(values={"most": MAX_CHOSEN})


def list_ordered(project: Project, widget: Widget) -> tuple[list[Testimonial], set[str]]:
    """Return those that were ordered by hand, in their order, and the ids of those that show."""
    content = read_content(read_settings(widget).design, WHOLE)
    found = db.session.scalars(select(Testimonial).where(Testimonial.id.in_(content.chosen)))
    rows = [row for row in found if row.project_id == project.id]
    rows.sort(key=lambda row: content.chosen.index(row.id))
    return rows, {row.id for row in list_chosen(project, content)}


def list_others(
    project: Project, chosen: Sequence[Testimonial], after: str | None, limit: int
) -> tuple[Sequence[Testimonial], str | None]:
    """Return a page of all other approved ones, newest first, and the cursor of the next page."""
    query = select(Testimonial).where(
        *find_conditions(project, EVERYTHING), Testimonial.id.not_in([row.id for row in chosen])
    )
    return read_page(query, NEWEST, after, limit)


def add_to_order(project: Project, widget: Widget, testimonial: Testimonial) -> None:
    """Put a testimonial behind those that are ordered already; raise `OrderFull`."""
    ids = _list_ids(project, widget)
    if testimonial.id in ids:
        return
    if len(ids) >= MAX_CHOSEN:
        raise OrderFull
    _keep(project, widget, [*ids, testimonial.id])


def take_out(project: Project, widget: Widget, testimonial_id: str) -> None:
    """Take a testimonial out of the order, so that it is shown by its time again."""
    ids = _list_ids(project, widget)
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
    """Bring the testimonials into this order; those that it doesn't name stay behind."""
    ids = _list_ids(project, widget)
    places = {each: place for place, each in enumerate(wanted)}
    _keep(project, widget, sorted(ids, key=lambda each: places.get(each, len(places))))


def show_only_chosen(project: Project, widget: Widget, *, is_on: bool) -> None:
    change_widget(project, widget, {"onlyChosen": is_on and bool(_list_ids(project, widget))})


def _list_ids(project: Project, widget: Widget) -> list[str]:
    """Return the ids in their order, without testimonials that are gone."""
    return [row.id for row in list_ordered(project, widget)[0]]


def _keep(project: Project, widget: Widget, ids: list[str]) -> None:
    settings = read_settings(widget).design
    only = settings["onlyChosen"] and bool(ids)
    order = BY_HAND if ids else NEWEST
    change_widget(project, widget, {"chosen": ids, "order": order, "onlyChosen": only})
