"""What was sent, approved and rated, by day; a mail a month; what the inbox filters and counts."""

from itertools import pairwise

import sqlalchemy as sa
from alembic import op

from testimonials.migrations.inbox_0013 import upgrade_filters_and_answers

revision: str = "0013"
down_revision: str | None = "0012"

STARS = tuple(f"stars_{number}" for number in range(1, 6))
KEY = ("project_id", "day")
VALUES = ("sent", "approved", *STARS, "rating_sum")


def upgrade() -> None:
    """Change the schema."""
    _count_days()
    upgrade_filters_and_answers()
    op.add_column(
        "notification_choice",
        sa.Column("is_monthly", sa.Boolean(), nullable=False, server_default=sa.false()),
    )
    # The last month, as YYYY-MM, of which the person was told.
    op.add_column("notification_choice", sa.Column("told_of_month", sa.String(length=7)))


def _count_days() -> None:
    # Each day's counts take less room than every row's place in that index, and less to read.
    op.drop_index("ix_testimonial_over_time", table_name="testimonial")
    op.create_table(
        "day_count",
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("day", sa.Integer(), nullable=False),
        sa.Column("part", sa.BigInteger(), nullable=False),
        *(sa.Column(name, sa.BigInteger(), nullable=False) for name in VALUES),
        sa.PrimaryKeyConstraint(*KEY, "part", name=op.f("pk_day_count")),
    )
    sums = ", ".join(f"sum({value})" for value in _values("it", 1))
    op.execute(
        f"INSERT INTO day_count ({_names()}) SELECT project_id, {_day('it')}, 0, {sums} "
        f"FROM testimonial it WHERE {_counts('it')} GROUP BY 1, 2"
    )
    if op.get_bind().dialect.name == "sqlite":
        _count_on_sqlite()
    else:
        _count_on_postgresql()


# SQLite: a trigger for each row adds to the row of its day.


def _count_on_sqlite() -> None:
    columns = "project_id, submitted_at, source, status, deleted_at, rating"
    added, removed = _add_row("NEW", 1), _add_row("OLD", -1)
    _on_row("count_day_added", "AFTER INSERT ON testimonial", added)
    _on_row("count_day_removed", "AFTER DELETE ON testimonial", removed)
    _on_row("count_day_changed", f"AFTER UPDATE OF {columns} ON testimonial", removed, added)
    _on_row("count_day_project_removed", "AFTER DELETE ON project", FORGET)


def _on_row(name: str, when: str, *statements: str) -> None:
    body = "".join(f"  {each};\n" for each in statements)
    op.execute(f"CREATE TRIGGER {name} {when} FOR EACH ROW BEGIN\n{body}END")


def _add_row(row: str, sign: int) -> str:
    sums = ", ".join(f"{name} = {name} + excluded.{name}" for name in VALUES)
    return (
        f"INSERT INTO day_count ({_names()}) SELECT {row}.project_id, {_day(row)}, 0, "
        f"{', '.join(_values(row, sign))} WHERE {_counts(row)} "
        f"ON CONFLICT ({', '.join(KEY)}, part) DO UPDATE SET {sums}"
    )


# PostgreSQL: a trigger for each statement adds parts, and each 64th puts its project's together,
# as for the counts of revision 0009.


def _count_on_postgresql() -> None:
    # Of its own, so that each 64th part comes round in this table.
    op.execute("CREATE SEQUENCE day_part")
    _make_function("count_days", _count_rows())
    _make_function("forget_days", f"{FORGET}; RETURN NULL;")
    _make_function("put_together_days", _put_together())
    for event, tables in (
        ("INSERT", "NEW TABLE AS added"),
        ("DELETE", "OLD TABLE AS removed"),
        ("UPDATE", "OLD TABLE AS removed NEW TABLE AS added"),
    ):
        op.execute(
            f"CREATE TRIGGER count_days_{event.lower()} AFTER {event} ON testimonial "
            f"REFERENCING {tables} FOR EACH STATEMENT EXECUTE FUNCTION count_days()"
        )
    op.execute(
        "CREATE TRIGGER forget_days AFTER DELETE ON project "
        "FOR EACH ROW EXECUTE FUNCTION forget_days()"
    )
    op.execute(
        "CREATE TRIGGER put_together AFTER INSERT ON day_count FOR EACH ROW "
        "WHEN (NEW.part > 0 AND NEW.part % 64 = 0) EXECUTE FUNCTION put_together_days()"
    )


