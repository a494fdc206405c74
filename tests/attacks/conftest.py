"""The world that is attacked; made once by each worker and copied for each test."""

from pathlib import Path

import pytest
from flask import Flask
from sqlalchemy import update

from testimonials.auth.models import Session
from testimonials.core import clock
from testimonials.core.extensions import db
from tests.attacks.world import World, build_world
from tests.conftest import MakeCaller
from tests.support.applications import let_go_of_file

_kept: list[tuple[bytes, World]] = []


@pytest.fixture
def world(app: Flask, make_caller: MakeCaller, instance: Path) -> World:
    """Everybody and everything, on SQLite (mark the test with `sqlite`)."""
    file = instance / "testimonials.db"
    if _kept:
        made = _kept[0][1]
        restore(app, instance)
    else:
        made = build_world(app, make_caller)
    # On a slow machine it was made more than ten minutes before the last test.
    with app.app_context():
        with db.engine.begin() as connection:
            connection.execute(update(Session).values(proved_at=clock.now()))
        db.session.execute(db.text("PRAGMA wal_checkpoint(TRUNCATE)"))
    _kept[:] = [(file.read_bytes(), made)]
    restore(app, instance)
    return made


def restore(app: Flask, instance: Path, content: bytes | None = None) -> None:
    """Put the database back to what it was when the world was made, or to another file's bytes."""
    file = instance / "testimonials.db"
    with app.app_context():
        db.session.remove()
        db.engine.dispose()
    let_go_of_file(app)
    for name in ("-wal", "-shm"):
        Path(f"{file}{name}").unlink(missing_ok=True)
    file.write_bytes(content or _kept[0][0])
