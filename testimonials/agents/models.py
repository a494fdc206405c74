"""Clients that connect by OAuth, and the codes that they exchange for a token."""

from datetime import datetime

from sqlalchemy import JSON, ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column

from testimonials.auth.models import Account
from testimonials.core.data.database import Base, Timestamp, present
from testimonials.core.data.identifiers import new_identifier
from testimonials.projects.models import Project


class OAuthClient(Base):
    """A program that registered itself; anybody may, so it is trusted with nothing."""

    __tablename__ = "oauth_client"

    id: Mapped[str] = mapped_column(primary_key=True, default=new_identifier)
    name: Mapped[str] = mapped_column(String(80))
    redirect_uris: Mapped[list[str]] = mapped_column(JSON)
    created_at: Mapped[datetime] = mapped_column(Timestamp, default=present, index=True)


class OAuthCode(Base):
    """What a person allowed a client, until the client fetches the token, once."""

    __tablename__ = "oauth_code"

    code_hash: Mapped[str] = mapped_column(primary_key=True)
    client_id: Mapped[str] = mapped_column(
        ForeignKey(OAuthClient.id, ondelete="CASCADE"), index=True
    )
    # Whose projects, and who allowed it.
    account_id: Mapped[str] = mapped_column(ForeignKey(Account.id, ondelete="CASCADE"), index=True)
    made_by_id: Mapped[str] = mapped_column(ForeignKey(Account.id, ondelete="CASCADE"), index=True)
    project_id: Mapped[str | None] = mapped_column(
        ForeignKey(Project.id, ondelete="CASCADE"), index=True
    )
    scopes: Mapped[list[str]] = mapped_column(JSON)
    redirect_uri: Mapped[str] = mapped_column(String(500))
    code_challenge: Mapped[str] = mapped_column(String(128))
    resource: Mapped[str | None] = mapped_column(String(500))
    # Days after which the token ends; None: never.
    token_days: Mapped[int | None]
    expires_at: Mapped[datetime] = mapped_column(Timestamp, index=True)
