"""Pages of the API's lists, newest first, and the cursors between them.

Pages go by key: nothing repeats or is skipped when something is added in the meantime, and the last
page takes no longer than the first.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar, NamedTuple

from flask import Response, request
from marshmallow import fields
from sqlalchemy import Select, literal, tuple_

from testimonials.core import clock
from testimonials.core.extensions import db
from testimonials.core.http.fields import QueryCount, RuleField, StrictSchema
from testimonials.core.http.urls import call_url

DEFAULT_LIMIT = 50
MAX_LIMIT = 100

_CURSOR = re.compile(r"([0-9]{1,14})-([0-9a-z]{1,24})")


class Cursor(NamedTuple):
    """The place of a row in a list: what follows is older."""

    created_at: datetime
    id: str

    @classmethod
    def of(cls, row: Any) -> "Cursor":
        return cls(row.created_at, str(row.id))

    def __str__(self) -> str:
        return f"{clock.to_milliseconds(self.created_at)}-{self.id}"


class After(RuleField, fields.String):
    """The query parameter `after`, loaded as a `Cursor`."""

    rule = "Must be taken from the `Link` header, or `next`, of the page before."
    about: ClassVar[Mapping[str, Any]] = {
        "pattern": f"^{_CURSOR.pattern}$",
        "description": "Where the page begins: taken from the `Link` header, or `next`, of the "
        "page before.",
    }

    def __init__(self) -> None:
        super().__init__(load_default=None, allow_none=False)

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        if (match := _CURSOR.fullmatch(value)) is None:
            raise self.make_error("invalid")
        return Cursor(clock.from_milliseconds(int(match[1])), match[2])


class PageLimit(QueryCount):
    def __init__(self) -> None:
        over = f"Over {MAX_LIMIT} counts as {MAX_LIMIT}."
        super().__init__(1, load_default=DEFAULT_LIMIT, description=over)

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        return min(super()._deserialize(value, attr, data, **kwargs), MAX_LIMIT)


class CursorQuerySchema(StrictSchema):
    """The query of a list; one with filters inherits from it."""

    limit = PageLimit()
    after = After()


class Page(NamedTuple):
    """Rows of a list, and the cursor of the next page if there is one."""

    items: Sequence[Any]
    next: str | None


def read_page(query: Select[Any], model: Any, limit: int, after: Cursor | None) -> Page:
    """Return a page of what a query finds, newest first by `created_at` and `id`."""
    return cut_page(db.session.scalars(begin_page(query, model, limit, after)).all(), limit)


def begin_page(query: Select[Any], model: Any, limit: int, after: Cursor | None) -> Select[Any]:
    """Return the query of a page, which is cut by `cut_page`."""
    columns = (model.created_at, model.id)
    if after is not None:
        # Each value takes its column's type: a time is stored as a number.
        pairs = zip(after, columns, strict=True)
        query = query.where(
            tuple_(*columns) < tuple_(*(literal(value, column.type) for value, column in pairs))
        )
    return query.order_by(*(column.desc() for column in columns)).limit(limit + 1)


def cut_page(rows: Sequence[Any], limit: int) -> Page:
    """Return the page of a list that was asked for one row more than the page holds."""
    shown = rows[:limit]
    return Page(shown, str(Cursor.of(shown[-1])) if len(rows) > limit else None)


def link_to(cursor: str | None) -> str:
    """Return the `Link` header of this list's next page, or "" on the last one."""
    if cursor is None:
        return ""
    query = {name: value for name, value in request.args.items() if name != "offset"}
    return f'<{call_url(request.path, query | {"after": cursor})}>; rel="next"'


def add_link(response: Response, link: str) -> None:
    if link:
        response.headers["Link"] = link
