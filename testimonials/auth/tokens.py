"""Access tokens: scopes and callers; creating, checking and revoking tokens; their last use."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Select, bindparam, or_, select, update
from sqlalchemy.orm import aliased

from testimonials.auth.accounts import require_unsuspended, shown_name
from testimonials.auth.events import TOKEN_CREATED, TOKEN_REVOKED
from testimonials.auth.models import AccessToken, Account
from testimonials.core import clock
from testimonials.core.audit import EventType, Place, record
from testimonials.core.db import identifiers
from testimonials.core.db.engine import Timestamp
from testimonials.core.db.prepared import Prepared
from testimonials.core.db.transactions import delete_rows, find_row, write
from testimonials.core.extensions import db, find_apart, kept
from testimonials.core.http.errors import CredentialsInvalid, ServiceError, require_found
from testimonials.core.http.i18n import gettext_noop
from testimonials.core.jobs import every_process
from testimonials.core.settings.table import current_settings


class Scope(StrEnum):
    """What an access token may do; `label` and `sentence` are for people."""

    label: str
    sentence: str

    def __new__(cls, name: str, label: str = "", sentence: str = "") -> "Scope":
        member = str.__new__(cls, name)
        member._value_, member.label, member.sentence = name, label, sentence
        return member

    READ = ("read", gettext_noop("Read"), gettext_noop("See all testimonials and settings."))
    DRAFT = (
        "draft",
        gettext_noop("Draft"),
        gettext_noop("Suggest additions and changes. You decide."),
    )
    PUBLISH = (
        "publish",
        gettext_noop("Publish"),
        gettext_noop("Add, approve, reject, edit and reply, effective immediately."),
    )
    CONFIGURE = (
        "configure",
        gettext_noop("Configure"),
        gettext_noop("Change the widget and page, ask customers by email, and set up webhooks."),
    )


DEFAULT_SCOPES = (Scope.READ, Scope.DRAFT)
NEVER = gettext_noop("No token can delete a project, see passwords or create tokens.")


@dataclass(frozen=True)
class Caller:
    """The account of a credential, and what the credential may do.

    With `drafts_only`, this call can only make proposals.
    """

    id: str
    email: str
    # The end of the account's key, or the name of the access token.
    name: str
    # None: the account's key.
    token_id: str | None = None
    scopes: tuple[Scope, ...] = ()
    # The only project that it may access. None: all of the account's.
    project_id: str | None = None
    # None: the account's key, or a token that never expires.
    expires_at: datetime | None = None
    drafts_only: bool = False
    # The account of the person who created the token.
    made_by_id: str | None = None

    @property
    def is_key(self) -> bool:
        return self.token_id is None

    @property
    def credential(self) -> str:
        return "key" if self.is_key else "token"

    @property
    def label(self) -> str:
        """Its name in the history of testimonials, which moderators read too."""
        return "An agent (API key)" if self.is_key else f"{self.name} (access token)"


# Each token's last use is kept in memory and stored by background work, so calls needn't write.

EXTENSION = "testimonials_token_uses"


class Use(NamedTuple):
    """The last use of a token."""

    at: datetime
    operation: str
    # `api` or `mcp`.
    by: str


def note_use(token_id: str, operation: str, by: str) -> None:
    _uses()[token_id] = Use(clock.now(), operation, by)


def find_last_use(token: AccessToken) -> Use | None:
    """Return the token's last use, as known to this process or stored."""
    use = _uses().get(token.id)
    if use is not None or token.last_used_at is None:
        return use
    return Use(token.last_used_at, token.last_used_for or "", token.last_used_by or "")


_STORE = (
    update(AccessToken)
    .where(
        AccessToken.id == bindparam("token_id"),
        or_(
            AccessToken.last_used_at.is_(None),
            AccessToken.last_used_at < bindparam("at", type_=Timestamp),
        ),
    )
    .values(
        last_used_at=bindparam("at", type_=Timestamp),
        last_used_for=bindparam("operation"),
        last_used_by=bindparam("by"),
    )
)


