"""Drop what nothing reads any more.

Archives are imported at once, and the list of erasures goes with each backup.
"""

from alembic import op

revision: str = "0020"
down_revision: str | None = "0019"


def upgrade() -> None:
    """Change the schema."""
    op.drop_table("waiting_archive")
    op.execute("DELETE FROM job WHERE kind = 'backup-erased-list'")
