"""The record of events, fresh proofs, and counted failures."""

import sqlalchemy as sa
from alembic import op

revision: str = "0005"
down_revision: str | None = "0004"


def upgrade() -> None:
    """Change the schema."""
    _create_event()
    _add_known_browsers()
    _add_life_of_accounts()
    _forget_sent_mails()
    _create_secret_mark()


# The record of what happened.
def _create_event() -> None:
    op.create_table(
        "event",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("account_id", sa.String(), nullable=True),
        sa.Column("project_id", sa.String(), nullable=True),
        sa.Column("type", sa.String(length=60), nullable=False),
        sa.Column("actor_kind", sa.String(length=20), nullable=False),
        sa.Column("actor_name", sa.String(), nullable=True),
        sa.Column("network", sa.String(), nullable=True),
        sa.Column("times", sa.Integer(), nullable=False),
        sa.Column("details", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"],
            ["account.id"],
            name=op.f("fk_event_account_id_account"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_event")),
    )
    op.create_index("ix_event_account_id_id", "event", ["account_id", "id"])
    op.create_index("ix_event_project_id_id", "event", ["project_id", "id"])
    has_network = sa.text("network IS NOT NULL")
    op.create_index(
        "ix_event_with_network",
        "event",
        ["id"],
        sqlite_where=has_network,
        postgresql_where=has_network,
    )


# Links, proofs, addresses and invitations of accounts.
def _add_life_of_accounts() -> None:
    op.add_column("account", sa.Column("own_nonce_hash", sa.String(), nullable=True))
    op.add_column("session", sa.Column("proved_at", sa.BigInteger(), nullable=True))
    op.create_table(
        "former_address",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("account_id", sa.String(), nullable=False),
        sa.Column("email", sa.String(length=254), nullable=False),
        sa.Column("left_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"],
            ["account.id"],
            name=op.f("fk_former_address_account_id_account"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_former_address")),
    )
    for column in ("account_id", "email", "left_at"):
        op.create_index(f"ix_former_address_{column}", "former_address", [column])
    with op.batch_alter_table("member_invitation") as batch:
        batch.add_column(sa.Column("invited_by_id", sa.String(), nullable=True))
        batch.create_foreign_key(
            op.f("fk_member_invitation_invited_by_id_account"),
            "account",
            ["invited_by_id"],
            ["id"],
            ondelete="CASCADE",
        )
    op.execute(
        "UPDATE member_invitation SET invited_by_id ="
        " (SELECT id FROM account WHERE account.email = member_invitation.invited_by)"
    )
    op.create_index("ix_member_invitation_invited_by_id", "member_invitation", ["invited_by_id"])


# Browsers that are known, and links that were asked for by mail.
def _add_known_browsers() -> None:
    op.add_column(
        "account",
        sa.Column("browser_generation", sa.Integer(), server_default="0", nullable=False),
    )
    op.create_table(
        "link_request",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("purpose", sa.String(), nullable=False),
        sa.Column("email", sa.String(length=254), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_link_request")),
    )


# Mail that has left: what was in it is no longer kept.
def _forget_sent_mails() -> None:
    op.execute(
        "UPDATE outbox_mail SET text = '', html = '', list_unsubscribe = NULL,"
        " subject = CASE WHEN list_unsubscribe IS NULL THEN subject ELSE '' END"
        " WHERE state = 'sent'"
    )


# Hosts with different secret keys on one database.
def _create_secret_mark() -> None:
    op.create_table(
        "secret_mark",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("mark", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_secret_mark")),
    )
