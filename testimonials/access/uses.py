"""When each access token was last used, for what and by which door.

A call must not cost a write, so uses are noted in memory and stored by the background work.
"""

import threading
from datetime import datetime
from typing import NamedTuple

from flask import Flask, current_app
from sqlalchemy import bindparam, or_, update

from testimonials.access.models import AccessToken
from testimonials.core import clock
from testimonials.core.data.database import Timestamp
from testimonials.extensions import db

EXTENSION = "testimonials_token_uses"


class Use(NamedTuple):
    """The last call with a token: the operation, and whether `api` or `mcp` made it."""

    at: datetime
    operation: str
    by: str


class Uses:
    """The last use of each token in this process since the last round of background work."""

    def __init__(self) -> None:
        self.noted: dict[str, Use] = {}
        self._lock = threading.Lock()

    def note(self, token_id: str, use: Use) -> None:
        with self._lock:
            self.noted[token_id] = use

    def take(self) -> dict[str, Use]:
        with self._lock:
            taken, self.noted = self.noted, {}
        return taken


def init_uses(app: Flask) -> None:
    app.extensions[EXTENSION] = Uses()


def note_use(token_id: str, operation: str, by: str) -> None:
    _uses().note(token_id, Use(clock.now(), operation, by))


def find_last_use(token: AccessToken) -> Use | None:
    """Return the last use that is stored or that this process has noted since."""
    noted = _uses().noted.get(token.id)
    if noted is not None or token.last_used_at is None:
        return noted
    return Use(token.last_used_at, token.last_used_for or "", token.last_used_by or "")


def take_uses() -> dict[str, Use]:
    return _uses().take()


_STORE = (
    update(AccessToken)
    .where(
        AccessToken.id == bindparam("token_id"),
        or_(
            AccessToken.last_used_at.is_(None),
            AccessToken.last_used_at < bindparam("at", type_=Timestamp),
        ),
    )
    .values(
        last_used_at=bindparam("at", type_=Timestamp),
        last_used_for=bindparam("operation"),
        last_used_by=bindparam("by"),
    )
)


def write_uses(taken: dict[str, Use]) -> None:
    """Store what `take_uses` returned."""
    # In one order, so that two processes don't wait for each other.
    rows = [{"token_id": token_id, **use._asdict()} for token_id, use in sorted(taken.items())]
    db.session.connection().execute(_STORE, rows)


def _uses() -> Uses:
    found: Uses = current_app.extensions[EXTENSION]
    return found
