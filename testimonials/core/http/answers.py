"""Answers of the API: ``{message, data}`` as JSON with an ETag, and pages of lists."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from flask import Response, request
from marshmallow import fields
from sqlalchemy import Select, literal, tuple_
from werkzeug.datastructures import Headers

from testimonials.core import clock
from testimonials.core.extensions import db
from testimonials.core.http.fields import QueryCount, RuleField, StrictSchema
from testimonials.core.http.urls import call_url

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment

DRY_RUN = "dryRun"
# Not part of ETags: reading the owner's website may change these, which must not fail an If-Match.
IN_EFFECT = {"brand"}


class Answer(NamedTuple):
    """What a view answers, with its data as JSON values."""

    message: str
    data: Any
    status: int = 200


def is_write() -> bool:
    return request.method not in ("GET", "HEAD")


def is_dry_run() -> bool:
    return bool(request.query_string) and request.args.get(DRY_RUN) == "true"


# `json.dumps` would create an encoder for each call.
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def dump_json(value: object) -> bytes:
    return _ENCODER.encode(value).encode()


def wrap(message: str, data: bytes) -> bytes:
    """Return ``{message, data}`` for data that is already JSON."""
    return b'{"message":%b,"data":%b}' % (dump_json(message), data)


def make_etag(data: bytes) -> str:
    """Return the ETag of a resource, the same for every call that returns it."""
    return f'"{hashlib.sha256(data).hexdigest()[:20]}"'


def dump_matched(data: object, content: bytes = b"") -> bytes:
    """Return the part of data that its ETag covers, as JSON; `content` is all of it, if known."""
    if isinstance(data, dict) and not IN_EFFECT.isdisjoint(data):
        data = {name: value for name, value in data.items() if name not in IN_EFFECT}
        content = b""
    return content or dump_json(data)


def is_among(etag: str, header: str) -> bool:
    """Return whether a header lists the ETag, perhaps in the weak form of a compressing proxy."""
    # Our ETags are unique strings, so searching is as good as parsing.
    return header.strip() == "*" or etag.removeprefix("W/") in header


def answer(message: str, data: object, *, is_secret: bool = False) -> Response:
    """Return a 200 response with ``{message, data}``, not cached if it is secret."""
    content = dump_json(data)
    etag = "" if is_secret else make_etag(dump_matched(data, content))
    return answer_bytes(wrap(message, content), etag=etag, is_secret=is_secret)


class _JsonResponse(Response):
    default_mimetype = "application/json"

    def get_wsgi_headers(self, environ: "WSGIEnvironment") -> Headers:
        # Werkzeug would copy all headers to make their URLs absolute.
        return self.headers if self.status_code == 200 else super().get_wsgi_headers(environ)


def answer_bytes(envelope: bytes, *, etag: str = "", is_secret: bool = False) -> Response:
    """Return a response with an envelope of `wrap`, or a 304 if the caller's copy is current."""
    header = request.headers.get("If-None-Match", "")
    is_current = etag and header and not is_write() and is_among(etag, header)
    response = Response(status=304) if is_current else _JsonResponse(envelope)
    response.headers.add("Cache-Control", "no-store" if is_secret else "private, no-cache")
    if etag:
        response.headers.add("ETag", etag)
    return response


DEFAULT_LIMIT = 50
MAX_LIMIT = 100

_CURSOR = re.compile(r"([0-9]{1,14})-([0-9a-z]{1,24})")


class Cursor(NamedTuple):
    """The position of a row in a list, newest first."""

    created_at: datetime
    id: str

    @classmethod
    def of(cls, row: Any) -> "Cursor":
        return cls(row.created_at, str(row.id))

    def __str__(self) -> str:
        return f"{clock.to_milliseconds(self.created_at)}-{self.id}"


class After(RuleField, fields.String):
    """The query parameter `after`, loaded as a `Cursor`."""

    rule = "Must be taken from the `Link` header, or `next`, of the previous page."
    about: ClassVar[Mapping[str, Any]] = {
        "pattern": f"^{_CURSOR.pattern}$",
        "description": "The start of the page, from the `Link` header, or `next`, of the previous "
        "page.",
    }

    def __init__(self) -> None:
        super().__init__(load_default=None, allow_none=False)

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        if (match := _CURSOR.fullmatch(value)) is None:
            raise self.make_error("invalid")
        return Cursor(clock.from_milliseconds(int(match[1])), match[2])


class PageLimit(QueryCount):
    def __init__(self) -> None:
        over = f"Values above {MAX_LIMIT} count as {MAX_LIMIT}."
        super().__init__(1, load_default=DEFAULT_LIMIT, description=over)

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        return min(super()._deserialize(value, attr, data, **kwargs), MAX_LIMIT)


class CursorQuerySchema(StrictSchema):
    """The query of a list, without filters."""

    limit = PageLimit()
    after = After()


class Page(NamedTuple):
    """Rows of a list, and the cursor of the next page, if there is one."""

    items: Sequence[Any]
    next: str | None


def read_page(query: Select[Any], model: Any, limit: int, after: Cursor | None) -> Page:
    """Return a page of the query's rows, newest first by `created_at` and `id`."""
    return cut_page(db.session.scalars(begin_page(query, model, limit, after)).all(), limit)


def begin_page(query: Select[Any], model: Any, limit: int, after: Cursor | None) -> Select[Any]:
    """Return the query for a page and one more row, which `cut_page` removes."""
    columns = (model.created_at, model.id)
    if after is not None:
        # With the type of each column, since times are stored as numbers.
        pairs = zip(after, columns, strict=True)
        query = query.where(
            tuple_(*columns) < tuple_(*(literal(value, column.type) for value, column in pairs))
        )
    return query.order_by(*(column.desc() for column in columns)).limit(limit + 1)


def cut_page(rows: Sequence[Any], limit: int) -> Page:
    shown = rows[:limit]
    return Page(shown, str(Cursor.of(shown[-1])) if len(rows) > limit else None)


def link_to(cursor: str | None) -> str:
    """Return the `Link` header for a list's next page, or "" on the last page."""
    if cursor is None:
        return ""
    query = {name: value for name, value in request.args.items() if name != "offset"}
    return f'<{call_url(request.path, query | {"after": cursor})}>; rel="next"'


def add_link(response: Response, link: str) -> None:
    if link:
        response.headers["Link"] = link
