"""Held submissions, requests by mail, and pictures for shared links."""

import sqlalchemy as sa
from alembic import op

revision: str = "0003"
down_revision: str | None = "0002"


TIMES = ("next_mail_at", "sent_at", "reminded_at", "opened_at", "answered_at", "declined_at")
INDEXED = ("batch_id", "email_hash", "next_mail_at", "sent_at", "reminded_at", "testimonial_id")


def upgrade() -> None:
    """Change the schema."""
    op.add_column("testimonial", sa.Column("held_for", sa.String(), nullable=True))
    op.add_column("testimonial", sa.Column("text_fingerprint", sa.String(length=32), nullable=True))
    op.create_index(
        "ix_testimonial_words", "testimonial", ["text_fingerprint", "project_id", "created_at"]
    )
    op.add_column("testimonial", sa.Column("email_verified_at", sa.BigInteger(), nullable=True))
    op.add_column("testimonial", sa.Column("consent_withdrawn_at", sa.BigInteger(), nullable=True))
    op.add_column("testimonial", sa.Column("returned_at", sa.BigInteger(), nullable=True))
    op.add_column("outbox_mail", sa.Column("reply_to", sa.String(), nullable=True))
    _create_batch()
    _create_invitation()
    op.create_table(
        "unsubscribed_address",
        sa.Column("account_id", sa.String(), nullable=False),
        sa.Column("email_hash", sa.String(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        _foreign_key("unsubscribed_address", "account"),
        sa.PrimaryKeyConstraint("account_id", "email_hash", name=op.f("pk_unsubscribed_address")),
    )
    op.create_table(
        "share_picture",
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("fingerprint", sa.String(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        _foreign_key("share_picture", "project"),
        sa.PrimaryKeyConstraint("project_id", name=op.f("pk_share_picture")),
    )


def _create_batch() -> None:
    op.create_table(
        "invitation_batch",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("actor", sa.String(length=254), nullable=False),
        sa.Column("subject", sa.String(length=160), nullable=False),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("language", sa.String(length=35), nullable=False),
        sa.Column("remind_after_days", sa.Integer(), nullable=True),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        _foreign_key("invitation_batch", "project"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_invitation_batch")),
    )
    op.create_index("ix_invitation_batch_project_id", "invitation_batch", ["project_id"])


def _create_invitation() -> None:
    op.create_table(
        "invitation",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("batch_id", sa.String(), nullable=False),
        sa.Column("email", sa.String(length=254), nullable=False),
        sa.Column("email_hash", sa.String(), nullable=False),
        sa.Column("name", sa.String(length=120), nullable=False),
        sa.Column("company", sa.String(length=120), nullable=True),
        *(sa.Column(name, sa.BigInteger(), nullable=True) for name in TIMES),
        sa.Column("mail_id", sa.String(), nullable=True),
        sa.Column("testimonial_id", sa.String(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        _foreign_key("invitation", "project"),
        sa.ForeignKeyConstraint(
            ["batch_id"],
            ["invitation_batch.id"],
            name=op.f("fk_invitation_batch_id_invitation_batch"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["testimonial_id"],
            ["testimonial.id"],
            name=op.f("fk_invitation_testimonial_id_testimonial"),
            ondelete="SET NULL",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_invitation")),
    )
    for name in INDEXED:
        op.create_index(f"ix_invitation_{name}", "invitation", [name])
    op.create_index(
        "ix_invitation_project_id_created_at", "invitation", ["project_id", "created_at", "id"]
    )
    op.create_index(
        "uq_invitation_project_id_email", "invitation", ["project_id", "email"], unique=True
    )


def _foreign_key(table: str, other: str) -> sa.ForeignKeyConstraint:
    column = f"{other}_id"
    return sa.ForeignKeyConstraint(
        [column], [f"{other}.id"], name=op.f(f"fk_{table}_{column}_{other}"), ondelete="CASCADE"
    )
