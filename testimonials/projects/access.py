"""The role of a person or a caller in a project, found by one query."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Select,
    and_,
    bindparam,
    case,
    func,
    or_,
    select,
    text,
    true,
    union_all,
)
from sqlalchemy.orm import aliased

from testimonials.auth.accounts import AccountSuspended
from testimonials.auth.models import Account
from testimonials.auth.sessions import SignedIn
from testimonials.auth.step_up import asks_for_more
from testimonials.auth.tokens import Caller
from testimonials.core import clock
from testimonials.core.audit import LockedProject
from testimonials.core.db.identifiers import is_identifier
from testimonials.core.db.prepared import Prepared
from testimonials.core.event_lists import ROLE_LABELS
from testimonials.core.extensions import db
from testimonials.core.http.errors import NotFound, ServiceError, require_found
from testimonials.core.http.i18n import gettext_noop
from testimonials.core.settings.table import current_settings
from testimonials.projects.models import Member, Project, Suspension

# The signed-in account, as distinct from the owner's.
_USER = aliased(Account)


class Role(IntEnum):
    """A role in a project; each includes those before it."""

    READER = 1
    MODERATOR = 2
    ADMIN = 3
    OWNER = 4

    @property
    def label(self) -> str:
        """Its name for people, translated where it is shown."""
        return ROLE_LABELS[self.name.lower()]


class Right:
    """What somebody may do in a project: the lowest role that allows it."""

    LOOK = Role.READER
    # Approve, reject, and whatever else changes testimonials.
    DECIDE = Role.MODERATOR
    MANAGE = Role.ADMIN
    OWN = Role.OWNER


# A search for projects ignores words after these.
MAX_WORDS = 5

ROLES = {"reader": Role.READER, "moderator": Role.MODERATOR, "admin": Role.ADMIN}
_RANK = case(*((Member.role == name, int(role)) for name, role in ROLES.items()))


class RoleTooLow(ServiceError):
    status = 403
    title = gettext_noop("Your role doesn’t allow this")
    default_message = gettext_noop("Nothing was changed. Ask the project’s owner for another role.")


class StrongSignInNeeded(ServiceError):
    """The project's owner requires more than a password from everybody who opens it."""

    status = 403
    title = gettext_noop("This project requires more than a password")
    default_message = gettext_noop(
        "This project’s owner requires everyone to sign in with a passkey, an authenticator app "
        "or the company account."
    )


@dataclass(frozen=True)
class Access:
    """A signed-in user, a project, and the user's role in it."""

    user: SignedIn
    project: Project
    role: Role

    @property
    def is_admin(self) -> bool:
        return self.role >= Right.MANAGE

    @property
    def may_decide(self) -> bool:
        """Whether they may change anything; readers only look."""
        return self.role >= Right.DECIDE


def find_access(
    user: SignedIn, project_id: str, needed: Role, *, for_update: bool = False
) -> Access:
    """Return the user's access to a project, locked if `for_update`.

    Raises `NotFound` if the project isn't shared with them, `RoleTooLow`, `AccountSuspended`
    if they or the owner are suspended, and `StrongSignInNeeded`.
    """
    if not is_identifier(project_id):
        raise NotFound
    suspended = select(_USER.suspended_at).where(_USER.id == user.account_id).scalar_subquery()
    query = (
        select(Project, Account.requires_strong, suspended, role_of(user.account_id))
        .join(Account, Account.id == Project.account_id)
        .where(Project.id == project_id, Project.deleted_at.is_(None))
    )
    if for_update:
        lock_before_roles(Project.id == project_id)
    row = db.session.execute(query).one_or_none()
    if row is None or not row[3]:
        raise NotFound
    project, requires_strong, suspended_at, role = row[0], row[1], row[2], Role(row[3])
    if role < needed:
        raise RoleTooLow
    if project.suspension is not Suspension.NONE or suspended_at is not None:
        raise AccountSuspended
    if requires_strong and not user.is_strong:
        raise StrongSignInNeeded
    return Access(user, project, role)


def lock_before_roles(*conditions: ColumnElement[bool], key_share: bool = False) -> None:
    """Lock projects before a separate statement reads roles in them.

    On PostgreSQL a statement that waited for a lock still sees the earlier state, such as the role
    of a member who was removed meanwhile. SQLite has one writer.
    """
    if not current_settings().is_sqlite:
        query = select(Project.id).where(*conditions).order_by(Project.id)
        db.session.execute(query.with_for_update(key_share=key_share))


def role_of(account_id: Any) -> ColumnElement[int]:
    """Return an account's role in a project (0: none), for queries that select from `project`.

    It is the higher of the roles in the project itself and in all of its owner's projects.
    `account_id` may be a column.
    """
    as_member = (
        select(func.coalesce(func.max(_RANK), 0))
        .where(Member.account_id == account_id)
        .where(or_(Member.project_id == Project.id, Member.owner_id == Project.account_id))
        .correlate_except(Member)
        .scalar_subquery()
    )
    return case((Project.account_id == account_id, int(Role.OWNER)), else_=as_member)


def has_role(account_id: Any, needed: Role) -> ColumnElement[bool]:
    """Return the condition that an account has at least this role (`role_of`)."""
    return role_of(account_id) >= int(needed)


@asks_for_more.connect
def is_asked_for_more(account_id: str) -> bool:
    """Return whether a project that the account may open requires more than a password."""
    query = (
        select(Project.id)
        .join(Account, Account.id == Project.account_id)
        .where(Account.requires_strong, Project.deleted_at.is_(None))
        .where(has_role(account_id, Role.READER))
    )
    return db.session.scalar(query.limit(1)) is not None


