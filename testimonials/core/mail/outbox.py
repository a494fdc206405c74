"""The outbox: mail is a row, written in the transaction of what it tells of, and sent later.

A mail so survives a crash and is retried. A worker leases a row before it sends, so that several
workers never send the same one; a lease that runs out (its worker died) frees the row again.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Index,
    Text,
    and_,
    case,
    delete,
    func,
    not_,
    or_,
    select,
    update,
)
from sqlalchemy.orm import Mapped, Session, mapped_column

from testimonials.core import clock
from testimonials.core.data.database import Base, Timestamp, present
from testimonials.core.data.identifiers import new_identifier
from testimonials.core.mail.handover import Remains, Stage

LEASE = timedelta(minutes=3)
# About three days: longer than a weekend without a mail server.
MAX_ATTEMPTS = 20
FIRST_DELAY = timedelta(seconds=5)
LONGEST_DELAY = timedelta(hours=6)


class MailState(StrEnum):
    """Where a mail stands: waiting, being sent, sent, printed to the log, or given up.

    An unconfirmed one was handed over whole by a process that was killed before the answer.
    """

    QUEUED = "queued"
    SENDING = "sending"
    SENT = "sent"
    UNCONFIRMED = "unconfirmed"
    PRINTED = "printed"
    FAILED = "failed"


# What a mail becomes whose process was killed: without its last bytes the server has discarded it,
# with them it has most likely taken it, and says no more about that.
AFTER_A_KILL = {
    Stage.BEFORE_THE_END: MailState.QUEUED,
    Stage.HANDED_OVER: MailState.UNCONFIRMED,
    Stage.TAKEN: MailState.SENT,
}


class OutboxMail(Base):
    """One mail: what is to be sent, and how far it got."""

    __tablename__ = "outbox_mail"
    # Counting by state and looking for what is due read no mail.
    __table_args__ = (Index("ix_outbox_mail_state", "state", "next_attempt_at"),)

    id: Mapped[str] = mapped_column(primary_key=True, default=new_identifier)
    purpose: Mapped[str]
    recipient: Mapped[str]
    subject: Mapped[str]
    text: Mapped[str] = mapped_column(Text)
    html: Mapped[str] = mapped_column(Text)
    # Who gets an answer to it, where that isn't the sender.
    reply_to: Mapped[str | None]
    # The address that ends mails of this kind in one click, where that can be asked for.
    list_unsubscribe: Mapped[str | None] = mapped_column(Text)
    state: Mapped[str] = mapped_column(default=MailState.QUEUED)
    attempts: Mapped[int] = mapped_column(default=0)
    next_attempt_at: Mapped[datetime] = mapped_column(Timestamp, default=present, index=True)
    last_error: Mapped[str | None] = mapped_column(Text)
    created_at: Mapped[datetime] = mapped_column(Timestamp, default=present)
    sent_at: Mapped[datetime | None] = mapped_column(Timestamp)


# What is taken out of a mail that has left: links in it may work for years. The subject goes with
# it where somebody else's act caused the mail, whom it may name.
FORGOTTEN: dict[str, Any] = {
    "text": "",
    "html": "",
    "list_unsubscribe": None,
    "subject": case((OutboxMail.list_unsubscribe.is_not(None), ""), else_=OutboxMail.subject),
}


def list_mails(session: Session, limit: int, state: str | None) -> Sequence[OutboxMail]:
    """Return the newest `limit` mails, of all or of one state."""
    query = select(OutboxMail).order_by(OutboxMail.created_at.desc(), OutboxMail.id.desc())
    if state is not None:
        query = query.where(OutboxMail.state == state)
    return session.scalars(query.limit(limit)).all()


def is_due(now: datetime) -> ColumnElement[bool]:
    """Return the condition under which a mail waits at `now`: queued, or its worker has died.

    An attempt that lies further ahead than any is put off was planned before the clock was put
    back, and would keep the mail for as long as the clock had been ahead.
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

    One that was refused counts while it waits for its next attempt too, so that a mail server that
    refuses everything is seen.
    """
    waiting = OutboxMail.state.in_((MailState.QUEUED, MailState.SENDING))
    row = session.execute(
        select(func.count(), func.min(OutboxMail.created_at)).where(waiting)
    ).one()
    return row[0], max(clock.now() - row[1], timedelta()) if row[0] else timedelta()


def has_due_mail(session: Session) -> bool:
    """Tell whether any mail waits to be sent now."""
    return bool(session.scalar(select(select(OutboxMail.id).where(is_due(clock.now())).exists())))


def lease_mail(session: Session) -> OutboxMail | None:
    """Take the mail that is due longest; a commit keeps it from other workers for `LEASE`."""
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
    """Note that the mail has left, and keep nothing that was in it, or that it was printed."""
    mail.state, mail.sent_at, mail.last_error = state, clock.now(), None
    if state is MailState.SENT:
        for name, value in FORGOTTEN.items():
            setattr(mail, name, value)


def settle_failure(mail: OutboxMail, problem: str, *, is_permanent: bool) -> None:
    """Note a failed attempt: try again later, or give up after a refusal for good."""
    mail.last_error = problem
    if is_permanent or mail.attempts >= MAX_ATTEMPTS:
        mail.state = MailState.FAILED
    else:
        mail.state = MailState.QUEUED
        delay: timedelta = FIRST_DELAY * 3 ** (mail.attempts - 1)
        mail.next_attempt_at = clock.now() + min(delay, LONGEST_DELAY)


def settle_remains(session: Session, found: Remains) -> MailState | None:
    """Note how far a mail got that a killed process had in hand; return its state now.

    None where there is nothing to note: the mail is settled, gone, or in other hands by now.
    """
    now = clock.now()
    state = AFTER_A_KILL[found.stage]
    values: dict[str, object] = {"state": state}
    if state is MailState.QUEUED:
        values |= {"next_attempt_at": now}
    else:
        values |= {"sent_at": now, "last_error": None}
    if state is MailState.UNCONFIRMED:
        values |= {"last_error": "The service ended before the mail server's answer."}
    if state is MailState.SENT:
        values |= FORGOTTEN
    settled = session.scalar(
        update(OutboxMail)
        .where(
            OutboxMail.id == found.mail_id,
            OutboxMail.attempts == found.attempt,
            OutboxMail.state == MailState.SENDING,
        )
        .values(values)
        .returning(OutboxMail.id)
    )
    return state if settled is not None else None


def delete_old_mails(session: Session, before: datetime, needed: ColumnElement[bool]) -> int:
    """Remove mail that left, was printed or was given up `before` a time; return how many.

    Mail that was given up stays as long as it is `needed` to tell of it.
    """
    is_done = OutboxMail.state.in_((MailState.SENT, MailState.UNCONFIRMED, MailState.PRINTED))
    is_given_up = and_(OutboxMail.state == MailState.FAILED, not_(needed))
    removed = session.scalars(
        delete(OutboxMail)
        # The end of its last attempt's lease, which is minutes after the attempt and has an index.
        .where(OutboxMail.next_attempt_at <= before, or_(is_done, is_given_up))
        .returning(OutboxMail.id)
    ).all()
    return len(removed)


def retry_mails(session: Session, mail_id: str | None) -> int:
    """Queue failed and waiting mail now, all of it or one, but none that is being sent.

    One that is unconfirmed has most likely arrived, so it is sent again only by its id. Gives how
    many.
    """
    states = [MailState.FAILED, MailState.QUEUED]
    conditions = []
    if mail_id is not None:
        states.append(MailState.UNCONFIRMED)
        conditions.append(OutboxMail.id == mail_id)
    matched = session.scalars(
        update(OutboxMail)
        .where(OutboxMail.state.in_(states), *conditions)
        .values(state=MailState.QUEUED, attempts=0, next_attempt_at=clock.now())
        .returning(OutboxMail.id)
    ).all()
    return len(matched)
