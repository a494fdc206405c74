"""Mail on its way: written in the transaction of what it tells, listed, sent again."""

import re
from base64 import b64encode
from collections.abc import Sequence
from datetime import datetime, timedelta
from email.message import EmailMessage
from email.policy import SMTPUTF8
from email.utils import format_datetime, parseaddr, quote
from enum import StrEnum

from sqlalchemy import (
    ColumnElement,
    Index,
    String,
    Text,
    and_,
    delete,
    func,
    not_,
    or_,
    select,
    update,
)
from sqlalchemy.orm import Mapped, Session, aliased, mapped_column

from testimonials.core import clock
from testimonials.core.audit import EventType
from testimonials.core.db.engine import Base, Timestamp, present
from testimonials.core.db.identifiers import new_identifier
from testimonials.core.http.i18n import gettext_noop

# The outbox: mail is a row, written in the transaction of what it reports, and sent later.
#
# A worker leases a row before it sends the mail, so that no other worker sends it too. When a
# worker dies, its lease runs out and the mail is sent again, with the same Message-ID: at least
# once.

MAIL_RETRIED = EventType("mail.retried", gettext_noop("tried waiting mail again: %(count)s"))
MAIL_DROPPED = EventType("mail.dropped", gettext_noop("dropped mail that had not left: %(count)s"))

LEASE = timedelta(minutes=3)
# Most servers have taken a mail after a second.
SLOW = timedelta(seconds=15)
# About three days: longer than a weekend without a mail server.
MAX_ATTEMPTS = 20
FIRST_DELAY = timedelta(seconds=5)
LONGEST_DELAY = timedelta(hours=6)


class MailState(StrEnum):
    """The state of a mail: waiting, being sent, sent, printed to the log, or given up."""

    QUEUED = "queued"
    SENDING = "sending"
    SENT = "sent"
    PRINTED = "printed"
    FAILED = "failed"


class OutboxMail(Base):
    """One mail: what to send, and how far it got."""

    __tablename__ = "outbox_mail"
    # For counting by state and finding due mail without reading mail.
    __table_args__ = (Index("ix_outbox_mail_state", "state", "next_attempt_at"),)

    id: Mapped[str] = mapped_column(primary_key=True, default=new_identifier)
    purpose: Mapped[str]
    recipient: Mapped[str]
    subject: Mapped[str]
    text: Mapped[str] = mapped_column(Text)
    html: Mapped[str] = mapped_column(Text)
    # The name that stands before the service's address; None: the one in the settings.
    sender_name: Mapped[str | None] = mapped_column(String(120))
    # Who gets the reply, if not the sender.
    reply_to: Mapped[str | None]
    # The URL that unsubscribes from such mail in one click, if there is one.
    list_unsubscribe: Mapped[str | None] = mapped_column(Text)
    state: Mapped[str] = mapped_column(default=MailState.QUEUED)
    attempts: Mapped[int] = mapped_column(default=0)
    next_attempt_at: Mapped[datetime] = mapped_column(Timestamp, default=present, index=True)
    last_error: Mapped[str | None] = mapped_column(Text)
    created_at: Mapped[datetime] = mapped_column(Timestamp, default=present)
    sent_at: Mapped[datetime | None] = mapped_column(Timestamp)


def list_mails(session: Session, limit: int, state: str | None) -> Sequence[OutboxMail]:
    """Return the newest `limit` mails in any state, or in one."""
    query = select(OutboxMail).order_by(OutboxMail.created_at.desc(), OutboxMail.id.desc())
    if state is not None:
        query = query.where(OutboxMail.state == state)
    return session.scalars(query.limit(limit)).all()


def is_due(now: datetime) -> ColumnElement[bool]:
    """Return the condition for mail to send at `now`: queued, or leased by a worker that died.

    An attempt further ahead than any delay was planned before the clock was set back.
    """
    is_waiting = OutboxMail.state.in_((MailState.QUEUED, MailState.SENDING))
    attempt = OutboxMail.next_attempt_at
    return and_(is_waiting, or_(attempt <= now, attempt > now + 2 * LONGEST_DELAY))


