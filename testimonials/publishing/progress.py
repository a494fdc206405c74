"""What a publisher has still to do, and whether it can: for metrics, `/readyz` and `doctor`."""

import time

from sqlalchemy.exc import SQLAlchemyError

from testimonials.core.data.leases import note_job
from testimonials.extensions import db

# The background job whose row says when everything was out last.
PUBLISH_JOB = "publish"
EXTENSION = "testimonials_publishing"
# Less than the time after which others ask whether it is still done.
WRITE_SECONDS = 50.0


class Progress:
    """What waits to be published, as the process knows whose turn it is."""

    def __init__(self) -> None:
        self._since: dict[str, float] = {}
        self._error: str | None = None
        self._has_turn = False
        self._next_write = 0.0

    def note_behind(self, project_ids: set[str]) -> None:
        """Note which projects are not out as they are now."""
        now = time.monotonic()
        self._since = {each: self._since.get(each, now) for each in project_ids}
        self._has_turn = True
        if not project_ids and self._error is not None:
            self._error, self._next_write = None, 0.0

    def note_failure(self, error: Exception) -> None:
        """Note why something was not published."""
        if self._error is None:
            self._next_write = 0.0
        first = str(error).strip().partition("\n")[0]
        self._error = f"{type(error).__name__}: {first}".removesuffix(": ")

    def end(self) -> None:
        """Note that it is another process's turn."""
        self._since, self._has_turn = {}, False

    def measure(self) -> tuple[int, float] | None:
        """Return how many projects wait, and the oldest for how many seconds; None off turn."""
        if not self._has_turn:
            return None
        since = list(self._since.values())
        return len(since), time.monotonic() - min(since) if since else 0.0

    def write(self) -> None:
        """Store now and then that all is out, or why not; commits."""
        if time.monotonic() < self._next_write or (self._since and self._error is None):
            return
        try:
            note_job(PUBLISH_JOB, self._error)
        except SQLAlchemyError:
            # Publishing is what matters; it is said a minute later.
            db.session.rollback()
        self._next_write = time.monotonic() + WRITE_SECONDS
