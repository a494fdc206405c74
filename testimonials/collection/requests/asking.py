"""Asking people for testimonials by mail: whom, how many, and with which words."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import func, select

from testimonials.collection.forms.services import find_form
from testimonials.collection.models import (
    MailedRequest,
    RequestBatch,
    UnsubscribedAddress,
    hash_email,
)
from testimonials.collection.requests.address_lists import AddressList, Person
from testimonials.collection.requests.request_mail import write_due_mails
from testimonials.core import clock
from testimonials.core.data.identifiers import new_identifier
from testimonials.core.web.errors import ServiceError
from testimonials.core.web.languages import gettext_noop
from testimonials.core.web.signing import TokenPurpose
from testimonials.extensions import db
from testimonials.projects.models import Project
from testimonials.settings.current import current_settings

MESSAGE_LENGTH = 2_000
REMINDERS = (3, 5, 7)
WAITS = (0, 1, 3, 7, 14, 30)
DAY = timedelta(days=1)
PREVIEW_SECONDS = 24 * 60 * 60

UNSUBSCRIBED = gettext_noop("Has unsubscribed from your requests.")
ALREADY_ASKED = gettext_noop("You have asked them already.")
TWICE = gettext_noop("Is on the list twice.")

batch_purpose = TokenPurpose("request-batch")


class AskingRefused(ServiceError):
    """The people can't be asked now."""

    status = 422
    code = "ASKING_REFUSED"
    meaning = "These people can't be asked now. No mail was sent."
    remedy = "Change the list, or wait, as `message` says."


@dataclass(frozen=True)
class LeftOut:
    """Somebody on a list who won't be asked, and why."""

    person: Person
    reason: str


def choose_people(
    project: Project, lists: Iterable[AddressList]
) -> tuple[list[Person], list[LeftOut]]:
    """Return the people who can be asked, each once, and those who are left out.

    Raises `AskingRefused` if that is nobody, or more than the account may ask now.
    """
    lists = list(lists)
    fresh, left_out = sort_people(project, [person for each in lists for person in each.people])
    _require_room(project.account_id, len(fresh))
    if not fresh:
        reasons = [each.reason for one in lists for each in one.wrong]
        reasons += [f"{each.person.email}: {each.reason}" for each in left_out]
        raise AskingRefused(
            gettext_noop("Nobody is left to ask. %(reasons)s"),
            values={"reasons": " ".join(dict.fromkeys(reasons[:10]))},
        )
    return fresh, left_out


def sort_people(project: Project, listed: Sequence[Person]) -> tuple[list[Person], list[LeftOut]]:
    """Return who of a list can be asked, each once, and who is left out."""
    asked = _find_asked(project, listed)
    unwanted = _find_unsubscribed(project, listed)
    fresh: dict[str, Person] = {}
    left_out: list[LeftOut] = []
    for person in listed:
        if person.email in fresh:
            left_out.append(LeftOut(person, TWICE))
        elif hash_email(project.account_id, person.email) in unwanted:
            left_out.append(LeftOut(person, UNSUBSCRIBED))
        elif person.email in asked:
            left_out.append(LeftOut(person, ALREADY_ASKED))
        else:
            fresh[person.email] = person
    return list(fresh.values()), left_out


def count_room(account_id: str) -> int:
    """Return how many more people the account may ask now; deleted requests count too."""
    used = db.session.scalar(
        select(func.sum(RequestBatch.size))
        .join(Project, Project.id == RequestBatch.project_id)
        .where(Project.account_id == account_id, RequestBatch.created_at > clock.now() - DAY)
    )
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
            "Your account may ask %(limit)s people in 24 hours: %(room)s more now, and this list "
            "has %(count)s. Shorten it, or come back tomorrow."
        ),
        values={"limit": limit, "room": room, "count": count},
    )


def make_batch_token(project: Project) -> str:
    """Return the token of a preview; confirming it twice makes one batch."""
    return batch_purpose.sign([project.id, new_identifier()])


def _read_batch_token(project: Project, token: str) -> str:
    project_id, batch_id = batch_purpose.find(token, 2, PREVIEW_SECONDS) or (None, None)
    if project_id != project.id:
        raise AskingRefused(
            gettext_noop("This preview is more than a day old. Look at the new one, then send.")
        )
    return str(batch_id)


def ask_people(
    project: Project,
    token: str,
    batch: RequestBatch,
    listed: AddressList,
    actor: str,
    wait_days: int = 0,
) -> int:
    """Store a request to everybody on a list, and send as many mails as the pace allows.

    The mails go out after `wait_days`.

    The account and the project are locked; `token` is the preview's, `batch` has the message.
    Returns how many are asked: 0 after a double click or a reload. Raises `AskingRefused`, and
    `NotFound` for its form.
    """
    batch_id = _read_batch_token(project, token)
    if batch.form_name:
        find_form(project, batch.form_name)
    if db.session.get(RequestBatch, batch_id) is not None:
        return 0
    people, _ = choose_people(project, [listed])
    now = clock.now()
    batch.id, batch.project_id, batch.actor = batch_id, project.id, actor
    batch.size, batch.created_at = len(people), now
    db.session.add(batch)
    db.session.flush()
    db.session.add_all(
        MailedRequest(
            project_id=project.id,
            batch_id=batch_id,
            email=person.email,
            email_hash=hash_email(project.account_id, person.email),
            name=person.name,
            company=person.company or None,
            purchase_reference=person.order or None,
            next_mail_at=now + wait_days * DAY,
            created_at=now,
        )
        for person in people
    )
    db.session.flush()
    write_due_mails()
    return len(people)


def _find_asked(project: Project, people: Sequence[Person]) -> set[str]:
    emails = {person.email for person in people}
    query = select(MailedRequest.email).where(
        MailedRequest.project_id == project.id, MailedRequest.email.in_(emails)
    )
    return set(db.session.scalars(query))


def _find_unsubscribed(project: Project, people: Sequence[Person]) -> set[str]:
    hashes = {hash_email(project.account_id, person.email) for person in people}
    query = select(UnsubscribedAddress.email_hash).where(
        UnsubscribedAddress.account_id == project.account_id,
        UnsubscribedAddress.email_hash.in_(hashes),
    )
    return set(db.session.scalars(query))
