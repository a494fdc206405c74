"""Keep a public record of each project's testimonials, and sign its head.

An entry is stored in a column of its event, and stays as long as the project. The salt of its hash
goes with the testimonial.
"""

import sqlalchemy as sa
from alembic import op

revision: str = "0016"
down_revision: str | None = "0015"

FORGET = 'SET "before" = NULL, actor = NULL, salt = NULL'
IS_THERE = '("before" IS NOT NULL OR salt IS NOT NULL)'
KEEP = (
    "UPDATE event SET account_id = NULL, type = '' WHERE account_id = OLD.id AND "
    '("before" IS NOT NULL OR entry IS NOT NULL) AND project_id IN '
    "(SELECT project.id FROM project WHERE project.account_id <> OLD.id)"
)
# From then on they are ordinary events and expire like them.
END = "UPDATE event SET entry = NULL, salt = NULL WHERE project_id = OLD.id AND entry IS NOT NULL"
ON_SQLITE = (
    "DROP TRIGGER forget_history",
    "CREATE TRIGGER forget_history AFTER DELETE ON testimonial FOR EACH ROW BEGIN "
    f"UPDATE event {FORGET} WHERE testimonial_id = OLD.id AND {IS_THERE}; END",
    "DROP TRIGGER keep_history",
    f"CREATE TRIGGER keep_history BEFORE DELETE ON account FOR EACH ROW BEGIN {KEEP}; END",
    f"CREATE TRIGGER end_record AFTER DELETE ON project FOR EACH ROW BEGIN {END}; END",
)
ON_POSTGRESQL = (
    "CREATE OR REPLACE FUNCTION forget_history() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
    f"UPDATE event {FORGET} FROM removed WHERE event.testimonial_id = removed.id AND {IS_THERE}; "
    "RETURN NULL; END $$",
    "CREATE OR REPLACE FUNCTION keep_history() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
    f"{KEEP}; RETURN OLD; END $$",
    f"CREATE FUNCTION end_record() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {END}; "
    "RETURN NULL; END $$",
    "CREATE TRIGGER end_record AFTER DELETE ON project FOR EACH ROW EXECUTE FUNCTION end_record()",
)


def upgrade() -> None:
    op.create_table(
        "signing_key",
        sa.Column("id", sa.String(16), nullable=False),
        sa.Column("public_key", sa.String(64), nullable=False),
        sa.Column("private_key", sa.String(200), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("retired_at", sa.BigInteger()),
        sa.PrimaryKeyConstraint("id", name="pk_signing_key"),
    )
    op.create_table(
        "record_head",
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("hash", sa.String(64), nullable=False),
        sa.Column("time", sa.BigInteger(), nullable=False),
        sa.Column("key_id", sa.String(16), nullable=False),
        sa.Column("signature", sa.String(128), nullable=False),
        sa.PrimaryKeyConstraint("project_id", name="pk_record_head"),
    )
    op.drop_column("event", "hash")
    op.drop_index("ix_event_no_history", "event")
    _index("ix_event_no_history", '"before" IS NULL AND entry IS NULL', "id")
    _index("ix_event_entry", "entry IS NOT NULL", "project_id", "number")
    _index("ix_event_ended", "before IS NULL AND entry IS NOT NULL AND type <> ''", "id")
    is_sqlite = op.get_bind().dialect.name == "sqlite"
    for statement in ON_SQLITE if is_sqlite else ON_POSTGRESQL:
        op.execute(sa.text(statement))


def _index(name: str, condition: str, *columns: str) -> None:
    where = sa.text(condition)
    op.create_index(name, "event", list(columns), sqlite_where=where, postgresql_where=where)
