"""How SQLite carries out the queries of a piece of code, and how many there are."""

from collections.abc import Callable
from typing import Any

from sqlalchemy import Engine, event


def explain_statements(
    engine: Engine, work: Callable[[], object], table: str = "testimonial"
) -> list[str]:
    """Run `work`; return the plan of each statement that it read from a table with."""
    made: list[tuple[str, Any]] = []

    def note(*arguments: Any) -> None:
        # The driver takes a list too.
        is_list = isinstance(arguments[3], list)
        made.append((arguments[2], tuple(arguments[3]) if is_list else arguments[3]))

    event.listen(engine, "before_cursor_execute", note)
    try:
        work()
    finally:
        event.remove(engine, "before_cursor_execute", note)
    plans = []
    with engine.connect() as connection:
        for statement, parameters in made:
            if f"FROM {table}" in statement:
                rows = connection.exec_driver_sql("EXPLAIN QUERY PLAN " + statement, parameters)
                plans.append("\n".join(row[3] for row in rows))
    return plans


def count_statements(engine: Engine, work: Callable[[], object]) -> int:
    """Run `work`; return how many statements it sent, not counting how transactions begin."""
    count = 0

    def note(*arguments: Any) -> None:
        nonlocal count
        count += not arguments[2].startswith(("BEGIN", "SAVEPOINT", "RELEASE", "PRAGMA"))

    event.listen(engine, "before_cursor_execute", note)
    try:
        work()
    finally:
        event.remove(engine, "before_cursor_execute", note)
    return count
