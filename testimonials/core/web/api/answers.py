"""The answers of the API's calls, as the OpenAPI document describes them."""

from collections.abc import Callable
from typing import Any

from testimonials.core.web.api.shared import headers
from testimonials.core.web.endpoint import Operation

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


def describe_responses(
    operation: Operation, method: str, called: set[str], access: Any, register: Register
) -> dict[str, Any]:
    """Return the responses of a call; `called` is what its view calls."""
    is_read, is_checked = method == "GET", "require_match" in called
    found: dict[str, Any] = {"200": _describe_success(operation, is_read, register)}
    if is_read:
        found["304"] = {"description": "What you have is up to date.", "headers": headers("ETag")}
    if "carry_out" in called:
        envelope = register("ProposalAnswer", _wrap(PROPOSAL))
        content = {"application/json": {"schema": envelope}}
        found["202"] = {"description": "It waits for the owner as a proposal.", "content": content}
    conditions = {
        401: not operation.is_public,
        403: access is not None and access.scope is not None,
        409: "is_secret" in called and not operation.is_public,
        412: is_checked,
        413: operation.body is not None or bool(operation.content_types),
        422: not is_read and not operation.is_public,
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
    if operation.query is not None and "after" in operation.query().fields:
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
