"""Drop what nothing uses since archives are imported at once and backups list the erasures."""

from alembic import op

revision: str = "0020"
down_revision: str | None = "0019"


def upgrade() -> None:
    op.drop_table("waiting_archive")
    op.execute("DELETE FROM job WHERE kind = 'backup-erased-list'")
