"""What was recorded."""

from typing import Any

from flask import Flask
from sqlalchemy import select

from testimonials.core.audit import IS_HISTORY, IS_TOLD, Event
from testimonials.core.db.identifiers import new_identifier
from testimonials.core.extensions import db


def read_events(app: Flask, account_id: str | None = "", **columns: Any) -> list[Event]:
    """Return the events of an account, of nobody (None) or of all, oldest first."""
    query = select(Event).filter_by(**columns).where(IS_TOLD).order_by(Event.id)
    if account_id != "":
        query = query.where(Event.account_id == account_id)
    with app.app_context():
        return list(db.session.scalars(query))


def read_types(app: Flask, account_id: str | None = "") -> list[str]:
    """Return the types of these events, oldest first."""
    return [event.type for event in read_events(app, account_id)]


def read_history(app: Flask) -> list[Event]:
    """Return what was done to testimonials, oldest first."""
    with app.app_context():
        return list(db.session.scalars(select(Event).where(IS_HISTORY).order_by(Event.id)))


def make_change(testimonial_id: str, before: dict[str, Any], **columns: Any) -> Event:
    """Return an edit to add to the history of a testimonial."""
    values = {"actor": "a", "action": "edit", "batch_id": new_identifier()} | columns
    return Event(
        id=new_identifier(), testimonial_id=testimonial_id, before=before, type="", times=0,
        actor_kind="person", details={}, **values,
    )  # fmt: skip
