"""Index what was taken out of the numbers, and changes with a reason."""

import sqlalchemy as sa
from alembic import op

revision: str = "0018"
down_revision: str | None = "0017"

INDEXES = (
    (
        "ix_testimonial_taken_out",
        "testimonial",
        ["project_id", "created_at", "id"],
        "set_aside IS NOT NULL OR status = 'withdrawn'",
    ),
    ("ix_event_reason", "event", ["project_id", "testimonial_id"], "reason IS NOT NULL"),
)


def upgrade() -> None:
    for name, table, columns, condition in INDEXES:
        where = sa.text(condition)
        op.create_index(name, table, columns, sqlite_where=where, postgresql_where=where)
