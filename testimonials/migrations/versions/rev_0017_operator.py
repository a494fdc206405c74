"""Suspended accounts, and reports of abuse."""

import sqlalchemy as sa
from alembic import op

revision: str = "0017"
down_revision: str | None = "0016"


def upgrade() -> None:
    """Change the schema."""
    op.add_column("account", sa.Column("suspended_at", sa.BigInteger(), nullable=True))
    op.add_column("account", sa.Column("suspended_reason", sa.Text(), nullable=True))
    op.add_column(
        "account",
        sa.Column("hides_widgets", sa.Boolean(), server_default=sa.false(), nullable=False),
    )
    op.create_table(
        "abuse_report",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("testimonial_id", sa.String(), nullable=True),
        sa.Column("page", sa.String(length=20), nullable=False),
        sa.Column("reason", sa.String(length=20), nullable=False),
        sa.Column("words", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("settled_at", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(
            ["project_id"],
            ["project.id"],
            name=op.f("fk_abuse_report_project_id_project"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_abuse_report")),
    )
    op.create_index("ix_abuse_report_project_id", "abuse_report", ["project_id"])
    op.create_index("ix_abuse_report_settled_at", "abuse_report", ["settled_at"])
