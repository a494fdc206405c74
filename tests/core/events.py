"""What was recorded."""

from typing import Any

from flask import Flask
from sqlalchemy import select

from testimonials.core.audit import Event
from testimonials.core.extensions import db


def read_events(app: Flask, account_id: str | None = "", **columns: Any) -> list[Event]:
    """Return the events of an account, of nobody (None) or of all, oldest first."""
    query = select(Event).filter_by(**columns).order_by(Event.id)
    if account_id != "":
        query = query.where(Event.account_id == account_id)
    with app.app_context():
        return list(db.session.scalars(query))


def read_types(app: Flask, account_id: str | None = "") -> list[str]:
    """Return the types of these events, oldest first."""
    return [event.type for event in read_events(app, account_id)]
