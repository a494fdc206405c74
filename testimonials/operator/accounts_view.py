"""Accounts as the operator sees them: counts and times, nothing of what anybody wrote.

A page of accounts takes the same few statements however many there are: the counts are the kept
ones, asked for the accounts of the page alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flask import url_for
from sqlalchemy import ColumnElement, Select, and_, exists, func, or_, select, true, tuple_

from testimonials.access.models import AccessToken
from testimonials.activity.models import Event
from testimonials.auth.models import Account, Session
from testimonials.auth.services import is_live
from testimonials.core import clock
from testimonials.core.data.identifiers import is_identifier
from testimonials.core.web.errors import NotFound
from testimonials.extensions import db
from testimonials.projects.limits import project_limit_of
from testimonials.projects.models import Project
from testimonials.settings.current import current_settings
from testimonials.testimonials.counts.models import TestimonialCount
from testimonials.testimonials.models import Recording

PAGE_SIZE = 50
MOST_WORDS = 100
MEGABYTE = 1024 * 1024
STATES: dict[str, ColumnElement[bool]] = {
    "active": and_(Account.claimed_at.is_not(None), Account.suspended_at.is_(None)),
    "unclaimed": Account.claimed_at.is_(None),
    "suspended": Account.suspended_at.is_not(None),
}


@dataclass(frozen=True)
class Row:
    """One account of the list."""

    account: Account
    projects: int
    projects_limit: int
    testimonials: int
    recordings: int
    recordings_limit: int
    # When somebody was signed in, or something was recorded of it.
    last_at: Any
    url: str

    @property
    def is_near_its_storage(self) -> bool:
        return self.recordings >= 0.8 * self.recordings_limit


def list_accounts(values: Mapping[str, str]) -> dict[str, Any]:
    """Return a page of accounts by the words, the state and the order in a URL.

    The newest come first, or those whose recordings take most: then only one page of them.
    """
    q, state = values.get("q", "").strip()[:MOST_WORDS], values.get("state", "")
    after = values.get("after", "")
    query = select(Account).where(is_live(), _is_found(q), STATES.get(state, true()))
    if is_identifier(after) and (last := db.session.get(Account, after)) is not None:
        query = query.where(tuple_(Account.created_at, Account.id) < (last.created_at, last.id))
    is_by_size = values.get("order") == "storage"
    order = (Account.created_at.desc(), Account.id.desc())
    if is_by_size:
        query, order = _join_sizes(query)
    found = db.session.scalars(query.order_by(*order).limit(PAGE_SIZE + 1)).all()
    shown, next_url = found[:PAGE_SIZE], None
    if len(found) > PAGE_SIZE and not is_by_size:
        page: dict[str, Any] = {"q": q, "state": state, "after": shown[-1].id}
        next_url = url_for("operator_accounts.show_accounts", **page)
    rows, order_name = _describe(shown), "storage" if is_by_size else ""
    return {"rows": rows, "q": q, "state": state, "order": order_name, "next_url": next_url}


def describe_account(account_id: str) -> dict[str, Any]:
    """Return one account with its projects, and what suspending it would stop."""
    account = db.session.get(Account, account_id) if is_identifier(account_id) else None
    if account is None or account.is_expired:
        raise NotFound("There is no account with this id.")
    is_kept = AccessToken.account_id == account.id, AccessToken.revoked_at.is_(None)
    of_account = Project.account_id == account.id, Project.deleted_at.is_(None)
    projects = select(Project).where(*of_account).order_by(Project.created_at.desc())
    return {
        "row": _describe([account])[0],
        "account": account,
        "is_operator": account.email in current_settings().operators,
        "projects": db.session.scalars(projects.limit(PAGE_SIZE)).all(),
        "sessions": _count(Session, Session.account_id == account.id),
        "tokens": _count(AccessToken, *is_kept),
    }


def _join_sizes(query: Select[Any]) -> tuple[Select[Any], Any]:
    """Return the query with what each account's recordings take, and the order by that."""
    size = func.sum(Recording.size).label("bytes")
    sizes = select(Project.account_id, size).join(Recording).group_by(Project.account_id).subquery()
    joined = query.join(sizes, sizes.c.account_id == Account.id)
    return joined, (sizes.c.bytes.desc(), Account.id.desc())


def _is_found(q: str) -> ColumnElement[bool]:
    if not q:
        return true()
    words = (Project.slug, Project.business_name)
    named = or_(*(column.icontains(q, autoescape=True) for column in words))
    has_project = exists().where(Project.account_id == Account.id, named)
    return or_(Account.email.icontains(q, autoescape=True), has_project)


def _describe(accounts: Sequence[Account]) -> list[Row]:
    ids = [account.id for account in accounts]
    of_ids, is_kept = Project.account_id.in_(ids), Project.deleted_at.is_(None)
    projects = _group(select(Project.account_id, func.count()).where(of_ids, is_kept))
    number = func.sum(TestimonialCount.number)
    counted = select(Project.account_id, number).join(
        TestimonialCount, TestimonialCount.project_id == Project.id
    )
    words = _group(counted.where(of_ids, is_kept, TestimonialCount.is_deleted.is_(False)))
    sizes = select(Project.account_id, func.sum(Recording.size)).join(Recording).where(of_ids)
    recordings, last = _group(sizes), _find_last(ids)
    limit = current_settings().account_recordings_megabytes * MEGABYTE
    return [
        Row(
            account,
            projects.get(account.id, 0),
            project_limit_of(account),
            words.get(account.id, 0),
            recordings.get(account.id, 0),
            limit,
            last.get(account.id, account.created_at),
            url_for("operator_accounts.show_account", account_id=account.id),
        )
        for account in accounts
    ]


def _group(query: Any) -> dict[str, int]:
    rows = db.session.execute(query.group_by(Project.account_id))
    return {row[0]: int(row[1]) for row in rows}


def _find_last(ids: Sequence[str]) -> dict[str, Any]:
    """Return when each was last seen signed in, or something was recorded of it."""
    seen = select(Session.account_id, func.max(Session.last_seen_at)).where(
        Session.account_id.in_(ids)
    )
    found = {row[0]: row[1] for row in db.session.execute(seen.group_by(Session.account_id))}
    newest = select(func.max(Event.id)).where(Event.account_id.in_(ids)).group_by(Event.account_id)
    events = select(Event.account_id, Event.created_at).where(Event.id.in_(newest))
    for account_id, time in db.session.execute(events):
        found[str(account_id)] = max(time, found.get(str(account_id), clock.EPOCH))
    return found


def _count(model: Any, *conditions: ColumnElement[bool]) -> int:
    return db.session.scalar(select(func.count()).select_from(model).where(*conditions)) or 0
