"""The one way to write."""

import sqlite3
import threading
from contextlib import closing
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import event, select
from sqlalchemy.exc import OperationalError

from testimonials.core import extensions
from testimonials.core.db.transactions import in_batches, next_batch, write
from testimonials.core.extensions import db
from testimonials.core.http.errors import NotFound, ServiceError
from testimonials.core.http.idempotency import IdempotencyKey


def _add(key: str) -> None:
    row = IdempotencyKey(owner="a", key=key, fingerprint="", status=0, body=b"")
    db.session.add(row)


def _stored() -> list[str]:
    """Return what another connection sees."""
    with closing(db.engine.connect()) as connection:
        return list(connection.scalars(select(IdempotencyKey.key).order_by(IdempotencyKey.key)))


def _lock() -> IdempotencyKey:
    query = select(IdempotencyKey).where(IdempotencyKey.key == "locked").with_for_update()
    row = db.session.scalars(query).one_or_none()
    if row is None:
        raise NotFound
    return row


def _add_and_fail(key: str, error: Exception, **options: Any) -> None:
    with write(**options):
        _add(key)
        raise error


def _take_lock_away() -> None:
    with write(_lock) as row:
        _add("done")
        row.key = "taken away"
        db.session.flush()
        next_batch()


@pytest.mark.postgres
def test_a_block_commits_at_its_end_and_an_error_takes_it_back(app):
    with app.app_context():
        with write():
            _add("kept")
            db.session.flush()
            assert _stored() == []
        assert _stored() == ["kept"]
        with pytest.raises(KeyError):
            _add_and_fail("lost", KeyError())
        # And one may write again.
        with write():
            _add("more")
        assert _stored() == ["kept", "more"]


def test_only_an_error_to_keep_commits_and_who_lost_the_right_goes_no_further(app):
    with app.app_context():
        with pytest.raises(NotFound):
            _add_and_fail("counted", NotFound(), keep=ServiceError)
        assert _stored() == ["counted"]
    with app.app_context(), pytest.raises(RuntimeError), write(), write():
        pass
    # Who lost the right in between does not go on.
    with app.app_context():
        with write():
            _add("locked")
        with pytest.raises(NotFound):
            _take_lock_away()
        assert _stored() == ["counted", "done", "taken away"]


@pytest.mark.postgres
def test_batches_are_transactions_of_their_own_with_the_same_things_locked(app):
    with app.app_context():
        with write():
            _add("locked")
        seen: list[Any] = []
        with write(_lock) as row:
            for some in in_batches(["a", "b", "c"], 2):
                # Others change it in between: it is read anew.
                row.status += 1
                seen.append((list(some), row.status, _stored()))
                for each in some:
                    _add(each)
        assert seen == [(["a", "b"], 1, ["locked"]), (["c"], 2, ["a", "b", "locked"])]
        assert _stored() == ["a", "b", "c", "locked"]


def _write_in_threads(app: Flask, count: int) -> list[BaseException | None]:
    """Write in as many threads at once; return what each of them failed with."""
    failed: list[BaseException | None] = [None] * count

    def work(number: int) -> None:
        with app.app_context():
            try:
                for each in range(5):
                    with write():
                        _add(f"{number}.{each}")
            except OperationalError as error:
                failed[number] = error

    threads = [threading.Thread(target=work, args=(number,)) for number in range(count)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    return failed


def test_threads_write_in_turns(app):
    """None asks SQLite for its lock while another has it, since SQLite would let it nap.

    Each writes on the connection of the one before, which has read the pages that it changes.
    """
    asking: list[int] = []
    used: set[int] = set()
    most = 0

    def note(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        nonlocal most
        if statement == "BEGIN IMMEDIATE":
            asking.append(1)
            most = max(most, len(asking))

    def forget(driver: object, _record: object) -> None:
        used.add(id(driver))
        asking.clear()

    with app.app_context():
        engine = db.engine
    event.listen(engine, "before_cursor_execute", note)
    # Before the turn ends.
    event.listen(engine, "checkin", forget, insert=True)
    try:
        assert _write_in_threads(app, 4) == [None] * 4
    finally:
        event.remove(engine, "before_cursor_execute", note)
        event.remove(engine, "checkin", forget)
    with app.app_context():
        assert len(_stored()) == 20
    assert most == 1
    assert len(used) == 1


def test_a_new_file_has_small_pages(app, instance):
    """Each page that a write changes is written whole."""
    with closing(sqlite3.connect(instance / "testimonials.db")) as file:
        assert file.execute("PRAGMA page_size").fetchone() == (2048,)


def test_whoever_waited_for_another_program_in_vain_gives_the_turn_back(app, instance, monkeypatch):
    monkeypatch.setattr(extensions, "BUSY_TIMEOUT_MS", 200)
    with closing(sqlite3.connect(instance / "testimonials.db", isolation_level=None)) as other:
        with app.app_context():
            db.engine.dispose()
        other.execute("BEGIN IMMEDIATE")
        failed = _write_in_threads(app, 3)
        assert ["database is locked" in str(each) for each in failed] == [True] * 3
        other.execute("ROLLBACK")
    assert _write_in_threads(app, 3) == [None] * 3
