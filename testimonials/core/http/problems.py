"""Errors as problem details (RFC 9457), for callers that ask for them."""

import json
from functools import cache

from flask import Response, request

from testimonials.core.http.openapi import list_error_codes
from testimonials.core.http.urls import error_url

TYPE = "application/problem+json"


def use_problem_details(response: Response) -> None:
    """Add the standard's fields to an error of the API, if the caller accepts them."""
    accept = request.accept_mimetypes
    if TYPE not in request.headers.get("Accept", ""):
        return
    if accept[TYPE] < max(accept["application/json"], 0.001):
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
    response.content_type = TYPE


@cache
def _titles() -> dict[str, str]:
    return {each.code: each.meaning for each in list_error_codes()}
