"""An application on an empty database."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from flask import Flask
from sqlalchemy import text

from testimonials import create_app
from testimonials.core.db.migrate import find_file
from testimonials.core.extensions import db
from testimonials.core.settings.table import load_settings
from tests.support.schemas import empty_database


@pytest.fixture
def database(backend: str, tmp_path: Path) -> Iterator[dict[str, str]]:
    """The settings of an empty database."""
    with empty_database(backend, tmp_path) as settings:
        yield settings


@pytest.fixture
def app(database: dict[str, str]) -> Iterator[Flask]:
    app = create_app(load_settings({}, database))
    with app.app_context():
        yield app
        db.session.remove()
        db.engine.dispose()


def execute(*statements: str) -> None:
    if file := find_file(db.engine):
        file.touch()
    with db.engine.begin() as connection:
        for each in statements:
            connection.execute(text(each))
