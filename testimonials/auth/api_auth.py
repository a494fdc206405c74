"""Authentication and authorization of API calls."""

import dataclasses

from flask import request

from testimonials.auth.accounts import check_credentials
from testimonials.auth.tokens import Caller, Scope, TokenRefused, check_token, note_use
from testimonials.core.audit import ActorKind, act_as
from testimonials.core.db.identifiers import TOKEN_PREFIX
from testimonials.core.http.errors import ServiceError
from testimonials.core.http.resource import Operation

ACCOUNT_HEADER = "x-service-account-id"
KEY_HEADER = "x-api-key"
# Set in the WSGI environment of calls through MCP.
CALLED_BY = "testimonials.called_by"
API = "api"

TWO_CREDENTIALS = (
    "Two different credentials were sent: an access token in Authorization, and another one in "
    "x-api-key. Send one of them."
)
OTHER_ACCOUNT = (
    "This access token does not belong to the account in x-service-account-id. Send that "
    "account’s id, "
    "or send the token alone, as Authorization: Bearer tst_tok_..."
)


class MissingScope(ServiceError):
    status = 403
    meaning = "The credentials are valid, but don't allow this call."
    remedy = "Ask the owner for an access token with the scope that `message` names."


class OneProjectOnly(ServiceError):
    status = 403
    meaning = "The access token is for one project, and the call is about the account."
    remedy = "Ask the owner for an access token for all projects."
    default_message = (
        "This access token is for one project only. Ask the owner for a token for all projects."
    )


def admit(operation: Operation) -> Caller:
    """Return the caller of an operation. Raises `CredentialsInvalid` and `MissingScope`."""
    return _authorize(authenticate(operation.name), operation)


def authenticate(name: str) -> Caller:
    """Return the caller, and note that the token was used for the operation `name`."""
    caller = find_caller()
    act_as(ActorKind.AGENT if caller.is_key else ActorKind.TOKEN, caller.token_id or caller.name)
    if caller.token_id is not None:
        note_use(caller.token_id, name, request.environ.get(CALLED_BY, API))
    return caller


def may_pass(caller: Caller, operation: Operation) -> bool:
    """Return whether a caller may call an operation, if only to propose changes."""
    try:
        _authorize(caller, operation)
    except MissingScope:
        return False
    return True


def require_all_projects(caller: Caller) -> None:
    if caller.project_id is not None:
        raise OneProjectOnly


def find_caller() -> Caller:
    """Return the caller, from the account's two headers, or from a token there or sent as Bearer.

    A proxy may add its own Bearer credential, so next to the two headers only one with our prefix
    counts. Raises `CredentialsInvalid`.
    """
    account_id, key = request.headers.get(ACCOUNT_HEADER, ""), request.headers.get(KEY_HEADER, "")
    scheme, _, bearer = request.headers.get("Authorization", "").strip().partition(" ")
    bearer = bearer.strip() if scheme.lower() == "bearer" else ""
    if bearer.startswith(TOKEN_PREFIX) or (bearer and not key):
        if key not in ("", bearer):
            raise TokenRefused(TWO_CREDENTIALS)
        caller = check_token(bearer)
        if account_id not in ("", caller.id):
            raise TokenRefused(OTHER_ACCOUNT)
        return caller
    if key.startswith(TOKEN_PREFIX):
        caller = check_token(key)
        if caller.id != account_id:
            raise TokenRefused(OTHER_ACCOUNT)
        return caller
    return Caller(account_id, check_credentials(account_id, key), key[-4:])


def _authorize(caller: Caller, operation: Operation) -> Caller:
    if operation.by_key and caller.is_key:
        return caller
    if not caller.is_key and (operation.scope is None or operation.scope in caller.scopes):
        return caller
    if operation.drafts and (caller.is_key or Scope.DRAFT in caller.scopes):
        return dataclasses.replace(caller, drafts_only=True)
    needed = f"the scope {operation.scope}" + (" or draft" if operation.drafts else "")
    if caller.is_key:
        raise MissingScope(
            f"The account’s key isn’t enough here: this needs an access token with {needed}. The "
            "owner creates one in the dashboard, under Settings, API and developers."
        )
    has = ", ".join(caller.scopes) or "none"
    raise MissingScope(
        f"This needs {needed}. The token “{caller.name}” has: {has}. Ask the owner for "
        "another, which they create in the dashboard, under Settings, API and developers."
    )
