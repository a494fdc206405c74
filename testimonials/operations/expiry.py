"""What is swept when its time has passed."""

import logging

from testimonials.auth.services import delete_expired_accounts
from testimonials.auth.sessions import delete_expired_sessions
from testimonials.collection.asked_people import delete_old_invitations
from testimonials.extensions import begin_write, db, limiter
from testimonials.projects.ownership import delete_trashed_projects
from testimonials.projects.team import delete_expired_invitations
from testimonials.testimonials.moderation import empty_trash
from testimonials.testimonials.pictures import delete_unused_images
from testimonials.widget.sightings import delete_old_sightings

logger = logging.getLogger("testimonials")


def sweep() -> int:
    """Remove what has had its time, or what nothing names any more; commits.

    Gives how many accounts were removed.
    """
    begin_write()
    count = delete_expired_accounts()
    delete_expired_sessions()
    delete_trashed_projects()
    delete_expired_invitations()
    delete_old_invitations()
    empty_trash()
    delete_old_sightings()
    delete_unused_images()
    db.session.commit()
    limiter.remove_expired()
    if count:
        logger.info("removed %s unclaimed account(s) past their days", count)
    return count
