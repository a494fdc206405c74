"""Passkeys, the authenticator app and its recovery codes."""

from datetime import datetime

from sqlalchemy import BigInteger, Boolean, ForeignKey, LargeBinary, String
from sqlalchemy.orm import Mapped, mapped_column

from testimonials.auth.models import Account
from testimonials.core.data.database import Base, Timestamp, present
from testimonials.core.data.identifiers import new_identifier


class Passkey(Base):
    """A public key whose other half a phone, a computer or a security key keeps."""

    __tablename__ = "passkey"

    id: Mapped[str] = mapped_column(primary_key=True, default=new_identifier)
    account_id: Mapped[str] = mapped_column(ForeignKey(Account.id, ondelete="CASCADE"), index=True)
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

    __tablename__ = "authenticator_app"

    account_id: Mapped[str] = mapped_column(
        ForeignKey(Account.id, ondelete="CASCADE"), primary_key=True
    )
    # Checking a code needs the secret itself; base32.
    secret: Mapped[str] = mapped_column(String(64))
    # The 30 seconds of the newest code that was used; only later ones count.
    last_step: Mapped[int] = mapped_column(BigInteger)
    added_at: Mapped[datetime] = mapped_column(Timestamp, default=present)
    codes_made_at: Mapped[datetime] = mapped_column(Timestamp, default=present)


class RecoveryCode(Base):
    """A code that stands in for the app once; using it deletes the row."""

    __tablename__ = "recovery_code"

    account_id: Mapped[str] = mapped_column(
        ForeignKey(Account.id, ondelete="CASCADE"), primary_key=True
    )
    code_hash: Mapped[str] = mapped_column(primary_key=True)
