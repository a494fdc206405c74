"""The mails to the operator about the scheduled backups."""

from datetime import timedelta

from sqlalchemy import select

from testimonials.auth.emails import send_plain_mail
from testimonials.core import clock
from testimonials.core.mail.outbox import OutboxMail
from testimonials.core.urls import app_url
from testimonials.extensions import db
from testimonials.settings.current import current_settings

FAILED = "backup-failed"
WORKS = "backup-works"
REPEATED_AFTER = timedelta(days=1)
FOOTNOTE = "This mail goes to the address in the setting OPERATOR_EMAIL."


def tell_of_failed_backup(reason: str) -> None:
    """Put a mail into the outbox that a backup failed; one a day at most."""
    recipient = current_settings().operator_email
    last = _find_failure(recipient)
    if not recipient or (last is not None and last.created_at > clock.now() - REPEATED_AFTER):
        return
    subject = " ".join(f"The backup failed: {reason}".split())
    lines = [
        f"The scheduled backup of {app_url()} failed: {reason}.",
        "It is tried again every hour. You get this mail once a day until a backup works, and then "
        "one that says so. Earlier backups are kept.",
    ]
    send_plain_mail(recipient, FAILED, subject, lines, footnote=FOOTNOTE)


def tell_that_backups_work() -> None:
    """Put a mail into the outbox that backups work again, if the last mail was about a failure."""
    recipient = current_settings().operator_email
    if recipient and _find_failure(recipient) is not None:
        lines = [f"The scheduled backup of {app_url()} works again."]
        send_plain_mail(recipient, WORKS, "Backups work again", lines, footnote=FOOTNOTE)


def _find_failure(recipient: str) -> OutboxMail | None:
    """Return the last mail if it was about a failure."""
    newest = db.session.scalars(
        select(OutboxMail)
        .where(OutboxMail.recipient == recipient, OutboxMail.purpose.in_((FAILED, WORKS)))
        .order_by(OutboxMail.created_at.desc(), OutboxMail.id.desc())
        .limit(1)
    ).one_or_none()
    return newest if newest is not None and newest.purpose == FAILED else None
