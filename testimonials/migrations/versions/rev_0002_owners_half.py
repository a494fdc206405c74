"""Images, team, tags, notifications, plans and sightings of the widget."""

import sqlalchemy as sa
from alembic import op

revision: str = "0002"
down_revision: str | None = "0001"


def upgrade() -> None:
    """Change the schema."""
    op.create_table(
        "image",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("width", sa.Integer(), nullable=False),
        sa.Column("height", sa.Integer(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_image")),
    )
    _add_columns()
    _create_people()
    _create_subscriptions()
    _create_of_project(
        "widget_sighting",
        sa.Column("origin", sa.String(length=300), nullable=False),
        sa.Column("seen_at", sa.BigInteger(), nullable=False),
        key="origin",
    )
    op.create_table(
        "testimonial_tag",
        sa.Column("testimonial_id", sa.String(), nullable=False),
        sa.Column("name", sa.String(length=40), nullable=False),
        sa.Column("project_id", sa.String(), nullable=False),
        _foreign_key("testimonial_tag", "testimonial"),
        _foreign_key("testimonial_tag", "project"),
        sa.PrimaryKeyConstraint("testimonial_id", "name", name=op.f("pk_testimonial_tag")),
    )
    op.create_index("ix_testimonial_tag_project_id_name", "testimonial_tag", ["project_id", "name"])


def _add_columns() -> None:
    op.add_column("account", sa.Column("plan", sa.String(), nullable=True))
    op.add_column("account", sa.Column("billing_customer", sa.String(), nullable=True))
    op.add_column("account", sa.Column("plan_changed_at", sa.BigInteger(), nullable=True))
    op.create_index("ix_account_billing_customer", "account", ["billing_customer"])
    op.add_column("outbox_mail", sa.Column("list_unsubscribe", sa.Text(), nullable=True))
    op.add_column(
        "project",
        sa.Column("dashboard_config", sa.JSON(), server_default="{}", nullable=False),
    )
    for table, column in (("project", "logo_id"), ("testimonial", "avatar_id")):
        op.add_column(table, sa.Column(column, sa.String(), nullable=True))
        op.create_index(f"ix_{table}_{column}", table, [column])


def _create_people() -> None:
    _create_of_project(
        "project_member",
        sa.Column("account_id", sa.String(), nullable=False),
        sa.Column("role", sa.String(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        _foreign_key("project_member", "account"),
        key="account_id",
    )
    op.create_index("ix_project_member_account_id", "project_member", ["account_id"])
    _create_of_project(
        "member_invitation",
        sa.Column("email", sa.String(length=254), nullable=False),
        sa.Column("role", sa.String(), nullable=False),
        sa.Column("nonce_hash", sa.String(), nullable=False),
        sa.Column("invited_by", sa.String(length=254), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        key="email",
    )
    op.create_index("ix_member_invitation_expires_at", "member_invitation", ["expires_at"])
    _create_of_project(
        "notification_choice",
        sa.Column("account_id", sa.String(), nullable=False),
        sa.Column("mode", sa.String(), nullable=False),
        sa.Column("told_until", sa.BigInteger(), nullable=True),
        sa.Column("last_sent_at", sa.BigInteger(), nullable=True),
        _foreign_key("notification_choice", "account"),
        key="account_id",
    )
    op.create_index("ix_notification_choice_account_id", "notification_choice", ["account_id"])


def _create_subscriptions() -> None:
    op.create_table(
        "billing_subscription",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("customer", sa.String(), nullable=False),
        sa.Column("account_id", sa.String(), nullable=True),
        sa.Column("plan", sa.String(), nullable=False),
        sa.Column("is_running", sa.Boolean(), nullable=False),
        sa.Column("told_at", sa.BigInteger(), nullable=False),
        _foreign_key("billing_subscription", "account"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_billing_subscription")),
    )
    for column in ("customer", "account_id"):
        op.create_index(f"ix_billing_subscription_{column}", "billing_subscription", [column])


def _create_of_project(name: str, *parts: sa.schema.SchemaItem, key: str) -> None:
    op.create_table(
        name,
        sa.Column("project_id", sa.String(), nullable=False),
        *parts,
        _foreign_key(name, "project"),
        sa.PrimaryKeyConstraint("project_id", key, name=op.f(f"pk_{name}")),
    )


def _foreign_key(table: str, other: str) -> sa.ForeignKeyConstraint:
    column = f"{other}_id"
    return sa.ForeignKeyConstraint(
        [column], [f"{other}.id"], name=op.f(f"fk_{table}_{column}_{other}"), ondelete="CASCADE"
    )
