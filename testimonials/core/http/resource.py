"""An operation of the API: reading its body and query, answering, describing it."""

import functools
import hashlib
import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

from flask import Response, g, request
from flask.typing import ResponseReturnValue
from marshmallow import Schema, ValidationError, fields, validate

from testimonials.core.http.errors import BodyInvalid, ValidationFailed
from testimonials.core.http.fields import MOST_UNKNOWN, NULL, Parts, StrictSchema

# The ``/v1`` views: the decorator that checks and describes their requests, and their responses.
#
# The same schemas check the requests and make the OpenAPI document, so the two can't drift apart.

MAX_BODY_BYTES = 64 * 1024

View = Callable[..., ResponseReturnValue]


@dataclass(frozen=True)
class Operation:
    """What an endpoint takes and returns; read by `core.web.api.openapi`."""

    data: type[Schema] | None
    many: bool
    is_paged: bool
    body: type[StrictSchema] | None
    query: type[StrictSchema] | None
    raises: tuple[int, ...]
    is_public: bool
    example: dict[str, Any] | None
    # Of an answer that is no JSON; `data` is None then.
    content_type: str | None
    # Of a body that is no JSON; `body` is None then.
    content_types: tuple[str, ...]
    max_bytes: int


def endpoint(
    *,
    data: type[Schema] | None = None,
    many: bool = False,
    is_paged: bool = False,
    body: type[StrictSchema] | None = None,
    query: type[StrictSchema] | None = None,
    raises: tuple[int, ...] = (),
    is_public: bool = False,
    example: dict[str, Any] | None = None,
    content_type: str | None = None,
    content_types: tuple[str, ...] = (),
    max_bytes: int = MAX_BODY_BYTES,
) -> Callable[[View], View]:
    """Describe a view and hand it the loaded ``body`` and ``query`` as keyword arguments.

    `data` is the schema of the answer's ``data`` (of each item, with `many`; of each of its
    ``items``, with `is_paged`), `raises` the error
    statuses besides 401, `example` a body to show, `content_type` that of a file. With
    `content_types` the body is a file of one of them, and the view gets its bytes as ``content``;
    `max_bytes` is the most that a body may have. The view's docstring is its description. Raises
    `BodyInvalid` and `ValidationFailed` (both 400).
    """

    # Made once, since making a schema takes longer than checking a body with it.
    body_schema = body() if body else None
    query_schema = query() if query else None

    def decorate(view: View) -> View:
        @functools.wraps(view)
        def wrapper(**arguments: Any) -> ResponseReturnValue:
            g.sent = None
            if query_schema is not None:
                arguments["query"] = read_query(query_schema)
            elif request.query_string:
                read_query(_NO_QUERY)
            if body_schema is not None:
                g.sent = read_json_object(max_bytes)
                arguments["body"] = load(body_schema, g.sent)
            elif content_types:
                g.sent = arguments["content"] = _read_file(content_types, max_bytes)
            return view(**arguments)

        described = (data, many, is_paged, body, query, raises, is_public, example, content_type)
        operation = Operation(*described, content_types, max_bytes)
        wrapper.operation = operation  # type: ignore[attr-defined]
        return wrapper

    return decorate


def load(schema: StrictSchema, payload: dict[str, Any]) -> dict[str, Any]:
    """Check `payload` against `schema`; raise `ValidationFailed` with every broken rule."""
    try:
        return schema.check(payload)
    except ValidationError as error:
        raise ValidationFailed.of(error.messages_dict) from None


class QuerySchema(StrictSchema):
    """The schema of a query string."""


_NO_QUERY = QuerySchema()
DRY_RUN = "dryRun"


def is_write() -> bool:
    return request.method not in ("GET", "HEAD")


def read_query(schema: StrictSchema) -> dict[str, Any]:
    """Return the loaded query; an unknown or a repeated parameter is an error too."""
    if not request.query_string:
        return dict(_load_empty(schema))
    names = [*schema.fields, *([DRY_RUN] if is_write() else [])]
    known = f"The parameters are: {', '.join(names)}." if names else "This call takes none."
    errors: dict[str, list[str]] = {}
    values: dict[str, Any] = {}
    for name, (value, *more) in request.args.lists():
        if len(errors) > MOST_UNKNOWN:
            break
        if name not in names:
            errors[name] = [f"Unknown parameter. {known}"]
        elif more:
            errors[name] = ["Given more than once. Give it once."]
        elif name == DRY_RUN and value not in ("true", "false"):
            errors[name] = ["Must be true or false."]
        else:
            values[name] = value
    values.pop(DRY_RUN, None)
    try:
        loaded = schema.check(values)
    except ValidationError as error:
        raise ValidationFailed.of(error.messages_dict | errors) from None
    if errors:
        raise ValidationFailed.of(errors)
    return loaded


