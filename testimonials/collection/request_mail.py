"""The mails of a request, and their pace."""

import re
from datetime import timedelta
from typing import Any

from flask import render_template
from sqlalchemy import ColumnElement, Row, Select, and_, func, select

from testimonials.auth.accounts import is_live
from testimonials.auth.emails import send_plain_mail
from testimonials.auth.models import Account
from testimonials.collection.author_rights import (
    AUTHOR_MAIL,
    is_unwanted,
    make_author_token,
    make_author_url,
)
from testimonials.collection.models import MailedRequest, RequestBatch, UnsubscribedAddress
from testimonials.collection.responses import make_answer_url, make_form_url
from testimonials.core import clock
from testimonials.core.extensions import db
from testimonials.core.http.i18n import gettext, gettext_noop, speaking
from testimonials.core.http.urls import app_url, image_url, project_url
from testimonials.core.images.colors import find_text
from testimonials.core.mail.outbox import MailState, OutboxMail
from testimonials.core.settings.current import count_days, current_settings
from testimonials.projects.models import Project
from testimonials.projects.notifications import Reader, make_unsubscribe_url
from testimonials.projects.projects import names_service
from testimonials.testimonials.models import Testimonial
from testimonials.testimonials.notifications import NAME_LENGTH, cut

# The mails that ask for a testimonial, and the pace at which they are sent.
#
# A request and its mail are written in one transaction, under one lock. Each mail is therefore sent
# once, and all processes together keep the pace.

PACE = timedelta(minutes=1)
# The number of the advisory lock, unique in this service.
LOCK = 0x7465_7374_0003
REQUEST, REMINDER = PURPOSES = ("invitation", "invitation-reminder")
SUBJECT_LENGTH = 160

DEFAULT_SUBJECT = gettext_noop("A few words about %(name)s?")
DEFAULT_MESSAGE = gettext_noop(
    "Hi {first_name},\n\nthank you for choosing %(name)s. Would you write two honest sentences "
    "about how it was? They help us, and everybody who is still deciding."
)

FIELDS = ("first_name", "name", "company", "business")
# One of them, with the space before it.
_FIELD = re.compile(rf"(?<![^\S\n])[^\S\n]*+\{{({'|'.join(FIELDS)})\}}")
# With one of these, the name is left whole: "Dr. Haddad".
_TITLES = {"dr", "mr", "mrs", "ms", "miss", "mx", "prof", "sir", "herr", "frau", "mme", "sr", "sra"}


def write_due_mails() -> int:
    """Put due mails into the outbox, as many as the pace allows; return how many."""
    _lock_pace()
    now = clock.now()
    room = current_settings().invitations_per_minute - _count_lately()
    if room <= 0:
        return 0
    rows = db.session.execute(
        _find_due()
        .order_by(MailedRequest.next_mail_at, MailedRequest.id)
        .limit(room)
        .with_for_update(of=MailedRequest, skip_locked=True)
    ).all()
    count = 0
    for row in rows:
        request, batch, failed = row[0], row[1], row[4] == MailState.FAILED
        is_reminder = request.sent_at is not None
        request.next_mail_at = None
        if failed:
            # The reminder wouldn't arrive either.
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
    """Return what the templates of the mail show; the caller is `speaking` its language."""
    website: str = project.page_config["website"]
    return {
        "project": {
            "name": project.name,
            "logo_url": image_url(project.logo_id),
            "button": project.page_config["buttonColor"],
            "button_text": find_text(
                project.page_config["buttonColor"], project.page_config["buttonTextColor"]
            ),
            "website": website,
            "website_label": website.partition("://")[2].rstrip("/"),
        },
        "subject": batch.subject,
        "message": fill_fields(batch.message, project, request),
        "email": request.email,
        "link": make_form_url(project, request, batch),
        "decline_url": make_answer_url(project, request, "decline"),
        "unsubscribe_url": make_answer_url(project, request, "unsubscribe"),
        "language": batch.language,
        "has_reminder": batch.remind_after_days is not None,
        "names_service": names_service(project),
        "app_url": app_url(),
    }


def fill_fields(message: str, project: Project, request: MailedRequest) -> str:
    """Fill in the fields of a message; of an unknown one, remove the place and the space before."""
    known = {
        "name": request.name,
        "first_name": first_name(request.name),
        "company": request.company or "",
        "business": project.name,
    }

    def fill(found: re.Match[str]) -> str:
        value = known[found[1]]
        return found[0].replace(f"{{{found[1]}}}", value) if value else ""

    return _FIELD.sub(fill, message)


def first_name(name: str) -> str:
    """Return the name to greet with: "Noor" of "Noor Haddad" and of "Haddad, Noor"."""
    family, comma, given = name.partition(",")
    words = (given if comma and given.strip() else family).split()
    if not words or words[0].rstrip(".").casefold() in _TITLES:
        return name
    return words[0]


def suggest_texts(project: Project, language: str) -> tuple[str, str]:
    """Return the suggested subject and message in a language."""
    with speaking(language):
        subject = gettext(DEFAULT_SUBJECT, name=project.name)[:SUBJECT_LENGTH]
        return subject, gettext(DEFAULT_MESSAGE, name=project.name)