@every_process()
def write_uses() -> None:
    """Store the last uses of tokens by this process since the previous call."""
    uses = _uses()
    # Sorted, so that two processes can't deadlock.
    if rows := [{"token_id": id, **uses.pop(id)._asdict()} for id in sorted(uses)]:
        with write():
            db.session.connection().execute(_STORE, rows)


def _uses() -> dict[str, Use]:
    return kept(EXTENSION, dict[str, Use])


DEFAULT_DAYS = 90
UNKNOWN = "There is no access token with this id."


class TokenRefused(CredentialsInvalid):
    default_message = (
        "This access token is unknown. Send all of it, as Authorization: Bearer tst_tok_..., "
        "or ask "
        "the owner for another. An account’s key isn’t a token: it goes into x-api-key, with the "
        "account’s id in x-service-account-id."
    )

    def __init__(self, message: str | None = None) -> None:
        challenge = 'Bearer realm="testimonials", error="invalid_token"'
        ServiceError.__init__(self, message, headers={"WWW-Authenticate": challenge})


@dataclass(frozen=True)
class ListedToken:
    """A token in a list, with the name of the person who created it."""

    token: AccessToken
    made_by: str
    last_use: Use | None


_MAKER = aliased(Account)
# Executed by every call with a token.
_FIND_TOKEN = Prepared(
    select(
        AccessToken.id,
        AccessToken.account_id,
        AccessToken.project_id,
        AccessToken.name,
        AccessToken.scopes,
        AccessToken.made_by_id,
        AccessToken.expires_at,
        AccessToken.revoked_at,
        Account.email,
        Account.suspended_at,
        Account.suspended_reason,
        _MAKER.suspended_at,
    )
    .join(Account, Account.id == AccessToken.account_id)
    .join(_MAKER, _MAKER.id == AccessToken.made_by_id)
    .where(AccessToken.token_hash == bindparam("token_hash"), Account.claimed_at.is_not(None))
)


def check_token(token: str) -> Caller:
    """Return the caller who has a token. Raises `TokenRefused` and `AccountSuspended`.

    The token is looked up by its hash, so the time taken reveals nothing. Only somebody who has the
    whole token learns that it has expired or was revoked.
    """
    row = None
    if identifiers.is_credential(token, identifiers.TOKEN_PREFIX):
        row = find_apart(_FIND_TOKEN, {"token_hash": identifiers.hash_secret(token)})
    if row is None:
        raise TokenRefused
    id, account_id, project_id, name, scopes, made_by_id, expires_at, revoked_at, *account = row
    email, suspended_at, reason, maker_suspended_at = account
    if revoked_at is not None:
        raise TokenRefused(
            f"The access token “{name}” was revoked on {clock.day(revoked_at)}. Ask the owner for "
            "another."
        )
    if expires_at is not None and expires_at <= clock.now():
        raise TokenRefused(
            f"The access token “{name}” expired on {clock.day(expires_at)}. Ask the owner for "
            "another."
        )
    require_unsuspended(suspended_at, reason)
    if maker_suspended_at is not None:
        # A colleague's account is suspended, not the owner's.
        raise TokenRefused(
            f"The account of the person who created the access token “{name}” is suspended. Ask "
            "the owner for another."
        )
    return Caller(
        account_id,
        email,
        name,
        id,
        tuple(map(Scope, scopes)),
        project_id,
        expires_at,
        made_by_id=made_by_id,
    )


def make_token(
    account_id: str,
    project_id: str | None,
    name: str,
    scopes: Iterable[Scope],
    days: int | None,
    made_by_id: str,
    client: str = "manual",
    token_id: str | None = None,
) -> tuple[AccessToken, str]:
    """Create a token for some days, or forever; return it and its plain text.

    The plain text is shown once, and only its hash is stored.
    """
    plain = identifiers.new_credential(identifiers.TOKEN_PREFIX)
    token = AccessToken(
        id=token_id or identifiers.new_identifier(),
        account_id=account_id,
        project_id=project_id,
        name=name,
        scopes=[str(each) for each in Scope if each in set(scopes)],
        token_hash=identifiers.hash_secret(plain),
        last_four=plain[-4:],
        made_by_id=made_by_id,
        client=client,
        expires_at=None if days is None else clock.now() + timedelta(days=days),
    )
    db.session.add(token)
    db.session.flush()
    _record(TOKEN_CREATED, token)
    return token, plain


