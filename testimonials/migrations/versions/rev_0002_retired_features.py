"""Drop what only features used that are gone."""

import sqlalchemy as sa
from alembic import op

revision: str = "0002"
down_revision: str | None = "0001"

TABLES = ("access_request",)
# No index, trigger or constraint has one of them, so SQLite needs no new table to drop them.
COLUMNS = (
    ("notification_choice", "is_monthly"),
    ("notification_choice", "told_of_month"),
)
# One whose last run failed would be reported for good.
JOBS = ("publish",)


def upgrade() -> None:
    """Change the schema."""
    for table in TABLES:
        op.drop_table(table)
    for table, column in COLUMNS:
        op.drop_column(table, column)
    name = sa.column("name")
    op.execute(sa.delete(sa.table("background_job", name)).where(name.in_(JOBS)))
    # Tokens that agents had asked for and not fetched: nobody has ever had them.
    token_hash = sa.column("token_hash")
    op.execute(sa.delete(sa.table("access_token", token_hash)).where(token_hash.is_(None)))
    # Mail that had left before a `kill -9`; it is removed when it is old, as what was sent.
    state = sa.column("state")
    mail = sa.update(sa.table("outbox_mail", state)).where(state == "unconfirmed")
    op.execute(mail.values(state="sent"))
