"""What the operator's page and the commands say of backups, and what they may remove."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from flask import Flask

from testimonials.core.db.sqlite import KeptBackup, choose_expired, list_kept
from testimonials.core.settings.table import load_settings
from testimonials.operations.backup.restoring import describe_backups, drop_old
from tests.conftest import MakeApp

SCHEDULED = [f"scheduled-2031050{day}T090000Z.tar.gz" for day in (1, 2, 3)]
BEFORE = [f"before-000{number}-20300101T00000{number}Z.tar.gz" for number in (4, 5)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with backups, and with what is none."""
    place = tmp_path / "kept"
    place.mkdir()
    for number, name in enumerate([*SCHEDULED, *BEFORE, "mine.tar.gz", "scheduled-notes.txt"]):
        (place / name).write_bytes(bytes(100 + number))
    (place / "scheduled-20319999T090000Z.tar.gz").write_text("on no day")
    return place


@pytest.fixture
def app(make_app: MakeApp, folder: Path) -> Iterator[Flask]:
    app = make_app(backup_path=str(folder))
    with app.app_context():
        yield app


def test_what_is_there_is_listed_newest_first_and_the_newest_of_each_kind_stay(app, folder):
    state, found = describe_backups(), list_kept(folder)
    assert [each.name for each in found] == [*SCHEDULED[::-1], *BEFORE[::-1]]
    assert found[0] == (SCHEDULED[2], 102, datetime(2031, 5, 3, 9, tzinfo=UTC))
    assert (state.place, state.last_at, state.last_size) == (str(folder), *found[0][:0:-1])
    assert (state.last_error, state.verified_at, state.is_running) == (None, None, False)
    old = [SCHEDULED[1], SCHEDULED[0], BEFORE[0]]
    before = {path.name for path in folder.iterdir()}
    assert [(each.name, each.size) for each in drop_old(is_trial=True)] == list(
        zip(old, (101, 100, 103), strict=True)
    )
    assert {path.name for path in folder.iterdir()} == before
    assert [each.name for each in drop_old()] == old
    assert {path.name for path in folder.iterdir()} == before - set(old)
    assert drop_old() == []


def test_elsewhere_the_newest_are_kept_and_one_of_each_week_and_month(tmp_path):
    values = {"backup_keep": 3, "backup_keep_weeks": 3, "backup_keep_months": 4}
    settings = load_settings({}, {"instance_path": str(tmp_path), "backup_to": "/mnt"} | values)
    days = [datetime(2031, 6, 18, 9, tzinfo=UTC) - timedelta(days=each) for each in range(200)]
    found = [KeptBackup(f"scheduled-{day:%Y%m%dT%H%M%SZ}.tar.gz", 1, day) for day in days]
    other = KeptBackup("before-0004-20300101T000000Z.tar.gz", 1, days[-1])
    expired = choose_expired([other, *found], settings)
    kept = [f"{each.made_at:%m-%d}" for each in found if each not in expired]
    # 15 and 8 June were Sundays.
    assert kept == ["06-18", "06-17", "06-16", "06-15", "06-08", "05-31", "04-30", "03-31"]
    assert expired[0] == found[-1]
    assert other not in expired
