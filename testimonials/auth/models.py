"""Accounts."""

from datetime import datetime

from sqlalchemy import Boolean, ForeignKey, Integer, String, Text, false
from sqlalchemy.orm import Mapped, mapped_column

from testimonials.core import clock
from testimonials.core.data.database import Base, Timestamp, present
from testimonials.core.data.identifiers import new_identifier


class Account(Base):
    """One account: an e-mail address with one API key, claimed by a person or not yet.

    An unclaimed account counts as gone from `claim_expires_at` on, even before it is swept away.
    """

    __tablename__ = "account"

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

    __tablename__ = "session"

    id: Mapped[str] = mapped_column(primary_key=True, default=new_identifier)
    account_id: Mapped[str] = mapped_column(ForeignKey(Account.id, ondelete="CASCADE"), index=True)
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


class LinkRequest(Base):
    """A request for a link by mail, answered and deleted within seconds.

    `purpose` is one of `LinkPurpose`. The address may not have an account.
    """

    __tablename__ = "link_request"

    id: Mapped[str] = mapped_column(primary_key=True, default=new_identifier)
    purpose: Mapped[str]
    email: Mapped[str] = mapped_column(String(254))


class BillingSubscription(Base):
    """What the payment provider last reported about a subscription.

    Reports arrive in any order, perhaps before the account is known, so an account's plan is
    recalculated from its running subscriptions.
    """

    __tablename__ = "billing_subscription"

    id: Mapped[str] = mapped_column(primary_key=True)
    customer: Mapped[str] = mapped_column(index=True)
    account_id: Mapped[str | None] = mapped_column(
        ForeignKey(Account.id, ondelete="CASCADE"), index=True
    )
    # The plan's name in the settings.
    plan: Mapped[str]
    is_running: Mapped[bool] = mapped_column(Boolean)
    # Events older than this are ignored.
    told_at: Mapped[datetime] = mapped_column(Timestamp)
