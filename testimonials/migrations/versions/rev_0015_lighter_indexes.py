"""Leave rows without a value out of indexes, and drop the longer prefix indexes of words.

A testimonial added through the API is then in half as many indexes. Prefixes of three or more
letters are found as quickly without indexes of their own.
"""

import sqlalchemy as sa
from alembic import op

revision: str = "0015"
down_revision: str | None = "0014"

# Unique ones begin with uq. Rows in which the first column after the project is null are left out.
INDEXES = {
    "ix_testimonial_avatar_id": ["avatar_id"],
    "ix_testimonial_import_id": ["import_id"],
    "ix_testimonial_words": ["text_fingerprint", "project_id", "created_at"],
    "uq_testimonial_project_id_import_key": ["project_id", "import_key"],
    "uq_testimonial_project_id_external_id": ["project_id", "external_id"],
    "uq_testimonial_project_id_purchase_reference": ["project_id", "purchase_reference"],
}


def upgrade() -> None:
    for name, columns in INDEXES.items():
        where = sa.text(f"{columns[name.startswith('uq')]} IS NOT NULL")
        op.drop_index(name, "testimonial")
        op.create_index(
            name,
            "testimonial",
            columns,
            unique=name.startswith("uq"),
            sqlite_where=where,
            postgresql_where=where,
        )
    where = sa.text("status = 'pending' AND deleted_at IS NULL AND NOT is_overdue")
    op.create_index(
        "ix_testimonial_waiting",
        "testimonial",
        ["created_at"],
        sqlite_where=where,
        postgresql_where=where,
    )
    if op.get_bind().dialect.name == "sqlite":
        _make_words_again(op.get_bind())


def _make_words_again(connection: sa.Connection) -> None:
    find = "SELECT sql FROM sqlite_master WHERE name = :name"
    made, added = (
        str(connection.scalar(sa.text(find), {"name": name}))
        for name in ("testimonial_search", "search_added")
    )
    connection.exec_driver_sql("DROP TABLE testimonial_search")
    connection.exec_driver_sql(made.replace("prefix='2 3 4'", "prefix='2'"))
    # Write for all rows what the trigger writes for a new one.
    words = added[added.index("(SELECT CASE") : added.rindex(" FROM testimonial_search_row")]
    rows = "testimonial_search_row JOIN testimonial it ON it.id = testimonial_id"
    filled = f"SELECT number, it.project_id, {words.replace('NEW.', 'it.')} FROM {rows}"  # noqa: S608 - our own names
    connection.exec_driver_sql(f"INSERT INTO testimonial_search (rowid, project, words) {filled}")
