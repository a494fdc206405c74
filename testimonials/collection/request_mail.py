"""Mailing requests: the emails, how fast they are sent, and their links."""

import re
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from sqlalchemy import Row, Select, and_, exists, func, or_, select
from sqlalchemy.orm import aliased

from testimonials.auth.accounts import is_live
from testimonials.auth.models import Account
from testimonials.collection.models import (
    MailedRequest,
    RequestBatch,
    UnsubscribedAddress,
    hash_email,
    is_unsubscribed,
)
from testimonials.core import clock
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db
from testimonials.core.http.errors import require_found
from testimonials.core.http.i18n import PARAMETER, gettext, gettext_noop, speaking
from testimonials.core.http.signing import TokenExpired, TokenInvalid, TokenPurpose
from testimonials.core.http.urls import app_url, form_url, request_url
from testimonials.core.jobs import every, job
from testimonials.core.mail.outbox import MailState, OutboxMail, send_mail
from testimonials.core.settings.table import current_settings
from testimonials.projects.models import Member, Project
from testimonials.projects.notifications import project_look
from testimonials.projects.projects import is_shown, names_service

# A request and its email are written in one transaction, under one lock, so each email is sent
# once, and the rate limit covers all processes together.

# The number of an advisory lock, unique in this service.
LOCK = 0x7465_7374_0003
SEND_NOW = "requests.send"
REQUEST, REMINDER = PURPOSES = ("invitation", "invitation-reminder")
SUBJECT_LENGTH = 160

DEFAULT_SUBJECT = gettext_noop("A few words about %(name)s?")
DEFAULT_MESSAGE = gettext_noop(
    "Hi {first_name},\n\nthank you for choosing %(name)s. Would you write two honest sentences "
    "about how it was? They help us, and everyone who is still deciding."
)

# For projects without a business name.
NAMELESS_SUBJECT = gettext_noop("Would you write a few words?")
NAMELESS_MESSAGE = gettext_noop(
    "Hi {first_name},\n\nthank you for choosing us. Would you write two honest sentences about "
    "how it was? They help us, and everyone who is still deciding."
)

FIELDS = ("first_name", "name", "company", "business")
# A field and the space before it.
_FIELD = re.compile(rf"(?<![^\S\n])[^\S\n]*+\{{({'|'.join(FIELDS)})\}}")
# A name with one of these titles is used whole: "Dr. Haddad".
_TITLES = {"dr", "mr", "mrs", "ms", "miss", "mx", "prof", "sir", "herr", "frau", "mme", "sr", "sra"}


# It is also a job, which runs right after the time in which a batch can be cancelled.
@job(SEND_NOW, "mail")
@every("requests")
def send_due_requests() -> int:
    """Put due emails into the outbox, up to the rate limit; return how many."""
    is_idle = not has_due_mails()
    db.session.rollback()
    if is_idle:
        return 0
    with write():
        return write_due_mails()


def write_due_mails() -> int:
    """Put due emails into the outbox, up to the rate limit; return how many."""
    # One process counts and sends at a time; SQLite has one writer anyway.
    if db.engine.dialect.name == "postgresql":
        db.session.execute(select(func.pg_advisory_xact_lock(LOCK)))
    now = clock.now()
    room = current_settings().invitations_per_minute - _count_last_minute()
    if room <= 0:
        return 0
    query = _find_due().order_by(MailedRequest.next_mail_at, MailedRequest.id).limit(room)
    rows = db.session.execute(query.with_for_update(of=MailedRequest, skip_locked=True)).all()
    count = 0
    for row in rows:
        request, batch, failed = row[0], row[1], row[4] == MailState.FAILED
        is_reminder = request.sent_at is not None
        request.next_mail_at = None
        if failed:
            # The first email failed, so the reminder wouldn't arrive either.
            continue
        request.mail_id = _write_mail(row, is_reminder=is_reminder)
        count += 1
        if is_reminder:
            request.reminded_at = now
            continue
        request.sent_at = now
        if batch.remind_after_days is not None:
            request.next_mail_at = now + timedelta(days=batch.remind_after_days)
    db.session.flush()
    return count


