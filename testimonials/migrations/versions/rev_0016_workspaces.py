"""Members of a whole workspace, and offers of ownership."""

import sqlalchemy as sa
from alembic import op

revision: str = "0016"
down_revision: str | None = "0015"


def upgrade() -> None:
    """Change the schema."""
    _create_workspace_member()
    _create_workspace_invitation()
    _create_ownership_offer()


def _create_workspace_member() -> None:
    op.create_table(
        "workspace_member",
        sa.Column("owner_id", sa.String(), nullable=False),
        sa.Column("account_id", sa.String(), nullable=False),
        sa.Column("role", sa.String(length=20), nullable=False),
        sa.Column("source", sa.String(length=20), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        _foreign_key("workspace_member", "account", "owner_id"),
        _foreign_key("workspace_member", "account", "account_id"),
        sa.PrimaryKeyConstraint("owner_id", "account_id", name=op.f("pk_workspace_member")),
    )
    op.create_index("ix_workspace_member_account_id", "workspace_member", ["account_id"])


def _create_workspace_invitation() -> None:
    op.create_table(
        "workspace_invitation",
        sa.Column("owner_id", sa.String(), nullable=False),
        sa.Column("email", sa.String(length=254), nullable=False),
        sa.Column("role", sa.String(length=20), nullable=False),
        sa.Column("project_ids", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("nonce_hash", sa.String(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        _foreign_key("workspace_invitation", "account", "owner_id"),
        sa.PrimaryKeyConstraint("owner_id", "email", name=op.f("pk_workspace_invitation")),
    )
    op.create_index("ix_workspace_invitation_expires_at", "workspace_invitation", ["expires_at"])


def _create_ownership_offer() -> None:
    op.create_table(
        "ownership_offer",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("owner_id", sa.String(), nullable=False),
        sa.Column("project_id", sa.String(), nullable=True),
        sa.Column("receiver_id", sa.String(), nullable=False),
        sa.Column("keeps_team", sa.Boolean(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        _foreign_key("ownership_offer", "account", "owner_id"),
        _foreign_key("ownership_offer", "project", "project_id"),
        _foreign_key("ownership_offer", "account", "receiver_id"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_ownership_offer")),
    )
    for column in ("owner_id", "project_id", "receiver_id", "expires_at"):
        op.create_index(f"ix_ownership_offer_{column}", "ownership_offer", [column])


def _foreign_key(table: str, target: str, column: str) -> sa.ForeignKeyConstraint:
    name = op.f(f"fk_{table}_{column}_{target}")
    return sa.ForeignKeyConstraint([column], [f"{target}.id"], name=name, ondelete="CASCADE")
