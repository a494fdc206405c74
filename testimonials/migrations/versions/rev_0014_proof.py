"""Count every genuine rating that was received, and keep why one was set aside.

Only approved ones counted before. Where that changes a project's numbers, the old ones stay until
its team has seen the change, for at most 60 days.
"""

import json
import re
import time

import sqlalchemy as sa
from alembic import op

revision: str = "0014"
down_revision: str | None = "0013"

STANDING = (
    "CASE WHEN status = 'demo' OR source = 'demo' THEN 'sample' "
    "WHEN set_aside IS NOT NULL THEN set_aside "
    "WHEN status = 'withdrawn' THEN 'withdrawn' WHEN status = 'spam' THEN 'held' "
    "WHEN deleted_at IS NOT NULL AND source <> 'public_page' THEN 'removed' "
    "WHEN status = 'pending' AND deleted_at IS NULL AND NOT is_overdue THEN 'waiting' "
    "ELSE 'genuine' END"
)
COUNTED = "{0}.status = 'approved' AND {0}.deleted_at IS NULL AND {0}.source <> 'demo'"
# Halves are rounded up.
STARS = (
    "rating < 1.5",
    *(f"rating >= {star - 0.5} AND rating < {star + 0.5}" for star in (2, 3, 4)),
    "rating >= 4.5",
)
SUMS = ", ".join(f"coalesce(sum({name}), 0)" for name in (
    "rating_sum", "stars_1", "stars_2", "stars_3", "stars_4", "stars_5"
))  # fmt: skip
KEEP = (
    "INSERT INTO kept_rating (project_id, day, rating, number) VALUES (OLD.project_id, "
    "CAST({day} AS INTEGER), OLD.rating, 1) ON CONFLICT (project_id, day, rating) "
    "DO UPDATE SET number = kept_rating.number + 1;"
)
IS_KEPT = "OLD.standing = 'genuine' AND OLD.source = 'public_page' AND OLD.rating IS NOT NULL"
FORGET = "DELETE FROM kept_rating WHERE project_id = OLD.id;"
WAIT_MS = 60 * 24 * 60 * 60 * 1000


def upgrade() -> None:
    connection = op.get_bind()
    is_sqlite = connection.dialect.name == "sqlite"
    old = _sum_up(connection)
    _add_columns(is_sqlite)
    op.execute(
        "UPDATE testimonial SET set_aside = 'spam' WHERE status = 'spam' AND "
        "coalesce(held_for, 'owner') IN ('owner', 'disowned', 'owner,disowned', 'disowned,owner')"
    )
    _change_triggers(connection, is_sqlite)
    _count_again(is_sqlite)
    new = _sum_up(connection)
    keep = sa.text("UPDATE project SET old_numbers = :old, numbers_from = :until WHERE id = :id")
    until = int(time.time() * 1000) + WAIT_MS
    for project_id, sums in old.items():
        if sums != new.get(project_id, sums) and any(sums[1:]):
            kept = json.dumps({"total": sums[0], "stars": sums[1:]})
            connection.execute(keep, {"old": kept, "until": until, "id": project_id})


def _sum_up(connection: sa.Connection) -> dict[str, list[int]]:
    query = f"SELECT project_id, {SUMS} FROM day_count GROUP BY project_id"  # noqa: S608 - our own names
    rows = connection.execute(sa.text(query))
    return {project_id: [int(each) for each in sums] for project_id, *sums in rows}


