"""Writing through the API: how a view begins its transaction, and how it ends it with an answer."""

from typing import Any

from flask import Response

from testimonials.core.web.endpoint import answer
from testimonials.extensions import begin_write, db


def begin_call(owner: str) -> None:
    """Begin the writing transaction of an API call by the account with the id `owner`."""
    begin_write()


def require_match(data: Any) -> None:
    """Raise unless the resource, as its GET answers it now, is what If-Match names."""


def commit_answer(
    message: str, data: Any, *, status: int = 200, is_secret: bool = False
) -> Response:
    """Commit what the call changed, and return the answer."""
    db.session.commit()
    response = answer(message, data, is_secret=is_secret)
    response.status_code = status
    return response
