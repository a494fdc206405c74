"""Create the first schema, from a file of SQL for each database.

It is where 21 earlier revisions ended (`core.db.migrate.FORMER_HEAD`).
"""

from pathlib import Path

from alembic import op

from testimonials.core.db.migrate import run_statements

revision: str = "0001"
down_revision: str | None = None


def upgrade() -> None:
    connection = op.get_bind()
    file = Path(__file__).with_name(f"rev_0001_{connection.dialect.name}.sql")
    run_statements(connection, file.read_text(encoding="utf-8"))