def _add_columns(is_sqlite: bool) -> None:
    for name, kind in {"is_overdue": sa.Boolean(), "is_insider": sa.Boolean()}.items():
        column: sa.Column[bool] = sa.Column(name, kind, nullable=False, server_default=sa.false())
        op.add_column("testimonial", column)
    op.add_column("testimonial", sa.Column("set_aside", sa.String(20)))
    op.add_column("testimonial", sa.Column("translated_from", sa.String(35)))
    stored = "VIRTUAL" if is_sqlite else "STORED"
    op.execute(
        f"ALTER TABLE testimonial ADD COLUMN standing VARCHAR(20) GENERATED ALWAYS AS ({STANDING}) "
        f"{stored}"
    )
    op.add_column("project", sa.Column("old_numbers", sa.JSON()))
    op.add_column("project", sa.Column("numbers_from", sa.BigInteger()))
    op.add_column("event", sa.Column("entry", sa.Text()))
    op.add_column("event", sa.Column("salt", sa.String(32)))
    op.create_table(
        "kept_rating",
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("day", sa.Integer(), nullable=False),
        sa.Column("rating", sa.Double(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("project_id", "day", "rating", name="pk_kept_rating"),
    )
    _add_count()


def _add_count() -> None:
    op.drop_table("testimonial_count")
    op.create_table(
        "testimonial_count",
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("is_deleted", sa.Boolean(), nullable=False),
        sa.Column("kind", sa.String(10), nullable=False),
        sa.Column("source", sa.String(), nullable=False),
        sa.Column("form_name", sa.String(60), nullable=False),
        sa.Column("halves", sa.Integer(), nullable=False),
        sa.Column("has_photo", sa.Boolean(), nullable=False),
        sa.Column("standing", sa.String(20), nullable=False),
        sa.Column("part", sa.BigInteger(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("rating_sum", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint(
            "project_id", "status", "is_deleted", "kind", "source", "form_name", "halves",
            "has_photo", "standing", "part", name="pk_testimonial_count",
        ),
    )  # fmt: skip


def _change_triggers(connection: sa.Connection, is_sqlite: bool) -> None:
    if is_sqlite:
        query = "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"
        for name, source in connection.execute(sa.text(query)).all():
            if (changed := _change(source)) != source:
                op.execute(f"DROP TRIGGER {name}")
                connection.exec_driver_sql(changed)
        day = KEEP.format(day="OLD.submitted_at / 86400000")
        op.execute(
            "CREATE TRIGGER keep_rating AFTER DELETE ON testimonial FOR EACH ROW "
            f"WHEN {IS_KEPT} BEGIN\n  {day}\nEND"
        )
        op.execute(
            "CREATE TRIGGER forget_kept AFTER DELETE ON project FOR EACH ROW "
            f"BEGIN\n  {FORGET}\nEND"
        )
        return
    connection.execute(sa.text(PUT_TOGETHER))
    for name in ("count_days", "count_testimonials", "put_together_testimonial_count"):
        source = connection.scalar(sa.text(f"SELECT pg_get_functiondef('{name}'::regproc)"))
        options = {"no_parameters": True}
        connection.exec_driver_sql(_change(source), execution_options=options)
    day = KEEP.format(day="OLD.submitted_at / 86400000")
    is_there = "EXISTS (SELECT 1 FROM project WHERE project.id = OLD.project_id)"
    for name, does in {
        "keep_rating": f"IF {is_there} THEN {day} END IF;",
        "forget_kept": FORGET,
    }.items():
        body = f"$$ BEGIN {does} RETURN NULL; END $$"
        op.execute(f"CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS {body}")
    op.execute(
        "CREATE TRIGGER keep_rating AFTER DELETE ON testimonial FOR EACH ROW "
        f"WHEN ({IS_KEPT}) EXECUTE FUNCTION keep_rating()"
    )
    op.execute(
        "CREATE TRIGGER forget_kept AFTER DELETE ON project FOR EACH ROW "
        "EXECUTE FUNCTION forget_kept()"
    )


# It was dropped along with its table.
PUT_TOGETHER = (
    "CREATE TRIGGER put_together AFTER INSERT ON testimonial_count FOR EACH ROW WHEN "
    "(NEW.part > 0 AND NEW.part % 64 = 0) EXECUTE FUNCTION put_together_testimonial_count()"
)


def _change(source: str) -> str:
    """Return SQL that also counts by standing, and counts genuine ratings rather than approved."""
    for row in ("NEW", "OLD", "it"):
        source = source.replace(COUNTED.format(row), f"{row}.standing = 'genuine'")
        source = re.sub(
            rf"(\({row}\.twitter|\(json_extract\({row}\.twitter)([^()]*\)+) IS NOT NULL,",
            rf"\1\2 IS NOT NULL, {row}.standing,",
            source,
        )
    source = re.sub(r"has_photo(?=[,) ])", "has_photo, standing", source)
    source = source.replace(
        "avatar_id, author_avatar, twitter ON testimonial",
        "avatar_id, author_avatar, twitter, set_aside, is_overdue ON testimonial",
    )
    return source.replace(
        "status, deleted_at, rating ON testimonial",
        "status, deleted_at, rating, set_aside, is_overdue ON testimonial",
    )


def _count_again(is_sqlite: bool) -> None:
    number = "CAST(round(coalesce(rating, 0) * 1000000000) AS BIGINT)"
    halves = "CAST(coalesce(rating, 0) * 2 AS INTEGER)"
    url = "json_extract(twitter, '$.avatarUrl')" if is_sqlite else "twitter ->> 'avatarUrl'"
    if not is_sqlite:
        halves = "CAST(floor(coalesce(rating, 0) * 2) AS INTEGER)"
    photo = f"avatar_id IS NOT NULL OR author_avatar IS NOT NULL OR ({url}) IS NOT NULL"
    key = "project_id, status, deleted_at IS NOT NULL, kind, source, coalesce(form_name, '')"
    counted = f"{key}, {halves}, {photo}, standing, 0, count(*), sum({number})"
    by = "GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9"
    op.execute(f"INSERT INTO testimonial_count SELECT {counted} FROM testimonial {by}")  # noqa: S608 - our own names
    op.execute("DELETE FROM day_count")
    rated = "standing = 'genuine' AND rating IS NOT NULL"
    sent = "source = 'public_page'"
    conditions = [
        f"{sent} AND status <> 'spam'",
        f"{sent} AND status = 'approved' AND deleted_at IS NULL",
        *(f"{rated} AND {each}" for each in STARS),
    ]
    sums = ", ".join(f"sum(CASE WHEN {each} THEN 1 ELSE 0 END)" for each in conditions)
    total = f"sum(CASE WHEN {rated} THEN {number} ELSE 0 END)"
    counted = f"project_id, CAST(submitted_at / 86400000 AS INTEGER), 0, {sums}, {total}"
    some = f"{sent} OR ({rated}) GROUP BY 1, 2"
    op.execute(f"INSERT INTO day_count SELECT {counted} FROM testimonial WHERE {some}")  # noqa: S608 - our own names
