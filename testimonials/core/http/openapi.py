"""The OpenAPI document, the table of error codes, and problem details for errors."""

import inspect
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
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
from testimonials.core.settings.table import current_settings

# The parameters, headers and errors that many calls share.
_SHARED = json.loads(Path(__file__).with_name("openapi.json").read_text(encoding="utf-8"))
# A schema by name, since `core` can't import it.
PROPOSAL = "ProposalSchema"

# Registers a schema by name, and returns a reference to it.
Register = Callable[[str, dict[str, Any]], dict[str, Any]]


def headers(*names: str) -> dict[str, Any]:
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}


def describe_responses(operation: Operation, register: Register) -> dict[str, Any]:
    is_read, is_public = operation.method == "GET", operation.is_public
    responses: dict[str, Any] = {"200": _describe_success(operation, is_read, register)}
    if is_read:
        responses["304"] = {"description": "Your copy is up to date.", "headers": headers("ETag")}
    if operation.change:
        envelope = register("ProposalAnswer", _wrap(PROPOSAL))
        content = {"application/json": {"schema": envelope}}
        responses["202"] = {
            "description": "The change waits for the owner as a proposal.",
            "content": content,
        }
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
        responses[str(status)] = {
            "description": _SHARED["errors"][str(status)],
            "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
        }
        if names := _SHARED["errorHeaders"].get(str(status)):
            responses[str(status)]["headers"] = headers(*names)
    return dict(sorted(responses.items()))


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


@dataclass(frozen=True)
class ErrorCode:
    code: str
    status: int
    meaning: str
    remedy: str


def list_error_codes() -> list[ErrorCode]:
    """Return the error codes of the API, ordered by status and code."""
    load_all()
    own = (
        ErrorCode(each.code, each.status, each.meaning, each.remedy)
        for each in _subclasses(ServiceError)
        if "meaning" in vars(each)
    )
    # These have no class: routing errors, limits of the server, outages.
    general = (ErrorCode(*each) for each in _SHARED["generalErrors"])
    return sorted((*general, *own), key=lambda each: (each.status, each.code))


def _subclasses(error: type[ServiceError]) -> Iterator[type[ServiceError]]:
    for each in error.__subclasses__():
        yield each
        yield from _subclasses(each)


PROBLEM = "application/problem+json"


def use_problem_details(response: Response) -> None:
    """Add the fields of RFC 9457 to an error of the API, if the caller accepts that format."""
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


KEY_HEADERS = {"accountId": "x-service-account-id", "apiKey": "x-api-key"}
KEY: dict[str, list[str]] = {"accountId": [], "apiKey": []}
TOKEN: dict[str, list[str]] = {"accessToken": []}


def describe_api(app: Flask) -> dict[str, Any]:
    """Return the OpenAPI document of `app`, built once."""
    return dict(json.loads(_write_api(app)))


@cache
def _write_api(app: Flask) -> str:
    # Kept as text, since objects would take four times the memory.
    return json.dumps(build_openapi(app, __version__))


def build_openapi(app: Flask, version: str) -> dict[str, Any]:
    """Describe every ``/v1`` route of `app` that carries an `Operation`."""
    marshmallow = MarshmallowPlugin()
    spec = APISpec(
        title="Testimonials",
        version=version,
        openapi_version="3.1.0",
        plugins=[marshmallow],
        info=_SHARED["info"],
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
    spec.components.schema("Error", _SHARED["errorSchema"])
    key = {"schema": {"type": "string", "pattern": f"^(?:{KEY_PATTERN})$"}}
    for name, described in _SHARED["parameters"].items():
        described |= key if name == "idempotencyKey" else {}
        spec.components.parameter(name, described["in"], described)
    for name, described in _SHARED["headers"].items():
        spec.components.header(name, described)


def operations(app: Flask) -> Iterator[tuple[Rule, Operation]]:
    """Yield the API's routes, in the order they were registered."""
    load_all()
    for rule in app.url_map.iter_rules():
        operation = getattr(app.view_functions[rule.endpoint], "operation", None)
        if operation is not None:
            yield rule, operation


def _open_answers(document: dict[str, Any]) -> None:
    """Allow additional properties in responses, but not in request bodies."""
    schemas = document["components"]["schemas"]
    bodies: set[str] = set()
    pending = {
        reference
        for methods in document["paths"].values()
        for operation in methods.values()
        for content in operation.get("requestBody", {}).get("content", {}).values()
        for reference in _references(content["schema"])
    }
    while pending := {each.rpartition("/")[2] for each in pending} - bodies:
        bodies |= pending
        pending = {each for name in pending for each in _references(schemas[name])}
    for name, schema in schemas.items():
        if name not in bodies:
            schema.pop("additionalProperties", None)


def _drop_empty_defaults(document: dict[str, Any]) -> None:
    """Remove empty defaults of parameters, which code generators refuse."""
    for methods in document["paths"].values():
        for operation in methods.values():
            for parameter in operation["parameters"]:
                schema = parameter.get("schema", {})
                if schema.get("default") in ("", None):
                    schema.pop("default", None)


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
