"""Filters and counts of the inbox."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Select, and_, exists, func, or_, select, text
from sqlalchemy.orm import selectinload

from testimonials.core.extensions import db
from testimonials.projects.models import PROPOSED
from testimonials.testimonials.counts import count_states, count_tags, count_where
from testimonials.testimonials.models import (
    REASONS,
    TAKEN_OUT,
    Testimonial,
    TestimonialCount,
    TestimonialTag,
)
from testimonials.testimonials.search import Found, search

# If more testimonials have a tag, the project's testimonials are searched instead of the tags.
FEW = 5_000


def match_tags(
    project_id: str, names: Collection[str]
) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    """Return the conditions for belonging to a project, and for having any of these tags."""
    of_project: Any = Testimonial.project_id
    has_tag: ColumnElement[bool]
    tag = TestimonialTag
    counts = count_tags(project_id)
    if sum(sum(counts.get(name, ())) for name in names) > FEW:
        has_tag = exists().where(tag.testimonial_id == Testimonial.id, tag.name.in_(names))
    else:
        # With the column alone, a database may scan all of the project's rows.
        of_project = of_project.concat("")
        ids = select(tag.testimonial_id).where(tag.project_id == project_id, tag.name.in_(names))
        has_tag = Testimonial.id.in_(ids)
    return of_project == project_id, has_tag


# The inbox: tabs, search, filters and counts.

PAGE_SIZE = 50
# Without a stored count, rows are counted up to this number or to the end of the page.
MOST_COUNTED = 1_000
COUNTED_TABS = ("pending", "approved", "rejected", "all", "trash", "spam")
# Testimonials that were set aside, which are in the tabs of their states too.
ASIDE = "set-aside"
TABS = (*COUNTED_TABS, ASIDE)
# Tabs with a single state each.
STATES = ("pending", "approved", "rejected", "spam")
KINDS = ("written", "video", "voice")
SOURCES = ("public_page", "manual", "import", "demo")


@dataclass(frozen=True)
class InboxFilter:
    """A tab of the inbox, narrowed by search words, stars (1 to 5), kind, source, form and tag."""

    tab: str = "pending"
    q: str = ""
    rating: int | None = None
    min_rating: int | None = None
    source: str = ""
    tag: str = ""
    # The name of a form.
    form: str = ""
    kind: str = ""

    @property
    def is_narrowed(self) -> bool:
        return self != InboxFilter(self.tab)


class Total(NamedTuple):
    """How many testimonials a filter finds; if not `is_whole`, at least that many."""

    number: int
    is_whole: bool = True

    def __str__(self) -> str:
        return f"{self.number}{'' if self.is_whole else '+'}"


def list_inbox(
    project_id: str, filters: InboxFilter, page: int, counts: dict[str, int]
) -> tuple[Sequence[Testimonial], int, Total]:
    """Return a page (from 1) of testimonials, its number, and the total.

    The newest come first, or in a search the best matches, at most a few hundred. A page past the
    end is the last page, since decisions shorten the list. `counts` comes from `count_tabs`.
    """
    if filters.q:
        return _list_matches(project_id, filters, page)
    condition = match_filter(project_id, filters)
    most = max(MOST_COUNTED, page * PAGE_SIZE)
    is_counted = filters == InboxFilter(filters.tab) and filters.tab in counts
    total = Total(counts[filters.tab]) if is_counted else _count(project_id, filters, most)
    if not total.number:
        return [], 1, total
    page = min(page, -(-total.number // PAGE_SIZE))
    query = select(Testimonial).where(condition).options(selectinload(Testimonial.tag_rows))
    query = query.order_by(Testimonial.created_at.desc(), Testimonial.id.desc())
    rows = db.session.scalars(query.limit(PAGE_SIZE).offset((page - 1) * PAGE_SIZE)).all()
    return rows, page, total


def find_words(project_id: str, filters: InboxFilter) -> Found:
    """Return the testimonials that have the filter's words and match the rest of it."""
    plain = replace(filters, q="")
    of_ids = match_filter(project_id, plain, is_by_id=True)
    return search(project_id, filters.q, match_filter(project_id, plain), of_ids=of_ids)


