"""The only way to write: a transaction that commits at its end, or a series of them."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, delete, event, inspect, select
from sqlalchemy.orm import Session

from testimonials.core.db.engine import Base
from testimonials.core.db.identifiers import is_identifier
from testimonials.core.extensions import db, let_others_write, lock_for_writing

# Writing this many rows takes about a tenth of a second.
BATCH_ROWS = 250
# The key in `Session.info` of the functions that end a batch and lock for the next.
_WRITING = "writing"
# The key in `Session.info` of what to do after the commit.
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

    An exception rolls it back, except those in `keep`: a wrong code, for example, must be counted.
    Objects read before stay usable, but aren't written. `lock` is called first, and again after
    each `next_batch`: it finds and locks the rows to change, and raises if the caller may not, or
    no longer, change them. The block gets its result. `end_batch` replaces the commit of each
    batch.
    """
    session = db.session()
    info = session.info
    if _WRITING in info:
        raise RuntimeError("This is already within a writing transaction.")
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
    """Yield the items in batches, each in its own transaction (`next_batch`).

    The last batch, or the only one, is committed by `write`.
    """
    for start in range(0, len(items), size):
        if start:
            next_batch()
        yield items[start : start + size]


def next_batch() -> None:
    """Within `write`, commit, let others write, and begin the next transaction.

    Locked objects are found and locked again; all others are read again when they are used.
    """
    end_batch, lock = db.session().info[_WRITING]
    end_batch()
    db.session.expire_all()
    let_others_write()
    _begin(lock)


def do_after_commit(act: Callable[[], object]) -> None:
    """Do something that can't be rolled back once the transaction is committed."""
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
    """Return the row with an id from a request, if it meets the conditions."""
    if not is_identifier(id):
        return None
    query = select(model).where(inspect(model).primary_key[0] == id, *conditions)
    if for_update:
        query = query.with_for_update().execution_options(populate_existing=True)
    return db.session.scalars(query).one_or_none()


def delete_rows(model: type[Base], *conditions: ColumnElement[bool]) -> int:
    """Delete rows with one statement; return how many."""
    statement = delete(model).where(*conditions).returning(inspect(model).primary_key[0])
    return len(db.session.scalars(statement).all())


def _begin(lock: Callable[[], Any] | None) -> Any:
    # On SQLite, a transaction that reads first and writes later fails if another has written in
    # between.
    lock_for_writing()
    return lock() if lock else None
