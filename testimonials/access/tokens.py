"""Access tokens: making, finding and revoking them."""

from collections.abc import Iterable
from datetime import timedelta

from sqlalchemy import and_, bindparam, or_, select

from testimonials.access.callers import Caller
from testimonials.access.models import AccessToken
from testimonials.access.scopes import Scope
from testimonials.auth.models import Account
from testimonials.auth.services import is_live
from testimonials.core import clock
from testimonials.core.data.database import Timestamp
from testimonials.core.data.identifiers import hash_secret, is_access_token, new_access_token
from testimonials.core.web.errors import CredentialsInvalid
from testimonials.extensions import db

# Built once: every call with a token executes it.
_FIND_TOKEN = (
    select(
        AccessToken.id,
        AccessToken.account_id,
        AccessToken.project_id,
        AccessToken.name,
        AccessToken.scopes,
        Account.email,
    )
    .join(Account, Account.id == AccessToken.account_id)
    .where(
        AccessToken.token_hash == bindparam("token_hash"),
        AccessToken.revoked_at.is_(None),
        or_(
            AccessToken.expires_at.is_(None),
            AccessToken.expires_at
            > bindparam("moment", callable_=lambda: clock.now(), type_=Timestamp),
        ),
        and_(is_live()),
    )
)


def check_token(token: str) -> Caller:
    """Return whom a token lets in; raise `CredentialsInvalid` if it is unknown, over or revoked."""
    row = None
    if is_access_token(token):
        values = {"token_hash": hash_secret(token)}
        row = db.session.connection().execute(_FIND_TOKEN, values).one_or_none()
    if row is None:
        raise CredentialsInvalid
    scopes = frozenset(map(Scope, row.scopes))
    return Caller(row.account_id, row.email, row.name, row.id, scopes, row.project_id)


def make_token(
    account_id: str,
    project_id: str | None,
    name: str,
    scopes: Iterable[Scope],
    days: int | None,
    made_by_id: str,
    client: str = "manual",
) -> tuple[AccessToken, str]:
    """Add a token that works for so many days, or for good; return it with its plain text.

    The plain text is shown once; only its hash is stored.
    """
    plain = new_access_token()
    token = AccessToken(
        account_id=account_id,
        project_id=project_id,
        name=name,
        scopes=[str(each) for each in Scope if each in set(scopes)],
        token_hash=hash_secret(plain),
        last_four=plain[-4:],
        made_by_id=made_by_id,
        client=client,
        expires_at=None if days is None else clock.now() + timedelta(days=days),
    )
    db.session.add(token)
    db.session.flush()
    return token, plain