def _list_matches(
    project_id: str, filters: InboxFilter, page: int
) -> tuple[Sequence[Testimonial], int, Total]:
    found = find_words(project_id, filters)
    total = Total(len(found.ids), found.is_all)
    page = min(page, max(1, -(-total.number // PAGE_SIZE)))
    ids = found.ids[(page - 1) * PAGE_SIZE : page * PAGE_SIZE]
    rows = {row.id: row for row in find_rows(project_id, ids)}
    return [rows[each] for each in ids if each in rows], page, total


def find_rows(project_id: str, ids: Sequence[str]) -> Sequence[Testimonial]:
    # With the project in the query, a database may scan all of the project's rows.
    query = select(Testimonial).where(Testimonial.id.in_(ids))
    query = query.options(selectinload(Testimonial.tag_rows))
    return [row for row in db.session.scalars(query) if row.project_id == project_id]


def find_ids(
    project_id: str, filters: InboxFilter, ids: Sequence[str], *, is_all: bool
) -> Sequence[str]:
    """Return the ids of all that a filter finds, or those of `ids` that are the project's."""
    is_chosen = match_filter(project_id, filters) if is_all else Testimonial.id.in_(ids)
    query = select(Testimonial.id, Testimonial.project_id).where(is_chosen)
    return [row.id for row in db.session.execute(query) if row.project_id == project_id]


def count_tabs(*project_ids: str, proposed: Select[Any] | None = None) -> dict[str, dict[str, int]]:
    """Return how many testimonials are in each tab of each project.

    With the query `proposed` (`select_waiting`), also how many decisions are `waiting`.
    """
    names = COUNTED_TABS if proposed is None else (*COUNTED_TABS, "waiting")
    counts = {project_id: dict.fromkeys(names, 0) for project_id in project_ids}
    for each in count_states(project_ids, proposed):
        of_project = counts[each.project_id]
        if each.status in ("pending", PROPOSED) and "waiting" in of_project:
            of_project["waiting"] += 0 if each.is_deleted else each.number
        if each.status == PROPOSED:
            continue
        # Withdrawn testimonials are listed with the rejected ones.
        tab = "rejected" if each.status == "withdrawn" else each.status
        if each.is_deleted:
            of_project["trash"] += each.number
            continue
        if tab in of_project:
            of_project[tab] += each.number
        if each.status != "spam":
            of_project["all"] += each.number
    return counts


def find_next_pending(project_id: str, after: Testimonial | None = None) -> Testimonial | None:
    """Return the testimonial that has waited longest, or the next one after `after`, if any."""
    is_pending = match_filter(project_id, InboxFilter())
    query = select(Testimonial).where(is_pending)
    query = query.order_by(Testimonial.created_at, Testimonial.id).limit(1)
    if after is None:
        return db.session.scalars(query).one_or_none()
    is_later = or_(
        Testimonial.created_at > after.created_at,
        and_(Testimonial.created_at == after.created_at, Testimonial.id > after.id),
    )
    later = db.session.scalars(query.where(is_later)).one_or_none()
    return later or db.session.scalars(query.where(Testimonial.id != after.id)).one_or_none()


def _count(project_id: str, filters: InboxFilter, most: int) -> Total:
    """Return how many a filter finds; with a tag, count at most `most`."""
    if filters.tag:
        rows = select(Testimonial.id).where(match_filter(project_id, filters)).limit(most + 1)
        count = int(db.session.scalar(select(func.count()).select_from(rows.subquery())) or 0)
        return Total(min(count, most), count <= most)
    row = TestimonialCount
    conditions = _match_tab(row, row.is_deleted.is_(True), filters.tab)
    if filters.rating is not None:
        # Four stars are eight or nine halves.
        conditions.append(row.halves.in_((2 * filters.rating, 2 * filters.rating + 1)))
    conditions += [row.halves >= 2 * filters.min_rating] if filters.min_rating else []
    return Total(count_where(project_id, *conditions, *_match_origin(row, filters)))


def find_samples(project_id: str) -> Sequence[Testimonial]:
    is_sample = match_filter(project_id, InboxFilter(tab="all", source="demo"))
    return db.session.scalars(select(Testimonial).where(is_sample)).all()


def count_samples(project_id: str) -> int:
    counted = TestimonialCount
    return count_where(project_id, counted.status == "demo", ~counted.is_deleted)


def match_filter(
    project_id: str, filters: InboxFilter, *, is_by_id: bool = False
) -> ColumnElement[bool]:
    """Return the condition for the testimonials that a filter finds.

    `is_by_id` is for queries that also name ids: it keeps SQLite from using an index on projects,
    with which it would scan all of the project's rows.
    """
    is_by_id = is_by_id or bool(filters.q)
    row = Testimonial
    conditions = (
        [*match_tags(project_id, [filters.tag])]
        if filters.tag
        else [(row.project_id.concat("") if is_by_id else row.project_id) == project_id]
    )
    conditions += _match_tab(row, row.deleted_at.is_not(None), filters.tab)
    if filters.q:
        conditions.append(row.id.in_(find_words(project_id, filters).ids))
    if filters.rating is not None:
        conditions += [row.rating >= filters.rating, row.rating < filters.rating + 1]
    if filters.min_rating is not None:
        conditions.append(row.rating >= filters.min_rating)
    return and_(*conditions, *_match_origin(row, filters))


def _match_origin(row: type[Testimonial | TestimonialCount], filters: InboxFilter) -> list[Any]:
    """Return the conditions on source, kind and form, for testimonials or their counts."""
    origin = {row.source: filters.source, row.kind: filters.kind, row.form_name: filters.form}
    return [column == value for column, value in origin.items() if value]


def _match_tab(
    row: type[Testimonial | TestimonialCount], is_deleted: ColumnElement[bool], tab: str
) -> list[Any]:
    conditions: list[Any] = [is_deleted if tab == "trash" else ~is_deleted]
    if tab == "rejected":
        conditions.append(row.status.in_(("rejected", "withdrawn")))
    elif tab in STATES:
        conditions.append(row.status == tab)
    elif tab == "all":
        conditions.append(row.status != "spam")
    elif tab == ASIDE:
        conditions.append(row.standing.in_(REASONS))
        # Written as in the partial index, so that the database uses that.
        conditions += [text(f"({TAKEN_OUT})")] if row is Testimonial else []
    return conditions
