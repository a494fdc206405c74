"""Agents' requests for an access token: asking, deciding, and fetching what was granted."""

from collections.abc import Iterable

from sqlalchemy import delete, select

from testimonials.access.callers import Caller
from testimonials.access.emails import send_access_request_mail
from testimonials.access.models import OPEN, AccessRequest, AccessToken
from testimonials.access.scopes import Scope
from testimonials.access.tokens import add_token, mint
from testimonials.activity.actors import current_actor, current_network
from testimonials.activity.event_types import EventType
from testimonials.activity.recording import add_event
from testimonials.auth.models import Account
from testimonials.core import clock
from testimonials.core.data.identifiers import is_identifier
from testimonials.core.web.errors import NotFound, ServiceError
from testimonials.core.web.languages import gettext_noop
from testimonials.extensions import db
from testimonials.settings.current import current_settings

MOST_WAITING = 5


class TooManyWaiting(ServiceError):
    status = 409
    code = "TOO_MANY_WAITING"
    meaning = "As many requests for access wait for the owner as there may be."
    remedy = "Ask the owner to open one of their links, or wait until they expire."
    default_message = (
        f"{MOST_WAITING} requests for access wait for the owner already. Ask the owner to open one "
        "of their links, or wait until they expire after three days."
    )


class RequestDecided(ServiceError):
    """Somebody has decided about it before, or it has expired."""

    status = 409
    code = "REQUEST_DECIDED"


def ask_for_access(
    caller: Caller, name: str, scopes: Iterable[Scope], project_id: str | None, reason: str
) -> AccessRequest:
    """Add a request for a token, which the owner opens by its link; raise `TooManyWaiting`.

    The owner of a claimed account gets a mail. The same one again is the one that waits already.

    `project_id` is a project that the caller reaches; None asks for all of the account's.
    """
    # Of requests at once, only five get a place.
    account = db.session.scalars(
        select(Account).where(Account.id == caller.id).with_for_update()
    ).one()
    asked = {
        "project_id": project_id,
        "name": name,
        "reason": reason,
        "scopes": [str(each) for each in Scope if each in set(scopes)],
        "asked_by": _sign(caller),
    }
    waiting = list_waiting_requests(caller.id)
    for each in waiting:
        if all(getattr(each, field) == value for field, value in asked.items()):
            return each
    if len(waiting) >= MOST_WAITING:
        raise TooManyWaiting
    request = AccessRequest(account_id=caller.id, expires_at=clock.now() + OPEN, **asked)
    db.session.add(request)
    db.session.flush()
    # An unclaimed account's address may be a stranger's.
    if account.is_claimed:
        send_access_request_mail(account.email, request)
    _record(EventType.ACCESS_REQUESTED, request)
    return request


def find_own_request(caller: Caller, request_id: str) -> AccessRequest:
    """Return, locked, a request that was made with the caller's credential; raise `NotFound`."""
    request = find_access_request(caller.id, request_id)
    if request.asked_by != _sign(caller):
        raise _unknown()
    return request


def find_access_request(account_id: str, request_id: str) -> AccessRequest:
    """Return a request to the owner of an account, locked; raise `NotFound`."""
    request = None
    if is_identifier(request_id):
        request = db.session.scalars(
            select(AccessRequest)
            .where(AccessRequest.id == request_id, AccessRequest.account_id == account_id)
            .with_for_update()
        ).one_or_none()
    if request is None:
        raise _unknown()
    return request


def list_waiting_requests(account_id: str) -> list[AccessRequest]:
    """Return the requests that the owner can decide about, oldest first."""
    return list(
        db.session.scalars(
            select(AccessRequest)
            .where(
                AccessRequest.account_id == account_id,
                AccessRequest.status == "waiting",
                AccessRequest.expires_at > clock.now(),
            )
            .order_by(AccessRequest.created_at, AccessRequest.id)
        )
    )


def grant(
    request: AccessRequest,
    scopes: Iterable[Scope],
    project_id: str | None,
    days: int | None,
    person: str,
) -> AccessToken:
    """Grant a locked request what the person chose, more or less than was asked for.

    `person` is the account's owner; `project_id` one of its projects, or None for all. Whoever
    asked fetches the token within three days. Raises `RequestDecided`.
    """
    _decide(request, "granted")
    request.expires_at = clock.now() + OPEN
    request.token = add_token(
        request.account_id, project_id, request.name, scopes, days, person, "request"
    )
    return request.token


def decline(request: AccessRequest) -> None:
    """Decline a locked request; raise `RequestDecided`."""
    _decide(request, "declined")
    _record(EventType.ACCESS_DECLINED, request)


def fetch_token(request: AccessRequest) -> str | None:
    """Return the plain text of what a locked request was granted: once, and None after that.

    It is made now and never stored, so a lost answer can't be repeated.
    """
    return mint(request.token) if request.is_ready and request.token else None


def delete_old_requests() -> int:
    """Delete the requests that ended more than `TOKEN_DAYS` ago; return how many."""
    until = clock.expired_until(current_settings().token_days)
    old = delete(AccessRequest).where(AccessRequest.expires_at <= until)
    return len(db.session.scalars(old.returning(AccessRequest.id)).all())


def _decide(request: AccessRequest, status: str) -> None:
    if request.state != "waiting":
        raise RequestDecided(
            gettext_noop("This request has expired. The agent can ask again.")
            if request.state == "expired"
            else gettext_noop("This request was decided already.")
        )
    request.status, request.decided_at = status, clock.now()


def _sign(caller: Caller) -> str:
    """Return what the request keeps of the credential that made it."""
    return caller.token_id or caller.name


def _unknown() -> NotFound:
    return NotFound("There is no request for access with this id that these credentials made.")


def _record(type: EventType, request: AccessRequest) -> None:
    details = {"token": request.name, "scopes": request.scopes}
    add_event(
        type, request.account_id, request.project_id, current_actor(), current_network(), details
    )
