"""Decorators that stand before a view."""

import functools

from flask import request
from flask.typing import ResponseReturnValue

from testimonials.auth.services import check_credentials
from testimonials.core.endpoint import View
from testimonials.extensions import end_read

ACCOUNT_HEADER = "x-service-account-id"
KEY_HEADER = "x-api-key"


def require_credentials(view: View) -> View:
    """Hand the view the calling account as ``account``; raise 401 when the pair doesn't match.

    It comes before the body is read and the project looked up, and its reading transaction is over
    when the view begins (spec, "Authentication").
    """

    @functools.wraps(view)
    def wrapper(**arguments: object) -> ResponseReturnValue:
        account = check_credentials(
            request.headers.get(ACCOUNT_HEADER, ""), request.headers.get(KEY_HEADER, "")
        )
        end_read()
        return view(account=account, **arguments)

    return wrapper
