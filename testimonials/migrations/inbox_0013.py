"""Of revision 0013: indexes that hold what the inbox filters by, and counts of answers."""

import sqlalchemy as sa
from alembic import op

# After these, what filters ask for: a walk past many rows then reads the index alone.
BY_TIME = ("project_id", "created_at", "id")
INBOX = ("project_id", "status", "created_at", "id")
TAG = ("project_id", "name", "testimonial_id")
FILTERED = ("deleted_at", "source", "kind", "form_name", "rating")
WAITING = (
    "status = 'pending' AND source = 'public_page' AND held_for IS NULL AND deleted_at IS NULL"
)


def upgrade_filters_and_answers() -> None:
    """Widen the indexes of the inbox, and count answers."""
    _widen_index("ix_testimonial_by_time", (*BY_TIME, "status", *FILTERED))
    _widen_index("ix_testimonial_inbox", (*INBOX, *FILTERED))
    _widen_index("ix_testimonial_tag_project_id_name", TAG, "testimonial_tag")
    op.create_index(
        "ix_testimonial_form",
        "testimonial",
        ["project_id", "form_name", "created_at", "id"],
        sqlite_where=sa.text("form_name IS NOT NULL"),
        postgresql_where=sa.text("form_name IS NOT NULL"),
    )
    op.create_index(
        "ix_testimonial_untold",
        "testimonial",
        ["project_id", "returned_at", "created_at"],
        sqlite_where=sa.text(WAITING),
        postgresql_where=sa.text(WAITING),
    )
    op.create_table(
        "answer_count",
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("question_id", sa.String(), nullable=False),
        sa.Column("part", sa.BigInteger(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("project_id", "question_id", "part", name=op.f("pk_answer_count")),
    )
    if op.get_bind().dialect.name == "sqlite":
        _count_on_sqlite()
    else:
        _count_on_postgresql()


def _widen_index(name: str, columns: tuple[str, ...], table: str = "testimonial") -> None:
    op.drop_index(name, table)
    op.create_index(name, table, list(columns))


# As in revision 0009: on SQLite a trigger for each row adds to one row of the counts.


def _count_on_sqlite() -> None:
    op.execute(
        "INSERT INTO answer_count (project_id, question_id, part, number) "
        f"SELECT it.project_id, {_question('it')} AS question, 0, count(DISTINCT it.id) "
        "FROM testimonial it, json_each(it.answers) AS each "
        "WHERE question IS NOT NULL GROUP BY it.project_id, question"
    )
    added, removed = _add_row("NEW", 1), _add_row("OLD", -1)
    _on_row("count_answers_added", "AFTER INSERT ON testimonial", "NEW.answers", added)
    _on_row("count_answers_removed", "AFTER DELETE ON testimonial", "OLD.answers", removed)
    _on_row(
        "count_answers_changed",
        "AFTER UPDATE OF answers, project_id ON testimonial",
        "coalesce(OLD.answers, NEW.answers)",
        removed,
        added,
    )
    _on_row("count_answers_forgotten", "AFTER DELETE ON project", "OLD.id", _FORGET)


def _on_row(name: str, when: str, asked: str, *statements: str) -> None:
    body = "".join(f"  {each};\n" for each in statements)
    op.execute(
        f"CREATE TRIGGER {name} {when} FOR EACH ROW WHEN {asked} IS NOT NULL BEGIN\n{body}END"
    )


def _add_row(row: str, sign: int) -> str:
    return (
        "INSERT INTO answer_count (project_id, question_id, part, number) "
        f"SELECT DISTINCT {row}.project_id, {_question(row)} AS question, 0, {sign} "
        f"FROM json_each({row}.answers) AS each WHERE question IS NOT NULL "
        "ON CONFLICT (project_id, question_id, part) "
        "DO UPDATE SET number = number + excluded.number"
    )


def _question(row: str) -> str:
    return f"json_extract({row}.answers, each.fullkey || '.id')"


# PostgreSQL: statements that add and remove are counted at once; answers hardly ever change.


def _count_on_postgresql() -> None:
    op.execute(
        "INSERT INTO answer_count (project_id, question_id, part, number) "
        f"SELECT project_id, question, 0, n FROM ({_group('testimonial', 1)}) AS sums "
        "WHERE question IS NOT NULL"
    )
    _make_function(
        "count_answers",
        f"{_OFF} IF TG_OP = 'INSERT' THEN {_add(_group('added', 1))} "
        f"ELSE {_add(_group('removed', -1))} END IF; RETURN NULL;",
    )
    changed = f"{_of_row('NEW', 1)} UNION ALL {_of_row('OLD', -1)}"
    _make_function(
        "count_changed_answers",
        _OFF
        + _add(
            f" SELECT project_id, question, sum(one) AS n FROM ({changed}) AS them "
            "GROUP BY project_id, question"
        )
        + " RETURN NULL;",
    )
    _make_function("forget_answers", f"{_FORGET}; RETURN NULL;")
    for event, table in (("INSERT", "NEW TABLE AS added"), ("DELETE", "OLD TABLE AS removed")):
        op.execute(
            f"CREATE TRIGGER count_answers_{event.lower()} AFTER {event} ON testimonial "
            f"REFERENCING {table} FOR EACH STATEMENT EXECUTE FUNCTION count_answers()"
        )
    op.execute(
        "CREATE TRIGGER count_answers_update AFTER UPDATE OF answers, project_id ON testimonial "
        "FOR EACH ROW WHEN (CAST(OLD.answers AS text) IS DISTINCT FROM CAST(NEW.answers AS text) "
        "OR OLD.project_id <> NEW.project_id) EXECUTE FUNCTION count_changed_answers()"
    )
    op.execute(
        "CREATE TRIGGER forget_answers AFTER DELETE ON project "
        "FOR EACH ROW EXECUTE FUNCTION forget_answers()"
    )
    _put_together()


def _group(table: str, sign: int) -> str:
    return (
        "SELECT it.project_id, each.value ->> 'id' AS question, "
        f"{sign} * count(DISTINCT it.id) AS n "
        f"FROM {table} it, {_each('it')} GROUP BY it.project_id, question"
    )


def _of_row(row: str, sign: int) -> str:
    return (
        f"SELECT DISTINCT {row}.project_id, each.value ->> 'id' AS question, {sign} AS one "
        f"FROM {_each(row)}"
    )


def _each(row: str) -> str:
    is_list = f"json_typeof({row}.answers) = 'array'"
    return f"json_array_elements(CASE WHEN {is_list} THEN {row}.answers END) AS each (value)"


def _add(query: str) -> str:
    return (
        "INSERT INTO answer_count (project_id, question_id, part, number) "
        f"SELECT project_id, question, nextval('count_part'), n FROM ({query}) AS sums "
        "WHERE n <> 0 AND question IS NOT NULL "
        "AND EXISTS (SELECT 1 FROM project WHERE project.id = project_id);"
    )


def _make_function(name: str, body: str) -> None:
    op.execute(
        f"CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {body} END $$"
    )


def _put_together() -> None:
    """Have each 64th part put all of its project together."""
    op.execute(
        "CREATE FUNCTION put_together_answer_count() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "IF pg_try_advisory_xact_lock(7263540, hashtext('answer_count' || NEW.project_id)) THEN "
        "WITH gone AS (DELETE FROM answer_count WHERE project_id = NEW.project_id RETURNING *) "
        "INSERT INTO answer_count (project_id, question_id, part, number) "
        "SELECT project_id, question_id, -nextval('count_part'), sum(number) FROM gone "
        "GROUP BY project_id, question_id HAVING sum(number) <> 0; "
        "END IF; RETURN NULL; END $$"
    )
    op.execute(
        "CREATE TRIGGER put_together AFTER INSERT ON answer_count FOR EACH ROW "
        "WHEN (NEW.part > 0 AND NEW.part % 64 = 0) EXECUTE FUNCTION put_together_answer_count()"
    )


_FORGET = "DELETE FROM answer_count WHERE project_id = OLD.id"
_OFF = "IF current_setting('testimonials.counting', true) = 'off' THEN RETURN NULL; END IF; "
