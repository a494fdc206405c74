"""Access tokens."""

from datetime import datetime, timedelta

from sqlalchemy import JSON, ForeignKey, Index, String
from sqlalchemy.orm import Mapped, mapped_column

from testimonials.auth.models import Account
from testimonials.core import clock
from testimonials.core.data.database import Base, Timestamp, present
from testimonials.core.data.identifiers import new_identifier

# A token that nobody used for this long is named, so that somebody revokes it.
UNUSED = timedelta(days=90)


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
    # The table allows none, from when a token could wait to be fetched.
    token_hash: Mapped[str] = mapped_column(unique=True, nullable=True)
    last_four: Mapped[str] = mapped_column(default="")
    # The person who made it: the owner, or an administrator of the one project.
    made_by_id: Mapped[str] = mapped_column(ForeignKey(Account.id, ondelete="CASCADE"), index=True)
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
