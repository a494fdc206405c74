"""Backups off this machine: copied to a folder that is mounted, or taken by a command."""

import json
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from testimonials.core.db.sqlite import read_time
from testimonials.core.settings.instance import SettingError
from testimonials.core.settings.table import current_settings
from testimonials.operations.backup import offsite
from testimonials.operations.backup.offsite import read_stored
from testimonials.operations.backup.restoring import describe_backups
from testimonials.transfer.erasure import NAME
from tests.operations.backup.conftest import FIRST, SECOND, job_error, mails, names, work
from tests.operations.disks import fill, small_disk
from tests.operations.instances import emails, query, restore_here
from tests.support.commands import run_well
from tests.support.rows import add_testimonial
from tests.support.servers import wait_for

Script = Callable[[str], str]
pytestmark = pytest.mark.usefixtures("owner")


@pytest.fixture
def script(tmp_path: Path) -> Script:
    """Write a program, and return its path."""

    def write(content: str) -> str:
        path = tmp_path / "take away"
        path.write_text(f"#!/bin/sh\n{content}\n")
        path.chmod(0o755)
        return f"'{path}'"

    return write


def test_it_takes_each_backup_once(make, script, place, moved_clock, tmp_path):
    program = script(
        f'cp "$1" "{place}/" && echo "$1 $2 $TESTIMONIALS_BACKUP_FILE" >>"{place}/log"'
    )
    app = make(backup_command=f"{program} {{file}} '--of={{folder}} $HOME;'")
    for _ in range(2):
        work(app)
        moved_clock.move(minutes=2)
    moved_clock.move(days=1, minutes=-4)
    work(app)
    folder = tmp_path / "ours" / "backups"
    # No shell reads its words.
    lines = [f"{folder / name} --of={folder} $HOME; {folder / name}" for name in (FIRST, SECOND)]
    assert (place / "log").read_text().splitlines() == lines
    assert job_error(app) is None
    assert restore_here(tmp_path / "new", place / SECOND)["restored"]
    moved_clock.move(minutes=1)
    done = app.test_cli_runner().invoke(args=["backup", "now", "--json"])
    assert json.loads(done.output)["commandRan"]
    assert len((place / "log").read_text().splitlines()) == 3


def test_a_failure_is_told_without_secrets(make, script, moved_clock, monkeypatch, caplog):
    monkeypatch.setenv("RESTIC_PASSWORD", "correct horse")
    program = script(
        "yes '' | head -c 100000; "
        'echo "Fatal: no https://me:pass@store.example for $RESTIC_PASSWORD"; exit 1'
    )
    app = make(backup_command=f"{program} {{file}}", backup_hours=8760)
    for _ in range(30):
        work(app)
        moved_clock.move(hours=1)
    said = "ended with exit code 1: Fatal: no https://(hidden)@store.example for (hidden)"
    assert str(job_error(app)).endswith(f"take away {said}")
    subjects = mails(app)
    assert len(subjects) == 2
    assert all(said in subject for subject in subjects)
    assert said in caplog.text
    assert "horse" not in caplog.text
    # It may say more than the disk could take.
    script("ulimit -f 100; yes | head -c 10000000")
    work(app)
    assert mails(app)[2:] == []
    assert job_error(app) is None


def test_one_that_hangs_is_stopped_with_what_it_started(make, script, place, monkeypatch):
    monkeypatch.setattr(offsite, "PATIENCE_SECONDS", 0.5)
    monkeypatch.setattr(offsite, "MINUTE", 1)
    program = script(f"trap '' TERM\nsleep 600 & echo $! >'{place}/started'\nwait\nsleep 600")
    app = make(backup_command=f"{program} {{file}}", backup_command_minutes=2)
    begun = time.monotonic()
    work(app)
    assert time.monotonic() - begun < 300
    assert str(job_error(app)).endswith("did not end within 2 minutes and was stopped")
    child = Path("/proc", (place / "started").read_text().strip(), "stat")
    wait_for(lambda: not child.exists() or child.read_text().split()[2] == "Z", what="its end")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "can't be run: No such file or directory"),
        ("kill -9 $$", f"ended by signal {signal.SIGKILL.value}"),
        ("exit 3", "ended with exit code 3"),
    ],
)
def test_each_way_to_fail_is_said(make, script, content, said):
    program = script(content) if content else "/nowhere/restic"
    app = make(backup_command=f"{program} {{file}}")
    work(app)
    assert str(job_error(app)).endswith(said)


def test_a_folder_that_is_away_keeps_no_backup_from_the_command(make, script, place, tmp_path):
    program = script(f'cp "$1" "{place}/"')
    app = make(backup_command=f"{program} {{file}}", backup_to=str(tmp_path / "not mounted"))
    work(app)
    assert names(place) == [FIRST]
    assert "there is no folder" in str(job_error(app))


def test_no_older_backup_brings_the_erased_back(make, owner, script, place, moved_clock, tmp_path):
    program = script(f'cp "$1" "{place}/"')
    app = make(backup_command=f"{program} {{file}}")
    project = owner.create_project(slug="fern")["_id"]
    add_testimonial(app, project, author_email="noor@example.com", text="Xylophones", rating=1)
    work(app)
    assert names(place) == [FIRST]
    run_well(app, "authors", "erase", "noor@example.com", "--yes")
    run_well(app, "prune")
    moved_clock.move(days=1)
    work(app)
    assert names(place) == [NAME, FIRST, SECOND]
    assert b"noor" not in (place / NAME).read_bytes()
    assert restore_here(tmp_path / "new", place / FIRST)["erasedAgain"] == 1
    # Nor does the rating count.
    for table in ("testimonial", "kept_rating"):
        assert query(tmp_path / "new", f"SELECT count(*) FROM {table}") == [(0,)]


