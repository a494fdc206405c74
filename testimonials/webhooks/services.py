"""The rules of webhook endpoints: adding, changing and removing them, and how they fare.

`project` is locked wherever something changes.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

from sqlalchemy import func, select, update

from testimonials.activity.event_types import EventType
from testimonials.activity.models import Event
from testimonials.activity.recording import record_project_event
from testimonials.core import clock
from testimonials.core.data.identifiers import is_identifier
from testimonials.core.public_addresses import is_public
from testimonials.core.web.errors import NotFound, ServiceError, ValidationFailed
from testimonials.core.web.languages import gettext_noop
from testimonials.extensions import db
from testimonials.projects.models import Project
from testimonials.settings.current import current_settings
from testimonials.webhooks.models import IS_DUE, WebhookDelivery, WebhookEndpoint
from testimonials.webhooks.sending import new_secret

MOST_ENDPOINTS = 10
OLD_SECRET_SIGNS = timedelta(hours=24)
MOST_BECAUSE = 200
BY_HAND = gettext_noop("It was switched off by hand.")


class TooManyEndpoints(ServiceError):
    """The project has as many endpoints as it may."""

    status = 422
    code = "TOO_MANY_ENDPOINTS"
    meaning = "The project has as many webhook endpoints as it may."
    remedy = "Remove one first."
    default_message = f"A project has at most {MOST_ENDPOINTS} webhook endpoints. Remove one first."


class EndpointPaused(ServiceError):
    """Whoever added the endpoint has left, and nobody has kept it yet."""

    status = 422
    code = "ENDPOINT_PAUSED"
    meaning = "Whoever added the webhook endpoint is no admin of the project any more."
    remedy = "Keep it by replacing its secret (`POST .../rotate`), or remove it."
    default_message = gettext_noop(
        "Whoever added this webhook endpoint is no admin of the project any more. Keep it with a "
        "new secret, or remove it."
    )


class EndpointExists(ServiceError):
    """The project has an endpoint with this address."""

    status = 409
    code = "ENDPOINT_EXISTS"
    meaning = "The project has a webhook endpoint with this address."
    remedy = "Change that one; an endpoint may hear of several types of events."
    default_message = gettext_noop("This project has a webhook endpoint with this address already.")


def list_endpoints(project: Project | None) -> Sequence[WebhookEndpoint]:
    """Return the endpoints of a project, or for the operator of all, newest first."""
    query = select(WebhookEndpoint)
    if project is not None:
        query = query.where(WebhookEndpoint.project_id == project.id)
    return db.session.scalars(query.order_by(WebhookEndpoint.id.desc())).all()


def find_endpoint(project: Project, endpoint_id: str) -> WebhookEndpoint:
    """Return one of the project's endpoints; raise `NotFound`."""
    query = select(WebhookEndpoint).where(
        WebhookEndpoint.id == endpoint_id, WebhookEndpoint.project_id == project.id
    )
    found = db.session.scalars(query).one_or_none() if is_identifier(endpoint_id) else None
    if found is None:
        raise NotFound("There is no such webhook endpoint in this project.")
    return found


def get_endpoint(endpoint_id: str) -> WebhookEndpoint:
    """Return any project's endpoint, for the operator; raise `NotFound`."""
    found = db.session.get(WebhookEndpoint, endpoint_id)
    if found is None:
        raise NotFound(f"There is no webhook endpoint with the id {endpoint_id}.")
    return found


def add_endpoint(
    project: Project, url: str, events: Sequence[str], created_by: str, keeper_id: str
) -> tuple[WebhookEndpoint, str]:
    """Add an endpoint that is told of `events` (none: all) from now on; return it and its secret.

    It hears as long as the account `keeper_id`, whose name is `created_by`, is an admin.
    Raises `EndpointExists`, `TooManyEndpoints` and `ValidationFailed`.
    """
    require_reachable(url)
    there = list_endpoints(project)
    _require_new(url, there)
    if len(there) >= MOST_ENDPOINTS:
        raise TooManyEndpoints
    endpoint = WebhookEndpoint(
        project_id=project.id,
        url=url,
        events=list(events),
        secret=new_secret(),
        read_to=find_newest_event(project.id),
        created_by=created_by,
        keeper_id=keeper_id,
    )
    db.session.add(endpoint)
    db.session.flush()
    _record(EventType.WEBHOOK_ADDED, project, endpoint)
    return endpoint, endpoint.secret


