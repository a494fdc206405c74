"""What forms of the dashboard share."""

import json
from typing import Any

from flask import request

from testimonials.core.web.errors import ServiceError

Errors = dict[str, list[str]]


def to_form_errors(error: ServiceError, field: str = "form") -> Errors:
    """Return what a service refused by field, or at `field` where it named none."""
    return {name: list(texts) for name, texts in (error.errors or {}).items()} or {
        field: [error.message]
    }


def wants_json() -> bool:
    """Tell whether a script of the page asks, and not a person's browser."""
    return bool(request.accept_mimetypes.best == "application/json")


def read_before(text: str) -> dict[str, Any]:
    """Return what a form says that it showed, so that only what was changed in it is written."""
    try:
        before = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return {}
    return before if isinstance(before, dict) else {}
