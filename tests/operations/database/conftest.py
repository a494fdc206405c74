"""An instance with rows in every table, and databases to copy it to."""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest
from click.testing import Result
from flask import Flask
from sqlalchemy import JSON, Boolean, Column, Float, Integer, LargeBinary, select

from testimonials.core import clock
from testimonials.core.db.engine import Base, Timestamp
from testimonials.core.db.migrate import upgrade
from testimonials.core.extensions import db
from testimonials.core.late import load_all
from tests.operations.instances import app_on
from tests.support.schemas import KEPT

ROWS = 3
WORDS = "Grüße, 谢谢, شكرا 🎉 — “it’s” 100 % \\ {a} \n two lines"


@pytest.fixture
def target(empty_postgres: str) -> str:
    return empty_postgres


@pytest.fixture
def source(tmp_path: Path) -> Iterator[Flask]:
    app = app_on(tmp_path / "instance")
    load_all()
    with app.app_context():
        upgrade(db.engine)
        with db.engine.begin() as connection:
            for table in Base.metadata.sorted_tables:
                if table.name in KEPT:
                    continue
                columns = [column for column in table.columns if column.computed is None]
                # Their references lead to the rows of the same number.
                rows = [{each.name: make_value(each, n) for each in columns} for n in range(ROWS)]
                connection.execute(table.insert(), rows)
        yield app
        db.engine.dispose()


def make_value(column: Column[Any], number: int) -> Any:
    """Return a value that is hard to copy, another one for each number; the last row has no more
    than it must have."""
    if column.nullable and number == ROWS - 1:
        return None
    if column.name == "answers":
        return [{"id": f"q{each}", "answer": WORDS} for each in range(number, ROWS, 2)]
    kinds: tuple[tuple[type[Any], Any], ...] = (
        (Timestamp, datetime(2026, 2, 3, 4, 5, 6, 789_000 + number * 1000, tzinfo=clock.UTC)),
        (Boolean, number == 0),
        (JSON, {"b": [1, 2.5, None, True], "a": {"text": WORDS}, "n": number}),
        (LargeBinary, bytes(range(256)) + bytes([number])),
        (Float, 1 / 3 + number),
        (Integer, number + 1),
    )
    for kind, value in kinds:
        if isinstance(column.type, kind):
            return value
    # A key is the same in every table, so that references find it.
    if column.primary_key or column.foreign_keys:
        return f"key {number}"
    if column.name == "status":
        return ("approved", "pending", "demo")[number]
    if column.name == "source":
        return "public_page"
    return f"{number} {WORDS}"[: getattr(column.type, "length", None)]


def move(app: Flask, target: str, *options: str, text: str | None = None) -> Result:
    return app.test_cli_runner().invoke(args=["db", "move", target, *options], input=text)


def read_all(app: Flask) -> dict[str, list[tuple[Any, ...]]]:
    found = {}
    with app.app_context():
        with db.engine.connect() as connection:
            for table in Base.metadata.sorted_tables:
                rows = [tuple(row) for row in connection.execute(select(table))]
                found[table.name] = sorted(rows, key=lambda row: str(row[:2]))
        db.engine.dispose()
    return found


def tables_of(target: str) -> list[str]:
    query = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
    with psycopg.connect(target) as connection:
        return [row[0] for row in connection.execute(query)]
