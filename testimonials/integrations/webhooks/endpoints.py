"""Webhook endpoints: adding, changing and stopping them, and the email about it."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from sqlalchemy import ColumnElement, and_, exists, func, select, update

from testimonials.auth.emails import send_plain_mail
from testimonials.auth.models import Account
from testimonials.core import clock
from testimonials.core.audit import Event, EventType, record
from testimonials.core.db.engine import Timestamp, write_value
from testimonials.core.db.transactions import find_row, write
from testimonials.core.extensions import db
from testimonials.core.http.errors import ServiceError, ValidationFailed, require_found
from testimonials.core.http.i18n import gettext_noop
from testimonials.core.http.urls import project_url
from testimonials.core.http_client import is_public
from testimonials.core.settings.table import current_settings
from testimonials.integrations.webhooks.models import (
    BUILD,
    EVENT,
    IS_DUE,
    LEFT,
    WebhookDelivery,
    WebhookEndpoint,
)
from testimonials.integrations.webhooks.payloads import TEST, new_secret
from testimonials.projects.access import Role, has_role
from testimonials.projects.models import Project
from testimonials.transfer.ownership import handed_over

WEBHOOK_ADDED = EventType("webhook.added", "added the webhook endpoint %(url)s")
WEBHOOK_CHANGED = EventType("webhook.changed", "changed the webhook endpoint %(url)s")
WEBHOOK_ROTATED = EventType(
    "webhook.rotated", "replaced the secret of the webhook endpoint %(url)s"
)
WEBHOOK_STOPPED = EventType("webhook.stopped", "switched off the webhook endpoint %(url)s")
WEBHOOK_REMOVED = EventType("webhook.removed", "removed the webhook endpoint %(url)s")


# Functions that change something expect `project` to be locked.

MAX_ENDPOINTS = 10
OLD_SECRET_LIFE = timedelta(hours=24)
BY_HAND = gettext_noop("It was switched off by hand.")
# What can change a website: the default events of build hooks.
BUILD_EVENTS = (
    "testimonial.approved",
    "testimonial.rejected",
    "testimonial.updated",
    "testimonial.deleted",
    "testimonial.withdrawn",
    "project.updated",
)


class TooManyEndpoints(ServiceError):
    status = 422
    meaning = "The project has the maximum number of webhook endpoints."
    remedy = "Remove one first."
    default_message = f"A project has at most {MAX_ENDPOINTS} webhook endpoints. Remove one first."


class EndpointPaused(ServiceError):
    status = 422
    meaning = "Whoever added the webhook endpoint is no longer an admin of the project."
    remedy = "Keep it by replacing its secret (`POST .../rotate`), or remove it."
    default_message = gettext_noop(
        "The person who added this webhook endpoint no longer manages the project. Keep it with "
        "a new secret, or remove it."
    )


class EndpointExists(ServiceError):
    status = 409
    meaning = "The project has a webhook endpoint with this URL."
    remedy = "Change that one; an endpoint may get several types of events."
    default_message = gettext_noop("This project already has a webhook endpoint with this address.")


def list_endpoints(project: Project | None) -> Sequence[WebhookEndpoint]:
    """Return the endpoints of a project, or of all projects for the operator, newest first."""
    query = select(WebhookEndpoint)
    if project is not None:
        query = query.where(WebhookEndpoint.project_id == project.id)
    return db.session.scalars(query.order_by(WebhookEndpoint.id.desc())).all()


def find_endpoint(project: Project, endpoint_id: str) -> WebhookEndpoint:
    row = find_row(WebhookEndpoint, endpoint_id, WebhookEndpoint.project_id == project.id)
    return require_found(row, "There is no such webhook endpoint in this project.")


def get_endpoint(endpoint_id: str) -> WebhookEndpoint:
    """Return any project's endpoint, for the operator; raise `NotFound`."""
    row = db.session.get(WebhookEndpoint, endpoint_id)
    return require_found(row, f"There is no webhook endpoint with the id {endpoint_id}.")


def add_endpoint(
    project: Project,
    url: str,
    events: Sequence[str],
    created_by: str,
    keeper_id: str,
    template: str = EVENT,
) -> WebhookEndpoint:
    """Add an endpoint that gets `events` (empty: all) from now on, and return it.

    It gets them while the account `keeper_id`, whose name is `created_by`, is an admin.
    Raises `EndpointExists`, `TooManyEndpoints` and `ValidationFailed`.
    """
    require_reachable(url)
    _require_room(project, url)
    endpoint = WebhookEndpoint(
        project_id=project.id,
        url=url,
        template=template,
        events=_events_of(template, events),
        secret=new_secret(),
        read_to=find_newest_event(project.id),
        created_by=created_by,
        keeper_id=keeper_id,
    )
    db.session.add(endpoint)
    db.session.flush()
    _record(WEBHOOK_ADDED, project, endpoint)
    return endpoint


