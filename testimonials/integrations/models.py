"""The codes that clients of OAuth exchange for an access token."""

from datetime import datetime

from sqlalchemy import JSON, String
from sqlalchemy.orm import Mapped, mapped_column

from testimonials.auth.models import Account
from testimonials.core.db.engine import Base, Timestamp, child_of
from testimonials.projects.models import Project


class OAuthCode(Base):
    """What a person allowed a client, until the client fetches the token, once."""

    __tablename__ = "oauth_code"

    code_hash: Mapped[str] = mapped_column(primary_key=True)
    # Of the client's id, which is signed and holds all that is known of it, so clients are no rows;
    # and of the person's `browser_generation`, so that signing out everywhere ends the code.
    client_hash: Mapped[str]
    # Whose projects, and who allowed it.
    account_id: Mapped[str] = child_of(Account.id, index=True)
    made_by_id: Mapped[str] = child_of(Account.id, index=True)
    project_id: Mapped[str | None] = child_of(Project.id, index=True)
    scopes: Mapped[list[str]] = mapped_column(JSON)
    redirect_uri: Mapped[str] = mapped_column(String(500))
    code_challenge: Mapped[str] = mapped_column(String(128))
    # Days after which the token ends; None: never.
    token_days: Mapped[int | None]
    expires_at: Mapped[datetime] = mapped_column(Timestamp, index=True)
