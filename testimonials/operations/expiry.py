"""What is swept when its time has passed."""

import logging

from testimonials.auth.services import delete_expired_accounts
from testimonials.extensions import begin_write, db, limiter

logger = logging.getLogger("testimonials")


def sweep() -> int:
    """Remove unclaimed accounts past their days, and passed rate-limit windows; commits.

    Gives how many accounts were removed.
    """
    begin_write()
    count = delete_expired_accounts()
    db.session.commit()
    limiter.remove_expired()
    if count:
        logger.info("removed %s unclaimed account(s) past their days", count)
    return count
