"""`@blueprint.resource`: declares an operation of the API, and checks and runs its requests."""

import functools
import inspect
import io
import json
import math
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, NoReturn, TypeVar

import flask
from flask import Response, request
from flask.typing import ResponseReturnValue
from marshmallow import Schema, ValidationError

from testimonials.core.db.transactions import write
from testimonials.core.extensions import limiter, read_apart
from testimonials.core.http.answers import (
    DRY_RUN,
    Answer,
    Page,
    add_link,
    answer,
    dump_json,
    is_write,
    link_to,
)
from testimonials.core.http.errors import BodyInvalid, ValidationFailed
from testimonials.core.http.fields import MAX_UNKNOWN, StrictSchema, Text
from testimonials.core.http.idempotency import IdempotentCall, refuse_match, require_match
from testimonials.core.images.decode import Use
from testimonials.core.images.uploads import UPLOADED_TYPES, UPLOADS_PER_ACCOUNT, read_image
from testimonials.core.late import find_late

MAX_BODY_BYTES = 64 * 1024
REASON_LENGTH = 500

View = Callable[..., ResponseReturnValue]
V = TypeVar("V", bound=Callable[..., Any])
Function = Callable[..., Any]

# What any view may ask for (`caller`, the locked `account`, `project`, the `outcome` of a change),
# with the functions of other packages that find it, named for `find_late`.
PROVIDED: dict[str, str] = {}


class ReasonQuerySchema(StrictSchema):
    """The query of a call that may be a proposal."""

    reason = Text(
        REASON_LENGTH,
        load_default="",
        description="The reason, for the owner, if the change becomes a proposal.",
    )


