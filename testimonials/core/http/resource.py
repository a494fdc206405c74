"""`@blueprint.resource`: one operation of the API, which checks, runs and describes it."""

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
from testimonials.core.http.fields import MOST_UNKNOWN, StrictSchema, Text
from testimonials.core.http.idempotency import Once, refuse_match, require_match
from testimonials.core.images.decode import Use
from testimonials.core.images.uploads import UPLOADED_TYPES, UPLOADS_PER_ACCOUNT, read_image
from testimonials.core.late import find_late

MAX_BODY_BYTES = 64 * 1024
REASON_LENGTH = 500

View = Callable[..., ResponseReturnValue]
V = TypeVar("V", bound=Callable[..., Any])
Function = Callable[..., Any]

# What the packages above know of every call: its `caller`, its `account` (locked), its `project`,
# and the `outcome` of a change. The application names the functions, as `find_late` takes them.
PROVIDED: dict[str, str] = {}


class ReasonQuerySchema(StrictSchema):
    """The query of a call that may be a proposal."""

    reason = Text(
        REASON_LENGTH,
        load_default="",
        description="Why, for the owner who decides, if it waits as a proposal.",
    )


class Blueprint(flask.Blueprint):
    """Flask's, with `resource`: a view of the API; its arguments are those of `Operation`.

    Its views are loaded late (`core/late.py`), when an application has their addresses already, and
    so is what answers their errors.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.resource = functools.partial(Operation, self)
        self.finders: dict[str, Function] = {}
        self.answers: dict[type[Exception], Function] = {}
        # By name, and the method, name and rule of each, which `routes.txt` is compared with.
        self.views: dict[str, Function] = {}
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
        # Anything else would be too late.
        if f_name not in ("route", "get", "post", "put", "patch", "delete", "errorhandler"):
            super()._check_setup_finished(f_name)

    def find(self, **finders: Function) -> None:
        """Name what views may ask for by a parameter, and the functions that find it."""
        self.finders.update(finders)


@functools.cache
def _parameters(function: Function) -> tuple[str, ...]:
    parameters = inspect.signature(function).parameters.values()
    return tuple(each.name for each in parameters if each.default is each.empty)


class Call:
    """What the functions of one call are given, by the names of their parameters.

    What isn't `given` is found when it is first asked for, by the function of that name, which may
    ask for more in the same way.
    """

    def __init__(self, finders: dict[str, Function], **given: Any) -> None:
        self._finders = finders
        self.given = given
        self._found: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name in self.given:
            return self.given[name]
        if name not in self._found:
            self._found[name] = self.run(self._finders.get(name) or find_late(PROVIDED[name]))
        return self._found[name]

    def run(self, function: Function) -> Any:
        return function(**{name: self[name] for name in _parameters(function)})

    def lock(self) -> None:
        """Find everything anew, in the transaction that was begun; `is_locked` is True then."""
        self._found.clear()
        self.given["is_locked"] = True
        if self.given["operation"].locks_account:
            self["account"]
        if "project_id" in self.given:
            self["project"]


@dataclass(eq=False)
class Operation:
    """An operation of the API, and the decorator of its view, whose docstring describes it.

    Its functions (the view, `match`, `prepare`) have as parameters what they need: `caller`,
    `project`, what the path names, `query`, `body`, `image`, `prepared`, and whatever the blueprint
    finds. Credentials are checked first, then query and body, then the project is looked up: a
    wrong key never takes the write lock. A write runs in one transaction with the project locked.
    What the view returns is dumped by `data`, unless it is an `Answer` or a response.
    """

    blueprint: Blueprint
    # Such as "PATCH /v1/projects/<project_id>/domain".
    route: str
    _: KW_ONLY

    # Tokens with this scope pass (None: with any), and the account's key if `by_key`. With
    # `drafts`, callers who may draft pass too: what they change must become a proposal.
    scope: str | None = None
    by_key: bool = False
    drafts: bool = False
    # Needs no credentials, and knows no Idempotency-Key; `limit` counts requests first.
    is_public: bool = False
    limit: Callable[[View], View] | None = None

    body: type[StrictSchema] | None = None
    max_bytes: int = MAX_BODY_BYTES
    # The body is such a picture, which is decoded before the transaction; the view gets `image`.
    upload: Use | None = None
    query: type[StrictSchema] | None = None
    # A body to show.
    example: dict[str, Any] | None = None

    # The schema of the answer's `data`: of each item with `many`, of each of its `items` with
    # `is_paged`. Without it, that of `match`. `content_type` is that of an answer that is no JSON.
    data: type[Schema] | None = None
    many: bool = False
    is_paged: bool = False
    content_type: str | None = None
    # The answer holds a secret, so it isn't kept for a repeated Idempotency-Key.
    is_secret: bool = False
    # What a write answers as `message`.
    done: str = ""
    # The statuses of errors that nothing else here tells.
    raises: tuple[int, ...] = ()

    # Runs before the transaction what takes long, or counts; the view gets what it returns as
    # `prepared`.
    prepare: Function | None = None
    # Returns the resource as its GET does, whose view may stand here. If-Match is compared with it
    # before the change; a view that returns None answers it afterwards.
    match: Function | None = None
    # Asking people by mail counts for the whole account, which is locked before the project.
    locks_account: bool = False
    # The kind of change that is made, or proposed by callers who may only draft (202). The view
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
        # Made once, since making a schema takes longer than checking a body with it.
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
            call.given["caller"] = call["caller"]
        self._read(call.given)
        if self.method == "GET":
            return self._read_answer(call)
        if self.upload or self.prepare:
            self._prepare(call)
        return self._write(call)

    def _read(self, given: dict[str, Any]) -> None:
        given["query"] = read_query(self.query_schema)
        if self._body_schema is not None:
            given["sent"] = read_json_object(self.max_bytes)
            given["body"] = load(self._body_schema, given["sent"])
        elif self.upload is not None:
            given["sent"] = _read_file(self.upload.max_bytes)

    def _read_answer(self, call: Call) -> Response:
        made = call.run(self.view)
        if isinstance(made, Response):
            return made
        response = answer("OK", made.data if isinstance(made, Answer) else self.dump(made))
        if isinstance(made, Page):
            add_link(response, link_to(made.next))
        return response

    def _prepare(self, call: Call) -> None:
        """Do what takes long for what is there; it is found again in the transaction."""
        for name in _parameters(self.view):
            if name not in ("image", "prepared"):
                call[name]
        if self.upload:
            limiter.count(UPLOADS_PER_ACCOUNT, call["caller"].id)
            call.given["image"] = read_image(io.BytesIO(call["sent"]), self.upload)
        if self.prepare:
            call.given["prepared"] = call.run(self.prepare)

    def _write(self, call: Call) -> Response:
        once = Once() if self.is_public else Once.of(call["caller"], call["sent"])

        def lock() -> None:
            once.take()
            call.lock()

        with write(lock, end_batch=once.end_batch):
            if self.match:
                require_match(self._describe(call))
            made = self._change(call)
            if isinstance(made, Response):
                return made
            if not self.match:
                refuse_match()
            return once.answer(made, is_secret=self.is_secret)

    def _change(self, call: Call) -> Answer | Response:
        made = call.run(self.view)
        if self.change and not isinstance(made, Answer | Response):
            call.given["values"] = made
            made = call["outcome"]
            if self.match and made.status == 200:
                return Answer(made.message, self._describe(call))
        if isinstance(made, Answer | Response):
            return made
        is_described = made is None and self.match
        return Answer(self.done, self._describe(call) if is_described else self.dump(made))

    def _describe(self, call: Call) -> Any:
        """Return what `match` does, dumped as its own operation would."""
        if self.match is None:
            return None
        # Held, so that the view's look-up of the same needs no statement.
        found = call.given["matched"] = call.run(self.match)
        operation: Operation = vars(self.match).get("operation", self)
        return found.data if isinstance(found, Answer) else operation.dump(found)


_NO_QUERY = StrictSchema()


def load(schema: StrictSchema, payload: dict[str, Any]) -> dict[str, Any]:
    """Check `payload` against `schema`; raise `ValidationFailed` with every broken rule."""
    try:
        return schema.check(payload)
    except ValidationError as error:
        raise ValidationFailed.of(error.messages_dict) from None


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
        value = _DECODER.decode(raw.decode("utf-8"))
        # A lone surrogate passes the parser, but can't be encoded later.
        dump_json(value)
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


_DECODER = json.JSONDecoder(
    parse_constant=_refuse_constant, parse_float=_finite, object_pairs_hook=_unique
)
