"""How a door records what it did: who and from where are known from the request or command."""

from typing import Any, Protocol

from testimonials.activity.actors import current_actor, current_network
from testimonials.activity.event_types import EventType
from testimonials.activity.services import add_event


class Owned(Protocol):
    """A project: its id, and the account that it belongs to."""

    id: Any
    account_id: Any


def record_event(type: EventType, account_id: str | None, **details: Any) -> None:
    """Record what happened to an account, last before the commit.

    The details are JSON values, none of them a secret or the words of a testimonial.
    """
    add_event(type, account_id, None, current_actor(), current_network(), details)


def record_project_event(type: EventType, project: Owned, **details: Any) -> None:
    """Record what happened to a project, in the record of the account that it belongs to."""
    add_event(type, project.account_id, project.id, current_actor(), current_network(), details)
