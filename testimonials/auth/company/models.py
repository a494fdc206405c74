"""Company accounts that sign in here, and attempts that are under way."""

from datetime import datetime

from sqlalchemy import ForeignKey, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from testimonials.auth.models import Account
from testimonials.core.data.database import Base, Timestamp, present
from testimonials.core.data.identifiers import new_identifier


class CompanyIdentity(Base):
    """A person at an issuer, known by the issuer's own name for them, who may sign in here.

    Addresses change hands; `subject` never does.
    """

    __tablename__ = "company_identity"
    __table_args__ = (
        UniqueConstraint("issuer", "subject", name="uq_company_identity_subject"),
        UniqueConstraint("account_id", "issuer", name="uq_company_identity_account"),
    )

    id: Mapped[str] = mapped_column(primary_key=True, default=new_identifier)
    account_id: Mapped[str] = mapped_column(ForeignKey(Account.id, ondelete="CASCADE"))
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

    __tablename__ = "company_attempt"

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