def change_endpoint(
    project: Project,
    endpoint: WebhookEndpoint,
    *,
    url: str | None = None,
    events: Sequence[str] | None = None,
    is_active: bool | None = None,
) -> bool:
    """Change what isn't None; return whether anything changed.

    An endpoint that is switched on again hears of what happens from then on. Raises
    `EndpointExists`, `EndpointPaused` and `ValidationFailed`.
    """
    if url is not None:
        require_reachable(url)
    wanted = {"url": url, "events": events, "is_active": is_active}
    changes: dict[str, Any] = {
        name: value
        for name, value in wanted.items()
        if value is not None and getattr(endpoint, name) != value
    }
    if not changes:
        return False
    if url is not None and "url" in changes:
        _require_new(url, [each for each in list_endpoints(project) if each is not endpoint])
        changes["failing_since"] = None
    if changes.get("is_active"):
        require_unpaused(endpoint)
        _switch_on(project, endpoint)
    for name, value in changes.items():
        setattr(endpoint, name, value)
    _mark_changed(endpoint)
    if is_off := changes.get("is_active") is False:
        stop_endpoint(endpoint, BY_HAND)
    _record(EventType.WEBHOOK_STOPPED if is_off else EventType.WEBHOOK_CHANGED, project, endpoint)
    return True


def stop_endpoint(endpoint: WebhookEndpoint, because: str) -> None:
    """Switch an endpoint off, and give up what waits for it."""
    endpoint.is_active, endpoint.failing_since = False, None
    endpoint.switched_off_because = because[:MOST_BECAUSE]
    _mark_changed(endpoint)
    db.session.execute(
        update(WebhookDelivery)
        .where(WebhookDelivery.endpoint_id == endpoint.id, IS_DUE)
        .values(state="failed", leased_until=None)
    )


def rotate_secret(project: Project, endpoint: WebhookEndpoint, account_id: str) -> str:
    """Give the endpoint a new secret, and return it; the old one signs too for a day.

    A paused one is kept by this, for the account: it hears from now on, and only the new one signs.
    """
    if is_kept := endpoint.state == "paused":
        _switch_on(project, endpoint)
        endpoint.keeper_id = account_id
    endpoint.old_secret = None if is_kept else endpoint.secret
    endpoint.old_secret_until = None if is_kept else clock.now() + OLD_SECRET_SIGNS
    endpoint.secret = new_secret()
    _mark_changed(endpoint)
    _record(EventType.WEBHOOK_ROTATED, project, endpoint)
    return endpoint.secret


def remove_endpoint(project: Project, endpoint: WebhookEndpoint) -> None:
    """Remove an endpoint with its deliveries."""
    db.session.delete(endpoint)
    _record(EventType.WEBHOOK_REMOVED, project, endpoint)


def require_unpaused(endpoint: WebhookEndpoint) -> None:
    """Raise `EndpointPaused` for an endpoint that waits until somebody keeps it."""
    if endpoint.state == "paused":
        raise EndpointPaused


def find_newest_event(project_id: str) -> str:
    """Return the id of the last event of a project, or "" before the first."""
    newest = select(func.max(Event.id)).where(Event.project_id == project_id)
    return db.session.scalar(newest) or ""


def require_reachable(url: str) -> None:
    """Raise `ValidationFailed` for a URL that nothing would be sent to.

    What a name leads to is looked at when something is sent.
    """
    if current_settings().webhook_addresses == "any":
        return
    parts = urlsplit(url)
    if parts.scheme.lower() != "https":
        raise ValidationFailed.of({"url": ["Must start with https://."]})
    try:
        is_inside = not is_public((parts.hostname or "").strip("[]"))
    except ValueError:
        is_inside = (parts.hostname or "").rstrip(".") == "localhost"
    if is_inside:
        raise ValidationFailed.of({"url": ["Must be an address on the public internet."]})


def _require_new(url: str, others: Sequence[WebhookEndpoint]) -> None:
    """Raise `EndpointExists` if one of the locked project's other endpoints is called there too."""
    if _spell_alike(url) in map(_spell_alike, [each.url for each in others]):
        raise EndpointExists


def _spell_alike(url: str) -> str:
    """Return a URL as all that lead to the same address: lower case where it makes no difference,
    without the usual port and what is never sent."""
    parts = urlsplit(url)
    usual = {"https": ":443", "http": ":80"}[parts.scheme]
    host = parts.netloc.lower().removesuffix(usual)
    return parts._replace(netloc=host, path=parts.path or "/", fragment="").geturl()


def name_host(endpoint: WebhookEndpoint) -> str:
    """Return the part of the URL that may be shown; the rest may hold a secret."""
    return urlsplit(endpoint.url).hostname or ""


def _switch_on(project: Project, endpoint: WebhookEndpoint) -> None:
    endpoint.is_active, endpoint.failing_since, endpoint.switched_off_because = True, None, None
    endpoint.read_to = find_newest_event(project.id)


def _mark_changed(endpoint: WebhookEndpoint) -> None:
    endpoint.updated_at = max(clock.now(), endpoint.updated_at + clock.MILLISECOND)
    db.session.flush()


def _record(type: EventType, project: Project, endpoint: WebhookEndpoint) -> None:
    record_project_event(type, project, url=name_host(endpoint))