def count_mails(session: Session) -> dict[str, int]:
    """Return how many mails are in each state."""
    counts = dict.fromkeys(map(str, MailState), 0)
    rows = session.execute(select(OutboxMail.state, func.count()).group_by(OutboxMail.state))
    return counts | {str(row[0]): int(row[1]) for row in rows}


def measure_waiting(session: Session) -> tuple[int, timedelta]:
    """Return how many mails have not left, and how old the oldest of them is.

    Mail that waits for its next attempt counts too: the server may be refusing everything.
    """
    waiting = OutboxMail.state.in_((MailState.QUEUED, MailState.SENDING))
    row = session.execute(
        select(func.count(), func.min(OutboxMail.created_at)).where(waiting)
    ).one()
    return row[0], max(clock.now() - row[1], timedelta()) if row[0] else timedelta()


def is_mail_refused(session: Session) -> bool:
    """Return whether mail was tried in vain, and none has left since it was written.

    What has been sent for `SLOW` counts too: a server may take a connection and never answer.
    """
    is_slow = and_(
        OutboxMail.state == MailState.SENDING,
        OutboxMail.next_attempt_at <= clock.now() + LEASE - SLOW,
    )
    is_waiting = OutboxMail.state.in_((MailState.QUEUED, MailState.SENDING))
    is_tried = and_(is_waiting, or_(is_slow, OutboxMail.last_error.is_not(None)))
    sent = aliased(OutboxMail)
    newest = select(func.max(OutboxMail.created_at)).where(is_tried).scalar_subquery()
    # The end of a lease is later than the sending, and has an index.
    left = (sent.state == MailState.SENT, sent.next_attempt_at > newest, sent.sent_at > newest)
    has_left = select(sent.id).where(*left).exists()
    return bool(session.scalar(select(and_(newest.is_not(None), not_(has_left)))))


def has_due_mail(session: Session) -> bool:
    """Return whether any mail is due now."""
    return bool(session.scalar(select(select(OutboxMail.id).where(is_due(clock.now())).exists())))


def lease_mail(session: Session) -> OutboxMail | None:
    """Lease the mail that has been due longest; after a commit no other worker takes it."""
    now = clock.now()
    mail = session.scalars(
        select(OutboxMail)
        .where(is_due(now))
        .order_by(OutboxMail.next_attempt_at, OutboxMail.id)
        .limit(1)
        .with_for_update(skip_locked=True)
    ).one_or_none()
    if mail is not None:
        mail.state = MailState.SENDING
        mail.attempts += 1
        mail.next_attempt_at = now + LEASE
    return mail


def settle_sent(mail: OutboxMail, state: MailState) -> None:
    """Record that the mail was sent or printed; the content of sent mail is not kept.

    Its links may work for years, and its subject may name the person who caused it.
    """
    mail.state, mail.sent_at, mail.last_error = state, clock.now(), None
    if state is MailState.SENT:
        mail.text = mail.html = ""
        if mail.list_unsubscribe is not None:
            mail.list_unsubscribe, mail.subject = None, ""


def settle_failure(mail: OutboxMail, problem: str, *, is_permanent: bool) -> None:
    """Record a failed attempt: try again later, or give up."""
    mail.last_error = problem
    if is_permanent or mail.attempts >= MAX_ATTEMPTS:
        mail.state = MailState.FAILED
    else:
        mail.state = MailState.QUEUED
        delay: timedelta = FIRST_DELAY * 3 ** (mail.attempts - 1)
        mail.next_attempt_at = clock.now() + min(delay, LONGEST_DELAY)


def delete_old_mails(session: Session, before: datetime, needed: ColumnElement[bool]) -> int:
    """Delete mail that was sent, printed or given up `before` a time; return how many.

    Mail that was printed or given up stays while it is `needed` to show that.
    """
    is_sent = OutboxMail.state == MailState.SENT
    has_not_left = OutboxMail.state.in_((MailState.FAILED, MailState.PRINTED))
    removed = session.scalars(
        delete(OutboxMail)
        # The end of its last attempt's lease, which is minutes after the attempt and has an index.
        .where(OutboxMail.next_attempt_at <= before, or_(is_sent, and_(has_not_left, not_(needed))))
        .returning(OutboxMail.id)
    ).all()
    return len(removed)