def change_endpoint(project: Project, endpoint: WebhookEndpoint, **values: Any) -> None:
    """Change `url`, `events` or `is_active`.

    An endpoint that is switched on again gets new events only. Raises `EndpointExists`,
    `EndpointPaused` and `ValidationFailed`.
    """
    if "url" in values:
        require_reachable(values["url"])
    if "events" in values:
        values["events"] = _events_of(endpoint.template, values["events"])
    changes = {name: value for name, value in values.items() if getattr(endpoint, name) != value}
    if not changes:
        return
    if "url" in changes:
        others = [other for other in list_endpoints(project) if other is not endpoint]
        _require_new(changes["url"], others)
        changes["failing_since"] = None
    if changes.get("is_active"):
        require_unpaused(endpoint)
        _switch_on(endpoint)
    for name, value in changes.items():
        setattr(endpoint, name, value)
    if changes.get("is_active") is False:
        stop_endpoint(project, endpoint, BY_HAND)
    else:
        _mark_changed(endpoint)
        _record(WEBHOOK_CHANGED, project, endpoint)


def _events_of(template: str, events: Sequence[str]) -> list[str]:
    """Return `events`, with the default for a build hook."""
    return list(events or (BUILD_EVENTS if template == BUILD else ()))


def stop_endpoint(project: Project, endpoint: WebhookEndpoint, because: str) -> None:
    """Switch an endpoint off, and abandon its waiting deliveries."""
    endpoint.is_active, endpoint.failing_since = False, None
    endpoint.switched_off_because = because[:200]
    _mark_changed(endpoint)
    db.session.execute(
        update(WebhookDelivery)
        .where(WebhookDelivery.endpoint_id == endpoint.id, IS_DUE)
        .values(state="failed", leased_until=None)
    )
    _record(WEBHOOK_STOPPED, project, endpoint)


def rotate_secret(project: Project, endpoint: WebhookEndpoint, account_id: str) -> None:
    """Replace the secret; the old one also signs for another day.

    A paused endpoint is resumed for the account, and only the new secret signs.
    """
    if is_kept := endpoint.state == "paused":
        _switch_on(endpoint)
        endpoint.keeper_id = account_id
    endpoint.old_secret = None if is_kept else endpoint.secret
    endpoint.old_secret_until = None if is_kept else clock.now() + OLD_SECRET_LIFE
    endpoint.secret = new_secret()
    _mark_changed(endpoint)
    _record(WEBHOOK_ROTATED, project, endpoint)


def remove_endpoint(project: Project, endpoint: WebhookEndpoint) -> None:
    db.session.delete(endpoint)
    _record(WEBHOOK_REMOVED, project, endpoint)


def copy_endpoint(endpoint: WebhookEndpoint) -> dict[str, Any]:
    """Return the JSON that `restore_endpoint` takes; waiting deliveries are read again."""
    columns = WebhookEndpoint.__table__.columns
    values = {column.name: getattr(endpoint, column.name) for column in columns}
    waiting = select(func.min(WebhookDelivery.event_id)).where(
        WebhookDelivery.endpoint_id == endpoint.id, IS_DUE, WebhookDelivery.event_type != TEST
    )
    if oldest := db.session.scalar(waiting):
        before = select(func.max(Event.id)).where(
            Event.project_id == endpoint.project_id, Event.id < oldest
        )
        values["read_to"] = db.session.scalar(before) or ""
    return {name: write_value(value) for name, value in values.items()}


def restore_endpoint(project: Project, values: dict[str, Any]) -> WebhookEndpoint:
    """Restore a removed endpoint; it is paused if its keeper has left meanwhile.

    Raises `EndpointExists` and `TooManyEndpoints`.
    """
    _require_room(project, values["url"])
    for name, column in WebhookEndpoint.__table__.columns.items():
        if isinstance(column.type, Timestamp) and values[name]:
            values[name] = datetime.fromisoformat(values[name])
    endpoint = WebhookEndpoint(**values)
    db.session.add(endpoint)
    _mark_changed(endpoint)
    _record(WEBHOOK_ADDED, project, endpoint)
    pause_left(Project.id == project.id)
    return endpoint


def require_unpaused(endpoint: WebhookEndpoint) -> None:
    if endpoint.state == "paused":
        raise EndpointPaused


def find_newest_event(project_id: str) -> str:
    """Return the id of the last event of a project, or "" before the first."""
    newest = select(func.max(Event.id)).where(Event.project_id == project_id)
    return db.session.scalar(newest) or ""


def require_reachable(url: str) -> None:
    """Raise `ValidationFailed` for a URL that is not allowed; names are resolved when sending."""
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
    if _normalize(url) in [_normalize(other.url) for other in others]:
        raise EndpointExists


def _require_room(project: Project, url: str) -> None:
    endpoints = list_endpoints(project)
    _require_new(url, endpoints)
    if len(endpoints) >= MAX_ENDPOINTS:
        raise TooManyEndpoints


def _normalize(url: str) -> str:
    """Return the URL with a lower-case host, and without the default port and the fragment."""
    parts = urlsplit(url)
    port = {"https": ":443", "http": ":80"}[parts.scheme]
    host = parts.netloc.lower().removesuffix(port)
    return parts._replace(netloc=host, path=parts.path or "/", fragment="").geturl()


