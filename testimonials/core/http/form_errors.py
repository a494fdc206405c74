"""What the dashboard's forms share: their errors, and answers to the page's scripts."""

from flask import jsonify, request
from flask.typing import ResponseReturnValue

from testimonials.core.http.errors import ServiceError
from testimonials.core.http.i18n import translate

Errors = dict[str, list[str]]


def to_form_errors(error: ServiceError, field: str = "form") -> Errors:
    """Return a service's errors by field; an error without a field goes to `field`."""
    return {name: list(texts) for name, texts in (error.errors or {}).items()} or {
        field: [error.shown]
    }


def wants_json() -> bool:
    """Return whether a script on the page sent the request."""
    return bool(request.accept_mimetypes.best == "application/json")


def answer_errors(errors: Errors, status: int = 422) -> ResponseReturnValue:
    shown = {name: list(map(translate, texts)) for name, texts in errors.items()}
    message = " ".join(text for texts in shown.values() for text in texts)
    return jsonify({"message": message, "errors": shown}), status
