"""Requests by email: asking people, listing them, and cancelling."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, case, delete, exists, func, select, update

from testimonials.collection.address_lists import AddressList, Person
from testimonials.collection.forms import find_form
from testimonials.collection.models import (
    REQUEST_STATES,
    MailedRequest,
    RequestBatch,
    UnsubscribedAddress,
    hash_email,
    is_unsubscribed,
)
from testimonials.collection.request_mail import SEND_NOW, write_due_mails
from testimonials.core import clock
from testimonials.core.db.identifiers import is_identifier, new_identifier
from testimonials.core.db.transactions import delete_rows, find_row
from testimonials.core.extensions import db
from testimonials.core.http.answers import Cursor, Page, begin_page, cut_page
from testimonials.core.http.errors import NotFound, ServiceError
from testimonials.core.http.i18n import gettext_noop
from testimonials.core.jobs import enqueue
from testimonials.core.mail.outbox import MailState, OutboxMail
from testimonials.core.settings.table import current_settings
from testimonials.projects.models import Project

MESSAGE_LENGTH = 2_000
REMINDERS = (3, 5, 7)
WAITS = (0, 1, 3, 7, 14, 30)
DAY = timedelta(days=1)
# For how long a batch can be cancelled.
GRACE = timedelta(seconds=30)

UNSUBSCRIBED = gettext_noop("Unsubscribed from your requests.")
ALREADY_ASKED = gettext_noop("You have already asked this person.")
TWICE = gettext_noop("On the list twice.")


class AskingRefused(ServiceError):
    status = 422
    meaning = "These people can't be asked now. No email was sent."
    remedy = "Change the list, or wait, as `message` says."


@dataclass(frozen=True)
class LeftOut:
    """Somebody on a list who won't be asked, the reason, and any earlier request."""

    person: Person
    reason: str
    asked_at: datetime | None = None
    has_declined: bool = False


def choose_people(
    project: Project, lists: Iterable[AddressList]
) -> tuple[list[Person], list[LeftOut]]:
    """Return the people who can be asked, and those who are left out.

    Raises `AskingRefused` if nobody can be asked, or too many for the account's limit.
    """
    lists = list(lists)
    fresh, left_out = sort_people(project, [person for each in lists for person in each.people])
    _require_room(project.account_id, len(fresh))
    if not fresh:
        reasons = [each.reason for one in lists for each in one.wrong]
        reasons += [f"{each.person.email}: {each.reason}" for each in left_out]
        raise AskingRefused(
            gettext_noop("Nobody left to ask. %(reasons)s"),
            values={"reasons": " ".join(dict.fromkeys(reasons[:10]))},
        )
    return fresh, left_out


def sort_people(project: Project, listed: Sequence[Person]) -> tuple[list[Person], list[LeftOut]]:
    """Return the people on a list who can be asked, and those who are left out."""
    hashes = {each.email: hash_email(project.account_id, each.email) for each in listed}
    row, no_mail = MailedRequest, UnsubscribedAddress
    query = select(row).where(row.project_id == project.id, row.email.in_(hashes))
    asked = {each.email: each for each in db.session.scalars(query)}
    is_own = (no_mail.account_id == project.account_id, no_mail.email_hash.in_(hashes.values()))
    unwanted = set(db.session.scalars(select(no_mail.email_hash).where(*is_own)))
    fresh: dict[str, Person] = {}
    left_out: list[LeftOut] = []
    for person in listed:
        if person.email in fresh:
            left_out.append(LeftOut(person, TWICE))
        elif hashes[person.email] in unwanted:
            left_out.append(LeftOut(person, UNSUBSCRIBED))
        elif was := asked.get(person.email):
            has_declined = was.declined_at is not None
            left_out.append(LeftOut(person, ALREADY_ASKED, was.created_at, has_declined))
        else:
            fresh[person.email] = person
    return list(fresh.values()), left_out


def count_room(account_id: str) -> int:
    """Return how many more people the account may ask now; deleted requests count too."""
    row, since = RequestBatch, clock.now() - DAY
    query = select(func.sum(row.size)).join(Project, Project.id == row.project_id)
    query = query.where(Project.account_id == account_id, row.created_at > since)
    used = db.session.scalar(query)
    limit = current_settings().invitations_per_day
    return max(0, limit - int(used or 0))


