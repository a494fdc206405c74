"""Notifications: mail about new testimonials, at once, after a pause, or once a day.

A mail and the note of who was told of what are written in one transaction, under the project's
lock, so that nobody is notified twice, however many processes run.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, and_, exists, func, or_, select, true

from testimonials.auth.models import Account
from testimonials.core import clock
from testimonials.extensions import db
from testimonials.projects.models import NotificationChoice, Project, ProjectMember
from testimonials.projects.notifications.services import Reader, list_readers, note_told
from testimonials.testimonials.emails import send_submissions_mail
from testimonials.testimonials.models import Testimonial

# A flood of submissions becomes one mail in this time.
PAUSE = timedelta(minutes=5)
DIGEST_HOUR = 8
LISTED = 20
LARGEST_BATCH = 200


def tell_of_submission(project: Project, testimonial: Testimonial) -> None:
    """Notify everybody who wants mail at once of a submission to the locked project.

    Those who had a mail in the last minutes are notified later, by `tell_waiting`.
    """
    now = clock.now()
    for reader in list_readers(project):
        if reader.mode != "at_once" or not _is_rested(reader, now):
            continue
        if reader.told_until is None:
            # The first notification is about this one alone, not everything that waits.
            _tell(project, reader, [testimonial], 1, now)
        else:
            _tell(project, reader, *_find_untold(project, reader), now)


def find_waiting(project_id: str | None = None) -> list[tuple[str, str]]:
    """Return project and account of everybody who is due a notification."""
    now = clock.now()
    digest = latest_digest_time(now)
    choice = NotificationChoice
    is_reader = or_(
        Project.account_id == choice.account_id,
        exists().where(
            ProjectMember.project_id == choice.project_id,
            ProjectMember.account_id == choice.account_id,
        ),
    )
    is_due = or_(
        and_(
            choice.mode == "at_once",
            or_(choice.last_sent_at.is_(None), choice.last_sent_at <= now - PAUSE),
            _has_untold(None),
        ),
        and_(
            choice.mode == "daily",
            or_(choice.last_sent_at.is_(None), choice.last_sent_at < digest),
            _has_untold(digest),
        ),
    )
    rows = db.session.execute(
        select(choice.project_id, choice.account_id)
        .join(Project, Project.id == choice.project_id)
        .join(Account, Account.id == choice.account_id)
        .where(Project.deleted_at.is_(None), Account.claimed_at.is_not(None), is_reader, is_due)
        .where(Project.id == project_id if project_id else true())
        .order_by(choice.told_until)
        .limit(LARGEST_BATCH)
    )
    return [(row[0], row[1]) for row in rows]


def tell_waiting(project: Project, account_id: str) -> bool:
    """Notify one person of everything new in the locked project, in one mail.

    Returns False if it is no longer due: another process may have sent it.
    """
    if (project.id, account_id) not in find_waiting(project.id):
        return False
    for reader in list_readers(project):
        rows, total = _find_untold(project, reader)
        if reader.account_id == account_id and rows:
            _tell(project, reader, rows, total, clock.now())
            return True
    return False


def latest_digest_time(now: datetime) -> datetime:
    """Return the last time at which the daily mails were due."""
    today = now.replace(hour=DIGEST_HOUR, minute=0, second=0, microsecond=0)
    return today if today <= now else today - timedelta(days=1)


def _tell(
    project: Project, reader: Reader, rows: Sequence[Testimonial], total: int, now: datetime
) -> None:
    send_submissions_mail(reader, project, rows, total)
    note_told(project, reader.account_id, now)


def _is_rested(reader: Reader, now: datetime) -> bool:
    return reader.last_sent_at is None or reader.last_sent_at <= now - PAUSE


def _find_untold(project: Project, reader: Reader) -> tuple[Sequence[Testimonial], int]:
    """Return the oldest testimonials that the person wasn't told of, and how many there are."""
    condition = and_(Testimonial.project_id == project.id, _is_waiting())
    for time in (reader.told_until, reader.since):
        if time is not None:
            condition = and_(condition, _queued_at() > time)
    total = int(db.session.scalar(select(func.count(Testimonial.id)).where(condition)) or 0)
    rows = db.session.scalars(
        select(Testimonial).where(condition).order_by(_queued_at(), Testimonial.id).limit(LISTED)
    ).all()
    return rows, total


def _has_untold(until: datetime | None) -> ColumnElement[bool]:
    found = exists().where(
        Testimonial.project_id == NotificationChoice.project_id,
        _is_waiting(),
        _queued_at() > NotificationChoice.told_until,
    )
    return found if until is None else found.where(_queued_at() < until)


def _queued_at() -> ColumnElement[datetime]:
    # The author may have returned it to the queue.
    return func.coalesce(Testimonial.returned_at, Testimonial.created_at)


def _is_waiting() -> ColumnElement[bool]:
    return and_(
        Testimonial.status == "pending",
        # What was released from spam is known already.
        Testimonial.held_for.is_(None),
        Testimonial.source == "public_page",
        Testimonial.deleted_at.is_(None),
    )
