"""An instance whose backups go somewhere else, and a real bucket to put them in."""

import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest
from flask import Flask

from testimonials import create_app
from testimonials.core.mail.outbox import OutboxMail
from testimonials.extensions import db
from testimonials.operations.jobs.registry import run_backups
from testimonials.settings.table import load_settings
from tests.conftest import MovableClock
from tests.operations.backup.s3_server import S3Server

Make = Callable[..., Flask]


@pytest.fixture
def make(sqlite_template: Path, tmp_path: Path, moved_clock: MovableClock) -> Iterator[Make]:
    """Make applications on one SQLite database, which is what these backups are of."""
    moved_clock.time = datetime(2031, 5, 5, 9, tzinfo=UTC)
    instance = tmp_path / "ours"
    instance.mkdir()
    shutil.copy(sqlite_template, instance / "testimonials.db")
    made: list[Flask] = []

    def make_one(**settings: object) -> Flask:
        values = {"instance_path": str(instance), "operator_email": "operator@example.com"}
        made.append(create_app(load_settings({}, values | settings)))
        return made[-1]

    yield make_one
    for app in made:
        with app.app_context():
            db.session.remove()
            db.engine.dispose()


@pytest.fixture(scope="session")
def s3_server() -> Iterator[S3Server]:
    """A real S3-compatible store."""
    server = S3Server()
    yield server
    server.stop()


@dataclass(frozen=True)
class Key:
    """A pair of keys, made by age itself."""

    public: str
    file: Path


@pytest.fixture
def age_key(tmp_path: Path) -> Key:
    """Somebody who may read backups."""
    assert shutil.which("age-keygen"), "age is not installed; scripts/test installs it."
    file = tmp_path / "identity.txt"
    subprocess.run(["age-keygen", "-o", file], check=True, capture_output=True)
    public = subprocess.run(["age-keygen", "-y", file], check=True, capture_output=True, text=True)
    return Key(public.stdout.strip(), file)


def work(app: Flask) -> None:
    """Do what the thread for backups does each minute."""
    with app.app_context():
        run_backups()


def names(folder: Path) -> list[str]:
    """Return what is in a folder."""
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def mails(app: Flask) -> list[str]:
    """Return the subjects of the mails about backups."""
    with app.app_context():
        purpose = OutboxMail.purpose
        found = db.session.query(OutboxMail).filter(
            purpose.like("backup-%") | purpose.like("rehearsal-%")
        )
        subjects = [mail.subject for mail in found.order_by(OutboxMail.id)]
        db.session.rollback()
        return subjects
