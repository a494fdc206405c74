"""Count each visit to the collection pages once, by how far it got.

The earlier counts of opened and begun forms go: they were separate from those of submissions, so a
later step could have a higher count than an earlier one.
"""

import sqlalchemy as sa
from alembic import op

revision: str = "0011"
down_revision: str | None = "0010"

ADD = (
    "INSERT INTO insight_visit (project_id, visit, form, step) VALUES (NEW.project_id, NEW.visit, "
    "coalesce(NEW.form_name, ''), 3) ON CONFLICT (project_id, visit) DO UPDATE SET step = 3;"
)
IS_SENT = "NEW.visit IS NOT NULL AND NEW.status <> 'spam'"
# Spam counts from the moment somebody says that it isn't spam.
TRIGGERS = {
    "count_visit_sent": ("INSERT", IS_SENT),
    "count_visit_released": ("UPDATE OF status", f"{IS_SENT} AND OLD.status = 'spam'"),
}
FUNCTION = f"""
CREATE FUNCTION count_visit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
IF current_setting('testimonials.counting', true) = 'off' THEN RETURN NULL; END IF;
{ADD} RETURN NULL; END $$
"""


def upgrade() -> None:
    op.drop_table("insight_funnel_day")
    _add_tables()
    op.add_column("testimonial", sa.Column("visit", sa.String(40)))
    of_none = sa.text("visit IS NULL AND deleted_at IS NULL AND status NOT IN ('demo', 'spam')")
    of_one = sa.text("visit IS NOT NULL")
    for name, where, columns in (
        ("unvisited", of_none, ["created_at", "source"]),
        ("visited", of_one, ["visit", "status", "deleted_at"]),
    ):
        op.create_index(
            f"ix_testimonial_{name}",
            "testimonial",
            ["project_id", *columns],
            sqlite_where=where,
            postgresql_where=where,
        )
    is_sqlite = op.get_bind().dialect.name == "sqlite"
    if not is_sqlite:
        op.execute(FUNCTION)
    for name, (event, condition) in TRIGGERS.items():
        begin = f"CREATE TRIGGER {name} AFTER {event} ON testimonial FOR EACH ROW WHEN"
        end = f"BEGIN\n  {ADD}\nEND" if is_sqlite else "EXECUTE FUNCTION count_visit()"
        op.execute(f"{begin} ({condition}) {end}")


def _add_tables() -> None:
    op.create_table(
        "insight_visit",
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("visit", sa.String(40), nullable=False),
        sa.Column("form", sa.String(60), nullable=False),
        sa.Column("step", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"],
            ["project.id"],
            name="fk_insight_visit_project_id_project",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("project_id", "visit", name="pk_insight_visit"),
    )
    op.create_index("ix_insight_visit_visit", "insight_visit", ["visit"])
    op.create_table(
        "insight_path_day",
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("day", sa.String(10), nullable=False),
        sa.Column("form", sa.String(60), nullable=False),
        sa.Column("opened", sa.Integer(), nullable=False),
        sa.Column("started", sa.Integer(), nullable=False),
        sa.Column("sent", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"],
            ["project.id"],
            name="fk_insight_path_day_project_id_project",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("project_id", "day", "form", name="pk_insight_path_day"),
    )
    op.create_index("ix_insight_path_day_day", "insight_path_day", ["day"])