def _write_mail(row: Row[*tuple[Any, ...]], *, is_reminder: bool) -> str:
    request, batch, project, account = row[:4]
    with speaking(batch.language):
        values = describe_mail(project, batch, request)
        subject = batch.subject
        if is_reminder:
            subject = gettext("Reminder: %(subject)s", subject=subject)
        values |= {"is_reminder": is_reminder}
        mail = OutboxMail(
            purpose=REMINDER if is_reminder else REQUEST,
            recipient=request.email,
            subject=subject,
            text=render_template("email/request.txt", **values),
            html=render_template("email/request.html", **values),
            sender_name=project.name,
            reply_to=account.email,
            list_unsubscribe=values["unsubscribe_url"],
        )
    db.session.add(mail)
    db.session.flush()
    return mail.id


def _find_due() -> Select[*tuple[Any, ...]]:
    is_unwanted = (
        select(UnsubscribedAddress.email_hash)
        .where(
            UnsubscribedAddress.account_id == Project.account_id,
            UnsubscribedAddress.email_hash == MailedRequest.email_hash,
        )
        .exists()
    )
    return (
        select(MailedRequest, RequestBatch, Project, Account, OutboxMail.state)
        .join(RequestBatch, RequestBatch.id == MailedRequest.batch_id)
        .join(Project, Project.id == MailedRequest.project_id)
        .join(Account, Account.id == Project.account_id)
        .outerjoin(OutboxMail, OutboxMail.id == MailedRequest.mail_id)
        .where(
            MailedRequest.next_mail_at <= clock.now(),
            MailedRequest.reminded_at.is_(None),
            MailedRequest.answered_at.is_(None),
            MailedRequest.declined_at.is_(None),
            ~is_unwanted,
            _takes_testimonials(),
        )
    )


def _takes_testimonials() -> ColumnElement[bool]:
    is_active = and_(Project.status == "active", Account.suspended_at.is_(None))
    return and_(Project.deleted_at.is_(None), is_active, is_live())


def _count_lately() -> int:
    """Count the mails of the last minute, of all accounts."""
    since = clock.now() - PACE
    # Two queries, so that each uses its index.
    return sum(
        int(db.session.scalar(select(func.count(MailedRequest.id)).where(time > since)) or 0)
        for time in (MailedRequest.sent_at, MailedRequest.reminded_at)
    )


def _lock_pace() -> None:
    """Let one process count and send at a time; SQLite has one writer anyway."""
    if db.engine.dialect.name == "postgresql":
        db.session.execute(select(func.pg_advisory_xact_lock(LOCK)))


# The mail to an author, and the one to owners about a flood.


def send_author_mail(
    project: Project, row: Testimonial, email: str | None = None, words: str = ""
) -> None:
    """Send the author's own link, in the language of their form.

    By default to the author's address; another one that they give on the thank-you page gets the
    link and is not kept. The mail quotes nothing, so that nobody can use the form to write to
    strangers; `words` are the owner's, who thanks a proven address. Not sent for spam, nor to an
    address that wants no mail.
    """
    is_theirs = email in (None, row.author_email)
    email = email or row.author_email
    if row.status == "spam" or email is None or is_unwanted(project, email):
        return
    with speaking(row.consent_language) as language:
        token = make_author_token(row, is_mailed=is_theirs)
        name = cut(project.name, NAME_LENGTH)
        values = {
            "title": gettext("Your testimonial for %(name)s", name=name),
            "project_name": name,
            "words": words,
            "link": make_author_url(project, token, language.code),
            # An address that isn't kept needn't be taken back.
            "disown_link": make_author_url(project, token, language.code, "not-mine")
            if is_theirs
            else "",
            "names_service": names_service(project),
            "app_url": app_url(),
        }
        db.session.add(
            OutboxMail(
                purpose=AUTHOR_MAIL,
                recipient=email,
                subject=values["title"],
                text=render_template("email/author.txt", **values),
                html=render_template("email/author.html", **values),
                sender_name=None if values["names_service"] else project.name,
            )
        )


def _for_days(days: int) -> str:
    return f" for {days} day{'s' if days > 1 else ''}" if days else ""


def send_flood_mail(project: Project, reader: Reader) -> None:
    """Tell somebody that a flood was held as spam, and that some of it may be real."""
    name = cut(project.name, NAME_LENGTH)
    send_plain_mail(
        reader.email,
        "flood",
        f"Many testimonials came at once for {name}",
        [
            f"More than {current_settings().flood_per_hour} testimonials arrived within an hour. "
            f"The rest are held as spam{_for_days(count_days('spam'))}, since it is mostly "
            "programs that send so many.",
            "If they came from an event or a newsletter, release them there; nothing is lost. The "
            "operator of this service can raise the limit.",
        ],
        footnote="You get this mail once a day at most, and never if you choose no mail under "
        "Notifications.",
        link=f"{project_url(project.id, 'inbox')}?status=spam",
        button="Open the spam folder",
        list_unsubscribe=make_unsubscribe_url(project.id, reader.account_id),
    )