def retry_mails(session: Session, mail_id: str | None) -> int:
    """Queue failed and waiting mail now, all or the one with this id; return how many."""
    states = (MailState.FAILED, MailState.QUEUED)
    query = update(OutboxMail).where(OutboxMail.state.in_(states))
    if mail_id is not None:
        query = query.where(OutboxMail.id == mail_id)
    values = {"state": MailState.QUEUED, "attempts": 0, "next_attempt_at": clock.now()}
    return len(session.scalars(query.values(values).returning(OutboxMail.id)).all())


def drop_mail(session: Session, mail_id: str) -> int:
    """Delete one mail that waits or was given up; return how many there were."""
    states = (MailState.FAILED, MailState.QUEUED)
    is_it = (OutboxMail.id == mail_id, OutboxMail.state.in_(states))
    return len(session.scalars(delete(OutboxMail).where(*is_it).returning(OutboxMail.id)).all())


# The message of a mail: headers, text and HTML, as the bytes that are sent.
#
# The headers are written here. The standard library would decode encoded words in them
# (`=?utf-8?q?=0D=0ABcc...?=` in a name), and some releases then write further headers.

ENCODED = "=?"
# A mailbox without quotes and comments, which we never accept.
_ADDRESS = re.compile(
    r"[^\s\x00-\x20\x7f-\x9f()<>\[\]:;@\\,\"]+@[^\s\x00-\x20\x7f-\x9f()<>:;@\\,\"]+"
)
# Nine letters have at most 36 bytes, which keeps the first line below 76 characters.
_LETTERS_OF_A_WORD = 9
# Characters that break a line elsewhere or reverse the direction of reading.
_STEERING = re.compile(r"[\x80-\x9f\u2028-\u202e\u2066-\u2069]")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


def write_message(mail: OutboxMail, sender: str) -> bytes:
    """Return the message of a mail; raises `ValueError` for what no header can hold."""
    name, address = parseaddr(sender)
    name = _STEERING.sub("", mail.sender_name or name)
    if not _is_address(mail.recipient):
        raise ValueError(f"{mail.recipient!r} is no e-mail address")
    phrase = _encode_words(name) if _needs_encoding(name) else f'"{quote(name)}"'
    subject = _STEERING.sub("", mail.subject)
    headers = {
        "From": f"{phrase} <{address}>" if name else address,
        "To": mail.recipient,
        "Subject": _encode_words(subject) if _needs_encoding(subject) else subject,
        "Date": format_datetime(mail.created_at),
        # The same on each attempt, so that receivers can recognize a duplicate.
        "Message-ID": f"<{mail.id}@{address.rpartition('@')[2]}>",
        "Auto-Submitted": "auto-generated",
    }
    # Letters outside ASCII would need a receiver that accepts them.
    if mail.reply_to and mail.reply_to.isascii() and _is_address(mail.reply_to):
        headers["Reply-To"] = mail.reply_to
    if mail.list_unsubscribe:
        # A mail reader must find no encoded word; for a browser the URL is the same.
        headers["List-Unsubscribe"] = f"<{mail.list_unsubscribe.replace(ENCODED, '=%3F')}>"
        headers["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
    for header, value in headers.items():
        if _CONTROL.search(value):
            raise ValueError(f"the header {header} has a control character")
    # Lines break between encoded words only.
    head = "".join(f"{header}: {value}\r\n" for header, value in headers.items())
    body = EmailMessage(policy=SMTPUTF8)
    body.set_content(mail.text)
    body.add_alternative(mail.html, subtype="html")
    return head.replace("?= =?", "?=\r\n =?").encode() + body.as_bytes()


def _is_address(text: str) -> bool:
    return _ADDRESS.fullmatch(text) is not None and ENCODED not in text


def _needs_encoding(text: str) -> bool:
    return not text.isascii() or ENCODED in text


def _encode_words(text: str) -> str:
    """Return a text as encoded words (RFC 2047), which can hold any character."""
    parts = [text[i : i + _LETTERS_OF_A_WORD] for i in range(0, len(text), _LETTERS_OF_A_WORD)]
    return " ".join(f"=?utf-8?b?{b64encode(part.encode()).decode()}?=" for part in parts)
