"""The language that an account chose."""

import sqlalchemy as sa
from alembic import op

revision: str = "0021"
down_revision: str | None = "0020"


def upgrade() -> None:
    """Change the schema."""
    op.add_column("account", sa.Column("language", sa.String(length=8), nullable=True))
