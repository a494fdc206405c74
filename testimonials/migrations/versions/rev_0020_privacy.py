"""Ids that were erased."""

import sqlalchemy as sa
from alembic import op

revision: str = "0020"
down_revision: str | None = "0019"


def upgrade() -> None:
    """Change the schema."""
    op.create_table(
        "erased",
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("id", sa.String(length=100), nullable=False),
        sa.Column("erased_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("kind", "id", name=op.f("pk_erased")),
    )
    op.create_index("ix_erased_erased_at", "erased", ["erased_at"])
