"""Reading many tables as they were at one moment."""

from collections.abc import Iterator
from contextlib import contextmanager

from testimonials.extensions import db


@contextmanager
def reading_one_moment() -> Iterator[None]:
    """Read within one transaction that sees nothing of what others write meanwhile.

    SQLite gives that to each transaction, PostgreSQL when it is asked.
    """
    db.session.expunge_all()
    db.session.rollback()
    options = (
        {"isolation_level": "REPEATABLE READ"} if db.engine.dialect.name == "postgresql" else {}
    )
    db.session.connection(execution_options=options)
    try:
        yield
    finally:
        db.session.expunge_all()
        db.session.rollback()
