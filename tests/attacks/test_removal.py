"""Somebody removed from a team in the middle of each thing that they do there."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import event

from testimonials.extensions import db
from tests.attacks.conftest import restore
from tests.attacks.test_access import ROLES, find_doors, keeper, knock, may
from tests.attacks.world import World
from tests.support.rows import everything
from tests.support.sampling import mostly_thorough

REMOVE = {
    "admin": "DELETE FROM project_member WHERE role = 'admin'",
    "moderator": "DELETE FROM project_member WHERE role = 'moderator'",
    "admin everywhere": "DELETE FROM workspace_member WHERE role = 'admin'",
    "reader": "DELETE FROM workspace_member WHERE role = 'reader'",
}


@contextmanager
def removed_before_the_lock(app: Flask, instance: Path, statement: str) -> Iterator[list[str]]:
    """Have another process remove somebody right before their request takes the write lock."""
    done: list[str] = []

    def remove(_connection: Any, _cursor: Any, text: str, *_rest: Any) -> None:
        if text == "BEGIN IMMEDIATE" and not done:
            with sqlite3.connect(instance / "testimonials.db") as other:
                other.execute(statement)
            other.close()
            done.append(statement)

    with app.app_context():
        engine = db.engine
    event.listen(engine, "before_cursor_execute", remove)
    try:
        yield done
    finally:
        event.remove(engine, "before_cursor_execute", remove)


def without_roles(app: Flask) -> dict[str, Any]:
    rows = everything(app)
    return {name: each for name, each in rows.items() if not name.endswith("_member")}


@pytest.mark.parametrize("role", mostly_thorough(ROLES, "admin", "reader"))
def test_who_is_removed_does_nothing(app: Flask, instance: Path, world: World, role: str) -> None:
    """Their request was let in, and then somebody removed them before it could write."""
    browser, before, met = world.open(app, role), without_roles(app), 0
    doors = [each for each in find_doors(app) if keeper(each) == "session" and not each.is_safe]
    for door in doors:
        if "project_id" not in door.names or not may(role, door):
            continue
        with removed_before_the_lock(app, instance, REMOVE[role]) as done:
            for answer in knock(browser, world, door):
                if done:
                    met += 1
                    assert answer.status_code == 404, (door, answer.status)
                    assert without_roles(app) == before, door
                restore(app, instance)
                done.clear()
        restore(app, instance)
    assert met >= (1 if role == "reader" else 15)
