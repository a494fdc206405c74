"""An instance whose backups go somewhere else."""

import shutil
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from flask import Flask

from testimonials.core.extensions import db
from testimonials.core.jobs import Job, run_due
from testimonials.core.mail.outbox import OutboxMail
from testimonials.operations.backup.creating import COPY_JOB
from tests.conftest import MovableClock
from tests.operations.instances import app_on

Make = Callable[..., Flask]
FIRST = "scheduled-20310505T090000Z.tar.gz"
SECOND = "scheduled-20310506T090000Z.tar.gz"


@pytest.fixture
def make(sqlite_template: Path, tmp_path: Path, moved_clock: MovableClock) -> Iterator[Make]:
    """Make applications on one SQLite database, which is what these backups are of."""
    moved_clock.time = datetime(2031, 5, 5, 9, tzinfo=UTC)
    instance = tmp_path / "ours"
    instance.mkdir()
    shutil.copy(sqlite_template, instance / "testimonials.db")
    made: list[Flask] = []

    def make_one(**settings: object) -> Flask:
        made.append(app_on(instance, **{"operator_email": "operator@example.com"} | settings))
        return made[-1]

    yield make_one
    for app in made:
        with app.app_context():
            db.session.remove()
            db.engine.dispose()


@pytest.fixture
def app(make: Make) -> Flask:
    """The instance in which the owner is."""
    return make()


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder that is mounted, to which backups are taken."""
    folder = tmp_path / "mounted"
    folder.mkdir()
    return folder


def work(app: Flask) -> None:
    """Do what the thread for backups does each minute."""
    with app.app_context():
        run_due("backups")


def names(folder: Path) -> list[str]:
    """Return what is in a folder."""
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def mails(app: Flask) -> list[str]:
    """Return the subjects of the mails about backups."""
    with app.app_context():
        found = db.session.query(OutboxMail).filter(OutboxMail.purpose.like("backup-%"))
        subjects = [mail.subject for mail in found.order_by(OutboxMail.id)]
        db.session.rollback()
        return subjects


def job_error(app: Flask, name: str = COPY_JOB) -> str | None:
    with app.app_context():
        error = db.session.get_one(Job, name).error
        db.session.rollback()
        return error
