"""Passkeys, authenticator codes, recovery codes, and how a browser signed in."""

import sqlalchemy as sa
from alembic import op

revision: str = "0014"
down_revision: str | None = "0013"


def upgrade() -> None:
    """Change the schema."""
    op.add_column(
        "account",
        sa.Column("requires_strong", sa.Boolean(), server_default=sa.false(), nullable=False),
    )
    op.add_column("account", sa.Column("password_set_at", sa.BigInteger(), nullable=True))
    # Until now there was nothing but passwords.
    op.add_column(
        "session",
        sa.Column("method", sa.String(length=20), server_default="password", nullable=False),
    )
    _create_passkey()
    _create_authenticator_app()
    _create_recovery_code()


def _create_passkey() -> None:
    op.create_table(
        "passkey",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("account_id", sa.String(), nullable=False),
        sa.Column("credential_id", sa.String(length=1400), nullable=False),
        sa.Column("public_key", sa.LargeBinary(), nullable=False),
        sa.Column("sign_count", sa.BigInteger(), nullable=False),
        sa.Column("is_synced", sa.Boolean(), nullable=False),
        sa.Column("name", sa.String(length=60), nullable=False),
        sa.Column("challenged_at", sa.BigInteger(), nullable=False),
        sa.Column("added_at", sa.BigInteger(), nullable=False),
        sa.Column("used_at", sa.BigInteger(), nullable=True),
        _of_account("passkey"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_passkey")),
        sa.UniqueConstraint("credential_id", name=op.f("uq_passkey_credential_id")),
    )
    op.create_index("ix_passkey_account_id", "passkey", ["account_id"])


def _create_authenticator_app() -> None:
    op.create_table(
        "authenticator_app",
        sa.Column("account_id", sa.String(), nullable=False),
        sa.Column("secret", sa.String(length=64), nullable=False),
        sa.Column("last_step", sa.BigInteger(), nullable=False),
        sa.Column("added_at", sa.BigInteger(), nullable=False),
        sa.Column("codes_made_at", sa.BigInteger(), nullable=False),
        _of_account("authenticator_app"),
        sa.PrimaryKeyConstraint("account_id", name=op.f("pk_authenticator_app")),
    )


def _create_recovery_code() -> None:
    op.create_table(
        "recovery_code",
        sa.Column("account_id", sa.String(), nullable=False),
        sa.Column("code_hash", sa.String(), nullable=False),
        _of_account("recovery_code"),
        sa.PrimaryKeyConstraint("account_id", "code_hash", name=op.f("pk_recovery_code")),
    )


def _of_account(table: str) -> sa.ForeignKeyConstraint:
    name = op.f(f"fk_{table}_account_id_account")
    return sa.ForeignKeyConstraint(["account_id"], ["account.id"], name=name, ondelete="CASCADE")
