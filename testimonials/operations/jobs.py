"""What the background thread does now and then, beside sending mail."""

import logging
from collections.abc import Callable

from testimonials.extensions import db
from testimonials.operations.expiry import sweep
from testimonials.operations.notices import send_gathered_mail
from testimonials.operations.requests import send_due_requests

logger = logging.getLogger("testimonials")

JOBS: tuple[Callable[[], object], ...] = (send_gathered_mail, send_due_requests, sweep)


def run_jobs() -> None:
    """Do each job in its turn; one that fails is tried again next time and keeps none other up."""
    for job in JOBS:
        try:
            job()
        except Exception:
            db.session.rollback()
            logger.exception("background work failed; it is tried again")
