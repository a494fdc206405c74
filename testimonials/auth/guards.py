"""The decorator of the API's views that need credentials."""

import functools

from flask import request
from flask.typing import ResponseReturnValue

from testimonials.activity.actors import ActorKind, act_as
from testimonials.auth.services import check_credentials
from testimonials.core.web.endpoint import View

ACCOUNT_HEADER = "x-service-account-id"
KEY_HEADER = "x-api-key"


def require_credentials(view: View) -> View:
    """Pass the calling account to the view as ``account``; raise `CredentialsInvalid`.

    This happens before the body is read and the project looked up (spec, "Authentication"), and
    before a view begins its write, so a wrong key never takes the write lock.
    """

    @functools.wraps(view)
    def wrapper(**arguments: object) -> ResponseReturnValue:
        account = check_credentials(
            request.headers.get(ACCOUNT_HEADER, ""), request.headers.get(KEY_HEADER, "")
        )
        act_as(ActorKind.AGENT, request.headers[KEY_HEADER][-4:])
        return view(account=account, **arguments)

    return wrapper
