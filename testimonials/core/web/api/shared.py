"""The headers and parameters that many calls share, as the OpenAPI document describes them."""

from typing import Any

from testimonials.core.web.writes import KEY_PATTERN

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

HEADERS: dict[str, dict[str, Any]] = {
    "ETag": {
        "schema": {"type": "string"},
        "description": "The version of `data`; a change answers with the one that its GET has.",
    },
    "Link": {
        "schema": {"type": "string"},
        "description": 'URL of the next page, as `<URL>; rel="next"`, while there are more.',
    },
    "Idempotent-Replayed": {
        "schema": {"type": "string", "enum": ["true"]},
        "description": "The call was carried out before; this is the answer that it got.",
    },
    "X-Dry-Run": {
        "schema": {"type": "string", "enum": ["true"]},
        "description": "Nothing was changed.",
    },
    "Retry-After": {
        "schema": {"type": "integer", "minimum": 0},
        "description": "Seconds to wait before the next try.",
    },
    "RateLimit-Policy": {
        "schema": {"type": "string"},
        "description": "The limit: its name, `q` requests in `w` seconds.",
    },
    "RateLimit": {
        "schema": {"type": "string"},
        "description": "`r` requests are left; the count starts anew in `t` seconds.",
    },
}


def headers(*names: str) -> dict[str, Any]:
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}
