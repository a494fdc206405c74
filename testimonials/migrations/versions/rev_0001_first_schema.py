"""The first schema: accounts, sessions, projects, testimonials, the outbox and rate limits."""

import sqlalchemy as sa
from alembic import op

revision: str = "0001"
down_revision: str | None = None


def upgrade() -> None:
    """Change the schema."""
    op.create_table(
        "account",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("email", sa.String(length=254), nullable=False),
        sa.Column("key_hash", sa.String(), nullable=False),
        sa.Column("key_last_four", sa.String(), nullable=False),
        sa.Column("key_created_at", sa.BigInteger(), nullable=False),
        sa.Column("claim_nonce_hash", sa.String(), nullable=True),
        sa.Column("claim_expires_at", sa.BigInteger(), nullable=False),
        sa.Column("claimed_at", sa.BigInteger(), nullable=True),
        sa.Column("password_hash", sa.Text(), nullable=True),
        sa.Column("project_limit", sa.Integer(), nullable=True),
        sa.Column("has_created_project", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_account")),
        sa.UniqueConstraint("email", name=op.f("uq_account_email")),
    )
    op.create_index("ix_account_claim_expires_at", "account", ["claim_expires_at"])
    op.create_table(
        "outbox_mail",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("purpose", sa.String(), nullable=False),
        sa.Column("recipient", sa.String(), nullable=False),
        sa.Column("subject", sa.String(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("html", sa.Text(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("next_attempt_at", sa.BigInteger(), nullable=False),
        sa.Column("last_error", sa.Text(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("sent_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_outbox_mail")),
    )
    op.create_index("ix_outbox_mail_next_attempt_at", "outbox_mail", ["next_attempt_at"])
    op.create_table(
        "rate_limit_counter",
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("hits", sa.Integer(), nullable=False),
        sa.Column("expires_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_rate_limit_counter")),
    )
    op.create_index("ix_rate_limit_counter_expires_at", "rate_limit_counter", ["expires_at"])
    op.create_table(
        "project",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("account_id", sa.String(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("business_name", sa.String(), nullable=False),
        sa.Column("slug", sa.String(length=60), nullable=False),
        sa.Column("page_config", sa.JSON(), nullable=False),
        sa.Column("widget_config", sa.JSON(), nullable=False),
        sa.Column("feed_version", sa.BigInteger(), nullable=False),
        sa.Column("last_testimonial_at", sa.BigInteger(), nullable=True),
        sa.Column("deleted_at", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"],
            ["account.id"],
            name=op.f("fk_project_account_id_account"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_project")),
        sa.UniqueConstraint("slug", name=op.f("uq_project_slug")),
    )
    op.create_index("ix_project_account_id_created_at", "project", ["account_id", "created_at"])
    op.create_index("ix_project_deleted_at", "project", ["deleted_at"])
    op.create_table(
        "session",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("account_id", sa.String(), nullable=False),
        sa.Column("token_hash", sa.String(), nullable=False),
        sa.Column("label", sa.String(length=200), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("last_seen_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"],
            ["account.id"],
            name=op.f("fk_session_account_id_account"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_session")),
        sa.UniqueConstraint("token_hash", name=op.f("uq_session_token_hash")),
    )
    op.create_index("ix_session_account_id", "session", ["account_id"])
    op.create_index("ix_session_expires_at", "session", ["expires_at"])
    op.create_table(
        "old_slug",
        sa.Column("slug", sa.String(length=60), nullable=False),
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("renamed_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"],
            ["project.id"],
            name=op.f("fk_old_slug_project_id_project"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("slug", name=op.f("pk_old_slug")),
    )
    op.create_index("ix_old_slug_project_id", "old_slug", ["project_id"])
    op.create_table(
        "testimonial",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("source", sa.String(), nullable=False),
        sa.Column("author_name", sa.String(length=120), nullable=False),
        sa.Column("author_email", sa.String(length=254), nullable=True),
        sa.Column("author_role", sa.String(length=120), nullable=False),
        sa.Column("author_company", sa.String(length=120), nullable=True),
        sa.Column("author_avatar", sa.String(length=500), nullable=True),
        sa.Column("twitter", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("rating", sa.Double(), nullable=True),
        sa.Column("is_pinned", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("submitted_at", sa.BigInteger(), nullable=False),
        sa.Column("reviewed_at", sa.BigInteger(), nullable=True),
        sa.Column("consent_text", sa.Text(), nullable=True),
        sa.Column("consent_language", sa.String(length=35), nullable=True),
        sa.Column("consented_at", sa.BigInteger(), nullable=True),
        sa.Column("submission_key", sa.String(length=64), nullable=True),
        sa.Column("original_text", sa.Text(), nullable=True),
        sa.Column("deleted_at", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.Column(
            "is_visible",
            sa.Boolean(),
            sa.Computed("status IN ('approved', 'demo') AND deleted_at IS NULL", persisted=True),
            nullable=False,
        ),
        sa.ForeignKeyConstraint(
            ["project_id"],
            ["project.id"],
            name=op.f("fk_testimonial_project_id_project"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_testimonial")),
        sa.UniqueConstraint("submission_key", name=op.f("uq_testimonial_submission_key")),
    )
    op.create_index("ix_testimonial_by_time", "testimonial", ["project_id", "created_at", "id"])
    op.create_index(
        "ix_testimonial_inbox", "testimonial", ["project_id", "status", "created_at", "id"]
    )
    op.create_index(
        "ix_testimonial_visible_by_time",
        "testimonial",
        ["project_id", "is_visible", "created_at", "id"],
    )
    op.create_index(
        "ix_testimonial_visible_pinned_first",
        "testimonial",
        ["project_id", "is_visible", "is_pinned", "created_at", "id"],
    )
    op.create_table(
        "testimonial_change",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("testimonial_id", sa.String(), nullable=False),
        sa.Column("batch_id", sa.String(), nullable=False),
        sa.Column("actor", sa.String(length=254), nullable=False),
        sa.Column("action", sa.String(), nullable=False),
        sa.Column("before", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["testimonial_id"],
            ["testimonial.id"],
            name=op.f("fk_testimonial_change_testimonial_id_testimonial"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_testimonial_change")),
    )
    op.create_index("ix_testimonial_change_batch_id", "testimonial_change", ["batch_id"])
    op.create_index(
        "ix_testimonial_change_testimonial_id", "testimonial_change", ["testimonial_id"]
    )
