"""Mail about new testimonials, with links for deciding on one without signing in."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Select,
    and_,
    delete,
    exists,
    func,
    or_,
    select,
    text,
    true,
    union_all,
)
from sqlalchemy.orm import InstrumentedAttribute

from testimonials.auth.accounts import (
    find_claimable_account,
    may_act,
    renew_own_nonce,
    start_signup,
)
from testimonials.auth.credentials import find_claimed_account, make_reset_link
from testimonials.auth.emails import (
    send_account_exists_mail,
    send_claim_mail,
    send_reset_mail,
    send_signup_mail,
)
from testimonials.auth.magic_links import LinkPurpose, make_claim_link
from testimonials.auth.models import Account
from testimonials.auth.sessions import SignedIn
from testimonials.core import clock
from testimonials.core.db.identifiers import hash_secret
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db
from testimonials.core.http.errors import NotFound, ServiceError
from testimonials.core.http.i18n import gettext_noop
from testimonials.core.http.signing import TokenPurpose
from testimonials.core.http.urls import image_url, link_url, project_url
from testimonials.core.images.colors import initials_of
from testimonials.core.jobs import Interrupted, Job, current_job, enqueue, every, job
from testimonials.core.mail.outbox import send_mail
from testimonials.core.text import cut
from testimonials.projects.access import (
    Access,
    Right,
    RoleTooLow,
    StrongSignInNeeded,
    find_access,
    has_role,
)
from testimonials.projects.models import NotificationChoice, Project
from testimonials.projects.notifications import (
    Reader,
    find_choice,
    latest_digest_time,
    list_readers,
    make_unsubscribe_url,
    note_notified,
    notify_each,
    project_look,
)
from testimonials.testimonials.models import UNTOLD, Testimonial

LINK_SECONDS = 7 * 24 * 60 * 60

decision_purpose = TokenPurpose("decide")


class DecisionLinkInvalid(ServiceError):
    status = 410
    default_message = gettext_noop(
        "It works once, for seven days. The testimonial may still be in your inbox."
    )


def find_decision(token: str, *, for_update: bool = False) -> tuple[Access, Testimonial]:
    """Return the current access of a link's person, and the testimonial.

    `for_update` locks the project. Raises `DecisionLinkInvalid`.
    """
    named, _, signed = token.partition(".")
    values = decision_purpose.find(signed, 4, LINK_SECONDS) or (None,) * 4
    project_id, testimonial_id, account_id, seen = values
    if named != testimonial_id:
        raise DecisionLinkInvalid
    access = _find_access(account_id, project_id, for_update=for_update)
    row = db.session.get(Testimonial, testimonial_id)
    if row is None or row.project_id != project_id or row.status != "pending" or row.deleted_at:
        raise DecisionLinkInvalid
    if _fingerprint(row, access.user.email) != seen:
        raise DecisionLinkInvalid
    return access, row


def _fingerprint(row: Testimonial, email: str) -> str:
    """Return a hash for a link, which changes with the testimonial and the person's address."""
    return hash_secret(f"{clock.to_milliseconds(row.updated_at)} {email}")[:16]


def _find_access(account_id: str, project_id: str, *, for_update: bool) -> Access:
    account = db.session.get(Account, account_id)
    if account is None or not account.is_claimed:
        raise DecisionLinkInvalid
    user = SignedIn("", account.id, account.email, None, account.display_name)
    # Turning these links off also disables those emailed before.
    if not find_choice(account_id, project_id).decides_by_mail:
        raise DecisionLinkInvalid
    try:
        return find_access(user, project_id, Right.DECIDE, for_update=for_update)
    except (NotFound, RoleTooLow, StrongSignInNeeded):
        raise DecisionLinkInvalid from None


NAME_LENGTH = 60


def send_submissions_mail(
    reader: Reader, project: Project, rows: Sequence[Testimonial], total: int
) -> None:
    """Notify a reader of `total` new testimonials, of which the email shows `rows`."""
    name = cut(project.name, NAME_LENGTH)
    # A single one is shown almost whole.
    length = 600 if total == 1 else 200
    title = f"{total} new testimonials for {name}"
    if total == 1:
        did = "wrote to you" if rows[0].returned_at is None else "changed their testimonial"
        title = f"{cut(rows[0].author_name, NAME_LENGTH)} {did}"
    url = make_unsubscribe_url(project.id, reader.account_id)
    values = {
        "project_name": name,
        "items": [_describe(row, length, reader) for row in rows],
        "more": total - len(rows),
        # The email has Approve and Reject, which open the testimonial with that button focused.
        "is_one": total == 1,
        "is_daily": reader.mode == "daily",
        "inbox_url": project_url(project.id, "inbox"),
        "decide_url": project_url(project.id, "decide"),
        "is_link": reader.decides_by_mail,
        "choose_url": project_url(project.id, "settings/mail"),
        "unsubscribe_url": url,
    }
    look = project_look(project)
    send_mail(
        reader.email, "submissions", title, "submissions", values, look=look, list_unsubscribe=url
    )


