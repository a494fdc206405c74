"""Shared background jobs, import keys, and widget scripts that are pinned."""

import sqlalchemy as sa
from alembic import op

revision: str = "0004"
down_revision: str | None = "0003"


def upgrade() -> None:
    """Change the schema."""
    op.create_table(
        "background_job",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("leased_until", sa.BigInteger(), nullable=True),
        sa.Column("leased_by", sa.String(), nullable=True),
        sa.Column("started_at", sa.BigInteger(), nullable=True),
        sa.Column("finished_at", sa.BigInteger(), nullable=True),
        sa.Column("failed_at", sa.BigInteger(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_background_job")),
    )
    op.create_index("ix_outbox_mail_state", "outbox_mail", ["state", "next_attempt_at"])
    op.add_column("testimonial", sa.Column("import_key", sa.String(length=64), nullable=True))
    op.create_index(
        "uq_testimonial_project_id_import_key",
        "testimonial",
        ["project_id", "import_key"],
        unique=True,
    )
    op.create_table(
        "widget_script",
        sa.Column("digest", sa.String(length=16), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_widget_script")),
    )
