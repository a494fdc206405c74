"""Backups by the real restic, and back again."""

import shutil
import subprocess
from pathlib import Path

import pytest
from flask import Flask

from testimonials.privacy.erased_list import NAME
from tests.conftest import Caller, MovableClock
from tests.operations.backup.conftest import Make, mails, names, work
from tests.operations.instances import emails, query, restore_here
from tests.support.rows import add_testimonial
from tests.transfer.archives.projects import run_well

pytestmark = pytest.mark.thorough
FIRST = "scheduled-20310505T090000Z.tar.gz"
SECOND = "scheduled-20310506T090000Z.tar.gz"


@pytest.fixture
def app(make: Make) -> Flask:
    """The instance in which the owner is."""
    return make()


def restic(*words: object) -> None:
    subprocess.run(["restic", "--quiet", *map(str, words)], check=True, capture_output=True)


def test_what_restic_keeps_can_be_restored_and_brings_nothing_erased_back(
    make: Make,
    owner: Caller,
    tmp_path: Path,
    moved_clock: MovableClock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert shutil.which("restic"), "restic is not installed; scripts/test installs it."
    (tmp_path / "password").write_text("correct horse")
    monkeypatch.setenv("RESTIC_REPOSITORY", str(tmp_path / "repository"))
    monkeypatch.setenv("RESTIC_PASSWORD_FILE", str(tmp_path / "password"))
    monkeypatch.setenv("RESTIC_CACHE_DIR", str(tmp_path / "cache"))
    app = make(backup_command="restic backup --quiet --exclude .unfinished-* {folder}")
    project = owner.create_project(slug="fern")["_id"]
    add_testimonial(app, project, author_email="noor@example.com", text="Xylophones")
    work(app)
    (subject,) = mails(app)
    assert "restic ended with exit code 1: Fatal: unable to open config file" in subject
    restic("init")
    moved_clock.move(days=1)
    work(app)
    assert mails(app)[1:] == ["Backups are copied again"]
    run_well(app, "authors", "erase", "noor@example.com", "--yes")
    moved_clock.move(minutes=2)
    work(app)

    restic("restore", "latest", "--target", tmp_path / "fetched")
    fetched = tmp_path / "fetched" / (tmp_path / "ours" / "backups").relative_to("/")
    assert names(fetched) == [NAME, FIRST, SECOND]
    done = restore_here(tmp_path / "new", fetched / FIRST)
    assert (done["restored"], done["erasedAgain"]) == (True, 1)
    assert emails(tmp_path / "new") == {"owner@example.com"}
    assert query(tmp_path / "new", "SELECT count(*) FROM testimonial") == [(0,)]
