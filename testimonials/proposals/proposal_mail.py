"""Mail about waiting proposals, to the owner and admins: one for all that came in a while.

It follows what each chose for new testimonials: at once, daily or never. A mail and the note of it
are written in one transaction, under the project's lock.
"""

from datetime import timedelta

from flask import render_template
from sqlalchemy import and_, func, or_, select, true

from testimonials.auth.models import Account
from testimonials.auth.services import may_act
from testimonials.core import clock
from testimonials.core.mail.outbox import OutboxMail
from testimonials.core.urls import app_url, project_url
from testimonials.extensions import db
from testimonials.projects.access import Role, has_role
from testimonials.projects.models import NotificationChoice, Project
from testimonials.projects.notifications.services import (
    DEFAULT_MODE,
    PROPOSALS,
    find_mode,
    make_unsubscribe_url,
    note_told_of_proposals,
)
from testimonials.proposals.deciding import count_waiting, summarise
from testimonials.proposals.models import Proposal
from testimonials.testimonials.emails import NAME_LENGTH, cut
from testimonials.testimonials.submission_mail import latest_digest_time

# Agents propose several changes in a row; these are one mail.
GATHERED = timedelta(minutes=5)
LARGEST_BATCH = 200


def find_due(project_id: str | None = None) -> list[tuple[str, str]]:
    """Return project and account of everybody who is due a mail about proposals."""
    now, choice = clock.now(), NotificationChoice
    mode = func.coalesce(choice.mode, DEFAULT_MODE)
    is_due = or_(
        and_(mode == "at_once", Proposal.created_at <= now - GATHERED),
        and_(mode == "daily", Proposal.created_at < latest_digest_time(now)),
    )
    # Those from before the claim were on its page.
    told_at = func.coalesce(choice.told_of_proposals_at, Account.claimed_at)
    rows = db.session.execute(
        select(Project.id, Account.id)
        .distinct()
        .select_from(Proposal)
        .join(Project, Project.id == Proposal.project_id)
        .join(Account, has_role(Account.id, Role.ADMIN))
        .outerjoin(choice, and_(choice.project_id == Project.id, choice.account_id == Account.id))
        .where(Proposal.status == "waiting", Project.deleted_at.is_(None), is_due)
        .where(may_act(), ~Project.is_suspended, Proposal.created_at > told_at)
        .where(Project.id == project_id if project_id else true())
        .limit(LARGEST_BATCH)
    )
    return [(row[0], row[1]) for row in rows]


def tell_of_proposals(project: Project, account_id: str) -> bool:
    """Tell one person what waits in the locked project.

    Returns False if that is no longer due: another process may have sent it.
    """
    account = db.session.get(Account, account_id)
    if account is None or (project.id, account_id) not in find_due(project.id):
        return False
    count, name = count_waiting(project.id), cut(project.name, NAME_LENGTH)
    values = {
        "title": f"{count} {'proposal waits' if count == 1 else 'proposals wait'} for {name}",
        "project_name": name,
        "lines": summarise(project.id),
        "is_daily": find_mode(account_id, project.id) == "daily",
        "url": project_url(project.id, "proposals"),
        "choose_url": project_url(project.id, "notifications"),
        "unsubscribe_url": make_unsubscribe_url(project.id, account_id),
        "app_url": app_url(),
    }
    db.session.add(
        OutboxMail(
            purpose=PROPOSALS,
            recipient=account.email,
            subject=values["title"],
            text=render_template("email/proposals.txt", **values),
            html=render_template("email/proposals.html", **values),
            list_unsubscribe=values["unsubscribe_url"],
        )
    )
    note_told_of_proposals(project, account_id, clock.now())
    return True
