"""Accounts, sessions, passkeys, authenticator apps, identities at a company, access tokens."""

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Index,
    Integer,
    LargeBinary,
    String,
    Text,
    UniqueConstraint,
    false,
)
from sqlalchemy.orm import Mapped, mapped_column

from testimonials.core import clock
from testimonials.core.db.engine import Base, Timestamp, child_of, present
from testimonials.core.db.identifiers import new_identifier


class Account(Base):
    """One account: an e-mail address with one API key, claimed by a person or not yet.

    An unclaimed account counts as gone from `claim_expires_at` on, even before it is swept away.
    """

    id: Mapped[str] = mapped_column(primary_key=True, default=new_identifier)
    email: Mapped[str] = mapped_column(String(254), unique=True)
    # The name that others see; None: the address stands in for it.
    display_name: Mapped[str | None] = mapped_column(String(80))
    # Of the pages behind the sign-in, a code of `LANGUAGES`; None: as the browser says.
    language: Mapped[str | None] = mapped_column(String(8))
    key_hash: Mapped[str]
    key_last_four: Mapped[str]
    key_created_at: Mapped[datetime] = mapped_column(Timestamp, default=present)
    # Hashes of the random parts of the magic links that work: the newest an agent had mailed, and
    # the newest the person asked for. None once one was redeemed.
    claim_nonce_hash: Mapped[str | None]
    own_nonce_hash: Mapped[str | None]
    claim_expires_at: Mapped[datetime] = mapped_column(Timestamp, index=True)
    claimed_at: Mapped[datetime | None] = mapped_column(Timestamp)
    # None: there is another way in.
    password_hash: Mapped[str | None] = mapped_column(Text)
    # None where it was set before this was kept.
    password_set_at: Mapped[datetime | None] = mapped_column(Timestamp)
    # Whoever opens a project of this account has to be signed in by more than a password.
    requires_strong: Mapped[bool] = mapped_column(Boolean, default=False, server_default=false())
    # None: the limit in the settings.
    project_limit: Mapped[int | None]
    # The name of the plan in the settings, and the provider's id of the paying customer.
    plan: Mapped[str | None]
    billing_customer: Mapped[str | None] = mapped_column(index=True)
    # The time of the newest event or command that set the plan.
    plan_changed_at: Mapped[datetime | None] = mapped_column(Timestamp)
    has_created_project: Mapped[bool] = mapped_column(
        Boolean, default=False, server_default=false()
    )
    # Incremented when every browser is signed out, so that none counts as known any more.
    browser_generation: Mapped[int] = mapped_column(Integer, default=0, server_default="0")
    # Since when the operator has suspended it, why, and whether its widgets are hidden meanwhile.
    suspended_at: Mapped[datetime | None] = mapped_column(Timestamp)
    suspended_reason: Mapped[str | None] = mapped_column(Text)
    hides_widgets: Mapped[bool] = mapped_column(Boolean, default=False, server_default=false())
    created_at: Mapped[datetime] = mapped_column(Timestamp, default=present)
    updated_at: Mapped[datetime] = mapped_column(Timestamp, default=present, onupdate=present)
    # Until it is claimed: which link was opened, and what the website of the address's domain says.
    website_read: Mapped[dict[str, Any] | None] = mapped_column(JSON)

    @property
    def is_claimed(self) -> bool:
        return self.claimed_at is not None

    @property
    def is_suspended(self) -> bool:
        return self.suspended_at is not None

    @property
    def has_key(self) -> bool:
        """Whether there is a key; people who sign up by themselves have none at first."""
        return bool(self.key_hash)

    @property
    def was_asked_for(self) -> bool:
        """Whether somebody asked for a link on a page, rather than an agent through the API."""
        return self.own_nonce_hash is not None

    @property
    def is_expired(self) -> bool:
        """Whether it was left unclaimed past its days."""
        return not self.is_claimed and self.claim_expires_at <= clock.now()


class Session(Base):
    """One browser that is signed in; deleting the row signs it out."""

    id: Mapped[str] = mapped_column(primary_key=True, default=new_identifier)
    account_id: Mapped[str] = child_of(Account.id, index=True)
    token_hash: Mapped[str] = mapped_column(unique=True)
    # For the person to recognise the browser by, such as "Firefox on Windows".
    label: Mapped[str] = mapped_column(String(200))
    # One of `SignInMethod`: how the person proved who they are.
    method: Mapped[str] = mapped_column(String(20), server_default="password")
    # When the person last proved who they are, as with the password. None in old sessions.
    proved_at: Mapped[datetime | None] = mapped_column(Timestamp)
    created_at: Mapped[datetime] = mapped_column(Timestamp, default=present)
    last_seen_at: Mapped[datetime] = mapped_column(Timestamp, default=present)
    expires_at: Mapped[datetime] = mapped_column(Timestamp, index=True)


