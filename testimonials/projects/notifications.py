"""Mail about projects; who is notified of new testimonials, and how often.

Changing a choice and notifying somebody both lock the project.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from flask import render_template
from flask.typing import ResponseReturnValue
from sqlalchemy import ColumnElement, Executable, String, and_, bindparam, func, or_, select, union

from testimonials.auth.accounts import may_act
from testimonials.auth.emails import send_plain_mail
from testimonials.auth.models import Account
from testimonials.core import clock
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db
from testimonials.core.http.blueprints import projects
from testimonials.core.http.errors import NotFound, ValidationFailed
from testimonials.core.http.i18n import gettext_noop
from testimonials.core.http.security import answer_privately
from testimonials.core.http.signing import TokenPurpose
from testimonials.core.http.urls import link_url, project_url
from testimonials.core.mail.outbox import Look, OutboxMail, brand_look
from testimonials.core.mail.smtp import ask_before_sending
from testimonials.core.text import cut
from testimonials.projects.access import Right, has_role
from testimonials.projects.brand import find_brand, page_color
from testimonials.projects.models import (
    Member,
    NotificationChoice,
    OwnershipOffer,
    Project,
    TeamInvitation,
)
from testimonials.projects.projects import lock_project

MODES = ("at_once", "daily", "never")
DEFAULT_MODE = "at_once"
DIGEST_HOUR = 8
# The purpose of mail about proposals, which only admins get.
PROPOSALS = "proposals"
LINK_BROKEN = "This link is incomplete, or its project has been deleted and sends no more mail."

unsubscribe_purpose = TokenPurpose("unsubscribe")


@dataclass(frozen=True)
class Reader:
    """Somebody who may get notifications; `since` is when they joined (None: the owner)."""

    account_id: str
    email: str
    since: datetime | None
    mode: str
    told_until: datetime | None
    last_sent_at: datetime | None
    # Whether the emails have links that decide without signing in.
    decides_by_mail: bool = False


def _make_readers_query() -> Executable:
    owner_id: Any = bindparam("owner_id", type_=String)
    project_id: Any = bindparam("project_id")
    is_in = or_(Member.project_id == project_id, Member.owner_id == owner_id)
    # Readers get none.
    members = select(Member.account_id).where(is_in, Member.role != "reader")
    people = union(select(owner_id.label("id")), members).subquery()
    since = select(func.min(Member.created_at)).where(is_in, Member.account_id == Account.id)
    choice = NotificationChoice
    return (
        select(Account.id, Account.email, since.correlate_except(Member).scalar_subquery())
        .add_columns(choice.mode, choice.told_until, choice.last_sent_at, choice.decides_by_mail)
        .join(people, people.c.id == Account.id)
        .outerjoin(choice, _is_choice())
        .where(may_act())
    )


def _is_choice() -> ColumnElement[bool]:
    choice = NotificationChoice
    return and_(choice.project_id == bindparam("project_id"), choice.account_id == Account.id)


# Built once, since each submission executes it.
_FIND_READERS = _make_readers_query()


def list_readers(project: Project) -> list[Reader]:
    """Return the owner and the members who may decide, without suspended ones (`may_act`)."""
    values = {"project_id": project.id, "owner_id": project.account_id}
    return [
        Reader(row[0], row[1], row[2], row[3] or DEFAULT_MODE, row[4], row[5], bool(row[6]))
        for row in db.session.connection().execute(_FIND_READERS, values)
    ]


def find_modes(account_id: str, projects: Sequence[Project]) -> dict[str, str]:
    choice = NotificationChoice
    query = select(choice.project_id, choice.mode).where(choice.account_id == account_id)
    chosen = {row[0]: row[1] for row in db.session.execute(query)}
    return {project.id: chosen.get(project.id, DEFAULT_MODE) for project in projects}


def find_choice(account_id: str, project_id: str) -> NotificationChoice:
    """Return the account's choice for a project, even if it is only the default."""
    choice = db.session.get(NotificationChoice, (project_id, account_id))
    return choice or NotificationChoice(mode=DEFAULT_MODE, decides_by_mail=False)


def set_decides_by_mail(project: Project, account_id: str, *, is_on: bool) -> None:
    _find_choice(project, account_id, DEFAULT_MODE).decides_by_mail = is_on
    db.session.flush()