@functools.cache
def _load_empty(schema: StrictSchema) -> dict[str, Any]:
    return load(schema, {})


def _read_file(content_types: tuple[str, ...], max_bytes: int) -> bytes:
    if request.mimetype not in content_types:
        raise BodyInvalid(
            f"Send the file itself as the body, with its type in the header Content-Type: "
            f"{', '.join(content_types)}."
        )
    request.max_content_length = max_bytes
    if not (content := request.get_data(cache=False)):
        raise BodyInvalid("The body is empty. Send the file itself as the body.")
    return content


def read_json_object(max_bytes: int = MAX_BODY_BYTES) -> dict[str, Any]:
    """Return the request's body, a JSON object.

    Raises `BodyInvalid` for another type, a broken or empty body, duplicate names, NaN and
    Infinity, text that is not Unicode; and 413 past the limit.
    """
    if request.mimetype != "application/json" and not request.mimetype.endswith("+json"):
        raise BodyInvalid("Send a JSON object with the header Content-Type: application/json.")
    request.max_content_length = max_bytes
    raw = request.get_data(cache=False)
    if not raw.strip():
        raise BodyInvalid(
            "The body is empty. Send a JSON object; {} where all fields are optional."
        )
    try:
        value = json.loads(
            raw.decode("utf-8"),
            parse_constant=_refuse_constant,
            parse_float=_finite,
            object_pairs_hook=_unique,
        )
        # A lone surrogate passes the parser, but can't be encoded later.
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeError:
        raise BodyInvalid("The body is not valid UTF-8 text.") from None
    except RecursionError:
        raise BodyInvalid("The body is nested too deeply.") from None
    except ValueError as error:
        raise BodyInvalid(f"The body is not valid JSON: {error}.") from None
    if not isinstance(value, dict):
        raise BodyInvalid('The body must be a JSON object, such as {"name": "value"}.')
    return value


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError("a number is too large")
    return number


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise ValueError("an object names a field twice")
    return value


# Made once, since `json.dumps` would make one each time.
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def dump_json(value: object) -> bytes:
    return _ENCODER.encode(value).encode()


def wrap(message: str, data: bytes) -> bytes:
    """Return ``{message, data}`` of data that is JSON already."""
    return b'{"message":%b,"data":%b}' % (dump_json(message), data)


def make_etag(data: bytes) -> str:
    """Return the ETag of a resource: of its data as JSON, whichever call answers with it."""
    return f'"{hashlib.sha256(data).hexdigest()[:20]}"'


def is_among(etag: str, header: str) -> bool:
    """Return whether a header names the ETag, maybe in the weak form of a compressing proxy."""
    # Ours hold no comma, so a search is as good as parsing the list.
    return header.strip() == "*" or etag.removeprefix("W/") in header


def answer(message: str, data: object, *, is_secret: bool = False) -> Response:
    """Return a 200 response of ``{message, data}``; no cache keeps a secret one."""
    written = dump_json(data)
    etag = "" if is_secret else make_etag(written)
    return answer_bytes(wrap(message, written), etag=etag, is_secret=is_secret)


def answer_bytes(envelope: bytes, *, etag: str = "", is_secret: bool = False) -> Response:
    """Return a response of an envelope that is written already: 200, or 304 to who has it."""
    known = request.headers.get("If-None-Match", "")
    if etag and known and not is_write() and is_among(etag, known):
        response = Response(status=304)
    else:
        response = Response(envelope, mimetype="application/json")
    response.headers["Cache-Control"] = "no-store" if is_secret else "private, no-cache"
    if etag:
        response.headers["ETag"] = etag
    return response


# Objects and lists within the bodies of calls.


def make_part(schema: type[StrictSchema], **options: Any) -> fields.Nested:
    """Return the field of an object within a body."""
    return fields.Nested(schema, error_messages=_messages("Must be an object."), **options)


def make_parts(each: fields.Field[Any], most: int, **options: Any) -> Parts:
    """Return the field of a list within a body, of 1 to `most` values."""
    size = validate.Length(min=1, max=most, error=f"Must be a list of 1 to {most}.")
    messages = _messages("Must be a list.")
    return Parts(each, validate=size, error_messages=messages, **options)


def _messages(rule: str) -> dict[str, Any]:
    required = f"This field is required. {rule}"
    return {"required": required, "null": f"{NULL} {rule}", "invalid": rule}
