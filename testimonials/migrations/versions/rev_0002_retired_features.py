"""Drop what only features used that are gone."""

from alembic import op

revision: str = "0002"
down_revision: str | None = "0001"

TABLES = ("access_request", "former_address")
# No index, trigger or constraint has one of them, so SQLite needs no new table to drop them.
COLUMNS = (
    ("notification_choice", "is_monthly"),
    ("notification_choice", "told_of_month"),
)
ROWS = (
    # A job whose last run failed would be reported for good.
    "DELETE FROM background_job WHERE name IN ('publish', 'backup-rehearsal')",
    # There are no words for these in the record of what happened.
    "DELETE FROM event WHERE type IN ('access.declined', 'access.requested', 'address.restored', "
    "'backup.asked', 'backup.dropped', 'backup.tried')",
    # The id of an operator who used a page; what has words now are the names of commands.
    "UPDATE event SET actor_name = 'on a page' WHERE actor_kind = 'operator' "
    "AND length(actor_name) = 24 AND actor_name NOT LIKE '% %'",
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
