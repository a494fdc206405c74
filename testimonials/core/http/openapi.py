"""The OpenAPI document, the table of error codes, and problem details made of it."""

import inspect
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from apispec import APISpec
from apispec.ext.marshmallow import MarshmallowPlugin
from flask import Flask, Response, request
from werkzeug.routing import Rule

from testimonials import __version__
from testimonials.core.http.errors import ServiceError
from testimonials.core.http.idempotency import KEY_PATTERN
from testimonials.core.http.resource import Operation
from testimonials.core.http.urls import error_url
from testimonials.core.images.uploads import UPLOADED_TYPES
from testimonials.core.late import load_all
from testimonials.core.settings.current import current_settings

# The headers and parameters that many calls share, as the OpenAPI document describes them.

PARAMETERS: dict[str, dict[str, Any]] = {
    "idempotencyKey": {
        "name": "Idempotency-Key",
        "in": "header",
        "schema": {"type": "string", "pattern": f"^(?:{KEY_PATTERN})$"},
        "description": "A new text for each write, such as a UUID: 1 to 255 ASCII characters, bare "
        "or quoted. Sent again within 24 hours, the same call isn't carried out a second time, and "
        "the first answer is given again; another call is refused (422). Errors are not kept: a "
        "call that failed may be repeated with its key.",
    },
    "ifMatch": {
        "name": "If-Match",
        "in": "header",
        "schema": {"type": "string"},
        "description": "The `ETag` that you read: the change is made only if it still holds, "
        "and refused otherwise (412).",
    },
    "ifNoneMatch": {
        "name": "If-None-Match",
        "in": "header",
        "schema": {"type": "string"},
        "description": "The `ETag` that you have: 304 if it still holds.",
    },
    "dryRun": {
        "name": "dryRun",
        "in": "query",
        "schema": {"type": "boolean"},
        "description": "true: everything is checked and answered, and nothing is changed, mailed "
        "or kept. Ids in the answer belong to nothing; secrets are left out.",
    },
}

TEXT, TRUE = {"type": "string"}, {"type": "string", "enum": ["true"]}
HEADERS: dict[str, tuple[dict[str, Any], str]] = {
    "ETag": (TEXT, "The version of `data`; a change answers with the one that its GET has."),
    "Link": (TEXT, 'URL of the next page, as `<URL>; rel="next"`, while there are more.'),
    "Idempotent-Replayed": (
        TRUE,
        "The call was carried out before; this is the answer that it got.",
    ),
    "X-Dry-Run": (TRUE, "Nothing was changed."),
    "Retry-After": ({"type": "integer", "minimum": 0}, "Seconds to wait before the next try."),
    "RateLimit-Policy": (TEXT, "The limit: its name, `q` requests in `w` seconds."),
    "RateLimit": (TEXT, "`r` requests are left; the count starts anew in `t` seconds."),
}


def headers(*names: str) -> dict[str, Any]:
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}


# The answers of the API's calls, as the OpenAPI document describes them.

ERRORS = {
    400: "A field is missing or invalid; `message` says what to change, `errors` lists by field.",
    401: "The credentials are missing, don't match, or are no longer valid.",
    402: "`code` is PROJECT_LIMIT_REACHED: the account is at its project limit.",
    403: "The credentials don't allow this call; `message` names the scope that does.",
    404: "The project, or the thing in it, does not exist or does not belong to the account.",
    409: "What is stored now doesn't allow this; `message` says why.",
    410: "It is gone; `message` says why.",
    412: "The resource is another than `If-Match` names. Nothing was changed.",
    413: "The body is too large; `message` gives the limit.",
    422: "It can't be done with what is stored; `message` says why.",
    429: "Rate limit exceeded; `Retry-After` gives the seconds to wait.",
    503: "Too many at once; `Retry-After` gives the seconds to wait.",
}
ERROR_HEADERS = {
    412: ("ETag",),
    429: ("Retry-After", "RateLimit-Policy", "RateLimit"),
    503: ("Retry-After",),
}
ERROR_SCHEMA = {
    "type": "object",
    "required": ["message", "code"],
    "properties": {
        "message": {"type": "string", "description": "What is wrong and how to fix it."},
        "code": {"type": "string", "description": "Stable, UPPER_SNAKE; see the error codes."},
        "errors": {
            "type": "object",
            "description": "On 400: field name to the list of broken rules.",
            "additionalProperties": {"type": "array", "items": {"type": "string"}},
        },
    },
    "not": {"required": ["data"]},
}
# By its name, since it belongs to a feature.
PROPOSAL = "ProposalSchema"

