"""Number the parts of each count from a sequence of its own, on PostgreSQL.

A project's parts are merged at every 64th number. With a shared sequence, a table could go without
one for a long time, because other tables had drawn those numbers.
"""

from alembic import op
from sqlalchemy import text

revision: str = "0003"
down_revision: str | None = "0002"

FUNCTIONS = {
    "answer_part": ("count_answers", "count_changed_answers", "put_together_answer_count"),
    "testimonial_part": ("count_testimonials", "put_together_testimonial_count"),
}


def upgrade() -> None:
    """Change the functions, except those that count tags: they keep the shared sequence."""
    connection = op.get_bind()
    if connection.dialect.name == "sqlite":
        return
    for sequence, functions in FUNCTIONS.items():
        op.execute(f"CREATE SEQUENCE {sequence}")
        # Start above every number in use.
        op.execute(f"SELECT setval('{sequence}', nextval('count_part'))")
        for name in functions:
            source = connection.scalar(text(f"SELECT pg_get_functiondef('{name}'::regproc)"))
            changed = source.replace("nextval('count_part')", f"nextval('{sequence}')")
            connection.exec_driver_sql(changed, execution_options={"no_parameters": True})