class Blueprint(flask.Blueprint):
    """A Flask blueprint with `resource`, which takes the arguments of `Operation`.

    Its views and error handlers are imported late (`core/late.py`), after the application has
    their rules.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.resource = functools.partial(Operation, self)
        self.finders: dict[str, Function] = {}
        self.answers: dict[type[Exception], Function] = {}
        self.views: dict[str, Function] = {}
        # The method, endpoint and rule of each view, which a test compares with `routes.txt`.
        self.rules: list[tuple[str, str, str]] = []

    def add_url_rule(
        self, rule: str, endpoint: str | None = None, view_func: Any = None, *_: Any, **options: Any
    ) -> None:
        name = endpoint or view_func.__name__
        self.views[name] = view_func
        self.rules += [(method, name, rule) for method in options["methods"]]

    def register_error_handler(self, code_or_exception: Any, f: Any) -> None:
        self.answers[code_or_exception] = f

    def _check_setup_finished(self, f_name: str) -> None:
        # These work after the blueprint is registered; anything else would be too late.
        if f_name not in ("route", "get", "post", "put", "patch", "delete", "errorhandler"):
            super()._check_setup_finished(f_name)

    def find(self, **finders: Function) -> None:
        """Register functions that find what views ask for by the names of their parameters."""
        self.finders.update(finders)


@functools.cache
def _parameters(function: Function) -> tuple[str, ...]:
    parameters = inspect.signature(function).parameters.values()
    return tuple(each.name for each in parameters if each.default is each.empty)


class Call:
    """The arguments for the functions of a call, by parameter name.

    A missing one is found on first use by the function registered for its name, whose parameters
    are found in the same way.
    """

    def __init__(self, finders: dict[str, Function], **arguments: Any) -> None:
        self._finders = finders
        self.arguments = arguments
        self._found: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name in self.arguments:
            return self.arguments[name]
        if name not in self._found:
            self._found[name] = self.run(self._finders.get(name) or find_late(PROVIDED[name]))
        return self._found[name]

    def run(self, function: Function) -> Any:
        return function(**{name: self[name] for name in _parameters(function)})

    def lock(self) -> None:
        """Find and lock everything again in the new transaction."""
        self._found.clear()
        self.arguments["is_locked"] = True
        if self.arguments["operation"].locks_account:
            self["account"]
        if "project_id" in self.arguments:
            self["project"]


@dataclass(eq=False)
class Operation:
    """An operation of the API, and the decorator of its view, whose docstring describes it.

    The view, `match` and `prepare` take what they need as parameters: `caller`, `project`, the
    variables of the path, `query`, `body`, `image`, `prepared`, and what the blueprint finds.
    Credentials are checked first, then query and body, and then the project is looked up, so a
    wrong key never takes the write lock. A write runs in one transaction with the project locked.
    `data` dumps what the view returns, unless that is an `Answer` or a response.
    """

    blueprint: Blueprint
    # Such as "PATCH /v1/projects/<project_id>/domain".
    route: str
    _: KW_ONLY

    # Accept tokens with this scope (None: any token), and with `by_key` the account's key. With
    # `drafts`, also accept callers who may only propose changes.
    scope: str | None = None
    by_key: bool = False
    drafts: bool = False
    # It needs no credentials, and ignores an Idempotency-Key; `limit` is its rate limit.
    is_public: bool = False
    limit: Callable[[View], View] | None = None

    body: type[StrictSchema] | None = None
    max_bytes: int = MAX_BODY_BYTES
    # The body is a picture for this use, decoded before the transaction into `image`.
    upload: Use | None = None
    query: type[StrictSchema] | None = None
    example: dict[str, Any] | None = None

    # The schema of the answer's `data` (by default that of `match`), or with `many` of each item,
    # or with `is_paged` of each of its `items`. `content_type` is set for an answer that isn't
    # JSON.
    data: type[Schema] | None = None
    many: bool = False
    is_paged: bool = False
    content_type: str | None = None
    # The answer contains a secret, so it isn't stored for a repeated Idempotency-Key.
    is_secret: bool = False
    # The `message` of a write's answer.
    done: str = ""
    # Statuses of other errors, for the OpenAPI document.
    raises: tuple[int, ...] = ()

    # Runs before the transaction, for slow work; returns the view's `prepared`.
    prepare: Function | None = None
    # Returns the resource as its GET does, and may be the view of that GET. If-Match is compared
    # with the resource before the change; it is also the answer if the view returns None.
    match: Function | None = None
    # Lock the account before the project, since requests by email count for the whole account.
    locks_account: bool = False
    # The kind of change to make, or to propose (202) for callers who may only draft; the view
    # returns its values.
    change: str | None = None

    view: Function = field(init=False)

    @property
    def name(self) -> str:
        return self.view.__name__

    def __post_init__(self) -> None:
        self.method, self.path = self.route.split()
        if self.change:
            self.drafts, self.query = True, ReasonQuerySchema
        if self.data is None and self.match is not None:
            self.data = vars(self.match)["operation"].data
        # Creating a schema takes longer than checking a body with it.
        self._body_schema = self.body() if self.body else None
        self.query_schema = self.query() if self.query else _NO_QUERY
        self._data_schema = self.data() if self.data else None

    def __call__(self, view: V) -> V:
        self.view = view
        vars(view)["operation"] = self

        @functools.wraps(view)
        def handle(**path: str) -> Response:
            return self._handle(path)

        handler = self.limit(handle) if self.limit else handle
        self.blueprint.add_url_rule(self.path, view_func=handler, methods=[self.method])
        return view

    def dump(self, value: Any) -> Any:
        if value is None or self._data_schema is None:
            return value
        if isinstance(value, Page):
            items = self._data_schema.dump(value.items, many=True)
            return {"items": items, "next": value.next} if self.is_paged else items
        return self._data_schema.dump(value, many=self.many)

    def _handle(self, path: dict[str, str]) -> Response:
        call = Call(
            self.blueprint.finders, operation=self, is_locked=False, sent=None, path=path, **path
        )
        if not self.is_public:
            if self.method != "GET":
                read_apart(is_long=bool(self.upload or self.prepare))
            call.arguments["caller"] = call["caller"]
        self._read(call.arguments)
        if self.method == "GET":
            # Werkzeug would answer 412 with all of a file or picture; other reads ignore it too.
            request.environ.pop("HTTP_IF_MATCH", None)
            return self._read_answer(call)
        if self.upload or self.prepare:
            self._prepare(call)
        return self._write(call)

    def _read(self, arguments: dict[str, Any]) -> None:
        arguments["query"] = read_query(self.query_schema)
        if self._body_schema is not None:
            arguments["sent"] = read_json_object(self.max_bytes)
            arguments["body"] = load(self._body_schema, arguments["sent"])
        elif self.upload is not None:
            arguments["sent"] = _read_file(self.upload.max_bytes)

    def _read_answer(self, call: Call) -> Response:
        result = call.run(self.view)
        if isinstance(result, Response):
            return result
        response = answer("OK", result.data if isinstance(result, Answer) else self.dump(result))
        if isinstance(result, Page):
            add_link(response, link_to(result.next))
        return response

    def _prepare(self, call: Call) -> None:
        """Do the slow work before the transaction, after finding all else that the view needs."""
        for name in _parameters(self.view):
            if name not in ("image", "prepared"):
                call[name]
        if self.upload:
            limiter.count(UPLOADS_PER_ACCOUNT, call["caller"].id)
            call.arguments["image"] = read_image(io.BytesIO(call["sent"]), self.upload)
        if self.prepare:
            call.arguments["prepared"] = call.run(self.prepare)

    def _write(self, call: Call) -> Response:
        sent = None if self.is_public else (call["caller"], call["sent"])
        keyed = IdempotentCall.of(*sent) if sent else IdempotentCall()

        def lock() -> None:
            keyed.take()
            call.lock()

        with write(lock, end_batch=keyed.end_batch):
            if self.match:
                require_match(self._describe(call))
            result = self._change(call)
            if not self.match:
                refuse_match()
            return keyed.answer(result, is_secret=self.is_secret)

    def _change(self, call: Call) -> Answer:
        result = call.run(self.view)
        if self.change and not isinstance(result, Answer):
            call.arguments["values"] = result
            result = call["outcome"]
            if self.match and result.status == 200:
                return Answer(result.message, self._describe(call))
        if isinstance(result, Answer):
            return result
        is_described = result is None and self.match
        return Answer(self.done, self._describe(call) if is_described else self.dump(result))

    def _describe(self, call: Call) -> Any:
        """Return the resource of `match`, dumped as its own operation would."""
        if self.match is None:
            return None
        # Kept, so that the session still has it when the view looks it up.
        resource = call.arguments["matched"] = call.run(self.match)
        operation: Operation = vars(self.match).get("operation", self)
        return resource.data if isinstance(resource, Answer) else operation.dump(resource)


_NO_QUERY = StrictSchema()


def load(schema: StrictSchema, payload: dict[str, Any]) -> dict[str, Any]:
    """Load `payload` by `schema`; raise `ValidationFailed` with all errors."""
    try:
        return schema.check(payload)
    except ValidationError as error:
        raise ValidationFailed.of(error.messages_dict) from None


def read_query(schema: StrictSchema) -> dict[str, Any]:
    """Load the query string; unknown and repeated parameters are errors."""
    if not request.query_string:
        return dict(_load_empty(schema))
    names = [*schema.fields, *([DRY_RUN] if is_write() else [])]
    hint = f"The parameters are: {', '.join(names)}." if names else "This call takes none."
    errors: dict[str, list[str]] = {}
    values: dict[str, Any] = {}
    for name, (value, *more) in request.args.lists():
        if len(errors) > MAX_UNKNOWN:
            break
        if name not in names:
            errors[name] = [f"Unknown parameter. {hint}"]
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


def _read_file(max_bytes: int) -> bytes:
    if request.mimetype not in UPLOADED_TYPES:
        raise BodyInvalid(
            f"Send the file itself as the body, with its type in the header Content-Type: "
            f"{', '.join(UPLOADED_TYPES)}."
        )
    request.max_content_length = max_bytes
    if not (content := request.get_data(cache=False)):
        raise BodyInvalid("The body is empty. Send the file itself as the body.")
    return content


def read_json_object(max_bytes: int = MAX_BODY_BYTES) -> dict[str, Any]:
    """Return the JSON object in the request's body; past the limit the response is 413.

    Raises `BodyInvalid` for anything else, including duplicate names, NaN, Infinity and lone
    surrogates.
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
        value = _DECODER.decode(raw.decode("utf-8"))
        # Lone surrogates pass the parser, but can't be encoded.
        dump_json(value)
    except UnicodeError:
        raise BodyInvalid("The body is not valid UTF-8 text.") from None
    except RecursionError:
        raise BodyInvalid("The body is nested too deeply.") from None
    except ValueError as error:
        # Python adds how to raise its limit of digits.
        problem = str(error).partition(";")[0]
        raise BodyInvalid(f"The body is not valid JSON: {problem}.") from None
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


_DECODER = json.JSONDecoder(
    parse_constant=_refuse_constant, parse_float=_finite, object_pairs_hook=_unique
)
