"""Drop the archives that waited for a confirmation, since they are imported at once."""

from alembic import op

revision: str = "0020"
down_revision: str | None = "0019"


def upgrade() -> None:
    """Change the schema."""
    op.drop_table("waiting_archive")
