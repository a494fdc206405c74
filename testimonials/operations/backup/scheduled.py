"""The backups that `serve` makes by itself, the mails about them, and the one before an upgrade."""

import logging
import re
from datetime import timedelta
from pathlib import Path

from sqlalchemy import select

from testimonials.auth.emails import send_plain_mail
from testimonials.auth.models import Account
from testimonials.core import clock
from testimonials.core.data.leases import BackgroundJob, is_over
from testimonials.core.mail.outbox import OutboxMail
from testimonials.core.urls import app_url
from testimonials.extensions import begin_write, db
from testimonials.operations.backup.making import BackupFailed, make_backup, name_backup
from testimonials.settings.current import current_settings
from testimonials.settings.instance_folder import give_to_owner

logger = logging.getLogger("testimonials")

BACKUP_JOB = "backup"
LONGEST_BACKUP = timedelta(hours=2)
RETRIED_AFTER = timedelta(hours=1)
KIND = "scheduled"
FAILED = "backup-failed"
WORKS = "backup-works"
MAILED_AFTER = timedelta(days=1)
FOOTNOTE = "This mail goes to the address in the setting OPERATOR_EMAIL."
# Nothing else in the folder is ever removed.
_SCHEDULED = re.compile(rf"{KIND}-[0-9]{{8}}T[0-9]{{6}}Z\.tar\.gz")


def is_backup_wanted() -> bool:
    """Return whether this instance has scheduled backups, and anything to back up."""
    settings = current_settings()
    if not settings.backup_hours or not settings.is_sqlite:
        return False
    has_accounts = db.session.scalar(select(Account.id).limit(1)) is not None
    db.session.rollback()
    return has_accounts


def is_backup_due(row: BackgroundJob) -> bool:
    """Return whether it is time for the next backup, sooner if the last failed or was cut off."""
    length = timedelta(hours=current_settings().backup_hours)
    if row.error is not None or row.leased_until is not None:
        length = min(length, RETRIED_AFTER)
    return is_over(row.started_at, length)


def make_scheduled_backup() -> None:
    """Make a backup, remove old ones, and mail the operator about failures; commit.

    Raises `BackupFailed`.
    """
    try:
        target = _make(KIND)
        _remove_old(target)
    except BackupFailed as error:
        begin_write()
        tell_of_failed_backup(str(error))
        db.session.commit()
        raise
    begin_write()
    tell_that_backups_work()
    db.session.commit()
    logger.info("backup made: %s", target)


def back_up_before(revision: str) -> Path:
    """Make the backup before an upgrade to `revision`; raise `BackupFailed`."""
    return _make(f"before-{revision}")


def _make(kind: str) -> Path:
    settings = current_settings()
    folder = Path(settings.backup_path)
    if not folder.exists():
        try:
            folder.mkdir(mode=0o700, parents=True)
        except OSError as error:
            raise BackupFailed(f"{folder} can't be created: {error.strerror}") from None
        give_to_owner(folder, settings.instance_path)
    target = folder / name_backup(kind)
    make_backup(settings, target)
    return target


def _remove_old(newest: Path) -> None:
    found = sorted(path for path in newest.parent.iterdir() if _SCHEDULED.fullmatch(path.name))
    # The new one is kept even if the clock was ahead when the others were made.
    others = [path for path in found if path != newest]
    for path in others[: max(0, len(others) - current_settings().backup_keep + 1)]:
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise BackupFailed(f"the old {path} can't be removed: {error.strerror}") from None


def tell_of_failed_backup(reason: str) -> None:
    """Mail the operator that a backup failed, at most once a day."""
    recipient = current_settings().operator_email
    last = _find_failure(recipient)
    if not recipient or (last is not None and last.created_at > clock.now() - MAILED_AFTER):
        return
    subject = " ".join(f"The backup failed: {reason}".split())
    lines = [
        f"The scheduled backup of {app_url()} failed: {reason}.",
        "It is retried every hour. You get this mail once a day until a backup works, and then one "
        "that says so. Earlier backups are kept.",
    ]
    send_plain_mail(recipient, FAILED, subject, lines, footnote=FOOTNOTE)


def tell_that_backups_work() -> None:
    """Mail the operator that backups work again, if the last mail was about a failure."""
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