def _describe(row: Testimonial, length: int, reader: Reader) -> dict[str, Any]:
    url = project_url(row.project_id, f"decide/{row.id}")
    if reader.decides_by_mail:
        seen = _fingerprint(row, reader.email)
        token = decision_purpose.sign([row.project_id, row.id, reader.account_id, seen])
        # The id serves to find emails about a testimonial that its author deletes.
        url = link_url("decide", f"{row.id}.{token}")
    words = cut(row.text, length) or f"A {row.kind} recording."
    card, stars = describe_card(row, [(words, False)]), None
    if row.rating is not None:
        stars = f"{'★' * card['stars']}{'☆' * (5 - card['stars'])} {row.rating:g} of 5"
    return {
        "card": card,
        "stars": stars,
        "words": words,
        "url": url,
    }


def describe_card(row: Testimonial, parts: list[tuple[str, bool]]) -> dict[str, Any]:
    """Return the context for `card` in `email/_parts.html`; `parts` are the words, some marked."""
    details = [row.author_role, row.author_company or ""]
    return {
        "name": cut(row.author_name, NAME_LENGTH),
        "details": ", ".join(cut(each, NAME_LENGTH) for each in details if each),
        "rating": row.rating,
        # Half a star is rounded up, as on the wall.
        "stars": int((row.rating or 0) + 0.5),
        "parts": parts,
        "photo_url": image_url(row.avatar_id),
        "initials": initials_of(row.author_name),
    }


# Notifications of new testimonials: at once, after a pause, or once a day. An email and the note
# that it was sent are written in one transaction, under the project's lock, so that nobody is
# notified twice, no matter how many processes run.

# All submissions within this time are in one email.
PAUSE = timedelta(minutes=5)
LISTED = 20
NOTIFY = "mail.new-testimonial"


def lock_for_job(testimonial_id: str) -> tuple[Project, Testimonial] | None:
    """Return a job's testimonial and its locked project, or None; call `finish_job`."""
    query = select(Project).where(Project.id == Testimonial.project_id)
    query = query.where(Testimonial.id == testimonial_id, Project.deleted_at.is_(None))
    project = db.session.scalars(query.with_for_update(of=Project)).one_or_none()
    row = db.session.get(Testimonial, testimonial_id)
    finish_job()
    return (project, row) if project and row else None


def finish_job() -> None:
    """Finish the current job with this transaction, so that it sends its email only once.

    Raises `Interrupted` if it is finished already.
    """
    this = delete(Job).where(Job.id == current_job().id)
    if db.session.scalar(this.returning(Job.id)) is None:
        raise Interrupted


def enqueue_notification(row: Testimonial) -> None:
    """Enqueue the emails about a testimonial that is new, or in the queue again."""
    # In a lane, since the first testimonial that somebody is notified of gets an email of its own.
    enqueue(NOTIFY, lane=f"{NOTIFY} {row.project_id}", testimonial_id=row.id)


@job(NOTIFY, "mail")
def notify_of_submission(testimonial_id: str) -> None:
    """Notify everybody who wants mail at once of a testimonial, if it is still waiting.

    Those who got an email in the last few minutes are notified later, by `notify_waiting`.
    """
    with write(partial(lock_for_job, testimonial_id)) as locked:
        if locked is None or locked[1].status != "pending" or locked[1].deleted_at is not None:
            return
        project, row = locked
        now, queued_at = clock.now(), row.returned_at or row.created_at
        for reader in list_readers(project):
            is_rested = reader.last_sent_at is None or reader.last_sent_at <= now - PAUSE
            if reader.mode != "at_once" or not is_rested:
                continue
            if reader.told_until is not None:
                _notify(project, reader, now)
            elif reader.since is None or queued_at > reader.since:
                # The first notification is about this one alone, not about all that are waiting.
                send_submissions_mail(reader, project, [row], 1)
                note_notified(project, reader.account_id, now, queued_at)


