"""Access tokens, and agents' requests for one."""

from datetime import datetime, timedelta

from sqlalchemy import JSON, ForeignKey, Index, String
from sqlalchemy.orm import Mapped, mapped_column, relationship

from testimonials.auth.models import Account
from testimonials.core import clock
from testimonials.core.data.database import Base, Timestamp, present
from testimonials.core.data.identifiers import new_identifier
from testimonials.core.urls import access_request_url

# A token that nobody used for this long is named, so that somebody revokes it.
UNUSED = timedelta(days=90)

# How long a request waits for the owner, and then for the agent.
OPEN = timedelta(days=3)


class AccessToken(Base):
    """A credential with scopes, for the projects of an account or for one of them.

    Of the token itself only the hash is stored. It works until it expires or is revoked.
    """

    __tablename__ = "access_token"
    __table_args__ = (Index("ix_access_token_account_id_created_at", "account_id", "created_at"),)

    id: Mapped[str] = mapped_column(primary_key=True, default=new_identifier)
    account_id: Mapped[str] = mapped_column(ForeignKey(Account.id, ondelete="CASCADE"))
    # None: all projects of the account.
    project_id: Mapped[str | None] = mapped_column(
        ForeignKey("project.id", ondelete="CASCADE"), index=True
    )
    name: Mapped[str] = mapped_column(String(80))
    scopes: Mapped[list[str]] = mapped_column(JSON)
    # None: granted, but not fetched yet.
    token_hash: Mapped[str | None] = mapped_column(unique=True)
    last_four: Mapped[str] = mapped_column(default="")
    # The person who made it: the owner, or an administrator of the one project.
    made_by_id: Mapped[str] = mapped_column(ForeignKey(Account.id, ondelete="CASCADE"), index=True)
    # How it was made: `manual`, `request` or `oauth`.
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
        """Return `active`, `unused` (works, but for 90 days nobody used it), `unfetched` (granted,
        but not fetched yet), `expired` or `revoked`."""
        now = clock.now()
        if self.revoked_at is not None:
            return "revoked"
        if self.expires_at is not None and self.expires_at <= now:
            return "expired"
        if self.token_hash is None:
            return "unfetched" if self.created_at > now - OPEN else "expired"
        return "unused" if (self.last_used_at or self.created_at) <= now - UNUSED else "active"


class AccessRequest(Base):
    """An agent's request for scopes, which the owner grants or declines within three days.

    Whoever asked fetches the granted token within another three, once, with the credentials it
    asked with.
    """

    __tablename__ = "access_request"

    id: Mapped[str] = mapped_column(primary_key=True, default=new_identifier)
    account_id: Mapped[str] = mapped_column(ForeignKey(Account.id, ondelete="CASCADE"), index=True)
    project_id: Mapped[str | None] = mapped_column(
        ForeignKey("project.id", ondelete="CASCADE"), index=True
    )
    name: Mapped[str] = mapped_column(String(80))
    reason: Mapped[str] = mapped_column(String(500), default="")
    scopes: Mapped[list[str]] = mapped_column(JSON)
    # The token's id or the end of the key that asked.
    asked_by: Mapped[str] = mapped_column(String(80))
    status: Mapped[str] = mapped_column(String(20), default="waiting")
    token_id: Mapped[str | None] = mapped_column(
        ForeignKey(AccessToken.id, ondelete="SET NULL"), index=True
    )
    created_at: Mapped[datetime] = mapped_column(Timestamp, default=present)
    expires_at: Mapped[datetime] = mapped_column(Timestamp, index=True)
    decided_at: Mapped[datetime | None] = mapped_column(Timestamp)
    token: Mapped[AccessToken | None] = relationship()

    @property
    def state(self) -> str:
        """Return `waiting`, `granted`, `declined`, or `expired` if nobody decided or fetched."""
        is_fetched = self.token is not None and self.token.token_hash is not None
        is_over = self.status in ("waiting", "granted") and self.expires_at <= clock.now()
        return "expired" if is_over and not is_fetched else self.status

    @property
    def is_ready(self) -> bool:
        """Whether the granted token can be fetched now."""
        return self.token is not None and self.token.state == "unfetched"

    @property
    def granted_scopes(self) -> list[str] | None:
        return None if self.token is None else self.token.scopes

    @property
    def url(self) -> str:
        """Return where the owner decides about it."""
        return access_request_url(self.id)
