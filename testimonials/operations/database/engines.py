"""Databases that are opened for one piece of work, apart from the application's own."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
from sqlalchemy import URL, Engine, create_engine
from sqlalchemy.exc import SQLAlchemyError

from testimonials.extensions import prepare_engine


class MoveRefused(click.ClickException):
    """The database can't be copied and nothing was changed; the message says why."""


@contextmanager
def opened_postgres(url: str) -> Iterator[Engine]:
    """Open a PostgreSQL database; raise `MoveRefused`, also for what the database refuses."""
    try:
        encoding = {"client_encoding": "utf8"}
        engine = create_engine(url, hide_parameters=True, connect_args=encoding)
    except ImportError:
        raise MoveRefused(
            "PostgreSQL needs an extra package: pip install 'testimonials[postgres]'"
        ) from None
    prepare_engine(engine)
    try:
        yield engine
    except SQLAlchemyError as error:
        reason = " ".join(str(getattr(error, "orig", None) or error).split())
        raise MoveRefused(f"The copy failed and was rolled back: {reason}") from None
    finally:
        engine.dispose()


@contextmanager
def opened_file(file: Path) -> Iterator[Engine]:
    """Open an SQLite file, which need not be there yet, and which nobody else has open."""
    engine = create_engine(URL.create("sqlite", database=str(file)))
    prepare_engine(engine)
    try:
        yield engine
    finally:
        engine.dispose()
