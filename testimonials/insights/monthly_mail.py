"""One sentence a month by mail, for owners and admins who chose it: what the month before brought.

A mail and the note of it are written in one transaction, under the project's lock.
"""

from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import and_, case, func, select, true

from testimonials.auth.emails import send_plain_mail
from testimonials.auth.models import Account
from testimonials.core import clock
from testimonials.core.urls import project_url
from testimonials.extensions import db
from testimonials.insights.models import OTHER_WEBSITES, InsightDay
from testimonials.projects.access import Role, has_role
from testimonials.projects.models import NotificationChoice, Project
from testimonials.projects.notifications.services import (
    find_choice,
    latest_month,
    make_unsubscribe_url,
)
from testimonials.testimonials.counts.services import count_days
from testimonials.testimonials.emails import NAME_LENGTH, cut

LARGEST_BATCH = 200


def find_due(project_id: str | None = None) -> list[tuple[str, str]]:
    """Return project and account of everybody who is due a mail about the last month."""
    choice = NotificationChoice
    month = latest_month(clock.now())
    rows = db.session.execute(
        select(choice.project_id, choice.account_id)
        .join(Project, Project.id == choice.project_id)
        .join(Account, Account.id == choice.account_id)
        .where(choice.is_monthly, func.coalesce(choice.told_of_month, "") < month)
        .where(Project.deleted_at.is_(None), Account.claimed_at.is_not(None), ~Project.is_suspended)
        .where(has_role(choice.account_id, Role.ADMIN))
        .where(Project.id == project_id if project_id else true())
        .limit(LARGEST_BATCH)
    )
    return [(row[0], row[1]) for row in rows]


def tell_of_month(project: Project, account_id: str) -> bool:
    """Tell one person of the last month of the locked project.

    Returns False if that is no longer due: another process may have sent it.
    """
    account = db.session.get(Account, account_id)
    if account is None or (project.id, account_id) not in find_due(project.id):
        return False
    month = latest_month(clock.now())
    first = datetime.strptime(month, "%Y-%m").replace(tzinfo=UTC)
    figures = _count_month(project, first)
    name, views = cut(project.name, NAME_LENGTH), figures["views"]
    seen = f"seen {_count(views, 'time')}" if views else "not seen"
    end = make_unsubscribe_url(project.id, account_id, is_monthly=True)
    send_plain_mail(
        account.email,
        "month",
        f"{name} in {first:%B}: {seen}",
        [_write_sentence(f"{first:%B}", figures)],
        link=project_url(project.id, "insights"),
        button="Look at Insights",
        footnote=f"You get this mail once a month because you chose so for {name}.",
        list_unsubscribe=end,
        stop_url=end,
    )
    find_choice(account_id, project.id).told_of_month = month
    return True


def _count_month(project: Project, first: datetime) -> dict[str, int]:
    """Count what happened in the month that begins at `first`."""
    month, row = f"{first:%Y-%m}", InsightDay
    is_within = and_(
        row.project_id == project.id, row.day >= f"{month}-01", row.day <= f"{month}-31"
    )
    views, clicks, websites = db.session.execute(
        select(
            func.sum(row.views),
            func.sum(row.clicks),
            func.count(case((row.website.not_in(("", OTHER_WEBSITES)), row.website)).distinct()),
        ).where(is_within)
    ).one()
    wall = select(func.sum(row.views)).where(is_within, row.surface == "wall")
    sent = sum(
        each.sent
        for each in count_days(project.id, first)
        if f"{clock.EPOCH + timedelta(days=each.day):%Y-%m}" == month
    )
    numbers: dict[str, Any] = {
        "views": views,
        "clicks": clicks,
        "websites": websites,
        "wall": db.session.scalar(wall),
        "sent": sent,
    }
    return {name: int(number or 0) for name, number in numbers.items()}


def _write_sentence(month: str, figures: dict[str, int]) -> str:
    wrote = f"{_count(figures['sent'], 'customer')} wrote"
    if not figures["views"]:
        return f"In {month} nobody saw your testimonials, and {wrote}."
    places = [_count(figures["websites"], "website")] if figures["websites"] else []
    places += ["your public wall"] if figures["wall"] else []
    return (
        f"In {month} your testimonials were seen {_count(figures['views'], 'time')} "
        f"on {' and '.join(places)}, the button was clicked {_count(figures['clicks'], 'time')}, "
        f"and {wrote}."
    )


def _count(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"
