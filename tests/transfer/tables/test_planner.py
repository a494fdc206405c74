"""After many testimonials came at once, PostgreSQL plans for as many as there are."""

from pathlib import Path

import pytest
from flask import Flask
from sqlalchemy import inspect, text

from testimonials.extensions import db
from testimonials.transfer.tables.importing import MANY_ROWS
from tests.conftest import Caller
from tests.dashboard.inbox.inbox import open_inbox
from tests.dashboard.transfer.test_import import LINES, preview, read_form
from tests.transfer.archives.projects import run_well

COUNT = MANY_ROWS + 3
TABLE = "Name,Review,Tags\n" + "".join(f"P{number},Words {number},a\n" for number in range(COUNT))


def read_counts(app: Flask) -> set[int]:
    """Return how many rows the database takes each table of testimonials to have."""
    with app.app_context():
        if db.engine.dialect.name == "sqlite":
            # Where nobody had it count, there is no such table, and it plans without.
            return {1} if "sqlite_stat1" in inspect(db.engine).get_table_names() else set()
        names = ("testimonial", "testimonial_change", "testimonial_tag")
        query = text("SELECT reltuples FROM pg_class WHERE oid = CAST(:name AS regclass)")
        return {int(db.session.execute(query, {"name": name}).scalar_one()) for name in names}


@pytest.fixture
def once(backend: str) -> set[int]:
    """What is counted after one import; the plans of SQLite are tried without counts."""
    return {COUNT} if backend == "postgresql" else set()


def test_after_an_import_by_command_and_an_archive(
    app: Flask, owner: Caller, tmp_path: Path, once: set[int]
) -> None:
    owner.create_project(slug="fern")
    file, archive = tmp_path / "file.csv", tmp_path / "fern.zip"
    file.write_text(TABLE)
    assert read_counts(app) != {COUNT}
    run_well(app, "testimonials", "import", "fern", str(file))
    assert read_counts(app) == once
    run_well(app, "projects", "export", "fern", str(archive))
    to = ("--account", owner.email, "--slug", "fern-2")
    run_well(app, "projects", "import", str(archive), *to)
    assert read_counts(app) == {2 * count for count in once}


def test_after_an_import_in_the_dashboard(app: Flask, owner: Caller, once: set[int]) -> None:
    inbox = open_inbox(app, owner, slug="fern")
    form = read_form(preview(inbox, TABLE).text)
    assert read_counts(app) != {COUNT}
    answer = inbox.client.post(f"{inbox.base}/import", data=form, headers=LINES)
    assert f"{COUNT}" in answer.text
    assert read_counts(app) == once
