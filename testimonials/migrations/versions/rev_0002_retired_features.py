"""Drop what only features used that are gone."""

from alembic import op

revision: str = "0002"
down_revision: str | None = "0001"

TABLES = ("access_request",)
# No index, trigger or constraint has one of them, so SQLite needs no new table to drop them.
COLUMNS = (
    ("notification_choice", "is_monthly"),
    ("notification_choice", "told_of_month"),
)
ROWS = (
    # A job whose last run failed would be reported for good.
    "DELETE FROM background_job WHERE name IN ('publish')",
    # Tokens that agents had asked for and not fetched: nobody has ever had them.
    "DELETE FROM access_token WHERE token_hash IS NULL",
    # Mail that had left before a `kill -9`; it is removed when it is old, as what was sent.
    "UPDATE outbox_mail SET state = 'sent' WHERE state = 'unconfirmed'",
)


def upgrade() -> None:
    """Change the schema."""
    for table in TABLES:
        op.drop_table(table)
    for table, column in COLUMNS:
        op.drop_column(table, column)
    for statement in ROWS:
        op.execute(statement)
