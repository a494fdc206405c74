"""What a killed process leaves behind about the mail in its hands (`core/mail/handover.py`)."""

import os
import signal
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from flask import Flask
from sqlalchemy import event

from testimonials.core.mail.delivery import deliver_due_mail
from testimonials.core.mail.handover import FOLDER, LOCK, HandOver, Remains, Stage
from testimonials.core.mail.outbox import MailState, OutboxMail, lease_mail
from testimonials.core.mail.transports import SmtpTransport
from testimonials.extensions import begin_write, db
from tests.auth.links import mails
from tests.core.mail.test_outbox import SENDER, put_mail
from tests.operations.disks import fill, small_disk
from tests.servers import MailSink

MAIL = "0123456789abcdef01234567"


def run_and_kill(work: Callable[[], object]) -> None:
    """Do `work` in a process of its own, which is then killed."""
    pid = os.fork()
    if pid == 0:
        try:
            work()
        finally:
            os.kill(os.getpid(), signal.SIGKILL)
    assert os.WTERMSIG(os.waitpid(pid, 0)[1]) == signal.SIGKILL


def leave(folder: Path, stage: Stage, mail_id: str = MAIL, attempt: int = 1) -> None:
    def work() -> None:
        hand_over = HandOver(folder)
        hand_over.take(mail_id, attempt)
        hand_over.note(stage)

    run_and_kill(work)


def remains_in(folder: Path) -> list[Remains]:
    hand_over = HandOver(folder)
    with hand_over.remains() as remains:
        found = remains
    hand_over.close()
    return found


def lease() -> OutboxMail:
    """Take the mail that waits."""
    begin_write()
    mail = lease_mail(db.session())
    assert mail is not None
    db.session.commit()
    return mail


@pytest.mark.parametrize("stage", Stage)
def test_what_was_in_hand_outlives_a_kill_and_is_told_once(tmp_path: Path, stage: Stage) -> None:
    leave(tmp_path, stage, attempt=7)
    assert remains_in(tmp_path) == [Remains(MAIL, 7, stage)]
    assert remains_in(tmp_path) == []


def test_what_can_not_be_settled_is_told_again(tmp_path: Path) -> None:
    leave(tmp_path, Stage.HANDED_OVER)
    with pytest.raises(RuntimeError), HandOver(tmp_path).remains():
        raise RuntimeError("the database is away")
    assert len(remains_in(tmp_path)) == 1


def test_what_a_living_process_has_in_hand_is_its_own(tmp_path: Path) -> None:
    mine = HandOver(tmp_path)
    mine.take(MAIL, 1)
    assert remains_in(tmp_path) == []
    mine.close()
    # It ended without having put the mail down.
    assert remains_in(tmp_path) == [Remains(MAIL, 1, Stage.BEFORE_THE_END)]


def test_mail_leaves_also_where_a_full_disk_has_no_room_for_a_note(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "64k") as disk:
        remains_in(disk)
        fill(disk / "filler")
        hand_over = HandOver(disk)
        hand_over.take(MAIL, 1)
        hand_over.close()
        assert [path.name for path in (disk / FOLDER).iterdir()] == [LOCK]


def test_a_mail_put_down_leaves_nothing(tmp_path: Path) -> None:
    def work() -> None:
        hand_over = HandOver(tmp_path)
        hand_over.take(MAIL, 1)
        hand_over.put_down()

    run_and_kill(work)
    run_and_kill(lambda: HandOver(tmp_path))
    assert remains_in(tmp_path) == []
    assert [path.name for path in (tmp_path / FOLDER).iterdir()] == [LOCK]


def test_nobody_else_can_read_the_notes(tmp_path: Path) -> None:
    leave(tmp_path, Stage.TAKEN)
    for path in [tmp_path / FOLDER, *(tmp_path / FOLDER).iterdir()]:
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0


@pytest.mark.parametrize(
    "content",
    [b"", b"\2" * 128, b"\1abc 1".ljust(128, b"\0"), b"\7abc 1\n".ljust(128, b"\0")],
)
def test_a_note_that_was_cut_off_or_damaged_tells_of_nothing(
    tmp_path: Path, content: bytes
) -> None:
    (tmp_path / FOLDER).mkdir()
    (tmp_path / FOLDER / "1-00").write_bytes(content)
    assert remains_in(tmp_path) == []


def test_mail_leaves_where_no_note_can_be_kept(
    app: Flask, smtp: MailSink, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / FOLDER).write_text("in the way")
    put_mail(app)
    with app.app_context():
        assert deliver_due_mail(SmtpTransport(smtp.url, SENDER), HandOver(tmp_path)) == 1
    assert len(smtp.received) == 1
    assert "mail may come twice after a kill" in caplog.text


@pytest.mark.parametrize(
    ("stage", "state", "received"),
    [
        (Stage.BEFORE_THE_END, MailState.SENT, 1),
        (Stage.HANDED_OVER, MailState.UNCONFIRMED, 0),
        (Stage.TAKEN, MailState.SENT, 0),
    ],
)
def test_the_next_process_goes_on_where_the_killed_one_was(
    app: Flask, smtp: MailSink, tmp_path: Path, stage: Stage, state: MailState, received: int
) -> None:
    put_mail(app)
    with app.app_context():
        mail = lease()
        leave(tmp_path, stage, mail.id, mail.attempts)
        # At once, and not when the lease of the dead has run out.
        deliver_due_mail(SmtpTransport(smtp.url, SENDER), HandOver(tmp_path))
    assert len(smtp.received) == received
    (mail,) = mails(app)
    assert mail.state == state
    assert mail.sent_at is not None
    assert bool(mail.last_error) == (state == MailState.UNCONFIRMED)


def test_a_later_attempt_is_not_touched(app: Flask, smtp: MailSink, tmp_path: Path) -> None:
    put_mail(app)
    with app.app_context():
        mail = lease()
        leave(tmp_path, Stage.TAKEN, mail.id, mail.attempts + 1)
        deliver_due_mail(SmtpTransport(smtp.url, SENDER), HandOver(tmp_path))
        assert db.session.get_one(OutboxMail, mail.id).state == MailState.SENDING
    assert smtp.received == []


def test_a_note_that_the_database_refused_is_made_up_for(
    app: Flask, smtp: MailSink, tmp_path: Path
) -> None:
    put_mail(app)
    hand_over = HandOver(tmp_path)
    transport = SmtpTransport(smtp.url, SENDER)

    def refuse(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        if statement.startswith("UPDATE") and smtp.received:
            raise RuntimeError("the disk is full")

    with app.app_context():
        event.listen(db.engine, "before_cursor_execute", refuse)
        with pytest.raises(RuntimeError):
            deliver_due_mail(transport, hand_over)
        db.session.rollback()
        event.remove(db.engine, "before_cursor_execute", refuse)
        deliver_due_mail(transport, hand_over)
    assert len(smtp.received) == 1
    assert mails(app)[0].state == MailState.SENT
