"""Endpoints of somebody who has left: paused until somebody who stays keeps or removes each."""

from collections import defaultdict

from sqlalchemy import ColumnElement, and_, exists, select

from testimonials.activity.event_types import EventType
from testimonials.activity.recording import record_project_event
from testimonials.auth.models import Account
from testimonials.extensions import db
from testimonials.projects.access import Role, has_role
from testimonials.projects.models import Project
from testimonials.webhooks.models import LEFT, WebhookEndpoint
from testimonials.webhooks.services import name_host, stop_endpoint


def may_hear() -> ColumnElement[bool]:
    """Return the condition that an endpoint's keeper is an admin who isn't suspended.

    For queries that select from `project` and `webhook_endpoint`.
    """
    is_suspended = exists().where(
        Account.id == WebhookEndpoint.keeper_id, Account.suspended_at.is_not(None)
    )
    return has_role(WebhookEndpoint.keeper_id, Role.ADMIN) & ~is_suspended


def has_left() -> ColumnElement[bool]:
    """Return the condition that an endpoint's keeper is no admin any more, and it isn't paused."""
    return and_(
        WebhookEndpoint.switched_off_because.is_distinct_from(LEFT),
        ~has_role(WebhookEndpoint.keeper_id, Role.ADMIN),
        Project.deleted_at.is_(None),
    )


def is_any_left() -> bool:
    """Tell whether `pause_left` would find anything, without a lock."""
    query = select(WebhookEndpoint.id).join(Project, Project.id == WebhookEndpoint.project_id)
    return db.session.scalar(query.where(has_left()).limit(1)) is not None


def pause_left(*conditions: ColumnElement[bool]) -> dict[Project, list[str]]:
    """Pause the endpoints whose keepers have left; return their hosts, by project.

    What waits for them is given up. The caller mails the owners.
    """
    rows = db.session.execute(
        select(WebhookEndpoint, Project)
        .join(Project, Project.id == WebhookEndpoint.project_id)
        .where(has_left(), *conditions)
        # In the order of the records, which other processes lock too.
        .order_by(Project.account_id, WebhookEndpoint.id)
        .with_for_update(of=WebhookEndpoint, skip_locked=True)
    ).all()
    hosts: dict[Project, list[str]] = defaultdict(list)
    for endpoint, project in rows:
        stop_endpoint(endpoint, LEFT)
        hosts[project].append(name_host(endpoint))
    for project, names in hosts.items():
        for host in names:
            record_project_event(EventType.WEBHOOK_STOPPED, project, url=host)
    return hosts
