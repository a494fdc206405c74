"""Webhook endpoints and deliveries."""

import json
from datetime import datetime
from typing import Any

from sqlalchemy import JSON, ColumnElement, Index, String, Text, literal_column
from sqlalchemy.orm import Mapped, mapped_column

from testimonials.core import clock
from testimonials.core.audit import EventType
from testimonials.core.db.engine import Base, Timestamp, child_of, index_some, present
from testimonials.core.db.identifiers import new_identifier
from testimonials.core.http.i18n import gettext_noop
from testimonials.projects.events import (
    DOMAIN_LOST,
    DOMAIN_REMOVED,
    DOMAIN_VERIFIED,
    PROJECT_UPDATED,
)
from testimonials.projects.models import Project
from testimonials.testimonials.events import NUMBERS_CHANGED, SAMPLES_DELETED

_IS_DUE = "state = 'due'"
STATES = ("working", "failing", "off", "paused")
# An endpoint gets each event, signed, or an empty POST that starts the build of a website.
EVENT, BUILD = TEMPLATES = ("event", "build")
# These change websites too, but aren't events of webhooks.
FOR_BUILDS = (SAMPLES_DELETED, NUMBERS_CHANGED, DOMAIN_VERIFIED, DOMAIN_LOST, DOMAIN_REMOVED)
# The reason that makes an endpoint `paused`.
LEFT = gettext_noop("The person who added it no longer manages the project.")


class WebhookEndpoint(Base):
    """A URL to which the events of a project are sent."""

    id: Mapped[str] = mapped_column(primary_key=True, default=new_identifier)
    project_id: Mapped[str] = child_of(Project.id, index=True)
    url: Mapped[str] = mapped_column(String(500))
    # One of `TEMPLATES`.
    template: Mapped[str] = mapped_column(String(10), server_default=EVENT)
    # The types to send; empty for all.
    events: Mapped[list[str]] = mapped_column(JSON)
    # In plain text, to sign with. The old one also signs for another day.
    secret: Mapped[str]
    old_secret: Mapped[str | None]
    old_secret_until: Mapped[datetime | None] = mapped_column(Timestamp)
    # The id of the last event that was read into deliveries.
    read_to: Mapped[str]
    is_active: Mapped[bool] = mapped_column(default=True)
    failing_since: Mapped[datetime | None] = mapped_column(Timestamp)
    switched_off_because: Mapped[str | None] = mapped_column(String(200))
    created_by: Mapped[str] = mapped_column(String(254))
    # Who added it, or kept it after they had left: it gets events while they are an admin. No
    # foreign key, since a deleted account has no role.
    keeper_id: Mapped[str] = mapped_column(server_default="")
    created_at: Mapped[datetime] = mapped_column(Timestamp, default=present)
    updated_at: Mapped[datetime] = mapped_column(Timestamp, default=present)

    @property
    def types(self) -> dict[str, str]:
        """The types of events that are sent, with their names in webhooks."""
        named = {type: type.webhook for type in EventType.known.whole().values() if type.webhook}
        named |= dict.fromkeys(FOR_BUILDS, PROJECT_UPDATED) if self.template == BUILD else {}
        return {type: name for type, name in named.items() if name in (self.events or (name,))}

    @property
    def old_until(self) -> datetime | None:
        """Until when the old secret also signs, if it still does."""
        until = self.old_secret_until
        return until if until and until > clock.now() else None

    @property
    def signing_secrets(self) -> list[str]:
        """What deliveries are signed with; nothing for a build hook."""
        secrets = (self.shown_secret, self.old_until and self.old_secret)
        return [each for each in secrets if each and self.template != BUILD]

    @property
    def shown_secret(self) -> str | None:
        """The signing secret; None for a build hook, whose calls aren't signed."""
        return None if self.template == BUILD else self.secret

    @property
    def state(self) -> str:
        """One of `STATES`; `paused` until somebody keeps or removes it."""
        if not self.is_active:
            return "paused" if self.switched_off_because == LEFT else "off"
        return "failing" if self.failing_since else "working"


class WebhookDelivery(Base):
    """A message to an endpoint, kept for the log once it was accepted or abandoned."""

    __table_args__ = (
        Index("ix_webhook_delivery_endpoint_id_id", "endpoint_id", "id"),
        index_some("ix_webhook_delivery_due", _IS_DUE, "next_try_at", "id"),
        # Keeps deliveries about one testimonial in order.
        index_some("ix_webhook_delivery_subject", _IS_DUE, "endpoint_id", "subject", "event_id"),
    )

    id: Mapped[str] = mapped_column(primary_key=True, default=new_identifier)
    endpoint_id: Mapped[str] = child_of(WebhookEndpoint.id)
    event_id: Mapped[str]
    event_type: Mapped[str] = mapped_column(String(60))
    # The id of the testimonial that it is about.
    subject: Mapped[str | None]
    # As last sent: written for each attempt, so that no deleted data is sent.
    body: Mapped[str] = mapped_column(Text, default="")
    # `due`, `sent` or `failed`.
    state: Mapped[str] = mapped_column(String(10), default="due")
    tries: Mapped[int] = mapped_column(default=0)
    next_try_at: Mapped[datetime | None] = mapped_column(Timestamp)
    leased_until: Mapped[datetime | None] = mapped_column(Timestamp)
    # Of each attempt `at`, `ms`, `status` or `error`, and the beginning of the `answer`.
    attempts: Mapped[list[dict[str, Any]]] = mapped_column(JSON, default=list)
    created_at: Mapped[datetime] = mapped_column(Timestamp, default=present)

    @property
    def message_id(self) -> str:
        """The receiver's id for it, the same however often it is sent."""
        return f"msg_{self.event_id}{'_' if self.subject else ''}{self.subject or ''}"

    @property
    def due_at(self) -> datetime | None:
        return self.next_try_at if self.state == "due" else None

    @property
    def request(self) -> Any:
        return json.loads(self.body) if self.body else None


def is_due(delivery: type[WebhookDelivery]) -> ColumnElement[bool]:
    """Return the condition for waiting deliveries, worded as in their indexes."""
    return delivery.state == literal_column("'due'")


IS_DUE = is_due(WebhookDelivery)
# A waiting delivery with what it belongs to.
Due = tuple[WebhookDelivery, WebhookEndpoint, Project]
