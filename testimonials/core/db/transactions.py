"""The one way to write: a transaction that commits at its end, and work done in batches of such."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, delete, event, inspect, select
from sqlalchemy.orm import Session

from testimonials.core.db.engine import Base
from testimonials.core.db.identifiers import is_identifier
from testimonials.core.extensions import db, let_others_write, lock_for_writing

# Rows of a batch: about a tenth of a second.
BATCH_ROWS = 250
# In `Session.info`, what `next_batch` calls: to end a batch, and to lock again for the next.
_WRITING = "writing"
# There too, what is to be done once it is committed.
_AFTERWARDS = "afterwards"

T = TypeVar("T")
R = TypeVar("R", bound=Base)


@contextmanager
def write(
    lock: Callable[[], T] | None = None,
    *,
    keep: type[Exception] | tuple[type[Exception], ...] = (),
    end_batch: Callable[[], Any] = db.session.commit,
) -> Iterator[T]:
    """Begin the one writing transaction of a request, command or job; commit it at the end.

    An exception takes it back, unless it is one to `keep`: a wrong code counts. What was read
    before stays usable, but isn't written. `lock` is called at once, and again after each
    `next_batch`: it looks up what is to be changed, locked, and raises for who may not, or no
    longer, change it. Its result is what the block gets. `end_batch` takes the place of the commit
    before each `next_batch`.
    """
    session = db.session()
    info = session.info
    if _WRITING in info:
        raise RuntimeError("This is within a writing transaction already.")
    session.expunge_all()
    info[_WRITING] = end_batch, lock
    try:
        yield _begin(lock)
        session.commit()
    except keep:
        session.commit()
        raise
    except BaseException:
        session.rollback()
        raise
    finally:
        info.pop(_WRITING, None)


def in_batches(items: Sequence[T], size: int = BATCH_ROWS) -> Iterator[Sequence[T]]:
    """Yield some of the items after others, each time in a transaction of their own (`next_batch`).

    The last one is committed by `write`, like one that is the only one.
    """
    for start in range(0, len(items), size):
        if start:
            next_batch()
        yield items[start : start + size]


def next_batch() -> None:
    """Within `write`, commit what was done so far, let others write, and begin anew.

    What was locked is looked up and locked again, and is still the same object; everything else
    that was read is read again when it is used.
    """
    end_batch, lock = db.session().info[_WRITING]
    end_batch()
    db.session.expire_all()
    let_others_write()
    _begin(lock)


def do_after_commit(act: Callable[[], object]) -> None:
    """Do something that can't be taken back once what was written is certain."""
    db.session().info.setdefault(_AFTERWARDS, []).append(act)


@event.listens_for(db.session, "after_commit")
def _do_afterwards(session: Session) -> None:
    if not session.in_nested_transaction():
        for act in session.info.pop(_AFTERWARDS, ()):
            act()


@event.listens_for(db.session, "after_rollback")
def _forget_afterwards(session: Session) -> None:
    session.info.pop(_AFTERWARDS, None)


def find_row(model: type[R], id: str, *conditions: Any, for_update: bool = False) -> R | None:
    """Return the row with an id that somebody sent, if it meets the conditions; or lock it."""
    if not is_identifier(id):
        return None
    query = select(model).where(inspect(model).primary_key[0] == id, *conditions)
    if for_update:
        query = query.with_for_update().execution_options(populate_existing=True)
    return db.session.scalars(query).one_or_none()


def delete_rows(model: type[Base], *conditions: ColumnElement[bool]) -> int:
    """Delete rows by one statement; return how many."""
    statement = delete(model).where(*conditions).returning(inspect(model).primary_key[0])
    return len(db.session.scalars(statement).all())


def _begin(lock: Callable[[], Any] | None) -> Any:
    # A transaction that reads first and writes later fails at once if another has written in
    # between.
    lock_for_writing()
    return lock() if lock else None
