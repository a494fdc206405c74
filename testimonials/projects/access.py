"""The role of a person or a caller in a project: one look-up."""

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
from testimonials.core.audit import Turn
from testimonials.core.db.identifiers import is_identifier
from testimonials.core.db.prepared import Prepared
from testimonials.core.extensions import db
from testimonials.core.http.errors import NotFound, ServiceError
from testimonials.core.http.i18n import gettext_noop
from testimonials.core.settings.current import current_settings
from testimonials.projects.models import Member, Project, Suspension

# Who acts, beside the owner of the project.
_USER = aliased(Account)


class Role(IntEnum):
    """A role in a project; each includes those before it."""

    READER = 1
    MODERATOR = 2
    ADMIN = 3
    OWNER = 4

    @property
    def label(self) -> str:
        """Its name for people, to be translated where it is shown."""
        return ROLE_LABELS[self]


class Right:
    """What somebody may do in a project: the role that they need for it at least."""

    LOOK = Role.READER
    # To approve and reject, and whatever else changes testimonials.
    DECIDE = Role.MODERATOR
    MANAGE = Role.ADMIN
    OWN = Role.OWNER


ROLE_LABELS = {
    Role.READER: gettext_noop("Reads"),
    Role.MODERATOR: gettext_noop("Decides"),
    Role.ADMIN: gettext_noop("Manages"),
    Role.OWNER: gettext_noop("Owner"),
}

# Of the name and the address of a project.
MAX_WORDS = 5

ROLES = {"reader": Role.READER, "moderator": Role.MODERATOR, "admin": Role.ADMIN}
_RANK = case(*((Member.role == name, int(role)) for name, role in ROLES.items()))


class RoleTooLow(ServiceError):
    status = 403
    title = gettext_noop("Your role doesn’t allow this")
    default_message = gettext_noop(
        "Your role in this project doesn’t allow this. Nothing was changed. Ask the project’s "
        "owner for another role."
    )


class StrongSignInNeeded(ServiceError):
    """The project's owner wants more than a password of everybody who opens it."""

    status = 403
    title = gettext_noop("Sign in with more than a password")
    default_message = gettext_noop(
        "The owner of this project wants everybody to sign in with a passkey, an authenticator app "
        "or the company’s account. Nothing was changed."
    )


