"""Merge the tables of members, and of invitations, of one project and of all an owner's."""

import json

import sqlalchemy as sa
from alembic import op

from testimonials.core.db.identifiers import new_identifier

revision: str = "0005"
down_revision: str | None = "0004"

MEMBERS = """
SELECT project_id, NULL AS owner_id, account_id, role, 'owner' AS source, created_at
FROM project_member UNION ALL
SELECT NULL, owner_id, account_id, role, source, created_at FROM workspace_member
"""
INVITATIONS = """
SELECT project_id, NULL AS owner_id, NULL AS project_ids, email, role, nonce_hash, invited_by,
    invited_by_id, expires_at, created_at FROM member_invitation UNION ALL
SELECT NULL, it.owner_id, CAST(it.project_ids AS TEXT), it.email, it.role, it.nonce_hash,
    account.email, it.owner_id, it.expires_at, it.created_at
FROM workspace_invitation it JOIN account ON account.id = it.owner_id
"""


def upgrade() -> None:
    member = _create("member", "account_id", sa.Column("source", sa.String(20), nullable=False))
    _fill(member, MEMBERS)
    invitation = _create(
        "team_invitation",
        "email",
        sa.Column("project_ids", sa.JSON(none_as_null=True)),
        sa.Column("nonce_hash", sa.String(), nullable=False),
        sa.Column("invited_by", sa.String(254), nullable=False),
        sa.Column("invited_by_id", sa.String(), sa.ForeignKey("account.id", ondelete="CASCADE")),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
    )
    _fill(invitation, INVITATIONS)
    for table, column in (
        ("member", "account_id"),
        ("team_invitation", "invited_by_id"),
        ("team_invitation", "expires_at"),
    ):
        op.create_index(f"ix_{table}_{column}", table, [column])
    for name in ("project_member", "workspace_member", "member_invitation", "workspace_invitation"):
        op.drop_table(name)


def _create(name: str, who: str, *more: sa.Column[object]) -> sa.Table:
    """Create a table whose rows are about one project or all of an owner's projects."""
    account = sa.ForeignKey("account.id", ondelete="CASCADE")
    table = op.create_table(
        name,
        sa.Column("id", sa.String(), primary_key=True),
        sa.Column("project_id", sa.String(), sa.ForeignKey("project.id", ondelete="CASCADE")),
        sa.Column("owner_id", sa.String(), sa.ForeignKey("account.id", ondelete="CASCADE")),
        sa.Column("account_id", sa.String(), account, nullable=False)
        if who == "account_id"
        else sa.Column("email", sa.String(254), nullable=False),
        sa.Column("role", sa.String(), nullable=False),
        *more,
        sa.Column("created_at", sa.BigInteger(), nullable=False),
    )
    for column in ("project_id", "owner_id"):
        op.create_index(f"uq_{name}_{column}_{who}", name, [column, who], unique=True)
    return table


def _fill(table: sa.Table, query: str) -> None:
    rows = [dict(row) for row in op.get_bind().execute(sa.text(query)).mappings()]
    for row in rows:
        row["id"] = new_identifier()
        if row.get("project_ids"):
            row["project_ids"] = json.loads(row["project_ids"])
    op.bulk_insert(table, rows)