def name_host(endpoint: WebhookEndpoint) -> str:
    """Return the part of the URL that may be shown; the rest may contain a secret."""
    return urlsplit(endpoint.url).hostname or ""


def _switch_on(endpoint: WebhookEndpoint) -> None:
    endpoint.is_active, endpoint.failing_since, endpoint.switched_off_because = True, None, None
    endpoint.read_to = find_newest_event(endpoint.project_id)


def _mark_changed(endpoint: WebhookEndpoint) -> None:
    endpoint.updated_at = max(clock.now(), endpoint.updated_at + clock.MILLISECOND)
    db.session.flush()


def _record(type: EventType, project: Project, endpoint: WebhookEndpoint) -> None:
    record(type, project, url=name_host(endpoint))


def send_left_mail(
    project: Project, hosts: Sequence[str], secret_until: datetime | None = None
) -> None:
    """Tell the owner what to decide now that somebody has left the project.

    The old secret of links that prove a purchase works until `secret_until`, if it was replaced.
    """
    lines = []
    if hosts:
        lines.append(
            f"The person who added webhook endpoints of the project {project.name} no longer "
            "manages it. They receive no events until you keep or remove each: "
            f"{', '.join(hosts)}. One that you keep gets a new signing secret."
        )
    if secret_until:
        lines.append(
            f"Links that prove a purchase in the project {project.name} have a new signing secret. "
            f"The former owner’s also works until {clock.day(secret_until)}, so that the shop "
            "can switch. You can revoke it earlier, on the page about these links."
        )
    send_plain_mail(
        db.session.get_one(Account, project.account_id).email,
        "left-behind",
        "Decide what to keep after somebody has left",
        lines,
        footnote="You are getting this email because you own the project.",
        link=project_url(project.id, f"settings/developers/{'webhooks' if hosts else 'purchases'}"),
        button="Look at the webhooks" if hosts else "Look at the links",
    )


def send_stopped_mail(project: Project, host: str, reason: str) -> None:
    send_plain_mail(
        db.session.get_one(Account, project.account_id).email,
        "webhook-stopped",
        "A webhook endpoint was switched off",
        [
            f"The webhook endpoint at {host} of the project {project.name} was switched off, so "
            "it no longer receives events.",
            reason,
            "Once it works again, switch it back on, and redeliver what it has missed.",
        ],
        footnote="You are getting this email because the endpoint belongs to a project of yours.",
        link=project_url(project.id, "settings/developers/webhooks"),
        button="Look at the webhooks",
    )


# Endpoints of somebody who has left, paused until somebody keeps or removes them. The conditions
# are for queries that select from `project` and `webhook_endpoint`.


def gets_events() -> ColumnElement[bool]:
    """Return the condition that the project is in use and the keeper is an unsuspended admin."""
    is_suspended = exists().where(
        Account.id == WebhookEndpoint.keeper_id, Account.suspended_at.is_not(None)
    )
    return and_(
        Project.deleted_at.is_(None),
        ~Project.is_suspended,
        has_role(WebhookEndpoint.keeper_id, Role.ADMIN),
        ~is_suspended,
    )


def has_left() -> ColumnElement[bool]:
    """Return the condition that an endpoint isn't paused and its keeper is no longer an admin."""
    return and_(
        WebhookEndpoint.switched_off_because.is_distinct_from(LEFT),
        ~has_role(WebhookEndpoint.keeper_id, Role.ADMIN),
        Project.deleted_at.is_(None),
    )


def pause_all_left() -> None:
    """Pause the endpoints of everybody who has left, and email the owners; commits."""
    query = select(WebhookEndpoint.id).join(Project, Project.id == WebhookEndpoint.project_id)
    # Checked first without a lock, so that an idle service doesn't block writers.
    is_any = db.session.scalar(query.where(has_left()).limit(1)) is not None
    db.session.rollback()
    if is_any:
        with write():
            for project, hosts in pause_left().items():
                send_left_mail(project, hosts)


def pause_left(*conditions: ColumnElement[bool]) -> dict[Project, list[str]]:
    """Pause the endpoints whose keepers have left; return their hosts by project, for an email."""
    rows = db.session.execute(
        select(WebhookEndpoint, Project)
        .join(Project, Project.id == WebhookEndpoint.project_id)
        .where(has_left(), *conditions)
        # Accounts' records are locked in this order everywhere.
        .order_by(Project.account_id, WebhookEndpoint.id)
        .with_for_update(of=WebhookEndpoint, skip_locked=True)
    ).all()
    hosts: dict[Project, list[str]] = defaultdict(list)
    for endpoint, project in rows:
        stop_endpoint(project, endpoint, LEFT)
        hosts[project].append(name_host(endpoint))
    return hosts


@handed_over.connect
def pause_after_handover(project: Project, *, secret_until: datetime | None) -> None:
    hosts = pause_left(Project.id == project.id).get(project, [])
    if hosts or secret_until:
        send_left_mail(project, hosts, secret_until)
