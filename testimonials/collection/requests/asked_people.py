"""The people who were asked for a testimonial: listing, cancelling and deleting them."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, case, delete, exists, func, select

from testimonials.collection.models import MailedRequest, RequestBatch, UnsubscribedAddress
from testimonials.core import clock
from testimonials.core.data.identifiers import is_identifier
from testimonials.core.mail.outbox import MailState, OutboxMail
from testimonials.core.web.errors import NotFound
from testimonials.core.web.languages import gettext_noop
from testimonials.core.web.paging import Cursor, Page, begin_page, cut_page
from testimonials.extensions import db
from testimonials.projects.models import Project
from testimonials.settings.current import current_settings

# A query of any columns.
Rows = Select[*tuple[Any, ...]]

PAGE_SIZE = 50
STATES = (
    "waiting",
    "printed",
    "sent",
    "opened",
    "started",
    "answered",
    "declined",
    "failed",
    "unsubscribed",
)


@dataclass(frozen=True)
class AskedPerson:
    """One row of the list."""

    request: MailedRequest
    state: str
    problem: str | None
    unsubscribed_at: datetime | None

    @property
    def created_at(self) -> datetime:
        return self.request.created_at

    @property
    def id(self) -> str:
        return self.request.id


def list_asked(
    project: Project, state: str | None, page: int
) -> tuple[list[AskedPerson], int, dict[str, int]]:
    """Return a page of who was asked, newest first; its number; and how many are in each state.

    A page past the end gives the last one. `state` None is everybody.
    """
    counts = count_states(project)
    total = counts["all"] if state is None else counts[state]
    page = min(page, max(1, -(-total // PAGE_SIZE)))
    query = _select_asked(project, state)
    rows = db.session.execute(
        query.order_by(MailedRequest.created_at.desc(), MailedRequest.email)
        .limit(PAGE_SIZE)
        .offset((page - 1) * PAGE_SIZE)
    )
    return [AskedPerson(*row) for row in rows], page, counts


def list_everybody(project: Project) -> list[AskedPerson]:
    """Return everybody who was asked, newest first."""
    query = _select_asked(project, None)
    rows = db.session.execute(query.order_by(MailedRequest.created_at.desc(), MailedRequest.email))
    return [AskedPerson(*row) for row in rows]


def read_asked(project: Project, state: str | None, limit: int, after: Cursor | None) -> Page:
    """Return a page of who was asked, newest first, in any state or in one."""
    query = begin_page(_select_asked(project, state), MailedRequest, limit, after)
    return cut_page([AskedPerson(*row) for row in db.session.execute(query)], limit)


def find_asked(project: Project, request_id: str) -> AskedPerson:
    """Return one person who was asked; raise `NotFound`."""
    query = _select_asked(project, None).where(MailedRequest.id == request_id)
    row = db.session.execute(query).one_or_none() if is_identifier(request_id) else None
    if row is None:
        raise NotFound(gettext_noop("There is no such request in this project."))
    return AskedPerson(*row)


def count_states(project: Project) -> dict[str, int]:
    inner = _join(select(_state().label("state")), project).subquery()
    rows = db.session.execute(select(inner.c.state, func.count()).group_by(inner.c.state))
    counts = dict.fromkeys(STATES, 0)
    for row in rows:
        counts[str(row[0])] = int(row[1])
    return counts | {"all": sum(counts.values())}


def find_asked_emails(testimonial_ids: Iterable[str]) -> dict[str, str]:
    """Return the address that was asked, by testimonial."""
    rows = db.session.execute(
        select(MailedRequest.testimonial_id, MailedRequest.email).where(
            MailedRequest.testimonial_id.in_(list(testimonial_ids))
        )
    )
    return {str(row[0]): row[1] for row in rows}


def cancel_waiting(project: Project) -> int:
    """Delete the requests that weren't sent yet from the locked project; return how many."""
    waiting = db.session.scalars(
        _join(select(MailedRequest), project)
        .where(_state() == "waiting")
        .with_for_update(of=MailedRequest)
    ).all()
    cancelled = [request for request in waiting if _drop_mail(request)]
    for request in cancelled:
        db.session.delete(request)
    return len(cancelled)


def remove_asked(project: Project, request_id: str) -> None:
    """Delete a request of the locked project, with its mail if that still waits; raise `NotFound`.

    A link that was already mailed then opens the plain form.
    """
    request = None
    if is_identifier(request_id):
        request = db.session.scalars(
            select(MailedRequest)
            .where(MailedRequest.id == request_id, MailedRequest.project_id == project.id)
            .with_for_update()
        ).one_or_none()
    if request is None:
        raise NotFound(gettext_noop("This person is no longer on the list."))
    _drop_mail(request)
    db.session.delete(request)
    db.session.flush()


def delete_old_requests() -> int:
    """Delete requests that weren't answered in REQUEST_DAYS, and empty batches; return how many."""
    limit = clock.expired_until(current_settings().request_days)
    removed = db.session.scalars(
        delete(MailedRequest)
        .where(MailedRequest.created_at < limit, MailedRequest.answered_at.is_(None))
        .returning(MailedRequest.id)
    ).all()
    db.session.execute(
        delete(RequestBatch).where(
            RequestBatch.created_at < limit,
            ~exists().where(MailedRequest.batch_id == RequestBatch.id),
        )
    )
    return len(removed)


def is_told_from() -> ColumnElement[bool]:
    """Return the condition for mails in the outbox that a request still refers to."""
    return exists().where(MailedRequest.mail_id == OutboxMail.id)


def _drop_mail(request: MailedRequest) -> bool:
    """Remove a waiting mail from the outbox; return False if it has already left."""
    if request.mail_id is None:
        return True
    query = delete(OutboxMail).where(
        OutboxMail.id == request.mail_id, OutboxMail.state == MailState.QUEUED
    )
    return db.session.scalar(query.returning(OutboxMail.id)) is not None


def _select_asked(project: Project, state: str | None) -> Rows:
    query = _join(
        select(MailedRequest, _state(), OutboxMail.last_error, UnsubscribedAddress.created_at),
        project,
    )
    return query if state is None else query.where(_state() == state)


def _join(query: Rows, project: Project) -> Rows:
    return (
        query.select_from(MailedRequest)
        .outerjoin(OutboxMail, OutboxMail.id == MailedRequest.mail_id)
        .outerjoin(
            UnsubscribedAddress,
            and_(
                UnsubscribedAddress.account_id == project.account_id,
                UnsubscribedAddress.email_hash == MailedRequest.email_hash,
            ),
        )
        .where(MailedRequest.project_id == project.id)
    )


def _state() -> ColumnElement[str]:
    """Return a request's state; what the person did takes precedence over the mail."""
    is_leaving = OutboxMail.state.in_((MailState.QUEUED, MailState.SENDING))
    return case(
        (MailedRequest.answered_at.is_not(None), "answered"),
        (UnsubscribedAddress.email_hash.is_not(None), "unsubscribed"),
        (MailedRequest.declined_at.is_not(None), "declined"),
        (MailedRequest.started_at.is_not(None), "started"),
        (MailedRequest.opened_at.is_not(None), "opened"),
        (OutboxMail.state == MailState.FAILED, "failed"),
        (MailedRequest.sent_at.is_(None), "waiting"),
        (and_(MailedRequest.reminded_at.is_(None), is_leaving), "waiting"),
        (OutboxMail.state == MailState.PRINTED, "printed"),
        else_="sent",
    )