@dataclass(frozen=True)
class Access:
    """A signed-in user, a project, and their role in it."""

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
    """Return the user's access to a project, locked if asked for.

    Raises `NotFound` for a project that isn't shared with them, `RoleTooLow`, `AccountSuspended`
    where its owner is or they are themselves, and `StrongSignInNeeded`.
    """
    if not is_identifier(project_id):
        raise NotFound
    since = select(_USER.suspended_at).where(_USER.id == user.account_id).scalar_subquery()
    query = (
        select(Project, Account.requires_strong, since, role_of(user.account_id))
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
    """Lock projects, with `key_share` only against changes; read roles in them by a next statement.

    On PostgreSQL a statement that has waited for a lock still sees what was there before, such as
    the role of somebody who was removed meanwhile. SQLite has one writer.
    """
    if not current_settings().is_sqlite:
        query = select(Project.id).where(*conditions).order_by(Project.id)
        db.session.execute(query.with_for_update(key_share=key_share))


def role_of(account_id: Any) -> ColumnElement[int]:
    """Return the role of an account, or of a column with one's id, in a project; 0 for none.

    It is the higher of those in the project and in all of its owner's. For queries that select from
    `project`.
    """
    given = (
        select(func.coalesce(func.max(_RANK), 0))
        .where(Member.account_id == account_id)
        .where(or_(Member.project_id == Project.id, Member.owner_id == Project.account_id))
        .correlate_except(Member)
        .scalar_subquery()
    )
    return case((Project.account_id == account_id, int(Role.OWNER)), else_=given)


def has_role(account_id: Any, needed: Role) -> ColumnElement[bool]:
    """Return the condition for an account to have this role or more; see `role_of`."""
    return role_of(account_id) >= int(needed)


@asks_for_more.connect
def is_asked_for_more(account_id: str) -> bool:
    """Return whether a project that the account may open asks for more than a password."""
    query = (
        select(Project.id)
        .join(Account, Account.id == Project.account_id)
        .where(Account.requires_strong, Project.deleted_at.is_(None))
        .where(has_role(account_id, Role.READER))
    )
    return db.session.scalar(query.limit(1)) is not None


def list_joined_projects(account_id: str) -> Sequence[Project]:
    joined = select(Member.project_id).where(Member.account_id == account_id)
    return db.session.scalars(
        select(Project)
        .where(Project.id.in_(joined), Project.deleted_at.is_(None))
        .order_by(Project.created_at.desc(), Project.id.desc())
    ).all()


def search_shared(account_id: str, q: str, skip: int, limit: int) -> Sequence[Project]:
    """Return so many of the projects that the account owns or is in, with all words of `q`.

    These are looked for in names and addresses. The most recent come first; each part of the query
    ends at the limit.
    """
    is_found = and_(true(), *map(_has_word, q.split()[:MAX_WORDS]))
    found = union_all(*_pick_shared(account_id, is_found, skip + limit)).subquery()
    return db.session.scalars(
        select(Project)
        .where(Project.id.in_(select(found.c.id)))
        .order_by(Project.created_at.desc(), Project.id.desc())
        .offset(skip)
        .limit(limit)
    ).all()


def list_last_shared(account_id: str, opened: Sequence[str], limit: int) -> Sequence[Project]:
    """Return the shared projects among `opened`, in that order, and then the newest `limit`."""
    parts = _pick_shared(account_id, true(), limit)
    parts += _pick_shared(account_id, Project.id.in_(opened), limit) if opened else ()
    found = union_all(*parts).subquery()
    rows = db.session.scalars(
        select(Project)
        .where(Project.id.in_(select(found.c.id)))
        .order_by(Project.created_at.desc(), Project.id.desc())
    ).all()
    places = {project_id: place for place, project_id in enumerate(opened)}
    return sorted(rows, key=lambda row: places.get(row.id, len(places)))


def _pick_shared(
    account_id: str, condition: ColumnElement[bool], limit: int
) -> tuple[Select[tuple[str]], ...]:
    """Return queries of the ids of the newest projects: the account's own, and others'.

    Each reads an index; together in one condition they would read all projects.
    """
    newest = (Project.created_at.desc(), Project.id.desc())
    picked = select(Project.id).where(Project.deleted_at.is_(None), condition)
    is_member = Member.account_id == account_id
    parts = (
        picked.where(Project.account_id == account_id),
        picked.join(Member, Member.project_id == Project.id).where(is_member),
        picked.join(Member, Member.owner_id == Project.account_id).where(is_member),
    )
    # A part of a union can't be ordered by itself on SQLite.
    return tuple(select(part.order_by(*newest).limit(limit).subquery().c.id) for part in parts)


def _has_word(word: str) -> ColumnElement[bool]:
    columns = (Project.business_name, Project.slug)
    return or_(*(column.icontains(word, autoescape=True) for column in columns))


# The projects that a caller of the API reaches.


_IS_REACHED = (
    Project.id == bindparam("project_id"),
    Project.account_id == bindparam("account_id"),
    Project.deleted_at.is_(None),
)
# Built once: almost every call of the API executes one of them, and building takes longer.
_FIND_PROJECT = select(Project).where(*_IS_REACHED)
_LOCK_PROJECT = _FIND_PROJECT.with_for_update()
_FIND_VERSION = Prepared(select(Project.feed_version).where(*_IS_REACHED))


def find_project(caller: Caller, project_id: str, *, is_locked: bool) -> Project:
    """Return a project that the caller reaches, locked if it is to change; raise `NotFound`."""
    values = _name_reached(caller, project_id)
    query = _LOCK_PROJECT if is_locked else _FIND_PROJECT
    project = db.session.scalars(query, values).one_or_none()
    if project is None:
        raise NotFound
    return project


_TAKE_TURN = Prepared(
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


def take_turn(caller: Caller, project_id: str) -> Turn:
    """Look up a project that the caller reaches, lock it, and let it change by one testimonial.

    That is what `find_project`, `mark_changed`, `next_time` and taking the number of an event do
    one by one, in a quarter of the time. The event has to follow. Raises `NotFound`.
    """
    values: dict[str, Any] = _name_reached(caller, project_id)
    values["now"] = clock.to_milliseconds(clock.now())
    row = _TAKE_TURN.one(db.session().connection(), values)
    if row is None:
        raise NotFound
    number, time, newest, entry = row
    return Turn(project_id, caller.id, number, newest, entry, clock.from_milliseconds(time))


def _name_reached(caller: Caller, project_id: str) -> dict[str, str]:
    if not is_identifier(project_id) or caller.project_id not in (None, project_id):
        raise NotFound
    return {"project_id": project_id, "account_id": caller.id}


def find_version(caller: Caller, project_id: str) -> int:
    """Return the feed version of a project that the caller reaches; raise `NotFound`.

    Reads nothing else, since every request answered from the cache needs it.
    """
    values = _name_reached(caller, project_id)
    row = _FIND_VERSION.one(db.session().connection(), values)
    if row is None:
        raise NotFound
    return int(row[0])