class BillingSubscription(Base):
    """What the payment provider last reported about a subscription.

    Reports arrive in any order, perhaps before the account is known, so an account's plan is
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


# Passkeys, the authenticator app and its recovery codes.


class Passkey(Base):
    """A public key whose other half a phone, a computer or a security key keeps."""

    id: Mapped[str] = mapped_column(primary_key=True, default=new_identifier)
    account_id: Mapped[str] = child_of(Account.id, index=True)
    # As base64url, the way browsers send it; at most 1,023 bytes.
    credential_id: Mapped[str] = mapped_column(String(1400), unique=True)
    # As COSE, the way the authenticator sent it.
    public_key: Mapped[bytes] = mapped_column(LargeBinary)
    # Always 0 for passkeys that are synced between devices.
    sign_count: Mapped[int] = mapped_column(BigInteger)
    is_synced: Mapped[bool] = mapped_column(Boolean)
    name: Mapped[str] = mapped_column(String(60))
    # When the newest challenge that it answered was made; only newer ones count.
    challenged_at: Mapped[datetime] = mapped_column(Timestamp)
    added_at: Mapped[datetime] = mapped_column(Timestamp, default=present)
    used_at: Mapped[datetime | None] = mapped_column(Timestamp)


class AuthenticatorApp(Base):
    """The secret that an account shares with an app, which makes a code of it every 30 seconds."""

    account_id: Mapped[str] = child_of(Account.id, primary_key=True)
    # Checking a code needs the secret itself; base32.
    secret: Mapped[str] = mapped_column(String(64))
    # The 30 seconds of the newest code that was used; only later ones count.
    last_step: Mapped[int] = mapped_column(BigInteger)
    added_at: Mapped[datetime] = mapped_column(Timestamp, default=present)
    codes_made_at: Mapped[datetime] = mapped_column(Timestamp, default=present)


class RecoveryCode(Base):
    """A code that stands in for the app once; using it deletes the row."""

    account_id: Mapped[str] = child_of(Account.id, primary_key=True)
    code_hash: Mapped[str] = mapped_column(primary_key=True)


# Company accounts that sign in here, and attempts that are under way.


class CompanyIdentity(Base):
    """A person at an issuer, known by the issuer's own name for them, who may sign in here.

    Addresses change hands; `subject` never does.
    """

    __table_args__ = (
        UniqueConstraint("issuer", "subject", name="uq_company_identity_subject"),
        UniqueConstraint("account_id", "issuer", name="uq_company_identity_account"),
    )

    id: Mapped[str] = mapped_column(primary_key=True, default=new_identifier)
    account_id: Mapped[str] = child_of(Account.id)
    issuer: Mapped[str] = mapped_column(String(500))
    subject: Mapped[str] = mapped_column(String(255))
    # The address that the issuer last named, for the person to recognise the account by.
    email: Mapped[str | None] = mapped_column(String(254))
    linked_at: Mapped[datetime] = mapped_column(Timestamp, default=present)
    used_at: Mapped[datetime] = mapped_column(Timestamp, default=present)


class CompanyAttempt(Base):
    """A browser that went to the issuer and may come back once, within minutes.

    `id` is a hash of the state, `browser_hash` of what the browser's cookie holds. `purpose` is one
    of `AttemptPurpose`; `account_id` is who was signed in, where the answer is for them alone.
    """

    id: Mapped[str] = mapped_column(primary_key=True)
    browser_hash: Mapped[str]
    purpose: Mapped[str] = mapped_column(String(10))
    account_id: Mapped[str | None]
    verifier: Mapped[str] = mapped_column(String(128))
    nonce: Mapped[str] = mapped_column(String(64))
    # Where to go afterwards, and what was typed into a form that had to wait for this.
    target: Mapped[str] = mapped_column(Text)
    draft: Mapped[str] = mapped_column(Text)
    started_at: Mapped[datetime] = mapped_column(Timestamp, default=present, index=True)


# A token that nobody used for this long is named, so that somebody revokes it.
UNUSED = timedelta(days=90)


class AccessToken(Base):
    """A credential with scopes, for the projects of an account or for one of them.

    Of the token itself only the hash is stored. It works until it expires or is revoked.
    """

    __table_args__ = (Index("ix_access_token_account_id_created_at", "account_id", "created_at"),)

    id: Mapped[str] = mapped_column(primary_key=True, default=new_identifier)
    account_id: Mapped[str] = child_of(Account.id)
    # None: all projects of the account.
    project_id: Mapped[str | None] = child_of("project.id", index=True)
    name: Mapped[str] = mapped_column(String(80))
    scopes: Mapped[list[str]] = mapped_column(JSON)
    # The table allows none, from when a token could wait to be fetched.
    token_hash: Mapped[str] = mapped_column(unique=True, nullable=True)
    last_four: Mapped[str] = mapped_column(default="")
    # The person who made it: the owner, or an administrator of the one project.
    made_by_id: Mapped[str] = child_of(Account.id, index=True)
    # How it was made: `manual` or `oauth`.
    client: Mapped[str] = mapped_column(String(20), default="manual")
    # None: never.
    expires_at: Mapped[datetime | None] = mapped_column(Timestamp)
    last_used_at: Mapped[datetime | None] = mapped_column(Timestamp)
    # The operation, and whether it was called by `api` or by `mcp`.
    last_used_for: Mapped[str | None] = mapped_column(String(80))
    last_used_by: Mapped[str | None] = mapped_column(String(20))
    revoked_at: Mapped[datetime | None] = mapped_column(Timestamp)
    created_at: Mapped[datetime] = mapped_column(Timestamp, default=present)

    @property
    def state(self) -> str:
        """Return `active`, `unused` (works, but for 90 days nobody used it), `expired` or
        `revoked`."""
        now = clock.now()
        if self.revoked_at is not None:
            return "revoked"
        if self.expires_at is not None and self.expires_at <= now:
            return "expired"
        return "unused" if (self.last_used_at or self.created_at) <= now - UNUSED else "active"
