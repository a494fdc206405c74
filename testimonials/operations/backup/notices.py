"""The mails to the operator about backups and copies that fail, and that work again."""

from datetime import timedelta

from sqlalchemy import select

from testimonials.auth.emails import send_plain_mail
from testimonials.core import clock
from testimonials.core.extensions import db
from testimonials.core.http.urls import app_url
from testimonials.core.mail.outbox import OutboxMail
from testimonials.core.settings.current import current_settings

FAILED, WORKS = "backup-failed", "backup-works"
COPY_FAILED, COPY_WORKS = "backup-copy-failed", "backup-copy-works"
MAILED_AFTER = timedelta(days=1)
FOOTNOTE = "This mail goes to the address in the setting OPERATOR_EMAIL."
UNTIL = "You get this mail once a day until it works, and then one that says so."


def tell_of_failed_backup(reason: str) -> None:
    """Mail the operator that a backup failed, at most once a day."""
    if recipient := _find_recipient(FAILED, WORKS):
        lines = [
            f"The scheduled backup of {app_url()} failed: {reason}.",
            f"It is retried every hour. {UNTIL} Earlier backups are kept.",
        ]
        subject = _join(f"The backup failed: {reason}".partition(". ")[0])
        send_plain_mail(recipient, FAILED, subject, lines, footnote=FOOTNOTE)


def tell_that_backups_work() -> None:
    """Mail the operator that backups work again, if the last mail was about a failure."""
    if recipient := _find_told(FAILED, WORKS):
        lines = [f"The scheduled backup of {app_url()} works again."]
        send_plain_mail(recipient, WORKS, "Backups work again", lines, footnote=FOOTNOTE)


def tell_of_failed_copy(reason: str) -> None:
    """Mail the operator that a backup has not left this machine, at most once a day."""
    if recipient := _find_recipient(COPY_FAILED, COPY_WORKS):
        lines = [
            f"The newest backup of {app_url()} was not copied off its machine: {reason}.",
            f"Copying it is retried every hour. {UNTIL} Earlier copies are kept.",
        ]
        subject = _join(f"The backup was not copied: {reason}")
        send_plain_mail(recipient, COPY_FAILED, subject, lines, footnote=FOOTNOTE)


def tell_that_copies_work() -> None:
    """Mail the operator that copies work again, if the last mail was about a failure."""
    if recipient := _find_told(COPY_FAILED, COPY_WORKS):
        lines = [f"The newest backup of {app_url()} has left its machine."]
        subject = "Backups are copied again"
        send_plain_mail(recipient, COPY_WORKS, subject, lines, footnote=FOOTNOTE)


def _join(subject: str) -> str:
    return " ".join(subject.split())


def _find_recipient(failed: str, works: str) -> str:
    """Return the operator's address, or "" if there is none or the day's mail has gone."""
    recipient = current_settings().operator_email
    last = _find_failure(recipient, failed, works)
    is_told = last is not None and last.created_at > clock.now() - MAILED_AFTER
    return "" if is_told else recipient


def _find_told(failed: str, works: str) -> str:
    """Return the operator's address if the last mail there was about a failure, otherwise ""."""
    recipient = current_settings().operator_email
    return recipient if _find_failure(recipient, failed, works) is not None else ""


def _find_failure(recipient: str, failed: str, works: str) -> OutboxMail | None:
    newest = db.session.scalars(
        select(OutboxMail)
        .where(OutboxMail.recipient == recipient, OutboxMail.purpose.in_((failed, works)))
        .order_by(OutboxMail.created_at.desc(), OutboxMail.id.desc())
        .limit(1)
    ).one_or_none()
    return newest if newest is not None and newest.purpose == failed else None