def has_due_mails() -> bool:
    return db.session.execute(_find_due().limit(1)).first() is not None


def describe_mail(project: Project, batch: RequestBatch, request: MailedRequest) -> dict[str, Any]:
    """Return the context for the email's templates; the caller is `speaking` its language."""
    website: str = project.page_config["website"]
    page = form_url(project.slug, batch.form_name, project.own_host)
    link = f"{page}?{PARAMETER}={batch.language}&invitation={link_purpose.sign(request.id)}"
    return {
        "name": project.name,
        "website": website,
        "website_label": website.partition("://")[2].rstrip("/"),
        "title": batch.subject,
        "message": fill_fields(batch.message, project, request),
        "email": request.email,
        "link": link,
        # These open the page with a star chosen, and store nothing.
        "stars": [(number, f"{link}&rating={number}") for number in range(1, 6)]
        if has_stars(project)
        else [],
        "decline_url": make_answer_url(project, request, "decline"),
        "unsubscribe_url": make_answer_url(project, request, "unsubscribe"),
        "language": batch.language,
        "has_reminder": batch.remind_after_days is not None,
        "names_service": names_service(project),
        "app_url": app_url(),
    }


def has_stars(project: Project) -> bool:
    """Return whether the email offers stars: only if the page asks for a rating."""
    return bool(project.page_config["collectFields"].get("rating"))


def fill_fields(message: str, project: Project, request: MailedRequest) -> str:
    """Replace the fields in a message; remove an unknown one and the space before it."""
    values = {
        "name": request.name,
        "first_name": first_name(request.name),
        "company": request.company or "",
        "business": project.name,
    }

    def fill(match: re.Match[str]) -> str:
        value = values[match[1]]
        return match[0].replace(f"{{{match[1]}}}", value) if value else ""

    return _FIELD.sub(fill, message)


def first_name(name: str) -> str:
    """Return a name for a greeting, such as "Noor" for "Noor Haddad" or "Haddad, Noor"."""
    family, _comma, first = name.partition(",")
    words = first.split() or family.split()
    if not words or words[0].rstrip(".").casefold() in _TITLES:
        return name
    return words[0]


def suggest_texts(project: Project, language: str, person: str = "") -> tuple[str, str]:
    """Return a suggested subject and message in a language, signed by a person."""
    signature = f"\n\n{first_name(person)}" if person else ""
    name = project.business_name
    subject, message = NAMELESS_SUBJECT, NAMELESS_MESSAGE
    if name:
        subject, message = DEFAULT_SUBJECT, DEFAULT_MESSAGE
    with speaking(language):
        return gettext(subject, name=name)[:SUBJECT_LENGTH], gettext(message, name=name) + signature


def _write_mail(row: Row[*tuple[Any, ...]], *, is_reminder: bool) -> str:
    request, batch, project, account, _state, sender = row
    with speaking(batch.language):
        values = describe_mail(project, batch, request)
        subject = batch.subject
        if is_reminder:
            subject = gettext("Reminder: %(subject)s", subject=subject)
        return send_mail(
            request.email,
            REMINDER if is_reminder else REQUEST,
            subject,
            "request",
            values | {"is_reminder": is_reminder},
            language=batch.language,
            sender_name=_name_sender(sender, project),
            look=project_look(project),
            reply_to=account.email,
            list_unsubscribe=values["unsubscribe_url"],
        )


def _name_sender(person: str | None, project: Project) -> str:
    """Return the sender's name, such as "Mira at Oat & Ember", or the business alone."""
    if not person:
        return project.name
    name = gettext("%(person)s at %(business)s", person=first_name(person), business=project.name)
    return name if len(name) <= 120 else project.name


