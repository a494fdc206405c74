"""Company accounts that sign in here."""

import sqlalchemy as sa
from alembic import op

revision: str = "0015"
down_revision: str | None = "0014"


def upgrade() -> None:
    """Change the schema."""
    op.create_table(
        "company_identity",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("account_id", sa.String(), nullable=False),
        sa.Column("issuer", sa.String(length=500), nullable=False),
        sa.Column("subject", sa.String(length=255), nullable=False),
        sa.Column("email", sa.String(length=254), nullable=True),
        sa.Column("linked_at", sa.BigInteger(), nullable=False),
        sa.Column("used_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"],
            ["account.id"],
            name=op.f("fk_company_identity_account_id_account"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_company_identity")),
        sa.UniqueConstraint("issuer", "subject", name="uq_company_identity_subject"),
        sa.UniqueConstraint("account_id", "issuer", name="uq_company_identity_account"),
    )
    op.create_table(
        "company_attempt",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("browser_hash", sa.String(), nullable=False),
        sa.Column("purpose", sa.String(length=10), nullable=False),
        sa.Column("account_id", sa.String(), nullable=True),
        sa.Column("verifier", sa.String(length=128), nullable=False),
        sa.Column("nonce", sa.String(length=64), nullable=False),
        sa.Column("target", sa.Text(), nullable=False),
        sa.Column("draft", sa.Text(), nullable=False),
        sa.Column("started_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_company_attempt")),
    )
    op.create_index("ix_company_attempt_started_at", "company_attempt", ["started_at"])
