"""Telling owners that a flood was held as spam, since it may be an event of theirs."""

from datetime import datetime, timedelta

from sqlalchemy import Select, func, select

from testimonials.auth.emails import send_plain_mail
from testimonials.collection.spam import FLOOD
from testimonials.core import clock
from testimonials.core.urls import project_url
from testimonials.extensions import db
from testimonials.projects.models import Project
from testimonials.projects.notifications.services import Reader, list_readers, make_unsubscribe_url
from testimonials.settings.current import current_settings
from testimonials.testimonials.emails import NAME_LENGTH, cut
from testimonials.testimonials.models import Testimonial

# How long the inbox shows a flood.
TOLD_DAYS = timedelta(days=7)


def tell_of_flood(project: Project, row: Testimonial) -> None:
    """Tell the project's people of the day's first submission that a flood held back."""
    midnight = row.created_at.replace(hour=0, minute=0, second=0, microsecond=0)
    others = _find_flood(project, midnight).where(Testimonial.id != row.id)
    newest = others.order_by(Testimonial.created_at.desc()).limit(1)
    if db.session.scalar(newest) is not None:
        return
    for reader in list_readers(project):
        if reader.mode != "never":
            send_flood_mail(project, reader)


def send_flood_mail(project: Project, reader: Reader) -> None:
    """Put the mail into the outbox that says that real testimonials may be in spam."""
    name = cut(project.name, NAME_LENGTH)
    send_plain_mail(
        reader.email,
        "flood",
        f"Many testimonials came at once for {name}",
        [
            f"More than {current_settings().flood_per_hour} testimonials arrived within an hour. "
            "The rest are held as spam for 30 days, since it is mostly programs that send so many.",
            "If they came from an event or a newsletter, release them there; nothing is lost. The "
            "operator of this service can raise the limit.",
        ],
        footnote="You get this mail once a day at most, and never if you choose no mail under "
        "Notifications.",
        link=f"{project_url(project.id, 'inbox')}?status=spam",
        button="Open the spam folder",
        # It can be ended without signing in.
        list_unsubscribe=make_unsubscribe_url(project.id, reader.account_id),
    )


def count_flood(project: Project) -> int:
    """Return how many testimonials a flood of the last days put into spam."""
    found = _find_flood(project, clock.now() - TOLD_DAYS).where(Testimonial.status == "spam")
    return int(db.session.scalar(select(func.count()).select_from(found.subquery())) or 0)


def _find_flood(project: Project, since: datetime) -> Select[str]:
    return select(Testimonial.id).where(
        Testimonial.project_id == project.id,
        Testimonial.created_at > since,
        Testimonial.held_for.contains(FLOOD),
    )
