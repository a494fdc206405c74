"""The commands that docs/operating.md gives for backing up PostgreSQL and restoring it."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from flask import Flask
from sqlalchemy import inspect, text

from testimonials import create_app
from testimonials.auth.services import start_account
from testimonials.extensions import begin_write, db
from testimonials.migrations.runner import upgrade
from testimonials.settings.current import current_settings
from testimonials.settings.table import load_settings
from tests.conftest import Caller
from tests.transfer.archives.projects import fill_project, read_rows

pytestmark = pytest.mark.postgres

OPERATING = Path("docs/operating.md")
FOLDER = "/mnt/backups"
INSTANCE = "/var/lib/testimonials"


def read_commands(heading: str, program: str) -> list[str]:
    """Return the indented lines of a section, from the one that starts with `program` to the
    last."""
    section = OPERATING.read_text().split(f"\n{heading}\n", 1)[1].split("\n#", 1)[0]
    lines = [line.strip() for line in section.splitlines() if line.startswith("    ")]
    return lines[next(n for n, line in enumerate(lines) if line.startswith(program)) :]


@pytest.fixture
def app(empty_postgres: str, tmp_path: Path) -> Iterator[Flask]:
    """An application on a migrated PostgreSQL database of its own."""
    settings = {"instance_path": str(tmp_path / "instance"), "database_url": empty_postgres}
    app = create_app(load_settings({}, settings))
    with app.app_context():
        upgrade(db.engine)
        yield app
        db.session.remove()
        db.engine.dispose()


def run_in_shell(app: Flask, command: str, folder: Path) -> None:
    """Run a command of the document, with the folders of the test."""
    instance = current_settings(app).instance_path
    command = command.replace(FOLDER, str(folder)).replace(INSTANCE, str(instance))
    environment = {
        "PATH": os.environ["PATH"],
        "TESTIMONIALS_DATABASE_URL": current_settings(app).database_url,
    }
    done = subprocess.run(["bash", "-ec", command], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, f"{command}: {done.stderr}"


def test_all_of_it_comes_back(app: Flask, tmp_path: Path) -> None:
    begin_write()
    access = start_account("owner@example.com")
    assert access is not None
    db.session.commit()
    owner = Caller(app.test_client(), access.account.id, "owner@example.com", access.api_key)
    project = fill_project(app, owner)
    before, secret = read_rows(app, project), current_settings(app).secret_key
    backups = tmp_path / "backups"
    backups.mkdir()
    dumping = read_commands("### Backups of PostgreSQL", "pg_dump")
    assert len(dumping) == 2
    for command in dumping:
        run_in_shell(app, command, backups)

    db.session.execute(text("DROP TABLE testimonial_change"))
    db.session.execute(text("UPDATE testimonial SET text = 'Lost'"))
    db.session.execute(text("CREATE INDEX left_behind ON testimonial (text)"))
    db.session.commit()
    for command in read_commands("## Restore", "pg_restore"):
        run_in_shell(app, command, backups)
    assert read_rows(app, project) == before
    assert "left_behind" not in {
        each["name"] for each in inspect(db.engine).get_indexes("testimonial")
    }
    counted = "SELECT reltuples FROM pg_class WHERE oid = 'testimonial'::regclass"
    assert db.session.execute(text(counted)).scalar_one() == len(before["testimonial"])
    assert (backups / "secret_key").read_text().strip() == secret
