"""The tables of accounts, sessions, passkeys, authenticator apps, SSO and access tokens."""

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    ColumnElement,
    Index,
    Integer,
    LargeBinary,
    String,
    Text,
    UniqueConstraint,
    and_,
    false,
    or_,
)
from sqlalchemy.orm import Mapped, mapped_column

from testimonials.core import clock
from testimonials.core.db.engine import Base, Timestamp, child_of, present
from testimonials.core.db.identifiers import new_identifier
from testimonials.core.settings.table import current_settings


class Account(Base):
    """An email address with an API key, which a person has claimed or may still claim.

    From `claim_expires_at` on, an unclaimed account counts as deleted even before it is.
    """

    id: Mapped[str] = mapped_column(primary_key=True, default=new_identifier)
    email: Mapped[str] = mapped_column(String(254), unique=True)
    # The name that other people see. None: the address.
    display_name: Mapped[str | None] = mapped_column(String(80))
    # The language of the dashboard, a code in `LANGUAGES`. None: the browser's.
    language: Mapped[str | None] = mapped_column(String(8))
    key_hash: Mapped[str]
    key_last_four: Mapped[str]
    key_created_at: Mapped[datetime] = mapped_column(Timestamp, default=present)
    # Hashes of the nonces of the valid magic links: the newest requested by an agent, and the
    # newest requested by the person. None once claimed.
    claim_nonce_hash: Mapped[str | None]
    own_nonce_hash: Mapped[str | None]
    claim_expires_at: Mapped[datetime] = mapped_column(Timestamp, index=True)
    claimed_at: Mapped[datetime | None] = mapped_column(Timestamp)
    # None: the person signs in some other way.
    password_hash: Mapped[str | None] = mapped_column(Text)
    # None if it was set before this column existed.
    password_set_at: Mapped[datetime | None] = mapped_column(Timestamp)
    # Whether opening a project of this account requires more than a password.
    requires_strong: Mapped[bool] = mapped_column(Boolean, default=False, server_default=false())
    # None: the limit in the settings.
    project_limit: Mapped[int | None]
    # The name of the plan in the settings, and Stripe's id of the paying customer.
    plan: Mapped[str | None]
    billing_customer: Mapped[str | None] = mapped_column(index=True)
    # The time of the newest event or command that set the plan.
    plan_changed_at: Mapped[datetime | None] = mapped_column(Timestamp)
    has_created_project: Mapped[bool] = mapped_column(
        Boolean, default=False, server_default=false()
    )
    # Incremented when all browsers are signed out, so none of them counts as known any more.
    browser_generation: Mapped[int] = mapped_column(Integer, default=0, server_default="0")
    # When and why the operator suspended it, and whether its widgets are hidden too.
    suspended_at: Mapped[datetime | None] = mapped_column(Timestamp)
    suspended_reason: Mapped[str | None] = mapped_column(Text)
    hides_widgets: Mapped[bool] = mapped_column(Boolean, default=False, server_default=false())
    created_at: Mapped[datetime] = mapped_column(Timestamp, default=present)
    updated_at: Mapped[datetime] = mapped_column(Timestamp, default=present, onupdate=present)
    # Until claimed: the link that was opened, and data from the website of the email domain.
    website_read: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))

    @property
    def is_claimed(self) -> bool:
        return self.claimed_at is not None

    @property
    def is_suspended(self) -> bool:
        return self.suspended_at is not None

    @property
    def has_password(self) -> bool:
        """Whether there is a password, and this service accepts passwords."""
        return self.password_hash is not None and current_settings().has_passwords

    @property
    def has_key(self) -> bool:
        """Whether there is a key; people who sign up by themselves have none at first."""
        return bool(self.key_hash)

    @property
    def was_asked_for(self) -> bool:
        """Whether somebody requested a link on a page, not only an agent through the API."""
        return self.own_nonce_hash is not None

    @property
    def is_expired(self) -> bool:
        return not self.is_claimed and self.claim_expires_at <= clock.now()


class Session(Base):
    """A browser that is signed in; deleting the row signs it out."""

    id: Mapped[str] = mapped_column(primary_key=True, default=new_identifier)
    account_id: Mapped[str] = child_of(Account.id, index=True)
    token_hash: Mapped[str] = mapped_column(unique=True)
    # Such as "Firefox on Windows", by which the person recognizes it.
    label: Mapped[str] = mapped_column(String(200))
    # A `SignInMethod`.
    method: Mapped[str] = mapped_column(String(20), server_default="password")
    # When the person last proved who they are. None in old sessions.
    proved_at: Mapped[datetime | None] = mapped_column(Timestamp)
    created_at: Mapped[datetime] = mapped_column(Timestamp, default=present)
    last_seen_at: Mapped[datetime] = mapped_column(Timestamp, default=present)
    expires_at: Mapped[datetime] = mapped_column(Timestamp, index=True)


class BillingSubscription(Base):
    """The last reported state of a Stripe subscription.

    Events arrive in any order, perhaps before the account is known, so an account's plan is
    recalculated from its running subscriptions.
    """

    id: Mapped[str] = mapped_column(primary_key=True)
    customer: Mapped[str] = mapped_column(index=True)
    account_id: Mapped[str | None] = child_of(Account.id, index=True)
    # The plan's name in the settings.
    plan: Mapped[str]
    is_running: Mapped[bool] = mapped_column(Boolean)
    # Events older than this are ignored.
    told_at: Mapped[datetime] = mapped_column(Timestamp)