def _find_due() -> Select[*tuple[Any, ...]]:
    sender = aliased(Account)
    # Only somebody on the team, since an imported archive may contain any address.
    is_member = exists().where(
        Member.account_id == sender.id,
        or_(Member.project_id == Project.id, Member.owner_id == Project.account_id),
    )
    is_of_team = or_(sender.id == Project.account_id, is_member)
    unsubscribed = select(UnsubscribedAddress.email_hash).where(is_unsubscribed(Project.account_id))
    is_unwanted = unsubscribed.exists()
    return (
        select(MailedRequest, RequestBatch, Project, Account, OutboxMail.state, sender.display_name)
        .join(RequestBatch, RequestBatch.id == MailedRequest.batch_id)
        .join(Project, Project.id == MailedRequest.project_id)
        .join(Account, Account.id == Project.account_id)
        .outerjoin(sender, and_(sender.email == RequestBatch.actor, is_of_team))
        .outerjoin(OutboxMail, OutboxMail.id == MailedRequest.mail_id)
        .where(
            MailedRequest.next_mail_at <= clock.now(),
            MailedRequest.reminded_at.is_(None),
            MailedRequest.answered_at.is_(None),
            MailedRequest.declined_at.is_(None),
            ~is_unwanted,
            Project.deleted_at.is_(None),
            Project.status == "active",
            Account.suspended_at.is_(None),
            is_live(),
        )
    )


def _count_last_minute() -> int:
    """Count the emails of all accounts within the last minute."""
    since = clock.now() - timedelta(minutes=1)
    # Two queries, so that each uses its index.
    return sum(
        int(db.session.scalar(select(func.count(MailedRequest.id)).where(time > since)) or 0)
        for time in (MailedRequest.sent_at, MailedRequest.reminded_at)
    )


LINK_SECONDS = 60 * 24 * 60 * 60
LINK_BROKEN = gettext_noop("Part of the link may be missing. Copy the whole link from your email.")

link_purpose = TokenPurpose("request")
answer_purpose = TokenPurpose("request-answer")


@dataclass(frozen=True)
class Asked:
    """The person and account of an emailed link.

    With the hash, the link can unsubscribe even after the request has been deleted.
    """

    request_id: str
    account_id: str
    email_hash: str


def make_answer_url(project: Project, request: MailedRequest, answer: str) -> str:
    token = answer_purpose.sign([request.id, project.account_id, request.email_hash])
    return request_url(token, answer, project.own_host)


def find_request(token: str, project_id: str) -> MailedRequest | None:
    """Return the request of an emailed link to the project's form, or None if it is invalid."""
    try:
        request_id, _ = link_purpose.read(token, LINK_SECONDS)
    except (TokenInvalid, TokenExpired):
        return None
    request = db.session.get(MailedRequest, str(request_id))
    return request if request and request.project_id == project_id else None


def lock_request(request: MailedRequest) -> MailedRequest | None:
    """Lock and return a request, or None if it was deleted in the meantime."""
    return db.session.get(MailedRequest, request.id, with_for_update=True)


def read_answer_token(token: str) -> tuple[Asked, Project | None]:
    """Return who was asked, and the project if it still exists. Raises `NotFound`."""
    values = require_found(answer_purpose.find(token, 3), LINK_BROKEN)
    request_id, account_id, email_hash = values
    query = (
        select(Project, MailedRequest)
        .join(MailedRequest, MailedRequest.project_id == Project.id)
        .join(Account, Account.id == Project.account_id)
        .where(MailedRequest.id == request_id, is_shown())
    )
    project, request = db.session.execute(query).one_or_none() or (None, None)
    if project and request and email_hash == hash_email(account_id, request.email):
        # The project may have been handed over since.
        account_id, email_hash = project.account_id, request.email_hash
    return Asked(request_id, account_id, email_hash), project