# Registers a schema of this name, and returns a reference to it.
Register = Callable[[str, dict[str, Any]], dict[str, Any]]


def describe_responses(operation: Operation, register: Register) -> dict[str, Any]:
    is_read, is_public = operation.method == "GET", operation.is_public
    found: dict[str, Any] = {"200": _describe_success(operation, is_read, register)}
    if is_read:
        found["304"] = {"description": "What you have is up to date.", "headers": headers("ETag")}
    if operation.change:
        envelope = register("ProposalAnswer", _wrap(PROPOSAL))
        content = {"application/json": {"schema": envelope}}
        found["202"] = {"description": "It waits for the owner as a proposal.", "content": content}
    conditions = {
        401: not is_public,
        403: operation.scope is not None,
        404: "<" in operation.path,
        409: operation.is_secret and not is_public,
        412: operation.match is not None,
        413: operation.body is not None or operation.upload is not None,
        422: not is_read and not is_public,
        429: operation.upload is not None or operation.limit is not None,
        503: operation.upload is not None,
    }
    statuses = {400, *operation.raises, *(each for each, holds in conditions.items() if holds)}
    for status in sorted(statuses):
        found[str(status)] = {
            "description": ERRORS[status],
            "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
        }
        if names := ERROR_HEADERS.get(status):
            found[str(status)]["headers"] = headers(*names)
    return dict(sorted(found.items()))


def _describe_success(operation: Operation, is_read: bool, register: Register) -> dict[str, Any]:
    if operation.content_type is not None:
        content = {operation.content_type: {"schema": {"type": "string", "format": "binary"}}}
    else:
        content = {"application/json": {"schema": register(*_name_envelope(operation))}}
    names = ["ETag"] if is_read else ["X-Dry-Run"]
    if "after" in operation.query_schema.fields:
        names.append("Link")
    if not is_read and not operation.is_public:
        names += ["ETag", "Idempotent-Replayed"]
    return {"description": "Done.", "headers": headers(*names), "content": content}


def _name_envelope(operation: Operation) -> tuple[str, dict[str, Any]]:
    name = operation.data.__name__.removesuffix("Schema") if operation.data else "Empty"
    if operation.many:
        return f"{name}ListAnswer", _wrap({"type": "array", "items": operation.data})
    if operation.is_paged:
        return f"{name}PageAnswer", _wrap(_describe_page(operation))
    return f"{name}Answer", _wrap(operation.data)


def _describe_page(operation: Operation) -> dict[str, Any]:
    return {
        "type": "object",
        "required": ["items", "next"],
        "properties": {
            "items": {"type": "array", "items": operation.data},
            "next": {
                "type": ["string", "null"],
                "description": "`after` of the next page; null on the last one.",
            },
        },
    }


def _wrap(data: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "required": ["message", "data"],
        "properties": {"message": {"type": "string"}, "data": data},
    }


# The table of the API's error codes: what each means, and what a program does about it.


@dataclass(frozen=True)
class ErrorCode:
    code: str
    status: int
    meaning: str
    remedy: str


LATER = "Try again after the seconds in `Retry-After`; with an Idempotency-Key nothing is doubled."

# What has no class of its own: routing, limits of the server, outages.
GENERAL = (
    ErrorCode("BAD_REQUEST", 400, "The request isn't valid HTTP.", "Correct the request."),
    ErrorCode(
        "METHOD_NOT_ALLOWED", 405, "The path has no such method.", "Use one that `Allow` lists."
    ),
    ErrorCode("BODY_TOO_LARGE", 413, "The body is too large.", "Send less in one call."),
    ErrorCode("URI_TOO_LONG", 414, "The URL is too long.", "Shorten the query."),
    ErrorCode(
        "INTERNAL_ERROR",
        500,
        "Something failed here. Nothing was changed.",
        "Try again later; report `X-Request-Id` to the operator if it stays.",
    ),
    ErrorCode("BUSY", 503, "Others are writing. Nothing was changed.", LATER),
    ErrorCode("DATABASE_AWAY", 503, "The database can't be reached.", LATER),
    ErrorCode("STORAGE_FAILED", 503, "Nothing can be saved at the moment.", LATER),
    ErrorCode("COUNTING_FAILED", 503, "Requests can't be counted. Nothing was changed.", LATER),
)


