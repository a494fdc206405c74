"""Drop what only features used that are gone."""

import sqlalchemy as sa
from alembic import op

revision: str = "0002"
down_revision: str | None = "0001"

# No index, trigger or constraint has one of them, so SQLite needs no new table to drop them.
COLUMNS = (
    ("notification_choice", "is_monthly"),
    ("notification_choice", "told_of_month"),
)
# One whose last run failed would be reported for good.
JOBS = ("publish",)


def upgrade() -> None:
    """Change the schema."""
    for table, column in COLUMNS:
        op.drop_column(table, column)
    job = sa.table("background_job", sa.column("name"))
    op.execute(sa.delete(job).where(job.c.name.in_(JOBS)))
