"""Add new testimonials to SQLite's word index later, many at once, and drop an index.

Updating the word index was most of what adding a testimonial wrote. Putting spaces around letters
now takes linear rather than quadratic time. Recent changes are found by their ids as well, without
the index that is dropped.
"""

import re

import sqlalchemy as sa
from alembic import op

revision: str = "0019"
down_revision: str | None = "0018"

LETTERS = re.compile(r"WITH RECURSIVE letter .* GLOB '(\[[^']*\])' .* LIMIT 1(?=\))")
IN_PARTS = (
    "WITH RECURSIVE part (it, rest) AS (SELECT substr(whole, 1, 50), substr(whole, 51) UNION ALL "
    "SELECT substr(rest, 1, 50), substr(rest, 51) FROM part WHERE rest <> ''), "
    "place (at) AS (SELECT 1 UNION ALL SELECT at + 1 FROM place WHERE at < 50) "
    r"SELECT group_concat(CASE WHEN substr(it, at, 1) GLOB '\1' "
    "THEN ' ' || substr(it, at, 1) || ' ' ELSE substr(it, at, 1) END, '') "
    "FROM part CROSS JOIN place"
)
IS_INDEXED = " AND number <= (SELECT max(id) FROM testimonial_search_docsize);"


def upgrade() -> None:
    op.drop_index("ix_event_history", "event")
    connection = op.get_bind()
    if connection.dialect.name != "sqlite":
        return
    for name in ("search_added", "search_removed", "search_changed"):
        find = sa.text("SELECT sql FROM sqlite_master WHERE name = :name")
        lines = []
        for line in str(connection.scalar(find, {"name": name})).split("\n"):
            if not line.lstrip().startswith("INSERT INTO testimonial_search "):
                lines.append(line)
            elif name != "search_added":
                lines.append(LETTERS.sub(IN_PARTS, line).removesuffix(";") + IS_INDEXED)
        connection.exec_driver_sql(f"DROP TRIGGER {name}")
        connection.exec_driver_sql("\n".join(lines))
