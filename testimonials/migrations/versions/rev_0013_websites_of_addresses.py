"""Store what the website of an unclaimed address's domain says, for whoever claims it."""

import sqlalchemy as sa
from alembic import op

revision: str = "0013"
down_revision: str | None = "0012"


def upgrade() -> None:
    op.add_column("account", sa.Column("website_read", sa.JSON()))
