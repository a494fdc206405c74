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
from testimonials.core.web.api.answers import ERROR_SCHEMA, Register, describe_responses
from testimonials.core.web.api.error_codes import list_error_codes
from testimonials.core.web.api.shared import HEADERS, PARAMETERS
from testimonials.core.web.endpoint import Operation
from testimonials.settings.current import current_settings

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

    for rule, operation, view in operations(app):
        spec.path(
            path=re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", rule.rule),
            operations={method_of(rule).lower(): _describe(operation, rule, view, register)},
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
    for name, described in HEADERS.items():
        spec.components.header(name, described)


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


def _describe(operation: Operation, rule: Rule, view: Any, register: Register) -> dict[str, Any]:
    text = inspect.cleandoc(view.__doc__ or "").replace("``", "`")
    summary, _, description = text.partition("\n\n")
    access, called = getattr(view, "access", None), _find_calls(view)
    described: dict[str, Any] = {
        "operationId": view.__name__,
        "tags": [rule.endpoint.split(".")[0]],
        "summary": summary.replace("\n", " ").rstrip("."),
        "description": "\n\n".join(each for each in (description, _say_who(access)) if each),
        "parameters": _parameters(operation, rule, called),
        "responses": describe_responses(operation, method_of(rule), called, access, register),
        "security": _list_credentials(operation, access),
    }
    if access is not None:
        described["x-scope"] = access.scope and str(access.scope)
    if operation.body is not None:
        variants = getattr(operation.body, "variants", {})
        schema = {"oneOf": list(variants.values())} if variants else operation.body
        content: dict[str, Any] = {"schema": schema}
        if operation.example is not None:
            content["example"] = operation.example
        described["requestBody"] = {"required": True, "content": {"application/json": content}}
    if operation.content_types:
        file = {"schema": {"type": "string", "format": "binary"}}
        content = dict.fromkeys(operation.content_types, file)
        described["requestBody"] = {"required": True, "content": content}
    return described


def _find_calls(view: Any) -> set[str]:
    """Name what a view calls, and the keywords it does so with: which headers count there."""
    code = inspect.unwrap(view).__code__
    keywords = (each for each in code.co_consts if isinstance(each, tuple))
    return {*code.co_names, *(name for each in keywords for name in each)}


def _list_credentials(operation: Operation, access: Any) -> list[dict[str, list[str]]]:
    if operation.is_public:
        return []
    is_for_key = access is None or access.by_key or access.drafts
    return [KEY, TOKEN] if is_for_key else [TOKEN]


def _say_who(access: Any) -> str:
    """Return who may make a call."""
    if access is None:
        return ""
    scope = f"an access token with the scope `{access.scope}`"
    who = ["the account's key"] * access.by_key + [scope if access.scope else "any access token"]
    drafters = ["the account's key"] * (not access.by_key) + ["the scope `draft`"]
    waits = f" With {' or '.join(drafters)} what it changes waits for the owner as a proposal."
    return f"Needs {' or '.join(who)}.{waits * access.drafts}"


def _parameters(operation: Operation, rule: Rule, called: set[str]) -> list[Any]:
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
    if operation.query is not None:
        parameters.append({"in": "query", "schema": operation.query})
    if method_of(rule) == "GET":
        return [*parameters, "ifNoneMatch"]
    names = ["dryRun"] if operation.is_public else ["idempotencyKey", "dryRun"]
    if "require_match" in called:
        names.append("ifMatch")
    return [*parameters, *names]
