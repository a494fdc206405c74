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
    TagCount,
    Testimonial,
    TestimonialCount,
    TestimonialTag,
)
from testimonials.testimonials.search import Found, search

# How testimonials with tags are found among a project's.

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


# The inbox: tabs, search, filters and counts.

PAGE_SIZE = 50
# What no count knows is counted so far, or to the end of the page.
MOST_COUNTED = 1_000
COUNTED_TABS = ("pending", "approved", "rejected", "all", "trash", "spam")
# What was taken out of the numbers, which the tabs of its states hold too.
ASIDE = "set-aside"
TABS = (*COUNTED_TABS, ASIDE)
# Tabs that hold one state each.
STATES = ("pending", "approved", "rejected", "spam")
# Whose tags are counted, and the status that the count has and the tab has not.
TAG_TABS = {"all": "spam", "approved": "demo", "trash": ""}
KINDS = ("written", "video", "voice")
SOURCES = ("public_page", "manual", "import", "demo")


@dataclass(frozen=True)
class InboxFilter:
    """A tab of the inbox, narrowed by words to find, stars (1 to 5), kind, source, form and tag.

    `rating` is so many stars, `min_rating` these or more.
    """

    tab: str = "pending"
    q: str = ""
    rating: int | None = None
    min_rating: int | None = None
    source: str = ""
    tag: str = ""
    # The name of the form that they were sent by.
    form: str = ""
    kind: str = ""

    @property
    def is_narrowed(self) -> bool:
        return self != InboxFilter(self.tab)


class Total(NamedTuple):
    """How many a filter finds; `is_whole` is False where there are more."""

    number: int
    is_whole: bool = True

    def __str__(self) -> str:
        return f"{self.number}{'' if self.is_whole else '+'}"


