"""Run imports as jobs, instead of with leases of their own."""

from alembic import op

revision: str = "0008"
down_revision: str | None = "0007"

RUNNING = (
    "INSERT INTO job (id, kind, payload, attempts, run_at) SELECT id, 'import', '{}', 0, "
    "COALESCE(leased_until, 0) FROM table_import WHERE state = 'running'"
)


def upgrade() -> None:
    op.execute(RUNNING)
    op.drop_column("table_import", "leased_until")