def _make_function(name: str, body: str) -> None:
    op.execute(
        f"CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {body} END $$"
    )


def _count_rows() -> str:
    def rows(table: str, sign: int) -> str:
        return (
            f"SELECT it.project_id, {_day('it')}, {', '.join(_values('it', sign))} "
            f"FROM {table} it WHERE {_counts('it')}"
        )

    def add(source: str) -> str:
        sums = ", ".join(f"sum({name}) AS {name}" for name in VALUES)
        some = " OR ".join(f"{name} <> 0" for name in VALUES)
        return (
            f"INSERT INTO day_count ({_names()}) "
            f"SELECT project_id, day, nextval('day_part'), {', '.join(VALUES)} FROM ("
            f"SELECT project_id, day, {sums} FROM ({source}) "
            f"AS them (project_id, day, {', '.join(VALUES)}) GROUP BY project_id, day) AS sums "
            # What a foreign key deletes with its project comes after that was forgotten.
            f"WHERE ({some}) AND EXISTS (SELECT 1 FROM project WHERE project.id = project_id);"
        )

    after, before = rows("added", 1), rows("removed", -1)
    return (
        "IF current_setting('testimonials.counting', true) = 'off' THEN RETURN NULL; END IF; "
        f"IF TG_OP = 'INSERT' THEN {add(after)} ELSIF TG_OP = 'DELETE' THEN {add(before)} "
        f"ELSE {add(f'{after} UNION ALL {before}')} END IF; RETURN NULL;"
    )


def _put_together() -> str:
    sums = ", ".join(f"sum({name}) AS {name}" for name in VALUES)
    some = " OR ".join(f"sum({name}) <> 0" for name in VALUES)
    return (
        "IF pg_try_advisory_xact_lock(7263540, hashtext('day_count' || NEW.project_id)) THEN "
        # Days of one part stay as they are: each row that is written again is room lost.
        "WITH gone AS (DELETE FROM day_count WHERE project_id = NEW.project_id AND day IN ("
        "SELECT day FROM day_count WHERE project_id = NEW.project_id GROUP BY day "
        "HAVING count(*) > 1) RETURNING *), "
        f"summed AS (SELECT project_id, day, {sums} FROM gone GROUP BY project_id, day "
        f"HAVING {some}) INSERT INTO day_count ({_names()}) "
        f"SELECT project_id, day, -nextval('day_part'), {', '.join(VALUES)} FROM summed; "
        "END IF; RETURN NULL;"
    )


# What both have in common.

FORGET = "DELETE FROM day_count WHERE project_id = OLD.id"


def _names() -> str:
    return ", ".join((*KEY, "part", *VALUES))


def _day(row: str) -> str:
    return f"CAST({row}.submitted_at / 86400000 AS INTEGER)"


def _counts(row: str) -> str:
    """Return whether any of the counts has this row."""
    return f"({row}.source = 'public_page' OR ({_is_rated(row)}))"


def _is_shown(row: str) -> str:
    return f"{row}.status = 'approved' AND {row}.deleted_at IS NULL"


def _is_rated(row: str) -> str:
    return f"{_is_shown(row)} AND {row}.source <> 'demo' AND {row}.rating IS NOT NULL"


def _values(row: str, sign: int) -> list[str]:
    is_sent = f"{row}.source = 'public_page'"
    # Halves of a star are rounded up, as people do.
    bounds = ("", "1.5", "2.5", "3.5", "4.5", "")
    stars = [
        " AND ".join(
            [
                _is_rated(row),
                *([f"{row}.rating >= {low}"] if low else []),
                *([f"{row}.rating < {high}"] if high else []),
            ]
        )
        for low, high in pairwise(bounds)
    ]
    ones = [f"{is_sent} AND {row}.status <> 'spam'", f"{is_sent} AND {_is_shown(row)}", *stars]
    # In billionths, so that the sum is exact.
    rating = f"CAST(round({row}.rating * 1000000000) AS BIGINT)"
    return [
        *(f"CASE WHEN {each} THEN {sign} ELSE 0 END" for each in ones),
        f"CASE WHEN {_is_rated(row)} THEN {sign} * {rating} ELSE 0 END",
    ]
