"""Backups by themselves: when, how many, and who hears of it when one fails."""

from pathlib import Path

import pytest

from testimonials.core.extensions import db
from testimonials.core.mail.outbox import OutboxMail
from testimonials.operations.backup.creating import BACKUP_JOB, run_backup_job
from tests.operations.backup.conftest import FIRST, job_error, mails, names, work
from tests.operations.instances import emails, make_instance, query, restore_here
from tests.support.servers import wait_for


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "ours" / "backups"


def test_one_is_made_when_there_is_data_and_then_daily(make, app, folder, make_caller, moved_clock):
    work(app)
    assert names(folder) == []
    make_caller("owner@example.com", is_claimed=True)
    work(make(backup_hours=0))
    assert names(folder) == []
    work(app)
    assert names(folder) == [FIRST]
    for hours, count in ((23, 1), (1.1, 2), (1, 2)):
        moved_clock.move(hours=hours)
        work(app)
        assert len(names(folder)) == count
    restore_here(folder.parent.parent / "new", folder / names(folder)[1])
    assert emails(folder.parent.parent / "new") == {"owner@example.com"}


def test_the_newest_are_kept_and_nothing_else_is_touched(make, folder, owner, moved_clock):
    app = make(backup_keep=2, backup_hours=1)
    others = {"before-0004-20300101T000000Z.tar.gz", "scheduled-notes.txt", "mine.tar.gz"}
    folder.mkdir()
    for name in others:
        (folder / name).write_text("")
    for _ in range(4):
        work(app)
        moved_clock.move(hours=1)
    kept = {"scheduled-20310505T110000Z.tar.gz", "scheduled-20310505T120000Z.tar.gz"}
    assert set(names(folder)) == others | kept


def test_only_the_host_that_made_a_backup_copies_it(make, owner, place, tmp_path, moved_clock):
    one, two = (
        make(backup_path=str(tmp_path / name), backup_to=str(place), backup_keep_weeks=0)
        for name in ("one", "two")
    )
    work(one)
    moved_clock.move(hours=24)
    with two.app_context():
        assert run_backup_job(BACKUP_JOB)
    for app in (one, two, one):
        work(app)
        moved_clock.move(minutes=2)
    assert names(place) == [*names(tmp_path / "one"), *names(tmp_path / "two")]
    assert len(names(place)) == 2


def test_a_failure_is_mailed_once_a_day_until_it_works(make, app, tmp_path, owner, moved_clock):
    place = tmp_path / "disk"
    place.write_text("a file where the folder should be")
    broken = make(backup_path=str(place))
    for _ in range(30):
        work(broken)
        moved_clock.move(hours=1)
    subjects = mails(app)
    assert len(subjects) == 2
    assert subjects[0] == f"The backup failed: {place} can't be written to: Not a directory"
    assert "Not a directory" in str(job_error(app, BACKUP_JOB))
    with app.app_context():
        mail = db.session.query(OutboxMail).filter_by(purpose="backup-failed").first()
        assert mail is not None
        assert mail.recipient == "operator@example.com"
        assert "It is retried every hour." in mail.text
        db.session.rollback()
    place.unlink()
    work(broken)
    assert len(names(place)) == 1
    for _ in range(3):
        moved_clock.move(days=1)
        work(broken)
    assert len(mails(app)) == 2
    assert job_error(app, BACKUP_JOB) is None


def test_without_an_operator_only_the_log_says_it(make, tmp_path, owner, caplog):
    (tmp_path / "disk").write_text("")
    app = make(backup_path=str(tmp_path / "disk"), operator_email="")
    work(app)
    assert "no backup, " in caplog.text
    assert "Not a directory" in caplog.text
    assert "Traceback" not in caplog.text
    assert mails(app) == []


@pytest.mark.process
def test_a_service_makes_the_backup_and_its_failure_reaches_the_operator(start, tmp_path, smtp):
    instance = make_instance(tmp_path / "service", "owner@example.com")
    service = start()
    folder = instance / "backups"
    wait_for(lambda: any(name.endswith(".gz") for name in names(folder)), what="a backup")
    # All but the two about copies, which have no place.
    left = "SELECT count(*) FROM job WHERE finished_at IS NULL AND id NOT LIKE 'backup-%'"
    verified = "SELECT id FROM job WHERE id = 'backup-verify' AND finished_at IS NOT NULL"
    wait_for(lambda: query(instance, verified) and query(instance, left) == [(0,)], what="jobs")
    assert service.stop() == 0
    assert len(names(folder)) == 1
    assert restore_here(tmp_path / "x", folder / names(folder)[0], "--dry-run")
    # A day later, on a disk that takes nothing.
    query(instance, "UPDATE job SET started_at = started_at - 90000000")
    (tmp_path / "full").write_text("")
    start(backup_path=str(tmp_path / "full"), operator_email="me@example.com", smtp_url=smtp.url)
    wait_for(lambda: [mail for mail in smtp.received if mail.recipients == ["me@example.com"]])
