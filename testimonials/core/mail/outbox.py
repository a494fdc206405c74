"""The outbox: rendering mail, queueing it in a transaction, listing and retrying it."""

import re
from base64 import b64encode
from dataclasses import dataclass
from datetime import datetime, timedelta
from email.message import EmailMessage
from email.policy import SMTPUTF8
from email.utils import format_datetime, parseaddr, quote
from enum import StrEnum
from typing import Any

from flask import render_template
from sqlalchemy import (
    ColumnElement,
    Index,
    Select,
    String,
    Text,
    and_,
    func,
    not_,
    or_,
    select,
    update,
)
from sqlalchemy.orm import Mapped, Session, aliased, mapped_column

from testimonials.core import clock
from testimonials.core.audit import OperatorEventType
from testimonials.core.db.engine import Base, Timestamp, present
from testimonials.core.db.identifiers import new_identifier
from testimonials.core.db.transactions import delete_rows
from testimonials.core.extensions import db
from testimonials.core.http.i18n import ENGLISH, speaking
from testimonials.core.http.urls import app_url
from testimonials.core.images.colors import Colors, derive_colors
from testimonials.core.jobs import Job, enqueue, enqueue_anew

# System fonts for the font styles of brands.
PLAIN = "-apple-system,BlinkMacSystemFont,'Segoe UI',Roboto,'Noto Sans',Helvetica,Arial,sans-serif"
FONTS = {
    "classic": "Georgia,'Times New Roman','Noto Serif',serif",
    "rounded": "ui-rounded,'SF Pro Rounded','Arial Rounded MT Bold',Nunito,Quicksand," + PLAIN,
}
OWN_INK = {"solid": "#18181B", "on": "#FFFFFF"}
OWN_INK_DARK = {"solid": "#F4F4F5", "on": "#18181B"}


@dataclass(frozen=True)
class Look:
    """The branding of an email: a business's, or with `is_own` that of the service."""

    name: str
    logo_url: str | None
    font: str
    light: Colors
    dark: Colors
    is_own: bool = False


def brand_look(name: str, color: str, logo_url: str | None = None, font: str = "plain") -> Look:
    """Return the look of a business's emails, whose colors derive from its `#RRGGBB`."""
    derived = derive_colors(color)
    return Look(name, logo_url, FONTS.get(font, PLAIN), derived.light, derived.dark)


def own_look() -> Look:
    """Return the look of emails about links, security and the server."""
    ink = derive_colors(OWN_INK["solid"])
    light, dark = ink.light | OWN_INK, ink.dark | OWN_INK_DARK
    return Look("Testimonials", None, PLAIN, light, dark, is_own=True)


# An email is a row, added in the transaction that causes it. A job with the same id sends it
# (`core.mail.smtp`), and the row stays as a record. If a worker dies while sending, the email is
# sent again with the same Message-ID, so it is delivered at least once.

MAIL_RETRIED = OperatorEventType("mail.retried", "retried waiting email: %(count)s")
MAIL_DROPPED = OperatorEventType("mail.dropped", "dropped unsent email: %(count)s")

SEND = "mail.send"
# Most servers accept an email within a second.
SLOW = timedelta(seconds=15)


class MailState(StrEnum):
    QUEUED = "queued"
    SENDING = "sending"
    SENT = "sent"
    # Written to the log, since there is no mail server.
    PRINTED = "printed"
    # No longer retried.
    FAILED = "failed"


class OutboxMail(Base):
    # For counting by state without reading the rows.
    __table_args__ = (Index("ix_outbox_mail_state", "state", "tried_at"),)

    id: Mapped[str] = mapped_column(primary_key=True, default=new_identifier)
    purpose: Mapped[str]
    recipient: Mapped[str]
    subject: Mapped[str]
    text: Mapped[str] = mapped_column(Text)
    html: Mapped[str] = mapped_column(Text)
    # The sender's display name, if it isn't the one in the settings.
    sender_name: Mapped[str | None] = mapped_column(String(120))
    reply_to: Mapped[str | None]
    # The URL for unsubscribing with one click.
    list_unsubscribe: Mapped[str | None] = mapped_column(Text)
    state: Mapped[str] = mapped_column(default=MailState.QUEUED)
    attempts: Mapped[int] = mapped_column(default=0)
    tried_at: Mapped[datetime | None] = mapped_column(Timestamp, index=True)
    last_error: Mapped[str | None] = mapped_column(Text)
    created_at: Mapped[datetime] = mapped_column(Timestamp, default=present)
    sent_at: Mapped[datetime | None] = mapped_column(Timestamp)


