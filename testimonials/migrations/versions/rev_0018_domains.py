"""Customers' own host names."""

import sqlalchemy as sa
from alembic import op

revision: str = "0018"
down_revision: str | None = "0017"


def upgrade() -> None:
    """Change the schema."""
    op.add_column("project", sa.Column("own_host", sa.String(length=253), nullable=True))
    op.create_index("uq_project_own_host", "project", ["own_host"], unique=True)
    op.create_table(
        "custom_domain",
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("host", sa.String(length=253), nullable=False),
        sa.Column("token", sa.String(length=60), nullable=False),
        sa.Column("is_held", sa.Boolean(), nullable=True),
        sa.Column("verified_at", sa.BigInteger(), nullable=True),
        sa.Column("missing_since", sa.BigInteger(), nullable=True),
        sa.Column("serving_since", sa.BigInteger(), nullable=True),
        sa.Column("checked_at", sa.BigInteger(), nullable=True),
        sa.Column("next_check_at", sa.BigInteger(), nullable=False),
        sa.Column("points_to", sa.JSON(), server_default="[]", nullable=False),
        sa.Column("problem", sa.String(length=300), server_default="", nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"],
            ["project.id"],
            name=op.f("fk_custom_domain_project_id_project"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("project_id", name=op.f("pk_custom_domain")),
        # NULL is no duplicate: only one project holds a name, and any number may wait for it.
        sa.UniqueConstraint("host", "is_held", name=op.f("uq_custom_domain_host_is_held")),
    )
    op.create_index("ix_custom_domain_next_check_at", "custom_domain", ["next_check_at"])
