"""The mails to the operator about the scheduled backups."""

import re
from datetime import timedelta

from sqlalchemy import select

from testimonials.auth.emails import send_notice
from testimonials.core import clock
from testimonials.core.mail.outbox import OutboxMail
from testimonials.core.urls import app_url
from testimonials.extensions import db
from testimonials.settings.current import current_settings

FAILED = "backup-failed"
WORKS = "backup-works"
REPEATED_AFTER = timedelta(days=1)
_NUMBER = re.compile(r"[0-9]+")
FOOTNOTE = "This goes to the address in the setting OPERATOR_EMAIL."


def tell_of_failed_backup(reason: str) -> None:
    """Put the mail into the outbox that a backup failed; the same reason once a day at most."""
    recipient = current_settings().operator_email
    if not recipient or _is_told(recipient, _subject(reason)):
        return
    send_notice(
        recipient,
        FAILED,
        _subject(reason),
        [
            f"The scheduled backup of {app_url()} failed: {reason}.",
            "It is tried again each hour. You hear of it once a day until it works, and then that "
            "it works again. The backups made before are kept.",
        ],
        "",
        "",
        FOOTNOTE,
    )


def tell_that_backups_work() -> None:
    """Put the mail into the outbox that a backup was made again, if the last one told failed."""
    recipient = current_settings().operator_email
    newest = _newest(recipient) if recipient else None
    if newest is None or newest.purpose != FAILED:
        return
    send_notice(
        recipient,
        WORKS,
        "Backups work again",
        [f"The scheduled backup of {app_url()} was made again."],
        "",
        "",
        FOOTNOTE,
    )


def _is_told(recipient: str, subject: str) -> bool:
    newest = _newest(recipient)
    return (
        newest is not None
        and newest.purpose == FAILED
        and newest.created_at > clock.now() - REPEATED_AFTER
        # Numbers, such as what is free on a disk, make no other failure of it.
        and _NUMBER.sub("", newest.subject) == _NUMBER.sub("", subject)
    )


def _newest(recipient: str) -> OutboxMail | None:
    return db.session.scalars(
        select(OutboxMail)
        .where(OutboxMail.recipient == recipient, OutboxMail.purpose.in_((FAILED, WORKS)))
        .order_by(OutboxMail.created_at.desc(), OutboxMail.id.desc())
        .limit(1)
    ).one_or_none()


def _subject(reason: str) -> str:
    return " ".join(f"The backup failed: {reason}".split())