def send_mail(
    recipient: str,
    purpose: str,
    subject: str,
    template: str,
    values: dict[str, Any],
    *,
    look: Look | None = None,
    language: str = ENGLISH.code,
    sender_name: str | None = None,
    reply_to: str | None = None,
    list_unsubscribe: str | None = None,
) -> str:
    """Queue an email, sent once the transaction is committed; return its id.

    Without a `look` of a business, it has our own.
    """
    mail = OutboxMail(
        id=new_identifier(),
        purpose=purpose,
        recipient=recipient,
        subject=subject,
        sender_name=sender_name,
        reply_to=reply_to,
        list_unsubscribe=list_unsubscribe,
        **render_mail(template, {"title": subject} | values, language, look),
    )
    db.session.add(mail)
    enqueue(SEND, id=mail.id)
    return mail.id


def render_mail(
    template: str, values: dict[str, Any], language: str = ENGLISH.code, look: Look | None = None
) -> dict[str, str]:
    """Return the text and HTML of an email, in `language` rather than the request's."""
    values |= {"app_url": app_url(), "look": look or own_look()}
    with speaking(language):
        return {
            kind: render_template(f"email/{template}.{ending}", **values)
            for kind, ending in (("text", "txt"), ("html", "html"))
        }


def select_mails() -> Select[OutboxMail, datetime | None]:
    """Return the query for all emails, newest first, each with the time of its next attempt."""
    query = select(OutboxMail, Job.run_at).outerjoin(Job, Job.id == OutboxMail.id)
    return query.order_by(OutboxMail.created_at.desc(), OutboxMail.id.desc())


def count_mails(session: Session) -> dict[str, int]:
    counts = dict.fromkeys(map(str, MailState), 0)
    rows = session.execute(select(OutboxMail.state, func.count()).group_by(OutboxMail.state))
    return counts | {str(row[0]): int(row[1]) for row in rows}


def measure_waiting(session: Session) -> tuple[int, timedelta]:
    """Return how many emails are waiting, including retries, and the age of the oldest."""
    query = select(func.count(), func.min(OutboxMail.created_at)).where(is_waiting())
    row = session.execute(query).one()
    return row[0], max(clock.now() - row[1], timedelta()) if row[0] else timedelta()


def is_mail_refused(session: Session) -> bool:
    """Return whether an attempt to send mail failed, or is taking longer than SLOW, and none
    succeeded since.
    """
    is_slow = and_(OutboxMail.state == MailState.SENDING, OutboxMail.tried_at <= clock.now() - SLOW)
    is_tried = and_(is_waiting(), or_(is_slow, OutboxMail.last_error.is_not(None)))
    sent = aliased(OutboxMail)
    newest = select(func.max(OutboxMail.created_at)).where(is_tried).scalar_subquery()
    has_left = select(sent.id).where(sent.state == MailState.SENT, sent.tried_at > newest).exists()
    return bool(session.scalar(select(and_(newest.is_not(None), not_(has_left)))))


def is_waiting() -> ColumnElement[bool]:
    """Return the condition for mail that is still to be sent."""
    return OutboxMail.state.in_((MailState.QUEUED, MailState.SENDING))


def settle(mail: OutboxMail, state: MailState, problem: str | None) -> None:
    """Record the result of an attempt, and erase the content of sent mail.

    Links in it may work for years, and its subject may name the person who caused it.
    """
    mail.state, mail.last_error = state, problem
    if state in (MailState.SENT, MailState.PRINTED):
        mail.sent_at = clock.now()
    if state is MailState.SENT:
        mail.text = mail.html = ""
        if mail.list_unsubscribe is not None:
            mail.list_unsubscribe, mail.subject = None, ""


