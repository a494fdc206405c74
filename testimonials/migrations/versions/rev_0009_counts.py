"""Counts of testimonials, kept by triggers of the database."""

import sqlalchemy as sa
from alembic import op

revision: str = "0009"
down_revision: str | None = "0008"

COUNT = ("project_id", "status", "is_deleted", "kind", "source", "form_name", "halves", "has_photo")
TAG = ("project_id", "name")
COUNTED = ("number", "rating_sum")
TAGGED = ("number", "kept", "visible")


def upgrade() -> None:
    """Change the schema."""
    op.create_table(
        "testimonial_count",
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("is_deleted", sa.Boolean(), nullable=False),
        sa.Column("kind", sa.String(length=10), nullable=False),
        sa.Column("source", sa.String(), nullable=False),
        sa.Column("form_name", sa.String(length=60), nullable=False),
        sa.Column("halves", sa.Integer(), nullable=False),
        sa.Column("has_photo", sa.Boolean(), nullable=False),
        sa.Column("part", sa.BigInteger(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("rating_sum", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint(*COUNT, "part", name=op.f("pk_testimonial_count")),
    )
    op.create_table(
        "tag_count",
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("name", sa.String(length=40), nullable=False),
        sa.Column("part", sa.BigInteger(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("kept", sa.BigInteger(), nullable=False),
        sa.Column("visible", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint(*TAG, "part", name=op.f("pk_tag_count")),
    )
    op.execute(_fill_counts())
    op.execute(_fill_tags())
    if _is_sqlite():
        _count_on_sqlite()
    else:
        _count_on_postgresql()


# SQLite: a trigger for each row adds to one row of the counts.


def _count_on_sqlite() -> None:
    added, removed = _add_row("NEW", 1), _add_row("OLD", -1)
    columns = "project_id, status, deleted_at, kind, source, form_name, rating, avatar_id"
    _on_row("count_added", "AFTER INSERT ON testimonial", added)
    _on_row("count_removed", "AFTER DELETE ON testimonial", removed)
    _on_row(
        "count_changed",
        f"AFTER UPDATE OF {columns}, author_avatar, twitter ON testimonial",
        removed,
        added,
    )
    of_tag = (
        "SELECT {0}.project_id, {0}.name, 0, {1} FROM testimonial it "
        "WHERE it.id = {0}.testimonial_id"
    )
    tag_added = _add_tags(of_tag.format("NEW", _tag_values("it", 1)))
    tag_removed = _add_tags(of_tag.format("OLD", _tag_values("it", -1)))
    _on_row("count_tag_added", "AFTER INSERT ON testimonial_tag", tag_added)
    _on_row("count_tag_removed", "AFTER DELETE ON testimonial_tag", tag_removed)
    _on_row("count_tag_changed", "AFTER UPDATE ON testimonial_tag", tag_removed, tag_added)
    # Before, because the tags go with the row, and then nothing says what it was.
    of_row = (
        "SELECT tag.project_id, tag.name, 0, {1} FROM testimonial_tag tag "
        "WHERE tag.testimonial_id = {0}.id"
    )
    rows_added = _add_tags(of_row.format("NEW", _tag_values("NEW", 1)))
    rows_removed = _add_tags(of_row.format("OLD", _tag_values("OLD", -1)))
    _on_row("count_tags_removed", "BEFORE DELETE ON testimonial", rows_removed)
    _on_row(
        "count_tags_changed",
        "AFTER UPDATE OF status, deleted_at ON testimonial",
        rows_removed,
        rows_added,
    )
    _on_row("count_project_removed", "AFTER DELETE ON project", *_forget())


def _on_row(name: str, when: str, *statements: str) -> None:
    body = "".join(f"  {each};\n" for each in statements)
    op.execute(f"CREATE TRIGGER {name} {when} FOR EACH ROW BEGIN\n{body}END")


def _add_row(row: str, sign: int) -> str:
    return (
        f"INSERT INTO testimonial_count ({', '.join(COUNT)}, part, number, rating_sum) "
        f"VALUES ({_key(row)}, 0, {sign}, {sign} * {_rating(row)}) " + _or_add(COUNT, COUNTED)
    )


def _add_tags(query: str) -> str:
    columns = ", ".join((*TAG, "part", *TAGGED))
    return f"INSERT INTO tag_count ({columns}) {query} " + _or_add(TAG, TAGGED)


def _or_add(key: tuple[str, ...], values: tuple[str, ...]) -> str:
    sums = ", ".join(f"{name} = {name} + excluded.{name}" for name in values)
    return f"ON CONFLICT ({', '.join(key)}, part) DO UPDATE SET {sums}"


# PostgreSQL: a trigger for each statement adds rows ("parts"), which wait for no other transaction
# and make a statement of many rows no slower. Each 64th puts its project's together.


def _count_on_postgresql() -> None:
    op.execute("CREATE SEQUENCE count_part")
    _make_function("count_testimonials", _count_testimonials())
    _make_function("count_tags", _count_tags())
    _make_function("count_tags_of_removed", _count_tags_of_removed())
    _make_function("forget_counts", "; ".join(_forget()) + "; RETURN NULL;")
    for table, function in (("testimonial", "testimonials"), ("testimonial_tag", "tags")):
        for event, tables in (
            ("INSERT", "NEW TABLE AS added"),
            ("DELETE", "OLD TABLE AS removed"),
            ("UPDATE", "OLD TABLE AS removed NEW TABLE AS added"),
        ):
            op.execute(
                f"CREATE TRIGGER count_{event.lower()} AFTER {event} ON {table} "
                f"REFERENCING {tables} FOR EACH STATEMENT EXECUTE FUNCTION count_{function}()"
            )
    op.execute(
        "CREATE TRIGGER count_tags_of_removed BEFORE DELETE ON testimonial "
        "FOR EACH ROW EXECUTE FUNCTION count_tags_of_removed()"
    )
    op.execute(
        "CREATE TRIGGER forget_counts AFTER DELETE ON project "
        "FOR EACH ROW EXECUTE FUNCTION forget_counts()"
    )
    _put_together("testimonial_count", COUNT, COUNTED)
    _put_together("tag_count", TAG, TAGGED)


def _count_testimonials() -> str:
    def rows(table: str, sign: int) -> str:
        return (
            f"SELECT {_key('it')}, {sign}, {sign} * {_rating('it')}, it.id, "
            f"{_tag_values('it', sign)} FROM {table} it"
        )

    after, before = rows("added", 1), rows("removed", -1)
    names = ", ".join((*COUNT, *COUNTED, "id", "it", "kept", "visible"))
    keys = ", ".join(COUNT)

    def add(source: str) -> str:
        return (
            f"INSERT INTO testimonial_count ({keys}, part, number, rating_sum) "
            f"SELECT {keys}, nextval('count_part'), n, r FROM ("
            f"SELECT {keys}, sum(number) AS n, sum(rating_sum) AS r "
            f"FROM ({source}) AS them ({names}) GROUP BY {keys}) AS sums "
            f"WHERE (n <> 0 OR r <> 0) AND {_IS_HERE};"
        )

    both = f"{after} UNION ALL {before}"
    tags = (
        "INSERT INTO tag_count (project_id, name, part, number, kept, visible) "
        "SELECT project_id, name, nextval('count_part'), 0, k, v FROM ("
        "SELECT tag.project_id, tag.name, sum(k) AS k, sum(v) AS v FROM ("
        f"SELECT id, sum(kept) AS k, sum(visible) AS v FROM ({both}) AS them ({names}) GROUP BY id"
        ") AS changed JOIN testimonial_tag tag ON tag.testimonial_id = changed.id "
        "WHERE k <> 0 OR v <> 0 GROUP BY tag.project_id, tag.name) AS sums WHERE k <> 0 OR v <> 0;"
    )
    return (
        f"{_OFF} IF TG_OP = 'INSERT' THEN {add(after)} ELSIF TG_OP = 'DELETE' THEN {add(before)} "
        f"ELSE {add(both)} {tags} END IF; RETURN NULL;"
    )


def _count_tags() -> str:
    def rows(table: str, sign: int) -> str:
        return (
            f"SELECT tag.project_id, tag.name, {_tag_values('it', sign)} FROM {table} tag "
            "JOIN testimonial it ON it.id = tag.testimonial_id"
        )

    def add(source: str) -> str:
        return (
            "INSERT INTO tag_count (project_id, name, part, number, kept, visible) "
            "SELECT project_id, name, nextval('count_part'), n, k, v FROM ("
            "SELECT project_id, name, sum(number) AS n, sum(kept) AS k, sum(visible) AS v "
            f"FROM ({source}) AS them (project_id, name, number, kept, visible) "
            "GROUP BY project_id, name) AS sums WHERE n <> 0 OR k <> 0 OR v <> 0;"
        )

    after, before = rows("added", 1), rows("removed", -1)
    return (
        f"{_OFF} IF TG_OP = 'INSERT' THEN {add(after)} ELSIF TG_OP = 'DELETE' THEN {add(before)} "
        f"ELSE {add(f'{after} UNION ALL {before}')} END IF; RETURN NULL;"
    )


def _count_tags_of_removed() -> str:
    return (
        f"{_OFF.replace('NULL', 'OLD')} "
        "INSERT INTO tag_count (project_id, name, part, number, kept, visible) "
        f"SELECT tag.project_id, tag.name, nextval('count_part'), {_tag_values('OLD', -1)} "
        f"FROM testimonial_tag tag WHERE tag.testimonial_id = OLD.id AND {_IS_HERE}; RETURN OLD;"
    )


def _make_function(name: str, body: str) -> None:
    op.execute(
        f"CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {body} END $$"
    )


def _put_together(table: str, key: tuple[str, ...], values: tuple[str, ...]) -> None:
    keys, columns = ", ".join(key), ", ".join(values)
    sums = ", ".join(f"sum({name}) AS {name}" for name in values)
    some = " OR ".join(f"sum({name}) <> 0" for name in values)
    _make_function(
        f"put_together_{table}",
        f"IF pg_try_advisory_xact_lock(7263540, hashtext('{table}' || NEW.project_id)) THEN "
        f"WITH gone AS (DELETE FROM {table} WHERE project_id = NEW.project_id RETURNING *), "
        f"summed AS (SELECT {keys}, {sums} FROM gone GROUP BY {keys} HAVING {some}) "
        f"INSERT INTO {table} ({keys}, part, {columns}) "
        f"SELECT {keys}, -nextval('count_part'), {columns} FROM summed; "
        "END IF; RETURN NULL;",
    )
    op.execute(
        f"CREATE TRIGGER put_together AFTER INSERT ON {table} FOR EACH ROW "
        f"WHEN (NEW.part > 0 AND NEW.part % 64 = 0) EXECUTE FUNCTION put_together_{table}()"
    )


# What both have in common.


def _is_sqlite() -> bool:
    return op.get_bind().dialect.name == "sqlite"


def _key(row: str) -> str:
    halves = f"coalesce({row}.rating, 0) * 2"
    photo = f"json_extract({row}.twitter, '$.avatarUrl')"
    if not _is_sqlite():
        # Casting rounds there, and cuts off in SQLite.
        halves, photo = f"floor({halves})", f"{row}.twitter ->> 'avatarUrl'"
    return (
        f"{row}.project_id, {row}.status, {row}.deleted_at IS NOT NULL, {row}.kind, {row}.source, "
        f"coalesce({row}.form_name, ''), CAST({halves} AS INTEGER), "
        f"{row}.avatar_id IS NOT NULL OR {row}.author_avatar IS NOT NULL OR ({photo}) IS NOT NULL"
    )


def _rating(row: str) -> str:
    """Return a rating in billionths, so that sums are exact."""
    return f"CAST(round(coalesce({row}.rating, 0) * 1000000000) AS BIGINT)"


def _tag_values(row: str, sign: int) -> str:
    kept = f"{row}.deleted_at IS NULL"
    visible = f"{kept} AND {row}.status IN ('approved', 'demo')"
    one = "CASE WHEN {} THEN {} ELSE 0 END"
    return f"{sign}, {one.format(kept, sign)}, {one.format(visible, sign)}"


def _fill_counts() -> str:
    numbers = ", ".join(str(number) for number in range(1, len(COUNT) + 1))
    return (
        f"INSERT INTO testimonial_count ({', '.join(COUNT)}, part, number, rating_sum) "
        f"SELECT {_key('it')}, 0, count(*), sum({_rating('it')}) "
        f"FROM testimonial it GROUP BY {numbers}"
    )


def _fill_tags() -> str:
    return (
        f"INSERT INTO tag_count ({', '.join(TAG)}, part, {', '.join(TAGGED)}) "
        "SELECT tag.project_id, tag.name, 0, count(*), "
        "sum(CASE WHEN it.deleted_at IS NULL THEN 1 ELSE 0 END), "
        "sum(CASE WHEN it.deleted_at IS NULL AND it.status IN ('approved', 'demo') "
        "THEN 1 ELSE 0 END) "
        "FROM testimonial_tag tag JOIN testimonial it ON it.id = tag.testimonial_id "
        "GROUP BY tag.project_id, tag.name"
    )


def _forget() -> tuple[str, str]:
    return (
        "DELETE FROM testimonial_count WHERE project_id = OLD.id",
        "DELETE FROM tag_count WHERE project_id = OLD.id",
    )


# What a foreign key deletes with its project is counted after that has forgotten its counts.
_IS_HERE = "EXISTS (SELECT 1 FROM project WHERE project.id = project_id)"
_OFF = "IF current_setting('testimonials.counting', true) = 'off' THEN RETURN NULL; END IF;"