def _require_room(account_id: str, count: int) -> None:
    room = count_room(account_id)
    if count <= room:
        return
    limit = current_settings().invitations_per_day
    if not limit:
        raise AskingRefused(
            gettext_noop("This service doesn’t send requests by email. Share the link instead.")
        )
    raise AskingRefused(
        gettext_noop(
            "You can ask %(limit)s people in 24 hours: %(room)s more now, and this list has "
            "%(count)s. Shorten it, or continue tomorrow."
        ),
        values={"limit": limit, "room": room, "count": count},
    )


def ask_people(
    project: Project,
    batch: RequestBatch,
    listed: AddressList,
    actor: str,
    wait_days: int = 0,
    *,
    grace: timedelta = timedelta(),
) -> int:
    """Store requests to the people on a list; send emails up to the rate limit, and return how
    many.

    The emails are sent after `wait_days` and `grace`, during which the whole batch can be
    cancelled. The account and the project are locked; `batch` has the message. Raises
    `AskingRefused`, and `NotFound` for the form.
    """
    if batch.form_name:
        find_form(project, batch.form_name)
    people, _ = choose_people(project, [listed])
    now = clock.now()
    batch.project_id, batch.actor = project.id, actor
    batch.size, batch.created_at = len(people), now
    db.session.add(batch)
    db.session.flush()
    db.session.add_all(
        MailedRequest(
            project_id=project.id,
            batch_id=batch.id,
            email=person.email,
            email_hash=hash_email(project.account_id, person.email),
            name=person.name,
            company=person.company or None,
            purchase_reference=person.order or None,
            next_mail_at=now + wait_days * DAY + grace,
            created_at=now,
        )
        for person in people
    )
    db.session.flush()
    if not grace:
        write_due_mails()
    elif not wait_days:
        enqueue(SEND_NOW, run_at=now + grace)
    return len(people)


def find_batch(project: Project, batch_id: str) -> RequestBatch | None:
    return find_row(RequestBatch, batch_id, RequestBatch.project_id == project.id)


def cancel_sending(project: Project, batch_id: str) -> tuple[list[Person], list[str]]:
    """Cancel a batch of the locked project; return its people, and those already sent an email.

    The former don't count towards the daily limit, since they were never asked.
    """
    if find_batch(project, batch_id) is None:
        return [], []
    row = MailedRequest
    is_own = (row.project_id == project.id, row.batch_id == batch_id)
    unsent = delete(row).where(*is_own, row.sent_at.is_(None))
    columns = (row.email, row.name, row.company, row.purchase_reference)
    cancelled = db.session.execute(unsent.returning(*columns)).all()
    people = [Person(0, each[0], each[1], each[2] or "", each[3] or "") for each in cancelled]
    _count_less(batch_id, len(people))
    sent = db.session.execute(select(row.name, row.email).where(*is_own)).all()
    return sorted(people, key=lambda each: each.email), [each[0] or each[1] for each in sent]


def correct_address(project: Project, request_id: str, email: str) -> None:
    """Send an undelivered request to another address. Raises `AskingRefused`.

    It counts as a batch of its own, sent today. The account and the project are locked.
    """
    row = _lock_asked(project, request_id)
    if row is None or find_asked(project, request_id).state != "failed":
        raise AskingRefused(gettext_noop("This address no longer needs a correction."))
    choose_people(project, [AddressList([Person(1, email)])])
    batch = db.session.get_one(RequestBatch, row.batch_id)
    again = RequestBatch(
        id=new_identifier(),
        project_id=project.id,
        actor=batch.actor,
        subject=batch.subject,
        message=batch.message,
        language=batch.language,
        form_name=batch.form_name,
        remind_after_days=batch.remind_after_days,
        size=1,
    )
    db.session.add(again)
    db.session.flush()
    row.batch_id = again.id
    row.email, row.email_hash = email, hash_email(project.account_id, email)
    row.mail_id = row.sent_at = row.reminded_at = None
    row.next_mail_at = clock.now() + GRACE
    enqueue(SEND_NOW, run_at=row.next_mail_at)


def _count_less(batch_id: str, count: int) -> None:
    if count:
        batch = update(RequestBatch).where(RequestBatch.id == batch_id)
        db.session.execute(batch.values(size=RequestBatch.size - count))


# A query for any columns.
Rows = Select[*tuple[Any, ...]]

PAGE_SIZE = 50