def list_joined_projects(account_id: str) -> Sequence[Project]:
    joined = select(Member.project_id).where(Member.account_id == account_id)
    query = select(Project).where(Project.id.in_(joined), Project.deleted_at.is_(None))
    return db.session.scalars(query.order_by(Project.created_at.desc(), Project.id.desc())).all()


def search_shared(account_id: str, q: str, skip: int, limit: int) -> Sequence[Project]:
    """Return the newest projects that the account owns or is in, by words of name and address."""
    matches = and_(true(), *map(_has_word, q.split()[:MAX_WORDS]))
    query = _select_newest(_pick_shared(account_id, matches, skip + limit))
    return db.session.scalars(query.offset(skip).limit(limit)).all()


def list_last_shared(account_id: str, opened: Sequence[str], limit: int) -> Sequence[Project]:
    """Return the shared projects among `opened`, in that order, then the newest `limit`."""
    parts = _pick_shared(account_id, true(), limit)
    parts += _pick_shared(account_id, Project.id.in_(opened), limit) if opened else ()
    places = {project_id: place for place, project_id in enumerate(opened)}
    rows = db.session.scalars(_select_newest(parts))
    return sorted(rows, key=lambda row: places.get(row.id, len(places)))


def _select_newest(parts: Sequence[Select[tuple[str]]]) -> Select[Project]:
    ids = union_all(*parts).subquery()
    query = select(Project).where(Project.id.in_(select(ids.c.id)))
    return query.order_by(Project.created_at.desc(), Project.id.desc())


def _pick_shared(
    account_id: str, condition: ColumnElement[bool], limit: int
) -> tuple[Select[tuple[str]], ...]:
    """Return queries for the ids of the newest projects: the account's own, and others'.

    Each reads an index; a single query with all conditions would read every project.
    """
    newest = (Project.created_at.desc(), Project.id.desc())
    picked = select(Project.id).where(Project.deleted_at.is_(None), condition)
    is_member = Member.account_id == account_id
    parts = (
        picked.where(Project.account_id == account_id),
        picked.join(Member, Member.project_id == Project.id).where(is_member),
        picked.join(Member, Member.owner_id == Project.account_id).where(is_member),
    )
    # SQLite can't order a single part of a union.
    return tuple(select(part.order_by(*newest).limit(limit).subquery().c.id) for part in parts)


def _has_word(word: str) -> ColumnElement[bool]:
    columns = (Project.business_name, Project.slug)
    return or_(*(column.icontains(word, autoescape=True) for column in columns))


# The projects that a caller of the API may access.

_IS_ACCESSIBLE = (
    Project.id == bindparam("project_id"),
    Project.account_id == bindparam("account_id"),
    Project.deleted_at.is_(None),
)
# Built once: almost every API request executes one, and building takes longer than executing.
_FIND_PROJECT = select(Project).where(*_IS_ACCESSIBLE)
_LOCK_PROJECT = _FIND_PROJECT.with_for_update()
_FIND_VERSION = Prepared(select(Project.feed_version).where(*_IS_ACCESSIBLE))


def find_project(caller: Caller, project_id: str, *, is_locked: bool) -> Project:
    """Return a project that the caller may access. Raises `NotFound`."""
    query = _LOCK_PROJECT if is_locked else _FIND_PROJECT
    project = db.session.scalars(query, _bind(caller, project_id)).one_or_none()
    return require_found(project)


_RESERVE_NUMBER = Prepared(
    text(
        """
    UPDATE project SET
      feed_version = CASE WHEN feed_version >= :now THEN feed_version + 1 ELSE :now END,
      last_testimonial_at =
        CASE WHEN last_testimonial_at >= :now THEN last_testimonial_at + 1 ELSE :now END,
      event_number = event_number + 1
    WHERE id = :project_id AND account_id = :account_id AND deleted_at IS NULL
    RETURNING event_number, last_testimonial_at,
      (SELECT max(event.id) FROM event WHERE event.account_id = :account_id),
      (SELECT entry FROM event WHERE project_id = :project_id AND entry IS NOT NULL
       ORDER BY number DESC LIMIT 1)
        """
    )
)


def reserve_number(caller: Caller, project_id: str) -> LockedProject:
    """Find and lock a project that the caller may access, and advance its counters.

    It does what `find_project`, `mark_changed`, `next_time` and numbering an event do one by one,
    in a quarter of the time. Record the event afterwards. Raises `NotFound`.
    """
    now = clock.to_milliseconds(clock.now())
    values = {**_bind(caller, project_id), "now": now}
    row = require_found(_RESERVE_NUMBER.one(db.session().connection(), values))
    number, time, newest, entry = row
    return LockedProject(
        project_id, caller.id, number, newest, entry, clock.from_milliseconds(time)
    )


def _bind(caller: Caller, project_id: str) -> dict[str, str]:
    if not is_identifier(project_id) or caller.project_id not in (None, project_id):
        raise NotFound
    return {"project_id": project_id, "account_id": caller.id}


def find_version(caller: Caller, project_id: str) -> int:
    """Return the feed version of a project that the caller may access. Raises `NotFound`.

    It reads nothing else, since every request that is answered from the cache needs it.
    """
    row = _FIND_VERSION.one(db.session().connection(), _bind(caller, project_id))
    return int(require_found(row)[0])