def list_error_codes() -> list[ErrorCode]:
    """Return what a call of the API may answer, by status and code."""
    load_all()
    own = (
        ErrorCode(each.code, each.status, each.meaning, each.remedy)
        for each in _subclasses(ServiceError)
        if "meaning" in vars(each)
    )
    return sorted((*GENERAL, *own), key=lambda each: (each.status, each.code))


def _subclasses(error: type[ServiceError]) -> Iterator[type[ServiceError]]:
    for each in error.__subclasses__():
        yield each
        yield from _subclasses(each)


# Errors as problem details (RFC 9457), for callers that ask for them.

PROBLEM = "application/problem+json"


def use_problem_details(response: Response) -> None:
    """Add the standard's fields to an error of the API, if the caller accepts them."""
    accept = request.accept_mimetypes
    if PROBLEM not in request.headers.get("Accept", ""):
        return
    if accept[PROBLEM] < max(accept["application/json"], 0.001):
        return
    body = json.loads(response.data)
    code = body["code"]
    standard = {
        "type": error_url(code),
        "title": _titles().get(code, "The request failed."),
        "status": response.status_code,
        "detail": body["message"],
    }
    response.data = json.dumps(standard | body, separators=(",", ":"))
    response.content_type = PROBLEM


@cache
def _titles() -> dict[str, str]:
    return {each.code: each.meaning for each in list_error_codes()}


# The OpenAPI 3.1 document, made from the views and the schemas that check the requests.

INTRODUCTION = """\
Create projects, configure a testimonial widget, fetch an embed snippet, write and read \
testimonials. Every successful response is `{"message": string, "data": payload}` with status 200. \
Every error is `{"message": string, "code": string}` and, on 400, `errors` by field; with `Accept: \
application/problem+json` it has the fields of RFC 9457 too. Every request but POST \
/v1/auth/agent-init needs the headers `x-service-account-id` and `x-api-key`, or `Authorization: \
Bearer` with an access token. Every query parameter that a call doesn't have is an error. Fields \
and endpoints may be added at any time; ignore fields you don't know."""
KEY_HEADERS = {"accountId": "x-service-account-id", "apiKey": "x-api-key"}
KEY: dict[str, list[str]] = {"accountId": [], "apiKey": []}
TOKEN: dict[str, list[str]] = {"accessToken": []}


@cache
def describe_api(app: Flask) -> dict[str, Any]:
    """Return the document of `app`, which is built once; don't change it."""
    return build_openapi(app, __version__)


def build_openapi(app: Flask, version: str) -> dict[str, Any]:
    """Describe every ``/v1`` route of `app` that carries an `Operation`."""
    marshmallow = MarshmallowPlugin()
    spec = APISpec(
        title="Testimonials",
        version=version,
        openapi_version="3.1.0",
        plugins=[marshmallow],
        info={"description": INTRODUCTION, "license": {"name": "MIT", "identifier": "MIT"}},
        servers=[{"url": current_settings(app).base_url}],
    )
    _describe_shared(spec)
    resolver: Any = marshmallow.resolver

    def register(name: str, schema: dict[str, Any]) -> dict[str, Any]:
        if name not in spec.components.schemas:
            spec.components.schema(name, resolver.resolve_schema_dict(schema))
        return {"$ref": f"#/components/schemas/{name}"}

    for rule, operation in operations(app):
        spec.path(
            path=re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", rule.rule),
            operations={operation.method.lower(): _describe(operation, rule, register)},
        )
    document: dict[str, Any] = spec.to_dict()
    document["x-error-codes"] = {
        each.code: {"status": each.status, "meaning": each.meaning, "remedy": each.remedy}
        for each in list_error_codes()
    }
    _open_answers(document)
    _drop_empty_defaults(document)
    return document


def _describe_shared(spec: APISpec) -> None:
    for name, header in KEY_HEADERS.items():
        spec.components.security_scheme(name, {"type": "apiKey", "in": "header", "name": header})
    spec.components.security_scheme("accessToken", {"type": "http", "scheme": "bearer"})
    spec.components.schema("Error", ERROR_SCHEMA)
    for name, described in PARAMETERS.items():
        spec.components.parameter(name, described["in"], described)
    for name, (schema, text) in HEADERS.items():
        spec.components.header(name, {"schema": schema, "description": text})