def test_a_command_is_written_as_in_a_shell(make):
    with make(backup_command=" restic backup '{file}' ").app_context():
        assert current_settings().backup_command == "restic backup '{file}'"
    with pytest.raises(SettingError, match="BACKUP_COMMAND can't be read as a command"):
        make(backup_command="restic 'backup")


def restic(*words: object) -> None:
    subprocess.run(["restic", "--quiet", *map(str, words)], check=True, capture_output=True)


@pytest.mark.thorough
def test_what_restic_keeps_can_be_restored(make, owner, tmp_path, moved_clock, monkeypatch):
    assert shutil.which("restic"), "restic is not installed; scripts/test installs it."
    (tmp_path / "password").write_text("correct horse")
    for name in ("repository", "password_file", "cache_dir"):
        monkeypatch.setenv(f"RESTIC_{name.upper()}", str(tmp_path / name.removesuffix("_file")))
    app = make(backup_command="restic backup --quiet --exclude .unfinished-* {folder}")
    project = owner.create_project(slug="fern")["_id"]
    add_testimonial(app, project, author_email="noor@example.com", text="Xylophones", rating=1)
    work(app)
    (subject,) = mails(app)
    assert "restic ended with exit code 1: Fatal: unable to open config file" in subject
    restic("init")
    run_well(app, "authors", "erase", "noor@example.com", "--yes")
    run_well(app, "prune")
    moved_clock.move(days=1)
    work(app)
    assert mails(app)[1:] == []

    restic("restore", "latest", "--target", tmp_path / "fetched")
    fetched = tmp_path / "fetched" / (tmp_path / "ours" / "backups").relative_to("/")
    assert names(fetched) == [NAME, FIRST, SECOND]
    done = restore_here(tmp_path / "new", fetched / FIRST)
    assert (done["restored"], done["erasedAgain"]) == (True, 1)
    assert emails(tmp_path / "new") == {"owner@example.com"}
    assert query(tmp_path / "new", "SELECT count(*) FROM testimonial") == [(0,)]


def test_each_backup_is_copied_once_and_old_copies_go(make, place, moved_clock, tmp_path):
    app = make(backup_to=str(place), backup_keep=2, backup_keep_weeks=2)
    others = {"before-0004-20300101T000000Z.tar.gz", "notes.txt", ".unfinished-copy-half"}
    for name in others:
        (place / name).write_text("")
    work(app)
    work(app)
    assert set(names(place)) == {*others, FIRST} - {".unfinished-copy-half"}
    assert (place / FIRST).stat().st_mode & 0o777 == 0o600
    for _ in range(9):
        moved_clock.move(days=1)
        work(app)
    kept = [name for name in names(place) if name.startswith("scheduled")]
    # The newest two, and the newest of the week before, which ended on Sunday 11 May.
    assert [name[10:18] for name in kept] == ["20310511", "20310513", "20310514"]
    assert len(names(tmp_path / "ours" / "backups")) == 2
    with app.app_context():
        state, stored = describe_backups(), read_stored(str(place))
    assert [each.name for each in stored][:3] == kept[::-1]
    assert (state.place, state.last_error) == (str(place), None)
    assert state.last_at == read_time(kept[-1])
    assert restore_here(tmp_path / "new", place / kept[0])["restored"]
    # A different disk gets the newest at once.
    other = tmp_path / "other"
    other.mkdir()
    work(make(backup_to=str(other)))
    assert names(other) == kept[-1:]


def test_a_place_that_is_away_costs_no_local_backup_and_is_told(make, tmp_path, moved_clock):
    place = tmp_path / "not mounted"
    app = make(backup_to=str(place), backup_keep=2)
    for _ in range(30):
        work(app)
        moved_clock.move(hours=1)
    local = tmp_path / "ours" / "backups"
    assert names(local) == [FIRST, SECOND]
    assert not place.exists()
    assert job_error(app) == f"there is no folder {place}: its disk may not be mounted"
    told = f"The backup was not copied: there is no folder {place}: its disk may not be mounted"
    assert mails(app) == [told, told]
    place.mkdir()
    work(app)
    # What came in between isn't worth its time any more.
    assert names(place) == [SECOND]
    assert mails(app)[2:] == []
    assert job_error(app) is None


def test_an_empty_folder_of_an_unmounted_disk_stays_empty(make, place, moved_clock, tmp_path):
    app = make(backup_to=str(place))
    work(app)
    place.rename(tmp_path / "the disk")
    place.mkdir()
    moved_clock.move(days=1)
    work(app)
    assert names(place) == []
    assert "is empty, but had 1 backup(s); is its disk mounted?" in str(job_error(app))
    # Emptied on purpose.
    moved_clock.move(minutes=1)
    assert f"It was copied to {place}/scheduled-" in run_well(app, "backup", "now")
    assert len(names(place)) == 1


def test_a_full_disk_takes_the_next_once_there_is_room(make, tmp_path, moved_clock):
    with small_disk(tmp_path / "disk") as disk:
        app = make(backup_to=str(disk))
        fill(disk / "full")
        work(app)
        assert names(disk) == ["full"]
        assert "No space left on device" in str(job_error(app))
        (disk / "full").unlink()
        moved_clock.move(hours=1)
        work(app)
        assert names(disk) == [FIRST]


def test_the_folder_is_another_than_that_of_the_backups(make, tmp_path):
    with make(backup_to="copies").app_context():
        assert current_settings().backup_to == str(tmp_path / "ours" / "copies")
    with pytest.raises(SettingError, match="BACKUP_TO must be a different folder from BACKUP_PATH"):
        make(backup_to="backups")
