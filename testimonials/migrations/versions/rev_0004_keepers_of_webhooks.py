"""Store whose role a webhook endpoint depends on, and a former owner's purchase secret."""

import sqlalchemy as sa
from alembic import op

revision: str = "0004"
down_revision: str | None = "0003"

# The account that added it, if one still has that address; otherwise the owner.
KEEPER = """
UPDATE webhook_endpoint SET keeper_id = COALESCE(
    (SELECT account.id FROM account WHERE account.email = webhook_endpoint.created_by),
    (SELECT project.account_id FROM project WHERE project.id = webhook_endpoint.project_id)
)
"""


def upgrade() -> None:
    keeper = sa.Column("keeper_id", sa.String(), nullable=False, server_default="")
    op.add_column("webhook_endpoint", keeper)
    op.execute(KEEPER)
    op.add_column("project", sa.Column("old_purchase_secret", sa.String()))
    op.add_column("project", sa.Column("old_purchase_secret_until", sa.BigInteger()))