def set_mode(project: Project, account_id: str, mode: str) -> None:
    """Set the account's choice for the locked project. Raises `ValidationFailed`.

    Testimonials that arrived while it was `never` aren't emailed later.
    """
    if mode not in MODES:
        raise ValidationFailed.of({"mode": [gettext_noop("Choose one of the options.")]})
    choice = _find_choice(project, account_id, "never")
    if choice.mode == "never":
        choice.told_until = project.last_testimonial_at or clock.EPOCH
    choice.mode = mode
    db.session.flush()


def note_notified(
    project: Project, account_id: str, time: datetime, until: datetime | None
) -> None:
    """Note that the account was notified of everything `until` a time."""
    choice = _find_choice(project, account_id, DEFAULT_MODE)
    choice.told_until = until
    choice.last_sent_at = time


def note_proposals_mailed(project: Project, account_id: str, time: datetime) -> None:
    _find_choice(project, account_id, DEFAULT_MODE).told_of_proposals_at = time


def make_unsubscribe_url(project_id: str, account_id: str) -> str:
    """Return the URL for unsubscribing from a project without signing in; it never expires."""
    return link_url("unsubscribe", unsubscribe_purpose.sign([project_id, account_id]))


def notify_each(
    find: Callable[[], list[tuple[str, str]]], tell: Callable[[Project, str], bool]
) -> int:
    """Notify each account that `find` returns about its project; return how many were notified."""
    # Found without a lock, so that an idle service doesn't block writers.
    waiting = find()
    db.session.rollback()
    count = 0
    for project_id, account_id in waiting:
        # The project may have been deleted in the meantime.
        with suppress(NotFound), write(partial(lock_project, project_id)) as project:
            count += tell(project, account_id)
    return count


@ask_before_sending
def is_mail_wanted(mail: OutboxMail) -> bool:
    """Return whether an email may still be sent; only notifications are ever unwanted.

    While it waited in the outbox, its recipient may have lost their role, changed their address or
    unsubscribed.
    """
    token = (mail.list_unsubscribe or "").rpartition("/")[2]
    if (ids := unsubscribe_purpose.find(token, 2)) is None:
        return True
    project_id, account_id = ids
    needed = Right.MANAGE if mail.purpose == PROPOSALS else Right.DECIDE
    is_reader = (
        select(Account.id)
        .join(Project, has_role(Account.id, needed))
        .outerjoin(NotificationChoice, _is_choice())
        .where(Account.email == mail.recipient, Account.id == account_id, may_act())
        .where(Project.id == project_id, Project.deleted_at.is_(None), ~Project.is_suspended)
        .where(func.coalesce(NotificationChoice.mode, DEFAULT_MODE) != "never")
    )
    return db.session.scalar(is_reader, {"project_id": project_id}) is not None


def read_unsubscribe_token(token: str, *, for_update: bool = False) -> tuple[Project, str]:
    """Return the project, locked if `for_update`, and the account's id. Raises `NotFound`."""
    project_id, account_id = unsubscribe_purpose.find(token, 2) or ("", "")
    try:
        project = lock_project(project_id) if for_update else db.session.get(Project, project_id)
    except NotFound:
        project = None
    if project is None or project.deleted_at or db.session.get(Account, account_id) is None:
        raise NotFound(LINK_BROKEN)
    return project, account_id


def latest_digest_time(now: datetime) -> datetime:
    today = now.replace(hour=DIGEST_HOUR, minute=0, second=0, microsecond=0)
    return today if today <= now else today - timedelta(days=1)


def _find_choice(project: Project, account_id: str, mode: str) -> NotificationChoice:
    """Return the account's choice for the locked project; if missing, create it with `mode`."""
    choice = db.session.get(NotificationChoice, (project.id, account_id))
    if choice is None:
        choice = NotificationChoice(project_id=project.id, account_id=account_id, mode=mode)
        db.session.add(choice)
    return choice