class Passkey(Base):
    id: Mapped[str] = mapped_column(primary_key=True, default=new_identifier)
    account_id: Mapped[str] = child_of(Account.id, index=True)
    # In base64url, of at most 1,023 bytes.
    credential_id: Mapped[str] = mapped_column(String(1400), unique=True)
    # In COSE.
    public_key: Mapped[bytes] = mapped_column(LargeBinary)
    # Always 0 for passkeys that are synced between devices.
    sign_count: Mapped[int] = mapped_column(BigInteger)
    is_synced: Mapped[bool] = mapped_column(Boolean)
    name: Mapped[str] = mapped_column(String(60))
    # The time of the newest challenge that it answered; older challenges are refused.
    challenged_at: Mapped[datetime] = mapped_column(Timestamp)
    added_at: Mapped[datetime] = mapped_column(Timestamp, default=present)
    used_at: Mapped[datetime | None] = mapped_column(Timestamp)


class AuthenticatorApp(Base):
    """The secret that an account shares with an app, for a new code every 30 seconds."""

    account_id: Mapped[str] = child_of(Account.id, primary_key=True)
    # In base32; not hashed, since checking a code needs it.
    secret: Mapped[str] = mapped_column(String(64))
    # The time step of the newest code that was used; only later ones are accepted.
    last_step: Mapped[int] = mapped_column(BigInteger)
    added_at: Mapped[datetime] = mapped_column(Timestamp, default=present)
    codes_made_at: Mapped[datetime] = mapped_column(Timestamp, default=present)


class RecoveryCode(Base):
    """A code that replaces the app once; using it deletes the row."""

    account_id: Mapped[str] = child_of(Account.id, primary_key=True)
    code_hash: Mapped[str] = mapped_column(primary_key=True)


class CompanyIdentity(Base):
    """An identity at an OpenID Connect issuer that may sign in to an account.

    An address may get a new owner, but a `subject` always means the same person.
    """

    __table_args__ = (
        UniqueConstraint("issuer", "subject", name="uq_company_identity_subject"),
        UniqueConstraint("account_id", "issuer", name="uq_company_identity_account"),
    )

    id: Mapped[str] = mapped_column(primary_key=True, default=new_identifier)
    account_id: Mapped[str] = child_of(Account.id)
    issuer: Mapped[str] = mapped_column(String(500))
    subject: Mapped[str] = mapped_column(String(255))
    # The latest address from the issuer, by which the person recognizes the identity.
    email: Mapped[str | None] = mapped_column(String(254))
    linked_at: Mapped[datetime] = mapped_column(Timestamp, default=present)
    used_at: Mapped[datetime] = mapped_column(Timestamp, default=present)


class CompanyAttempt(Base):
    """A browser that was sent to the issuer and may return once, within minutes.

    `id` is a hash of the state, `browser_hash` of the browser's cookie. `purpose` is an
    `AttemptPurpose`; `account_id` is the signed-in account, if the answer is only for that.
    """

    id: Mapped[str] = mapped_column(primary_key=True)
    browser_hash: Mapped[str]
    purpose: Mapped[str] = mapped_column(String(10))
    account_id: Mapped[str | None]
    verifier: Mapped[str] = mapped_column(String(128))
    nonce: Mapped[str] = mapped_column(String(64))
    # Where to go afterwards, and the draft of a form that was interrupted.
    target: Mapped[str] = mapped_column(Text)
    draft: Mapped[str] = mapped_column(Text)
    started_at: Mapped[datetime] = mapped_column(Timestamp, default=present, index=True)


# A token that is unused for this long is pointed out, so that somebody revokes it.
UNUSED = timedelta(days=90)


class AccessToken(Base):
    """A credential with scopes, for one project of an account or all of them.

    Only a hash of the token is stored. It works until it expires or is revoked.
    """

    __table_args__ = (Index("ix_access_token_account_id_created_at", "account_id", "created_at"),)

    id: Mapped[str] = mapped_column(primary_key=True, default=new_identifier)
    account_id: Mapped[str] = child_of(Account.id)
    # None: all projects of the account.
    project_id: Mapped[str | None] = child_of("project.id", index=True)
    name: Mapped[str] = mapped_column(String(80))
    scopes: Mapped[list[str]] = mapped_column(JSON)
    # Nullable only for historical reasons.
    token_hash: Mapped[str] = mapped_column(unique=True, nullable=True)
    last_four: Mapped[str] = mapped_column(default="")
    # The person who created it: the owner, or an administrator of its project.
    made_by_id: Mapped[str] = child_of(Account.id, index=True)
    # `manual` or `oauth`.
    client: Mapped[str] = mapped_column(String(20), default="manual")
    # None: never.
    expires_at: Mapped[datetime | None] = mapped_column(Timestamp)
    last_used_at: Mapped[datetime | None] = mapped_column(Timestamp)
    # The operation, and `api` or `mcp`.
    last_used_for: Mapped[str | None] = mapped_column(String(80))
    last_used_by: Mapped[str | None] = mapped_column(String(20))
    revoked_at: Mapped[datetime | None] = mapped_column(Timestamp)
    created_at: Mapped[datetime] = mapped_column(Timestamp, default=present)

    @classmethod
    def is_valid(cls) -> ColumnElement[bool]:
        """Select tokens whose `state` is `active` or `unused`."""
        is_current = or_(cls.expires_at.is_(None), cls.expires_at > clock.now())
        return and_(cls.revoked_at.is_(None), is_current)

    @property
    def state(self) -> str:
        """`active`, `unused` (valid, but not used for 90 days), `expired` or `revoked`."""
        now = clock.now()
        if self.revoked_at is not None:
            return "revoked"
        if self.expires_at is not None and self.expires_at <= now:
            return "expired"
        return "unused" if (self.last_used_at or self.created_at) <= now - UNUSED else "active"
