"""Numbers from before every genuine rating counted: when they end, and the email about it."""

from datetime import datetime, timedelta

from sqlalchemy import or_, select, text, update

from testimonials.auth.accounts import may_act
from testimonials.auth.emails import send_plain_mail
from testimonials.auth.models import Account
from testimonials.core import clock
from testimonials.core.audit import record
from testimonials.core.db.transactions import next_batch, write
from testimonials.core.extensions import db
from testimonials.core.http.i18n import format_average, format_day, gettext, ngettext
from testimonials.core.http.urls import project_url
from testimonials.core.jobs import every
from testimonials.core.text import cut
from testimonials.projects.models import Project
from testimonials.projects.notifications import SUBJECT_NAME, notify_each
from testimonials.projects.projects import lock_project, mark_changed
from testimonials.testimonials.counts import average, count_genuine, count_where
from testimonials.testimonials.events import NUMBERS_CHANGED
from testimonials.testimonials.history import ROWS
from testimonials.testimonials.models import OVERDUE_DAYS, WAITING, Testimonial, TestimonialCount

# How long the old numbers stay after somebody on the team first opens one of the project's pages.
LOOK = timedelta(days=14)
# A key in the old numbers once the owner was notified.
TOLD = "told"


def describe_new_average(project: Project) -> str:
    """Return a sentence about how the old numbers will change, or "" if nobody would notice."""
    old, row = project.old_numbers, TestimonialCount
    if not old:
        return ""
    was, now = average(old["total"], sum(old["stars"])), count_genuine(project).average
    is_rejected = (row.status == "rejected", row.standing == "genuine", row.halves > 1)
    count = count_where(project.id, *is_rejected)
    values = {"old": format_average(was), "new": format_average(now)}
    if was == now:
        if not count:
            return ""
        return ngettext(
            "%(num)s rating that you rejected counts now.",
            "%(num)s ratings that you rejected count now.",
            count,
        )
    if not count:
        return gettext(
            "%(old)s becomes %(new)s, because every genuine rating counts now.", **values
        )
    return ngettext(
        "%(old)s becomes %(new)s, because %(num)s rating that you rejected counts now.",
        "%(old)s becomes %(new)s, because %(num)s ratings that you rejected count now.",
        count,
        **values,
    )


def describe_old_numbers(project: Project) -> dict[str, str] | None:
    """Return how the old numbers will change, and when."""
    message, until = describe_new_average(project), project.numbers_from
    if not message or until is None:
        return None
    return {"said": message, "until": format_day(min(until, clock.now() + LOOK))}


def start_old_numbers_clock(project: Project) -> None:
    """Let the old numbers of the locked project end once its people have had time to look."""
    if project.old_numbers and project.numbers_from:
        project.numbers_from = min(project.numbers_from, clock.now() + LOOK)


def starts_clock(project: Project) -> bool:
    until = project.numbers_from
    return bool(project.old_numbers) and until is not None and until > clock.now() + LOOK


def end_old_numbers(project: Project) -> None:
    """Let every genuine rating of the locked project count from now on."""
    if project.old_numbers:
        project.old_numbers = project.numbers_from = None
        mark_changed(project)
        record(NUMBERS_CHANGED, project)


@every("new-numbers")
def follow_old_numbers() -> int:
    """Count overdue ratings, end old numbers whose time is up, and notify other owners once."""
    with write():
        while mark_overdue() == ROWS:
            next_batch()
    return notify_each(_find_due, _follow)


def mark_overdue() -> int:
    """Let up to ROWS ratings count that waited too long for a decision; return how many."""
    waiting = text(WAITING), Testimonial.created_at <= clock.now() - timedelta(days=OVERDUE_DAYS)
    query = select(Testimonial.id, Testimonial.project_id).where(*waiting).limit(ROWS)
    overdue = db.session.execute(query).all()
    for project_id in sorted({row.project_id for row in overdue}):
        mark_changed(lock_project(project_id))
    ids = [row.id for row in overdue]
    statement = update(Testimonial).where(Testimonial.id.in_(ids)).values(is_overdue=True)
    db.session.execute(statement.execution_options(synchronize_session=False))
    return len(ids)


def _find_due() -> list[tuple[str, str]]:
    is_over = Project.numbers_from <= clock.now()
    columns = (Project.id, Project.account_id, Project.old_numbers, is_over)
    query = select(*columns).join(Account, Account.id == Project.account_id)
    query = query.where(Project.old_numbers.is_not(None), or_(is_over, may_act()))
    rows = db.session.execute(query)
    return [(row[0], row[1]) for row in rows if row[3] or TOLD not in row[2]]


def _follow(project: Project, account_id: str) -> bool:
    """End a locked project's old numbers or notify its owner; return whether either was due."""
    old, until = project.old_numbers, project.numbers_from
    if not old or until is None:
        return False
    if until <= clock.now():
        end_old_numbers(project)
        return True
    if message := describe_new_average(project):
        email = db.session.get_one(Account, account_id).email
        send_new_numbers_mail(project, email, message, until)
    project.old_numbers = old | {TOLD: True}
    return True


def send_new_numbers_mail(project: Project, email: str, message: str, until: datetime) -> None:
    send_plain_mail(
        email,
        "new-numbers",
        f"The average of {cut(project.name, SUBJECT_NAME)} counts every rating now",
        [
            message,
            "An average that leaves out what its owner didn’t like misleads, and laws forbid it. "
            "So rejecting means “not shown”, and the rating counts. What isn’t genuine, such as "
            "spam or somebody who was never your customer, you set aside with a reason: then it "
            "doesn’t count.",
        ],
        footnote=(
            f"The old number is shown until you have looked, or for {LOOK.days} days after "
            f"somebody next opens the project, until {clock.day(until)} at the latest."
        ),
        link=project_url(project.id, "inbox?status=rejected"),
        button="Look through them",
    )