def find_waiting(project_id: str | None = None) -> list[tuple[str, str]]:
    """Return the project and account ids of due notifications, at most 200."""
    now = clock.now()
    digest = latest_digest_time(now)
    choice = NotificationChoice
    # Those who can't decide aren't notified.
    is_reader = has_role(choice.account_id, Right.DECIDE)
    is_due = or_(
        and_(
            choice.mode == "at_once",
            or_(choice.last_sent_at.is_(None), choice.last_sent_at <= now - PAUSE),
            _has_untold(None),
        ),
        and_(
            choice.mode == "daily",
            or_(choice.last_sent_at.is_(None), choice.last_sent_at < digest),
            _has_untold(digest),
        ),
    )
    rows = db.session.execute(
        select(choice.project_id, choice.account_id)
        .join(Project, Project.id == choice.project_id)
        .join(Account, Account.id == choice.account_id)
        .where(Project.deleted_at.is_(None), may_act(), ~Project.is_suspended, is_reader, is_due)
        .where(Project.id == project_id if project_id else true())
        .order_by(choice.told_until)
        .limit(200)
    )
    return [(row[0], row[1]) for row in rows]


@every("gathered-mail")
def send_gathered_mail() -> int:
    """Send the emails about new testimonials that are due; return how many."""
    return notify_each(find_waiting, notify_waiting)


def notify_waiting(project: Project, account_id: str) -> bool:
    """Email one person about everything new in the locked project.

    Returns False if it is no longer due, since another process may have sent it.
    """
    if (project.id, account_id) not in find_waiting(project.id):
        return False
    readers = (reader for reader in list_readers(project) if reader.account_id == account_id)
    return any(_notify(project, reader, clock.now()) for reader in readers)


def _notify(project: Project, reader: Reader, now: datetime) -> bool:
    rows, total = _find_untold(project, reader)
    if rows:
        send_submissions_mail(reader, project, rows, total)
        note_notified(project, reader.account_id, now, project.last_testimonial_at)
    return bool(rows)


def _find_untold(project: Project, reader: Reader) -> tuple[Sequence[Testimonial], int]:
    """Return the oldest testimonials that the reader wasn't notified of, and how many there are."""
    since = max((each for each in (reader.told_until, reader.since) if each), default=clock.EPOCH)
    untold = [and_(Testimonial.project_id == project.id, each) for each in _are_queued_after(since)]
    counts = [select(func.count(Testimonial.id)).where(each).scalar_subquery() for each in untold]
    oldest = union_all(*map(_pick_oldest, untold)).subquery()
    query = select(Testimonial).where(Testimonial.id.in_(select(oldest.c.id)))
    queued_at = func.coalesce(Testimonial.returned_at, Testimonial.created_at)
    rows = db.session.scalars(query.order_by(queued_at, Testimonial.id).limit(LISTED)).all()
    return rows, int(db.session.scalar(select(counts[0] + counts[1])) or 0)


def _pick_oldest(condition: ColumnElement[bool]) -> Select[tuple[str]]:
    """Return a query for the oldest ids; one of the two times is the same for all."""
    row = Testimonial
    query = select(row.id).where(condition).order_by(row.returned_at, row.created_at, row.id)
    return select(query.limit(LISTED).subquery().c.id)


def _has_untold(until: datetime | None) -> ColumnElement[bool]:
    choice = NotificationChoice
    return or_(
        *(
            exists().where(Testimonial.project_id == choice.project_id, each)
            for each in _are_queued_after(choice.told_until, until)
        )
    )


def _are_queued_after(
    since: Any, until: datetime | None = None
) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    """Return the conditions for new testimonials and for returned ones, queued after `since`.

    Each reads a range of the partial index on `UNTOLD`.
    """
    row = Testimonial
    return (
        and_(text(UNTOLD), row.returned_at.is_(None), *_is_between(row.created_at, since, until)),
        and_(text(UNTOLD), *_is_between(row.returned_at, since, until)),
    )


def _is_between(
    time: InstrumentedAttribute[Any], since: Any, until: datetime | None
) -> list[ColumnElement[bool]]:
    return [time > since] + ([time < until] if until is not None else [])


# Mailing the links that people requested (`auth.magic_links`).


@job("mail.link", "mail")
def answer_link_request(purpose: str, email: str) -> None:
    with write(finish_job):
        if purpose == LinkPurpose.SIGN_UP:
            _answer_sign_up(email)
        elif purpose == LinkPurpose.CLAIM:
            _answer_claim(email)
        elif (account := find_claimed_account(email)) is not None:
            send_reset_mail(email, make_reset_link(account))


def _answer_sign_up(email: str) -> None:
    if (started := start_signup(email)) is not None:
        account, nonce = started
        send_signup_mail(account, make_claim_link(account, nonce))
    else:
        send_account_exists_mail(email)


def _answer_claim(email: str) -> None:
    if (account := find_claimable_account(email)) is None:
        return
    link = make_claim_link(account, renew_own_nonce(account))
    if account.has_key:
        send_claim_mail(account, link, is_resend=True)
    else:
        send_signup_mail(account, link)
