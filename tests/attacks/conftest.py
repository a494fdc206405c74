"""The world that is attacked; made once by each worker and copied for each test."""

from pathlib import Path

import pytest
from flask import Flask

from testimonials.extensions import db
from tests.attacks.world import World, build_world
from tests.conftest import MakeCaller

_kept: list[tuple[bytes, World]] = []


@pytest.fixture
def world(app: Flask, make_caller: MakeCaller, instance: Path) -> World:
    """Everybody and everything, on SQLite (mark the test with `sqlite`)."""
    file = instance / "testimonials.db"
    if not _kept:
        made = build_world(app, make_caller)
        with app.app_context():
            db.session.execute(db.text("PRAGMA wal_checkpoint(TRUNCATE)"))
        _kept.append((file.read_bytes(), made))
    restore(app, instance)
    return _kept[0][1]


def restore(app: Flask, instance: Path, content: bytes | None = None) -> None:
    """Put the database back to what it was when the world was made, or to another file's bytes."""
    file = instance / "testimonials.db"
    with app.app_context():
        db.session.remove()
        db.engine.dispose()
    for name in ("-wal", "-shm"):
        Path(f"{file}{name}").unlink(missing_ok=True)
    file.write_bytes(content or _kept[0][0])