def delete_old_mails(before: datetime, needed: ColumnElement[bool]) -> int:
    """Delete emails last tried `before` a time that aren't waiting; return how many.

    Mail that wasn't sent is kept as long as it is `needed`.
    """
    is_sent = OutboxMail.state == MailState.SENT
    has_not_left = OutboxMail.state.in_((MailState.FAILED, MailState.PRINTED))
    is_over = or_(is_sent, and_(has_not_left, not_(needed)))
    return delete_rows(OutboxMail, OutboxMail.tried_at <= before, is_over)


def retry_mails(session: Session, mail_id: str | None) -> int:
    """Retry all failed and waiting mail now, or the email with this id; return how many."""
    states = (MailState.FAILED, MailState.QUEUED)
    query = update(OutboxMail).where(OutboxMail.state.in_(states))
    if mail_id is not None:
        query = query.where(OutboxMail.id == mail_id)
    query = query.values(state=MailState.QUEUED, attempts=0)
    ids = session.scalars(query.returning(OutboxMail.id)).all()
    enqueue_anew(SEND, ids)
    return len(ids)


def drop_mail(mail_id: str) -> int:
    """Delete a waiting or failed email; return how many were deleted."""
    states = (MailState.FAILED, MailState.QUEUED)
    return delete_rows(OutboxMail, OutboxMail.id == mail_id, OutboxMail.state.in_(states))


# We write the headers ourselves: the standard library decodes encoded words in values, such as
# `=?utf-8?q?=0D=0ABcc...?=` in a name, and some releases then write injected headers.

ENCODED = "=?"
# An address without quotes or comments, which we never accept.
_ADDRESS = re.compile(
    r"[^\s\x00-\x20\x7f-\x9f()<>\[\]:;@\\,\"]+@[^\s\x00-\x20\x7f-\x9f()<>:;@\\,\"]+"
)
# Nine letters take at most 36 bytes, which keeps the first line below 76 characters.
_LETTERS_OF_A_WORD = 9
# Characters that break lines in some programs, or reverse the writing direction.
_STEERING = re.compile(r"[\x80-\x9f\u2028-\u202e\u2066-\u2069]")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


def write_message(mail: OutboxMail, sender: str) -> bytes:
    """Return the message for an email. Raises `ValueError` for values that no header can have."""
    name, address = parseaddr(sender)
    name = _STEERING.sub("", mail.sender_name or name)
    if not _is_address(mail.recipient):
        raise ValueError(f"{mail.recipient!r} is not an email address")
    phrase = _encode_words(name) if _needs_encoding(name) else f'"{quote(name)}"'
    subject = _STEERING.sub("", mail.subject)
    headers = {
        "From": f"{phrase} <{address}>" if name else address,
        "To": mail.recipient,
        "Subject": _encode_words(subject) if _needs_encoding(subject) else subject,
        "Date": format_datetime(mail.created_at),
        # The same for each attempt, so that receivers can recognize duplicates.
        "Message-ID": f"<{mail.id}@{address.rpartition('@')[2]}>",
        "Auto-Submitted": "auto-generated",
    }
    # A non-ASCII address would need SMTPUTF8 at the receiver.
    if mail.reply_to and mail.reply_to.isascii() and _is_address(mail.reply_to):
        headers["Reply-To"] = mail.reply_to
    if mail.list_unsubscribe:
        # Mail programs must not see an encoded word; for browsers the URL is the same.
        headers["List-Unsubscribe"] = f"<{mail.list_unsubscribe.replace(ENCODED, '=%3F')}>"
        headers["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
    for header, value in headers.items():
        if _CONTROL.search(value):
            raise ValueError(f"the header {header} has a control character")
    # Fold lines only between encoded words.
    head = "".join(f"{header}: {value}\r\n" for header, value in headers.items())
    body = EmailMessage(policy=SMTPUTF8)
    body.set_content(mail.text)
    body.add_alternative(mail.html, subtype="html")
    return head.replace("?= =?", "?=\r\n =?").encode() + body.as_bytes()


def _is_address(text: str) -> bool:
    return _ADDRESS.fullmatch(text) is not None and ENCODED not in text


def _needs_encoding(text: str) -> bool:
    return not text.isascii() or ENCODED in text


def _encode_words(text: str) -> str:  # RFC 2047
    parts = [text[i : i + _LETTERS_OF_A_WORD] for i in range(0, len(text), _LETTERS_OF_A_WORD)]
    return " ".join(f"=?utf-8?b?{b64encode(part.encode()).decode()}?=" for part in parts)