def list_tokens(account_id: str | None, project_id: str | None = None) -> list[ListedToken]:
    """Return the tokens of an account, or of all, newest first, including ended ones.

    With a project, return those that may access it: its own and those for all projects.
    """
    return [
        ListedToken(token, maker, find_last_use(token))
        for token, maker in db.session.execute(_select(account_id, project_id))
    ]


def find_token(account_id: str, token_id: str, project_id: str | None = None) -> AccessToken:
    """Lock and return one of the account's tokens. Raises `NotFound`.

    With a project, only find that project's own tokens, which its administrators manage.
    """
    conditions = [AccessToken.account_id == account_id]
    conditions += [AccessToken.project_id == project_id] if project_id is not None else []
    return require_found(find_row(AccessToken, token_id, *conditions, for_update=True), UNKNOWN)


def get_token(token_id: str) -> AccessToken:
    """Lock and return a token of any account, for the operator. Raises `NotFound`."""
    return require_found(db.session.get(AccessToken, token_id, with_for_update=True), UNKNOWN)


def find_by_plain_text(plain: str) -> AccessToken | None:
    """Lock and return the token with this plain text, even if it has ended."""
    query = select(AccessToken).where(AccessToken.token_hash == identifiers.hash_secret(plain))
    return db.session.scalars(query.with_for_update()).one_or_none()


def revoke_token(token: AccessToken) -> None:
    """Revoke a locked token, unless it was already."""
    if token.revoked_at is None:
        token.revoked_at = clock.now()
        _record(TOKEN_REVOKED, token)


def revoke_tokens_made_by(account_id: str, project_ids: Iterable[str]) -> None:
    """Revoke the tokens that a former administrator created for projects."""
    _revoke_all(AccessToken.project_id.in_(project_ids), AccessToken.made_by_id == account_id)


def revoke_tokens_for(project_id: str) -> None:
    """Revoke the tokens for this project alone."""
    _revoke_all(AccessToken.project_id == project_id)


def revoke_all_tokens(account_id: str) -> None:
    _revoke_all(AccessToken.account_id == account_id)


def find_token_names(account_id: str | None, project_id: str | None = None) -> dict[str, str]:
    """Return the names of the tokens of `list_tokens`, by id."""
    query = _select(account_id, project_id).with_only_columns(AccessToken.id, AccessToken.name)
    return {row.id: row.name for row in db.session.execute(query)}


def delete_ended_tokens() -> int:
    """Delete the tokens that ended more than `TOKEN_DAYS` ago; return how many."""
    before = clock.expired_until(current_settings().token_days)
    ended = or_(AccessToken.revoked_at <= before, AccessToken.expires_at <= before)
    return delete_rows(AccessToken, ended)


def _select(account_id: str | None, project_id: str | None) -> Select[AccessToken, str]:
    query = (
        select(AccessToken, shown_name())
        .join(Account, Account.id == AccessToken.made_by_id)
        .order_by(AccessToken.created_at.desc(), AccessToken.id.desc())
    )
    if account_id is not None:
        query = query.where(AccessToken.account_id == account_id)
    if project_id is not None:
        query = query.where(
            or_(AccessToken.project_id.is_(None), AccessToken.project_id == project_id)
        )
    return query


def _revoke_all(*conditions: ColumnElement[bool]) -> None:
    """Revoke tokens, recorded as one event."""
    query = select(AccessToken).where(*conditions, AccessToken.revoked_at.is_(None))
    tokens = db.session.scalars(query.order_by(AccessToken.id).with_for_update()).all()
    for token in tokens:
        token.revoked_at = clock.now()
    if tokens:
        _record(TOKEN_REVOKED, *tokens)


def _record(type: EventType, *tokens: AccessToken) -> None:
    first, (project_id, *others) = tokens[0], {each.project_id for each in tokens}
    details: dict[str, Any] = {"token": ", ".join(each.name for each in tokens)}
    if len(tokens) == 1:
        details["scopes"] = first.scopes
    record(type, Place(first.account_id, None if others else project_id), **details)