@dataclass(frozen=True)
class AskedPerson:
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
    project: Project, state: str | None, page: int, size: int = PAGE_SIZE
) -> tuple[list[AskedPerson], int, dict[str, int]]:
    """Return a page of people who were asked, newest first, its number, and counts by state.

    A page past the end is the last one. A `state` of None means any.
    """
    counts = count_states(project)
    total = counts["all"] if state is None else counts[state]
    page = min(page, max(1, -(-total // size)))
    query = _select_asked(project, state)
    query = query.order_by(MailedRequest.created_at.desc(), MailedRequest.email)
    rows = db.session.execute(query.limit(size).offset((page - 1) * size))
    return [AskedPerson(*row) for row in rows], page, counts


def list_everybody(project: Project) -> list[AskedPerson]:
    query = _select_asked(project, None)
    rows = db.session.execute(query.order_by(MailedRequest.created_at.desc(), MailedRequest.email))
    return [AskedPerson(*row) for row in rows]


def read_asked(project: Project, state: str | None, limit: int, after: Cursor | None) -> Page:
    """Return a page of people who were asked, newest first, in any state or in one."""
    query = begin_page(_select_asked(project, state), MailedRequest, limit, after)
    return cut_page([AskedPerson(*row) for row in db.session.execute(query)], limit)


def find_asked(project: Project, request_id: str) -> AskedPerson:
    query = _select_asked(project, None).where(MailedRequest.id == request_id)
    row = db.session.execute(query).one_or_none() if is_identifier(request_id) else None
    if row is None:
        raise NotFound(gettext_noop("This person is no longer on the list."))
    return AskedPerson(*row)


def count_states(project: Project) -> dict[str, int]:
    inner = _join(select(_state().label("state")), project).subquery()
    rows = db.session.execute(select(inner.c.state, func.count()).group_by(inner.c.state))
    counts = dict.fromkeys(REQUEST_STATES, 0)
    for row in rows:
        counts[str(row[0])] = int(row[1])
    return counts | {"all": sum(counts.values())}


def find_asked_emails(testimonial_ids: Iterable[str]) -> dict[str, str]:
    row = MailedRequest
    query = select(row.testimonial_id, row.email).where(row.testimonial_id.in_([*testimonial_ids]))
    rows = db.session.execute(query)
    return {str(row[0]): row[1] for row in rows}


def cancel_waiting(project: Project) -> int:
    """Delete the locked project's requests that haven't been sent yet; return how many."""
    query = _join(select(MailedRequest), project).where(_state() == "waiting")
    waiting = db.session.scalars(query.with_for_update(of=MailedRequest)).all()
    cancelled = [request for request in waiting if _drop_mail(request)]
    for batch_id, count in Counter(each.batch_id for each in cancelled).items():
        _count_less(batch_id, count)
    for request in cancelled:
        db.session.delete(request)
    return len(cancelled)


def remove_asked(project: Project, request_id: str) -> None:
    """Delete a request of the locked project, and an email not sent yet. Raises `NotFound`.

    A link that was already emailed then opens the plain form.
    """
    request = _lock_asked(project, request_id)
    if request is None:
        raise NotFound(gettext_noop("This person is no longer on the list."))
    if request.sent_at is None:
        _count_less(request.batch_id, 1)
    _drop_mail(request)
    db.session.delete(request)
    db.session.flush()


def _lock_asked(project: Project, request_id: str) -> MailedRequest | None:
    is_own = MailedRequest.project_id == project.id
    return find_row(MailedRequest, request_id, is_own, for_update=True)


def delete_old_requests() -> int:
    """Delete requests not answered within REQUEST_DAYS, and empty batches; return how many."""
    limit = clock.expired_until(current_settings().request_days)
    is_old = MailedRequest.created_at < limit
    removed = delete_rows(MailedRequest, is_old, MailedRequest.answered_at.is_(None))
    is_empty = ~exists().where(MailedRequest.batch_id == RequestBatch.id)
    db.session.execute(delete(RequestBatch).where(RequestBatch.created_at < limit, is_empty))
    return removed


def is_told_from() -> ColumnElement[bool]:
    """Return the condition for emails in the outbox that a request still refers to."""
    return exists().where(MailedRequest.mail_id == OutboxMail.id)


def _drop_mail(request: MailedRequest) -> bool:
    """Remove the request's email from the outbox; return False if it was already sent."""
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
        .outerjoin(UnsubscribedAddress, is_unsubscribed(project.account_id))
        .where(MailedRequest.project_id == project.id)
    )


def _state() -> ColumnElement[str]:
    """Return a request's state: what the person did takes precedence over the email."""
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
