"""What the dashboard's forms share."""

import json
from typing import Any

from flask import jsonify, request
from flask.typing import ResponseReturnValue

from testimonials.core.web.errors import ServiceError

Errors = dict[str, list[str]]


def to_form_errors(error: ServiceError, field: str = "form") -> Errors:
    """Return a service's errors by field; an error without a field goes to `field`."""
    return {name: list(texts) for name, texts in (error.errors or {}).items()} or {
        field: [error.message]
    }


def wants_json() -> bool:
    """Return whether a script of the page sent the request, and not the browser itself."""
    return bool(request.accept_mimetypes.best == "application/json")


def answer_errors(errors: Errors) -> ResponseReturnValue:
    """Tell a script of the page why its form was refused."""
    message = " ".join(text for texts in errors.values() for text in texts)
    return jsonify({"message": message, "errors": errors}), 422


def read_before(text: str) -> dict[str, Any]:
    """Return the values that a form started with, so that only changed ones are written."""
    try:
        before = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return {}
    return before if isinstance(before, dict) else {}
