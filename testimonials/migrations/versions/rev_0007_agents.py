"""Access tokens, proposals, webhooks, OAuth, idempotency keys, and callers' own ids."""

import sqlalchemy as sa
from alembic import op

revision: str = "0007"
down_revision: str | None = "0006"


def upgrade() -> None:
    """Change the schema."""
    _create_idempotency_key()
    _create_access_token()
    _create_oauth_code()
    _create_webhook_endpoint()
    _create_access_request()
    _create_proposal()
    _create_webhook_delivery()
    _add_external_ids()
    _add_columns_for_proposals()


def _reference(table: str, column: str, target: str, ondelete: str) -> sa.ForeignKeyConstraint:
    name = op.f(f"fk_{table}_{column}_{target}")
    return sa.ForeignKeyConstraint([column], [f"{target}.id"], name=name, ondelete=ondelete)


def _create_idempotency_key() -> None:
    op.create_table(
        "idempotency_key",
        sa.Column("owner", sa.String(length=64), nullable=False),
        sa.Column("key", sa.String(length=255), nullable=False),
        sa.Column("fingerprint", sa.String(length=64), nullable=False),
        sa.Column("status", sa.Integer(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("owner", "key", name=op.f("pk_idempotency_key")),
    )
    op.create_index(op.f("ix_idempotency_key_created_at"), "idempotency_key", ["created_at"])


def _create_access_token() -> None:
    op.create_table(
        "access_token",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("account_id", sa.String(), nullable=False),
        sa.Column("project_id", sa.String(), nullable=True),
        sa.Column("name", sa.String(length=80), nullable=False),
        sa.Column("scopes", sa.JSON(), nullable=False),
        sa.Column("token_hash", sa.String(), nullable=True),
        sa.Column("last_four", sa.String(), nullable=False),
        sa.Column("made_by_id", sa.String(), nullable=False),
        sa.Column("client", sa.String(length=20), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=True),
        sa.Column("last_used_at", sa.BigInteger(), nullable=True),
        sa.Column("last_used_for", sa.String(length=80), nullable=True),
        sa.Column("last_used_by", sa.String(length=20), nullable=True),
        sa.Column("revoked_at", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        _reference("access_token", "account_id", "account", "CASCADE"),
        _reference("access_token", "made_by_id", "account", "CASCADE"),
        _reference("access_token", "project_id", "project", "CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_access_token")),
        sa.UniqueConstraint("token_hash", name=op.f("uq_access_token_token_hash")),
    )
    op.create_index(
        "ix_access_token_account_id_created_at", "access_token", ["account_id", "created_at"]
    )
    op.create_index(op.f("ix_access_token_made_by_id"), "access_token", ["made_by_id"])
    op.create_index(op.f("ix_access_token_project_id"), "access_token", ["project_id"])


def _create_oauth_code() -> None:
    op.create_table(
        "oauth_code",
        sa.Column("code_hash", sa.String(), nullable=False),
        sa.Column("client_hash", sa.String(), nullable=False),
        sa.Column("account_id", sa.String(), nullable=False),
        sa.Column("made_by_id", sa.String(), nullable=False),
        sa.Column("project_id", sa.String(), nullable=True),
        sa.Column("scopes", sa.JSON(), nullable=False),
        sa.Column("redirect_uri", sa.String(length=500), nullable=False),
        sa.Column("code_challenge", sa.String(length=128), nullable=False),
        sa.Column("token_days", sa.Integer(), nullable=True),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        _reference("oauth_code", "account_id", "account", "CASCADE"),
        _reference("oauth_code", "made_by_id", "account", "CASCADE"),
        _reference("oauth_code", "project_id", "project", "CASCADE"),
        sa.PrimaryKeyConstraint("code_hash", name=op.f("pk_oauth_code")),
    )
    op.create_index(op.f("ix_oauth_code_account_id"), "oauth_code", ["account_id"])
    op.create_index(op.f("ix_oauth_code_expires_at"), "oauth_code", ["expires_at"])
    op.create_index(op.f("ix_oauth_code_made_by_id"), "oauth_code", ["made_by_id"])
    op.create_index(op.f("ix_oauth_code_project_id"), "oauth_code", ["project_id"])


def _create_webhook_endpoint() -> None:
    op.create_table(
        "webhook_endpoint",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("url", sa.String(length=500), nullable=False),
        sa.Column("events", sa.JSON(), nullable=False),
        sa.Column("secret", sa.String(), nullable=False),
        sa.Column("old_secret", sa.String(), nullable=True),
        sa.Column("old_secret_until", sa.BigInteger(), nullable=True),
        sa.Column("read_to", sa.String(), nullable=False),
        sa.Column("is_active", sa.Boolean(), nullable=False),
        sa.Column("failing_since", sa.BigInteger(), nullable=True),
        sa.Column("switched_off_because", sa.String(length=200), nullable=True),
        sa.Column("created_by", sa.String(length=254), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        _reference("webhook_endpoint", "project_id", "project", "CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_webhook_endpoint")),
    )
    op.create_index(op.f("ix_webhook_endpoint_project_id"), "webhook_endpoint", ["project_id"])


def _create_access_request() -> None:
    op.create_table(
        "access_request",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("account_id", sa.String(), nullable=False),
        sa.Column("project_id", sa.String(), nullable=True),
        sa.Column("name", sa.String(length=80), nullable=False),
        sa.Column("reason", sa.String(length=500), nullable=False),
        sa.Column("scopes", sa.JSON(), nullable=False),
        sa.Column("asked_by", sa.String(length=80), nullable=False),
        sa.Column("status", sa.String(length=20), nullable=False),
        sa.Column("token_id", sa.String(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.Column("decided_at", sa.BigInteger(), nullable=True),
        _reference("access_request", "account_id", "account", "CASCADE"),
        _reference("access_request", "project_id", "project", "CASCADE"),
        _reference("access_request", "token_id", "access_token", "SET NULL"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_access_request")),
    )
    op.create_index(op.f("ix_access_request_account_id"), "access_request", ["account_id"])
    op.create_index(op.f("ix_access_request_expires_at"), "access_request", ["expires_at"])
    op.create_index(op.f("ix_access_request_project_id"), "access_request", ["project_id"])
    op.create_index(op.f("ix_access_request_token_id"), "access_request", ["token_id"])


def _create_proposal() -> None:
    op.create_table(
        "proposal",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("kind", sa.String(length=40), nullable=False),
        sa.Column("target_id", sa.String(), nullable=True),
        sa.Column("values", sa.JSON(), nullable=False),
        sa.Column("before", sa.JSON(), nullable=False),
        sa.Column("reason", sa.String(length=500), nullable=False),
        sa.Column("status", sa.String(length=20), nullable=False),
        sa.Column("actor_kind", sa.String(length=20), nullable=False),
        sa.Column("actor_name", sa.String(), nullable=True),
        sa.Column("token_id", sa.String(), nullable=True),
        sa.Column("result", sa.JSON(), nullable=True),
        sa.Column("note", sa.String(length=500), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("decided_at", sa.BigInteger(), nullable=True),
        sa.Column("decided_by_id", sa.String(), nullable=True),
        _reference("proposal", "decided_by_id", "account", "SET NULL"),
        _reference("proposal", "project_id", "project", "CASCADE"),
        _reference("proposal", "token_id", "access_token", "SET NULL"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_proposal")),
    )
    op.create_index(op.f("ix_proposal_decided_by_id"), "proposal", ["decided_by_id"])
    op.create_index("ix_proposal_project_id_status_id", "proposal", ["project_id", "status", "id"])
    op.create_index(op.f("ix_proposal_token_id"), "proposal", ["token_id"])


def _create_webhook_delivery() -> None:
    op.create_table(
        "webhook_delivery",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("endpoint_id", sa.String(), nullable=False),
        sa.Column("event_id", sa.String(), nullable=False),
        sa.Column("event_type", sa.String(length=60), nullable=False),
        sa.Column("subject", sa.String(), nullable=True),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("state", sa.String(length=10), nullable=False),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("next_try_at", sa.BigInteger(), nullable=True),
        sa.Column("leased_until", sa.BigInteger(), nullable=True),
        sa.Column("attempts", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        _reference("webhook_delivery", "endpoint_id", "webhook_endpoint", "CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_webhook_delivery")),
    )
    op.create_index(
        "ix_webhook_delivery_due",
        "webhook_delivery",
        ["next_try_at", "id"],
        sqlite_where=sa.text("state = 'due'"),
        postgresql_where=sa.text("state = 'due'"),
    )
    op.create_index(
        "ix_webhook_delivery_subject",
        "webhook_delivery",
        ["endpoint_id", "subject", "event_id"],
        sqlite_where=sa.text("state = 'due'"),
        postgresql_where=sa.text("state = 'due'"),
    )
    op.create_index("ix_webhook_delivery_endpoint_id_id", "webhook_delivery", ["endpoint_id", "id"])


def _add_external_ids() -> None:
    op.add_column("project", sa.Column("external_id", sa.String(length=120), nullable=True))
    op.create_index(
        "uq_project_account_id_external_id", "project", ["account_id", "external_id"], unique=True
    )
    op.add_column("testimonial", sa.Column("external_id", sa.String(length=120), nullable=True))
    op.create_index(
        "uq_testimonial_project_id_external_id",
        "testimonial",
        ["project_id", "external_id"],
        unique=True,
    )
    op.create_index(
        "ix_testimonial_trash",
        "testimonial",
        ["project_id", "created_at", "id"],
        sqlite_where=sa.text("deleted_at IS NOT NULL"),
        postgresql_where=sa.text("deleted_at IS NOT NULL"),
    )


def _add_columns_for_proposals() -> None:
    op.add_column(
        "image", sa.Column("is_held", sa.Boolean(), server_default=sa.false(), nullable=False)
    )
    op.add_column(
        "notification_choice", sa.Column("told_of_proposals_at", sa.BigInteger(), nullable=True)
    )
