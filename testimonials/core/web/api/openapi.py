"""The OpenAPI 3.1 document, made from the views and the schemas that check the requests."""

import inspect
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from apispec import APISpec
from apispec.ext.marshmallow import MarshmallowPlugin
from flask import Flask
from werkzeug.routing import Rule

from testimonials import __version__
from testimonials.core.web.endpoint import Operation
from testimonials.settings.current import current_settings

ERRORS = {
    400: "A field is missing or invalid; `message` says what to change, `errors` lists by field.",
    401: "The account id and API key did not match, or one of the headers is missing.",
    402: "`code` is PROJECT_LIMIT_REACHED: the account is at its project limit.",
    404: "The project does not exist or does not belong to the account.",
    413: "The body is over 64 KiB.",
    422: "It can't be done with what is stored; `message` says why.",
    429: "Rate limit exceeded; `Retry-After` gives the seconds to wait.",
    503: "Too many at once; `Retry-After` gives the seconds to wait.",
}

ERROR_SCHEMA = {
    "type": "object",
    "required": ["message", "code"],
    "properties": {
        "message": {"type": "string", "description": "What is wrong and how to fix it."},
        "code": {"type": "string", "description": "Stable, UPPER_SNAKE."},
        "errors": {
            "type": "object",
            "description": "On 400: field name to the list of broken rules.",
            "additionalProperties": {"type": "array", "items": {"type": "string"}},
        },
    },
    "not": {"required": ["data"]},
}

INTRODUCTION = """\
Create projects, configure a testimonial widget, fetch an embed snippet, write and read \
testimonials. Every successful response is `{"message": string, "data": payload}` with status 200. \
Every error is `{"message": string, "code": string}` and, on 400, `errors` by field. Every request \
but POST /v1/auth/agent-init needs the headers `x-service-account-id` and `x-api-key`. Fields and \
endpoints may be added at any time; ignore fields you don't know."""


@cache
def describe_api(app: Flask) -> dict[str, Any]:
    """Return the document of `app`, which is built once; don't change it."""
    return build_openapi(app, __version__)


def build_openapi(app: Flask, version: str) -> dict[str, Any]:
    """Describe every ``/v1`` route of `app` that carries an `Operation`."""
    spec = APISpec(
        title="Testimonials",
        version=version,
        openapi_version="3.1.0",
        plugins=[MarshmallowPlugin()],
        info={"description": INTRODUCTION},
        servers=[{"url": current_settings(app).base_url}],
    )
    for name, header in (("accountId", "x-service-account-id"), ("apiKey", "x-api-key")):
        spec.components.security_scheme(name, {"type": "apiKey", "in": "header", "name": header})
    spec.components.schema("Error", ERROR_SCHEMA)
    for rule, operation, view in operations(app):
        method = method_of(rule)
        spec.path(
            path=re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", rule.rule),
            operations={method.lower(): _describe(operation, rule, view)},
        )
    document: dict[str, Any] = spec.to_dict()
    _open_answers(document)
    return document


def operations(app: Flask) -> Iterator[tuple[Rule, Operation, Any]]:
    """Yield the API's routes, in the order they were registered."""
    for rule in app.url_map.iter_rules():
        view = app.view_functions[rule.endpoint]
        if (operation := getattr(view, "operation", None)) is not None:
            yield rule, operation, view


def method_of(rule: Rule) -> str:
    (method,) = (rule.methods or set()) - {"HEAD", "OPTIONS"}
    return method


def _open_answers(document: dict[str, Any]) -> None:
    """Allow undescribed fields in responses; only request bodies and their parts are closed."""
    schemas = document["components"]["schemas"]
    bodies: set[str] = set()
    found = {
        content["schema"]["$ref"]
        for methods in document["paths"].values()
        for operation in methods.values()
        for content in operation.get("requestBody", {}).get("content", {}).values()
        if "$ref" in content["schema"]
    }
    while found := {each.rpartition("/")[2] for each in found} - bodies:
        bodies |= found
        found = {each for name in found for each in _references(schemas[name])}
    for name, schema in schemas.items():
        if name not in bodies:
            schema.pop("additionalProperties", None)


def _references(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        if "$ref" in schema:
            yield schema["$ref"]
        for value in schema.values():
            yield from _references(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from _references(value)


def _describe(operation: Operation, rule: Rule, view: Any) -> dict[str, Any]:
    text = inspect.cleandoc(view.__doc__ or "").replace("``", "`")
    summary, _, description = text.partition("\n\n")
    described: dict[str, Any] = {
        "operationId": view.__name__,
        "tags": [rule.endpoint.split(".")[0]],
        "summary": summary.replace("\n", " ").rstrip("."),
        "description": description,
        "parameters": _parameters(operation, rule),
        "responses": _responses(operation),
        "security": [] if operation.is_public else [{"accountId": [], "apiKey": []}],
    }
    if operation.body is not None:
        content: dict[str, Any] = {"schema": operation.body}
        if operation.example is not None:
            content["example"] = operation.example
        described["requestBody"] = {"required": True, "content": {"application/json": content}}
    if operation.content_types:
        file = {"schema": {"type": "string", "format": "binary"}}
        content = dict.fromkeys(operation.content_types, file)
        described["requestBody"] = {"required": True, "content": content}
    return described


def _parameters(operation: Operation, rule: Rule) -> list[Any]:
    parameters: list[Any] = [
        {
            "name": name,
            "in": "path",
            "required": True,
            "schema": {"type": "string"},
            "description": f"The {name.removesuffix('_id')}'s `_id`.",
        }
        for name in sorted(rule.arguments)
    ]
    if operation.query is not None:
        parameters.append({"in": "query", "schema": operation.query})
    return parameters


def _responses(operation: Operation) -> dict[str, Any]:
    payload: Any = operation.data
    if operation.many:
        payload = {"type": "array", "items": operation.data}
    elif operation.is_paged:
        payload = {
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
    envelope = {
        "type": "object",
        "required": ["message", "data"],
        "additionalProperties": False,
        "properties": {"message": {"type": "string"}, "data": payload},
    }
    content: dict[str, Any] = {"application/json": {"schema": envelope}}
    if operation.content_type is not None:
        content = {operation.content_type: {"schema": {"type": "string", "format": "binary"}}}
    success = {"description": "Done.", "content": content}
    responses: dict[str, Any] = {"200": success}
    statuses = {400, *operation.raises}
    if not operation.is_public:
        statuses.add(401)
    if operation.body is not None or operation.content_types:
        statuses |= {400, 413}
    for status in sorted(statuses):
        responses[str(status)] = {
            "description": ERRORS[status],
            "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
        }
    return responses
