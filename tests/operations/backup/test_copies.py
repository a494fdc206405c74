"""Backups off this machine: copied into a folder that is mounted."""

from pathlib import Path

import pytest
from flask import Flask

from testimonials.core.db.sqlite import read_time
from testimonials.core.settings.current import current_settings
from testimonials.core.settings.instance import SettingError
from testimonials.operations.backup.offsite import read_stored
from testimonials.operations.backup.restoring import describe_backups
from tests.operations.backup.conftest import FIRST, SECOND, Make, job_error, mails, names, work
from tests.operations.disks import fill, small_disk
from tests.operations.instances import restore_here
from tests.support.commands import run_well


@pytest.fixture
def app(make: Make, place: Path) -> Flask:
    """An instance whose backups are copied there."""
    return make(backup_to=str(place))


def test_each_backup_is_copied_once_and_old_copies_go(make, owner, place, moved_clock, tmp_path):
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


def test_a_place_that_is_away_costs_no_local_backup_and_is_told(make, owner, tmp_path, moved_clock):
    place = tmp_path / "not mounted"
    app = make(backup_to=str(place), backup_keep=2)
    for _ in range(30):
        work(app)
        moved_clock.move(hours=1)
    local = tmp_path / "ours" / "backups"
    assert names(local) == [FIRST, SECOND]
    assert not place.exists()
    assert job_error(app) == f"CopyFailed: there is no folder {place}: its disk may not be mounted"
    told = f"The backup was not copied: there is no folder {place}: its disk may not be mounted"
    assert mails(app) == [told, told]
    place.mkdir()
    work(app)
    # What came in between isn't worth its time any more.
    assert names(place) == [SECOND]
    assert mails(app)[2:] == []
    assert job_error(app) is None


def test_an_empty_folder_under_a_disk_that_is_not_mounted_is_not_filled(
    app, owner, place, moved_clock, tmp_path
):
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


def test_a_disk_that_is_full_leaves_nothing_and_takes_the_next_once_there_is_room(
    make, owner, tmp_path, moved_clock
):
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
    with pytest.raises(SettingError, match="BACKUP_TO must be another folder than BACKUP_PATH"):
        make(backup_to="backups")