def operations(app: Flask) -> Iterator[tuple[Rule, Operation]]:
    """Yield the API's routes, in the order they were registered."""
    load_all()
    for rule in app.url_map.iter_rules():
        operation = getattr(app.view_functions[rule.endpoint], "operation", None)
        if operation is not None:
            yield rule, operation


def _open_answers(document: dict[str, Any]) -> None:
    """Allow undescribed fields in responses; only request bodies and their parts are closed."""
    schemas = document["components"]["schemas"]
    bodies: set[str] = set()
    found = {
        reference
        for methods in document["paths"].values()
        for operation in methods.values()
        for content in operation.get("requestBody", {}).get("content", {}).values()
        for reference in _references(content["schema"])
    }
    while found := {each.rpartition("/")[2] for each in found} - bodies:
        bodies |= found
        found = {each for name in found for each in _references(schemas[name])}
    for name, schema in schemas.items():
        if name not in bodies:
            schema.pop("additionalProperties", None)


def _drop_empty_defaults(document: dict[str, Any]) -> None:
    """Leave out defaults of parameters that stand for nothing; a generator would refuse them."""
    for methods in document["paths"].values():
        for operation in methods.values():
            for parameter in operation["parameters"]:
                if parameter.get("schema", {}).get("default") in ("", None):
                    parameter.get("schema", {}).pop("default", None)


def _references(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        if "$ref" in schema:
            yield schema["$ref"]
        for value in schema.values():
            yield from _references(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from _references(value)


def _describe(operation: Operation, rule: Rule, register: Register) -> dict[str, Any]:
    text = inspect.cleandoc(operation.view.__doc__ or "").replace("``", "`")
    summary, _, description = text.partition("\n\n")
    takes_key = operation.by_key or operation.drafts
    described: dict[str, Any] = {
        "operationId": operation.name,
        "tags": [rule.endpoint.split(".")[0]],
        "summary": summary.replace("\n", " ").rstrip("."),
        "description": "\n\n".join(each for each in (description, _say_who(operation)) if each),
        "parameters": _parameters(operation, rule),
        "responses": describe_responses(operation, register),
        "security": [] if operation.is_public else ([KEY, TOKEN] if takes_key else [TOKEN]),
    }
    if not operation.is_public:
        described["x-scope"] = operation.scope and str(operation.scope)
    if operation.body is not None:
        variants = getattr(operation.body, "variants", {})
        schema = {"oneOf": list(variants.values())} if variants else operation.body
        content: dict[str, Any] = {"schema": schema}
        if operation.example is not None:
            content["example"] = operation.example
        described["requestBody"] = {"required": True, "content": {"application/json": content}}
    if operation.upload is not None:
        file = {"schema": {"type": "string", "format": "binary"}}
        content = dict.fromkeys(UPLOADED_TYPES, file)
        described["requestBody"] = {"required": True, "content": content}
    return described


def _say_who(operation: Operation) -> str:
    """Return who may make a call."""
    if operation.is_public:
        return ""
    by_key, scope = operation.by_key, operation.scope
    token = f"an access token with the scope `{scope}`" if scope else "any access token"
    who = ["the account's key"] * by_key + [token]
    drafters = ["the account's key"] * (not by_key) + ["the scope `draft`"]
    waits = f" With {' or '.join(drafters)} what it changes waits for the owner as a proposal."
    return f"Needs {' or '.join(who)}.{waits * operation.drafts}"


def _parameters(operation: Operation, rule: Rule) -> list[Any]:
    parameters: list[Any] = [
        {
            "name": name,
            "in": "path",
            "required": True,
            "schema": {"type": "string"},
            "description": f"The {name.removesuffix('_id').replace('asked', 'request')}'s `_id`."
            if name.endswith("_id")
            else f"The {name}'s name.",
        }
        for name in sorted(rule.arguments)
    ]
    if operation.query_schema.fields:
        parameters.append({"in": "query", "schema": type(operation.query_schema)})
    if operation.method == "GET":
        return [*parameters, "ifNoneMatch"]
    names = ["dryRun"] if operation.is_public else ["idempotencyKey", "dryRun"]
    if operation.match:
        names.append("ifMatch")
    return [*parameters, *names]
