"""The world that is attacked; made once and copied for each test."""

import fcntl
import pickle
import time
from math import inf
from pathlib import Path

import pytest
from flask import Flask
from sqlalchemy import update

from testimonials.auth.models import Session
from testimonials.core import clock, late
from testimonials.core.extensions import db
from tests.attacks.world import World, build_world
from tests.conftest import MakeCaller
from tests.support.applications import let_go_of_file

# It, what its database holds, and when its sessions were proved.
_kept: list[tuple[World, bytes, float]] = []
# Of the ten minutes for which a proof is good.
FRESH = 300


@pytest.fixture
def world(app: Flask, make_caller: MakeCaller, instance: Path, shared_folder: Path) -> World:
    """Everybody and everything, on SQLite; each test has it as it was made."""
    if not _kept:
        _kept[:] = [(*_share_world(app, make_caller, instance, shared_folder), -inf)]
    restore(app, instance)
    made, _, proved_at = _kept[0]
    if time.monotonic() > proved_at + FRESH:
        with app.app_context(), db.engine.begin() as connection:
            connection.execute(update(Session).values(proved_at=clock.now()))
        _kept[:] = [(made, _read_database(app, instance), time.monotonic())]
        restore(app, instance)
    return made


def _share_world(
    app: Flask, make_caller: MakeCaller, instance: Path, folder: Path
) -> tuple[World, bytes]:
    """Make the world, or read what another worker of this run has made."""
    file = folder / "world"
    with file.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not file.exists():
            made = build_world(app, make_caller)
            file.write_bytes(pickle.dumps((made, _read_database(app, instance))))
    # As its doors have done for whoever made it; tests compare the rows of every table.
    late.load_all()
    # Written by this run alone.
    found: tuple[World, bytes] = pickle.loads(file.read_bytes())  # noqa: S301
    return found


def _read_database(app: Flask, instance: Path) -> bytes:
    with app.app_context():
        db.session.execute(db.text("PRAGMA wal_checkpoint(TRUNCATE)"))
    return (instance / "testimonials.db").read_bytes()


def restore(app: Flask, instance: Path, content: bytes | None = None) -> None:
    """Put the database back to what it was when the world was made, or to another file's bytes."""
    file = instance / "testimonials.db"
    with app.app_context():
        db.session.remove()
        db.engine.dispose()
    let_go_of_file(app)
    for name in ("-wal", "-shm"):
        Path(f"{file}{name}").unlink(missing_ok=True)
    file.write_bytes(content or _kept[0][1])
