"""The mails about new testimonials that are gathered: after a pause, and once a day."""

import logging

from testimonials.core.web.errors import NotFound
from testimonials.extensions import begin_write, db
from testimonials.projects.services import lock_project
from testimonials.testimonials.submission_mail import find_waiting, tell_waiting

logger = logging.getLogger("testimonials")


def send_gathered_mail() -> int:
    """Write every mail about new testimonials that is due; commits each. Gives how many."""
    # Looking first, without a lock, keeps an idle service from holding up those who write.
    waiting = find_waiting()
    db.session.rollback()
    count = 0
    for project_id, account_id in waiting:
        begin_write()
        try:
            count += tell_waiting(lock_project(project_id), account_id)
        except NotFound:
            # Deleted since it was looked for.
            db.session.rollback()
            continue
        db.session.commit()
    return count
