"""After many testimonials came at once, PostgreSQL plans for as many as there are."""

from pathlib import Path

import pytest
from flask import Flask
from sqlalchemy import text

from testimonials.extensions import db
from testimonials.transfer.importing import MANY_ROWS
from tests.conftest import Caller
from tests.dashboard.inbox import open_inbox
from tests.dashboard.test_import import LINES, preview, read_form
from tests.transfer.projects import run_well

COUNT = MANY_ROWS + 3
TABLE = "Name,Review,Tags\n" + "".join(f"P{number},Words {number},a\n" for number in range(COUNT))


@pytest.fixture(autouse=True)
def on_postgresql(backend: str) -> None:
    """SQLite plans without counts."""
    if backend == "sqlite":
        pytest.skip("SQLite plans without counts.")


def read_counts(app: Flask) -> dict[str, int]:
    """Give how many rows the database takes the tables of testimonials to have."""
    names = ("testimonial", "testimonial_change", "testimonial_tag")
    query = text("SELECT reltuples FROM pg_class WHERE oid = CAST(:name AS regclass)")
    with app.app_context():
        return {name: int(db.session.execute(query, {"name": name}).scalar_one()) for name in names}


def are_known(app: Flask) -> bool:
    """Tell whether the database takes each table to have what was imported, and no more."""
    return set(read_counts(app).values()) == {COUNT}


def test_after_an_import_by_command_and_an_archive(
    app: Flask, owner: Caller, tmp_path: Path
) -> None:
    owner.create_project(slug="fern")
    file, archive = tmp_path / "file.csv", tmp_path / "fern.zip"
    file.write_text(TABLE)
    assert not are_known(app)
    run_well(app, "testimonials", "import", "fern", str(file))
    assert are_known(app)
    run_well(app, "projects", "export", "fern", str(archive))
    to = ("--account", owner.email, "--slug", "fern-2")
    run_well(app, "projects", "import", str(archive), *to)
    assert set(read_counts(app).values()) == {2 * COUNT}


def test_after_an_import_in_the_dashboard(app: Flask, owner: Caller) -> None:
    inbox = open_inbox(app, owner, slug="fern")
    form = read_form(preview(inbox, TABLE).text)
    assert not are_known(app)
    answer = inbox.client.post(f"{inbox.base}/import", data=form, headers=LINES)
    assert f"{COUNT}" in answer.text
    assert are_known(app)