# Pages translate them; emails are in English.
ROLE_MAY = {
    "reader": gettext_noop("Your role is “Reads”: you see every testimonial and change nothing."),
    "moderator": gettext_noop(
        "Your role is “Decides”: you choose which testimonials are shown, and edit and tag them."
    ),
    "admin": gettext_noop(
        "Your role is “Manages”: you decide on testimonials, and set up the widget, the page and "
        "the project’s settings."
    ),
}
SUBJECT_NAME = 60


def project_look(project: Project) -> Look:
    """Return the look of emails in a project's name, from its brand."""
    brand = find_brand(project)
    return brand_look(brand.name, page_color(project), brand.logo_url, brand.typeface)


def send_invitation_mail(project: Project, invitation: TeamInvitation, link: str, by: str) -> None:
    words = f"{by} invites you to the project {project.name}"
    _send(invitation, link, f"Join the project {cut(project.name, SUBJECT_NAME)}", words)


def send_offer_mail(project: Project, offer: OwnershipOffer, email: str, by: str) -> None:
    send_plain_mail(
        email,
        "ownership-offer",
        f"Become the owner of {cut(project.name, SUBJECT_NAME)}",
        [
            f"{by} offers you the project {project.name}, which you manage. If you accept, it "
            "will belong to your account. Until then nothing changes."
        ],
        footnote=(
            f"You can answer until {clock.day(offer.expires_at)}. If you don’t want it, "
            "decline on that page, or do nothing."
        ),
        link=project_url(project.id, "people/offer"),
        button="Look at the offer",
    )


def send_declined_mail(project: Project, email: str, by: str) -> None:
    send_plain_mail(
        email,
        "ownership-declined",
        f"{cut(project.name, SUBJECT_NAME)} stays yours",
        [f"{by} declined your offer of the project {project.name}. Nothing has changed."],
        footnote="You are getting this email because you offered the project.",
        link=project_url(project.id, "people/hand-over"),
        button="Offer it to somebody else",
    )


def send_handed_over_mail(project: Project, email: str, by: str, *, is_in: bool) -> None:
    stays = "Your role in it is “Manages”." if is_in else "You have no access to it any more."
    send_plain_mail(
        email,
        "ownership-taken",
        f"{cut(project.name, SUBJECT_NAME)} has a new owner",
        [f"The project {project.name} belongs to {by} now. {stays}"],
        footnote="You are getting this email because the project was yours.",
        link=project_url(project.id, "inbox") if is_in else "",
        button="Open the project" if is_in else "",
    )


def send_workspace_invitation_mail(
    invitation: TeamInvitation, link: str, by: str, names: Sequence[str]
) -> None:
    """Invite somebody to projects with these `names`, or without any to all of the sender's."""
    to = "all of their projects, including later ones"
    if names:
        to = ("the projects " if len(names) > 1 else "the project ") + ", ".join(names)
    _send(invitation, link, f"Join the projects of {by}", f"{by} invites you to {to}")


def _send(invitation: TeamInvitation, link: str, subject: str, words: str) -> None:
    send_plain_mail(
        invitation.email,
        "invitation",
        subject,
        [f"{words}.", ROLE_MAY[invitation.role]],
        footnote=f"The link works until {clock.day(invitation.expires_at)} and only once. If you "
        "did not expect this email, ignore it, or open the link and choose “I don’t know this”.",
        link=link,
        button="Look at the invitation",
        # So that mail programs can offer to decline it.
        list_unsubscribe=f"{link}/decline",
    )


# Unsubscribing by the link in each email (RFC 8058). A GET changes nothing, since mail scanners
# open links; mail programs send the POST themselves.


@projects.get("/unsubscribe/<token>")
def show_unsubscribe(token: str) -> ResponseReturnValue:
    project, _ = read_unsubscribe_token(token)
    return answer_privately(_unsubscribe_page(project, is_done=False))


@projects.post("/unsubscribe/<token>")
def end_mails(token: str) -> ResponseReturnValue:
    with write(lambda: read_unsubscribe_token(token, for_update=True)) as (project, account_id):
        set_mode(project, account_id, "never")
    return answer_privately(_unsubscribe_page(project, is_done=True))


def _unsubscribe_page(project: Project, *, is_done: bool) -> str:
    return render_template(
        "projects/notifications/unsubscribe.html",
        project_name=project.name,
        is_done=is_done,
        choose_url=project_url(project.id, "settings/mail"),
    )
