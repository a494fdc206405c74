"""Drop what only retired features used."""

from alembic import op

revision: str = "0002"
down_revision: str | None = "0001"

TABLES = ("access_request", "former_address")
# No index, trigger or constraint uses these, so SQLite can drop them without rebuilding a table.
COLUMNS = (
    ("notification_choice", "is_monthly"),
    ("notification_choice", "told_of_month"),
)
ROWS = (
    # A job whose last run failed would be reported forever.
    "DELETE FROM background_job WHERE name IN ('publish', 'backup-rehearsal')",
    # The event list no longer has words for these.
    "DELETE FROM event WHERE type IN ('access.declined', 'access.requested', 'address.restored', "
    "'backup.asked', 'backup.dropped', 'backup.tried')",
    # These have the id of an operator who used a page; only the names of commands have words now.
    "UPDATE event SET actor_name = 'on a page' WHERE actor_kind = 'operator' "
    "AND length(actor_name) = 24 AND actor_name NOT LIKE '% %'",
    # Agents requested these tokens and never fetched them, so nobody has them.
    "DELETE FROM access_token WHERE token_hash IS NULL",
    # Emails that may have been sent just before a `kill -9`. Marked as sent, they are removed once
    # they are old.
    "UPDATE outbox_mail SET state = 'sent' WHERE state = 'unconfirmed'",
)


def upgrade() -> None:
    for table in TABLES:
        op.drop_table(table)
    for table, column in COLUMNS:
        op.drop_column(table, column)
    for statement in ROWS:
        op.execute(statement)
