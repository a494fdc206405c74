"""After many testimonials came at once, PostgreSQL plans for as many as there are."""

from pathlib import Path

import pytest
from flask import Flask
from sqlalchemy import inspect, text

from testimonials.extensions import db
from testimonials.transfer.tables import importing
from tests.conftest import Caller
from tests.dashboard.inbox.inbox import open_inbox
from tests.dashboard.transfer.imports import import_all
from tests.transfer.archives.projects import run_well

TABLE = "Name,Review,Tags\nA,One,x\nB,Two,x\nC,Three,x\n"


def read_counts(app: Flask) -> set[int]:
    """Return how many rows the database takes each table of testimonials to have."""
    with app.app_context():
        if db.engine.dialect.name == "sqlite":
            # Where nobody had it count, there is no such table, and it plans without.
            return {1} if "sqlite_stat1" in inspect(db.engine).get_table_names() else set()
        names = ("testimonial", "testimonial_change", "testimonial_tag")
        query = text("SELECT reltuples FROM pg_class WHERE oid = CAST(:name AS regclass)")
        return {int(db.session.execute(query, {"name": name}).scalar_one()) for name in names}


def test_the_database_counts_after_each_way_to_import(
    app: Flask, owner: Caller, tmp_path: Path, backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importing, "MANY_ROWS", 3)
    expected = iter((3, 6, 9) if backend == "postgresql" else ())

    def expect_counts() -> None:
        assert read_counts(app) == {count for count in (next(expected, None),) if count}

    inbox = open_inbox(app, owner, slug="fern")
    file, archive = tmp_path / "file.csv", tmp_path / "fern.zip"
    file.write_text(TABLE)
    run_well(app, "testimonials", "import", "fern", str(file))
    expect_counts()
    run_well(app, "projects", "export", "fern", str(archive))
    to = ("--account", owner.email, "--slug", "fern-2")
    run_well(app, "projects", "import", str(archive), *to)
    expect_counts()
    import_all(app, inbox, TABLE.replace(",x", " again,x"))
    expect_counts()