def list_inbox(
    project_id: str, wanted: InboxFilter, page: int, counts: dict[str, int]
) -> tuple[Sequence[Testimonial], int, Total]:
    """Return a page (from 1) of testimonials, its number, and how many there are.

    The newest come first, or with words to find the best, of which there are some hundreds. A page
    past the end gives the last one, since decisions shorten the list. `counts` are the project's
    (`count_tabs`).
    """
    if wanted.q:
        return _list_found(find_words(project_id, wanted), page)
    condition = match_filter(project_id, wanted)
    most = max(MOST_COUNTED, page * PAGE_SIZE)
    is_counted = wanted == InboxFilter(wanted.tab) and wanted.tab in counts
    total = Total(counts[wanted.tab]) if is_counted else _count(project_id, wanted, most)
    if not total.number:
        return [], 1, total
    page = min(page, -(-total.number // PAGE_SIZE))
    rows = db.session.scalars(
        select(Testimonial)
        .where(condition)
        .order_by(Testimonial.created_at.desc(), Testimonial.id.desc())
        .limit(PAGE_SIZE)
        .offset((page - 1) * PAGE_SIZE)
        .options(selectinload(Testimonial.tag_rows))
    ).all()
    return rows, page, total


def find_words(project_id: str, wanted: InboxFilter) -> Found:
    """Find the testimonials that have a filter's words, among those that it leaves."""
    plain = replace(wanted, q="")
    is_left = match_filter(project_id, plain)
    return search(
        project_id, wanted.q, is_left, of_ids=match_filter(project_id, plain, is_by_id=True)
    )


def _list_found(found: Found, page: int) -> tuple[Sequence[Testimonial], int, Total]:
    total = Total(len(found.ids), found.is_all)
    page = min(page, max(1, -(-total.number // PAGE_SIZE)))
    ids = found.ids[(page - 1) * PAGE_SIZE : page * PAGE_SIZE]
    query = select(Testimonial).where(Testimonial.id.in_(ids))
    rows = {
        row.id: row for row in db.session.scalars(query.options(selectinload(Testimonial.tag_rows)))
    }
    return [rows[each] for each in ids if each in rows], page, total


def find_rows(project_id: str, ids: Sequence[str]) -> Sequence[Testimonial]:
    # Named together with its project, each would be looked for among all that the project has.
    query = select(Testimonial).where(Testimonial.id.in_(ids))
    query = query.options(selectinload(Testimonial.tag_rows))
    return [row for row in db.session.scalars(query) if row.project_id == project_id]


def find_ids(
    project_id: str, wanted: InboxFilter, ids: Sequence[str], *, is_all: bool
) -> Sequence[str]:
    """Return the ids of all that a filter finds, or those of `ids` that are the project's."""
    is_chosen = match_filter(project_id, wanted) if is_all else Testimonial.id.in_(ids)
    query = select(Testimonial.id, Testimonial.project_id).where(is_chosen)
    return [row.id for row in db.session.execute(query) if row.project_id == project_id]


def count_tabs(*project_ids: str, proposed: Select[Any] | None = None) -> dict[str, dict[str, int]]:
    """Return how many testimonials each tab of each of the projects holds.

    With what is `proposed` (`select_waiting`) also how much is `waiting` for a decision.
    """
    names = COUNTED_TABS if proposed is None else (*COUNTED_TABS, "waiting")
    counts = {project_id: dict.fromkeys(names, 0) for project_id in project_ids}
    for each in count_states(project_ids, proposed):
        of_project = counts[each.project_id]
        if each.status in ("pending", PROPOSED) and "waiting" in of_project:
            of_project["waiting"] += 0 if each.is_deleted else each.number
        if each.status == PROPOSED:
            continue
        # Testimonials that their authors withdrew are listed with the rejected ones.
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
    """Return the one that has waited longest, or the next in that order; None if no other waits."""
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


def _count(project_id: str, wanted: InboxFilter, most: int) -> Total:
    """Count what a filter finds: by the counts, or up to `most` rows for tags with others."""
    if wanted == InboxFilter(wanted.tab, tag=wanted.tag) and wanted.tab in TAG_TABS:
        return Total(_count_tagged(project_id, wanted))
    if wanted != replace(wanted, tag=""):
        rows = select(Testimonial.id).where(match_filter(project_id, wanted)).limit(most + 1)
        found = int(db.session.scalar(select(func.count()).select_from(rows.subquery())) or 0)
        return Total(min(found, most), found <= most)
    of = TestimonialCount
    conditions = _match_tab(of, of.is_deleted.is_(True), wanted.tab)
    if wanted.rating is not None:
        # Two halves are a star, so a rating of four has eight or nine.
        conditions.append(of.halves.in_((2 * wanted.rating, 2 * wanted.rating + 1)))
    conditions += [of.halves >= 2 * wanted.min_rating] if wanted.min_rating else []
    return Total(count_where(project_id, *conditions, *_match_origin(of, wanted)))


def _count_tagged(project_id: str, wanted: InboxFilter) -> int:
    """Count those with a tag: what its count has, without the few that the tab leaves out."""
    of = TagCount
    number, kept, visible = db.session.execute(
        select(func.sum(of.number), func.sum(of.kept), func.sum(of.visible)).where(
            of.project_id == project_id, of.name == wanted.tag
        )
    ).one()
    if not number or wanted.tab == "trash":
        return int((number or 0) - (kept or 0))
    left_out = and_(
        match_filter(project_id, InboxFilter("any", tag=wanted.tag)),
        Testimonial.status == TAG_TABS[wanted.tab],
    )
    others = db.session.scalar(select(func.count(Testimonial.id)).where(left_out))
    return int((kept if wanted.tab == "all" else visible) - (others or 0))


def find_samples(project_id: str) -> Sequence[Testimonial]:
    is_sample = match_filter(project_id, InboxFilter(tab="all", source="demo"))
    return db.session.scalars(select(Testimonial).where(is_sample)).all()


def count_samples(project_id: str) -> int:
    counted = TestimonialCount
    return count_where(project_id, counted.status == "demo", ~counted.is_deleted)


def match_filter(
    project_id: str, wanted: InboxFilter, *, is_by_id: bool = False
) -> ColumnElement[bool]:
    """Return the condition for the testimonials that a filter finds.

    With `is_by_id` no index of the project fits it: for few that are named by their ids, as those
    that have some words are, SQLite would rather look through all that the project has.
    """
    is_by_id = is_by_id or bool(wanted.q)
    of = Testimonial
    conditions = (
        [*match_tags(project_id, [wanted.tag])]
        if wanted.tag
        else [(of.project_id.concat("") if is_by_id else of.project_id) == project_id]
    )
    conditions += _match_tab(of, of.deleted_at.is_not(None), wanted.tab)
    if wanted.q:
        conditions.append(of.id.in_(find_words(project_id, wanted).ids))
    if wanted.rating is not None:
        conditions += [of.rating >= wanted.rating, of.rating < wanted.rating + 1]
    if wanted.min_rating is not None:
        conditions.append(of.rating >= wanted.min_rating)
    return and_(*conditions, *_match_origin(of, wanted))


def _match_origin(of: type[Testimonial | TestimonialCount], wanted: InboxFilter) -> list[Any]:
    """Return the conditions for how they came, of testimonials or their counts."""
    origin = {of.source: wanted.source, of.kind: wanted.kind, of.form_name: wanted.form}
    return [column == value for column, value in origin.items() if value]


def _match_tab(
    of: type[Testimonial | TestimonialCount], is_deleted: ColumnElement[bool], tab: str
) -> list[Any]:
    """Return the conditions for a tab, of testimonials or their counts."""
    conditions: list[Any] = [is_deleted if tab == "trash" else ~is_deleted]
    if tab == "rejected":
        conditions.append(of.status.in_(("rejected", "withdrawn")))
    elif tab in STATES:
        conditions.append(of.status == tab)
    elif tab == "all":
        conditions.append(of.status != "spam")
    elif tab == ASIDE:
        conditions.append(of.standing.in_(REASONS))
        # In these words, for the index of these alone.
        conditions += [text(f"({TAKEN_OUT})")] if of is Testimonial else []
    return conditions
