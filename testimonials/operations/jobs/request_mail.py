"""The mails that ask for testimonials: those that are due, a few each minute."""

from testimonials.collection.requests.request_mail import has_due_mails, write_due_mails
from testimonials.extensions import begin_write, db


def send_due_requests() -> int:
    """Write as many mails as the pace allows into the outbox; commits. Gives how many."""
    # Looking first, without a lock, keeps an idle service from holding up those who write.
    is_idle = not has_due_mails()
    db.session.rollback()
    if is_idle:
        return 0
    begin_write()
    count = write_due_mails()
    db.session.commit()
    return count
