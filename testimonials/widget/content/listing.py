"""Pages of what a widget or the wall shows.

Pages go by key, so nothing repeats or is skipped when something is approved in the meantime.
"""

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Select, func, literal, select, tuple_

from testimonials.core import clock
from testimonials.core.faults import refusing
from testimonials.core.web.errors import ValidationFailed
from testimonials.extensions import db
from testimonials.projects.models import Project
from testimonials.testimonials.counts.services import count_ratings, count_tags
from testimonials.testimonials.models import Testimonial
from testimonials.testimonials.moderation.tags import fold
from testimonials.widget.content.content import (
    BEST,
    BY_HAND,
    EVERYTHING,
    NEWEST,
    Content,
    find_conditions,
)

Query = Select[Testimonial]

_CURSOR = re.compile(r"([01])\.(-?[0-9]{1,16})\.([0-9a-f]{24})(?:\.([0-9]\.[0-9]{1,20}))?")


class Key(NamedTuple):
    """The place of a testimonial in every order, so that a cursor outlives a change of it."""

    is_pinned: bool
    rank: float
    created_at: datetime
    id: str


def list_shown(
    project: Project, content: Content, after: str | None, limit: int
) -> tuple[Sequence[Testimonial], str | None]:
    """Return a page of what the widget shows, pinned first, and the cursor of the next page.

    Raises `ValidationFailed` for a cursor that no page had.
    """
    if not project.is_active:
        return [], None
    if content.order == BY_HAND:
        return _cut(_list_by_hand(project, content, _read_cursor(after), limit + 1), limit)
    query = select(Testimonial).where(*find_conditions(project, content))
    return read_page(query, content.order, after, limit)


def count_shown(project: Project, content: Content) -> int:
    """Count what the widget shows: the counts know all that have some stars, or a tag."""
    if not project.is_active:
        return 0
    halves = content.min_rating * 2
    plain = replace(EVERYTHING, order=content.order, chosen=content.chosen)
    if halves == int(halves) and content == replace(plain, min_rating=content.min_rating):
        return sum(each.number for each in count_ratings(project.id) if each.halves >= halves)
    if len(content.tags) == 1 and content == replace(plain, tags=content.tags):
        counts = count_tags(project.id)
        wanted = fold(content.tags[0])
        return next((shown for name, (_, shown) in counts.items() if fold(name) == wanted), 0)
    query = select(func.count(Testimonial.id)).where(*find_conditions(project, content))
    return int(db.session.scalar(query) or 0)


def read_page(
    query: Query, order: str, after: str | None, limit: int
) -> tuple[Sequence[Testimonial], str | None]:
    """Return a page of what a query finds, and the cursor of the next page; see `list_shown`."""
    return _cut(_list_by_key(query, order, _read_cursor(after), limit + 1), limit)


def _cut(rows: Sequence[Testimonial], limit: int) -> tuple[Sequence[Testimonial], str | None]:
    shown = rows[:limit]
    return shown, _make_cursor(shown[-1]) if len(rows) > limit else None


def list_chosen(project: Project, content: Content) -> Sequence[Testimonial]:
    """Return those of the chosen ones that are shown, in the owner's order."""
    query = select(Testimonial).where(
        *find_conditions(project, replace(content, is_only_chosen=True))
    )
    return sorted(db.session.scalars(query), key=lambda row: content.chosen.index(row.id))


def _list_by_hand(
    project: Project, content: Content, key: Key | None, count: int
) -> Sequence[Testimonial]:
    """Return the chosen ones after the key, and then the others."""
    chosen, rows = content.chosen, []
    if key is None or key.id in chosen:
        passed = chosen[: chosen.index(key.id) + 1] if key else ()
        rows = [row for row in list_chosen(project, content) if row.id not in passed][:count]
        key = None
    if len(rows) == count or content.is_only_chosen:
        return rows
    others = select(Testimonial).where(
        *find_conditions(project, content), Testimonial.id.not_in(chosen)
    )
    return [*rows, *_list_by_key(others, NEWEST, key, count - len(rows))]


def _list_by_key(query: Query, order: str, key: Key | None, count: int) -> Sequence[Testimonial]:
    columns: tuple[Any, ...] = (Testimonial.is_pinned, Testimonial.created_at, Testimonial.id)
    if order == BEST:
        columns = (Testimonial.is_pinned, Testimonial.rank, *columns[1:])
    if key is not None:
        values = key if order == BEST else (key.is_pinned, key.created_at, key.id)
        # Each value takes its column's type: a time is stored as a number.
        pairs = zip(values, columns, strict=True)
        query = query.where(
            tuple_(*columns) < tuple_(*(literal(value, column.type) for value, column in pairs))
        )
    query = query.order_by(*(column.desc() for column in columns))
    return db.session.scalars(query.limit(count)).all()


def _make_cursor(row: Testimonial) -> str:
    time = clock.to_milliseconds(row.created_at)
    text = f"{int(row.is_pinned)}.{time}.{row.id}.{float(row.rating or 0)!r}"
    return urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _read_cursor(cursor: str | None) -> Key | None:
    if cursor is None:
        return None
    wrong = {"after": ["Must be the value of `next` in an answer of this feed."]}
    with refusing(lambda _fault: ValidationFailed.of(wrong)):
        text = urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode()
        match = _CURSOR.fullmatch(text)
        if match is None:
            raise ValueError(cursor)
        time = clock.from_milliseconds(int(match[2]))
    # Pages that were open during an upgrade have cursors without a rating.
    return Key(match[1] == "1", float(match[4] or 0), time, match[3])
