"""Every door that writes: who has to prove again who they are, and who was just removed."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import event, update

from testimonials.auth.models import Session
from testimonials.core.extensions import db
from tests.attacks.conftest import restore
from tests.attacks.test_access import ROLES, keeper, knock, may, of
from tests.attacks.world import find_doors
from tests.support.rows import everything
from tests.support.sampling import mostly_thorough

# By these, whoever has an open browser or its cookie would stay, or take everything along.
ASKING = {
    "/oauth/authorize",
    *(f"/dashboard/account/{path}" for path in (
        "company/link", "delete", "email", "export", "key", "people", "people/<account_id>/role",
        "person", "security/app",
        "security/app/new", "security/app/remove", "security/codes", "security/company/unlink",
        "security/needed", "security/passkeys", "security/passkeys/<passkey_id>/remove",
        "security/passkeys/new", "security/password/new", "security/password/remove",
        "security/sessions/<session_id>/end", "security/sessions/end",
        "security/sessions/end/others", "security/team",
    )),
    *(f"/dashboard/projects/<project_id>/{path}" for path in (
        "people/hand-over", "settings/delete", "settings/developers/purchases/secret",
        "settings/developers/tokens/new", "settings/developers/webhooks/new",
        "settings/developers/webhooks/<webhook_id>/change",
        "settings/developers/webhooks/<webhook_id>/secret",
    )),
}  # fmt: skip


def test_what_a_thief_would_do_asks_for_a_proof(app, instance, world):
    # Every session was proved long ago.
    with app.app_context():
        with db.engine.begin() as connection:
            connection.execute(update(Session).values(proved_at=None))
        db.session.execute(db.text("PRAGMA wal_checkpoint(TRUNCATE)"))
    content, before = (instance / "testimonials.db").read_bytes(), everything(app)
    doors = [door for door in of(find_doors(app), "session") if not door.is_safe]
    asking = set()
    for door in doors:
        # A new password brings a new cookie, so each has the browser of the beginning.
        for answer in knock(world.open(app, "owner"), world, door):
            if answer.status_code == 401:
                asking.add(door.rule.rule)
                assert 'name="proof"' in answer.text, door
                assert everything(app) == before, door
        if door.rule.rule not in asking:
            restore(app, instance, content)
    assert asking == ASKING & {door.rule.rule for door in doors}


REMOVE = {
    "admin": "DELETE FROM member WHERE project_id IS NOT NULL AND role = 'admin'",
    "moderator": "DELETE FROM member WHERE project_id IS NOT NULL AND role = 'moderator'",
    "admin everywhere": "DELETE FROM member WHERE owner_id IS NOT NULL AND role = 'admin'",
    "reader": "DELETE FROM member WHERE owner_id IS NOT NULL AND role = 'reader'",
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
    return {name: each for name, each in rows.items() if name != "member"}


@pytest.mark.parametrize("role", mostly_thorough(ROLES, "admin", "reader"))
def test_who_is_removed_does_nothing(app, instance, world, role):
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
