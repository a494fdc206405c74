"""Every door answers its owner on PostgreSQL as it does on SQLite."""

from functools import partial
from typing import Any

from flask import Flask

from testimonials.core.db.migrate import upgrade
from testimonials.core.extensions import db
from tests.attacks.conftest import world
from tests.attacks.test_access import addresses
from tests.attacks.world import Door, World, build_world
from tests.contracts.test_statements import find_counted, find_requests

__all__ = ["world"]

# What others need goes last: readers before writers, and these after all other writers.
ENDINGS = ("leave", "end", "delete", "logout", "sign-out", "remove", "revoke", "offer")


def order(named: tuple[str, Door]) -> tuple[bool, bool, str]:
    name, door = named
    is_ending = door.method == "DELETE" or any(word in door.rule.rule for word in ENDINGS)
    return not door.is_safe, is_ending, name


def ask(app: Flask, world: World, door: Door, request: dict[str, Any]) -> tuple[int, str]:
    """Call a door as its owner does; return the status and the type of the answer."""
    sent = {"method": door.method, "environ_base": {"REMOTE_ADDR": next(addresses)}} | request
    with world.open(app, "owner").open(world.path(door), buffered=True, **sent) as answer:
        return answer.status_code, answer.mimetype


def test_each_door_answers_its_owner_alike(app, world, make_app, make_caller, empty_postgres):
    other = make_app(database_url=empty_postgres)
    with other.app_context():
        upgrade(db.engine)
    same = build_world(other, partial(make_caller, on=other))
    wrong: dict[str, list[tuple[int, str]]] = {}
    statuses = set()
    for name, door in sorted(find_counted(app), key=order):
        pairs = zip(find_requests(app, world, door), find_requests(other, same, door), strict=True)
        for here, there in pairs:
            answers = [ask(app, world, door, here), ask(other, same, door, there)]
            statuses.add((door.is_safe, answers[0][0]))
            if answers[0] != answers[1] or answers[1][0] >= 500:
                wrong[name] = answers
    assert wrong == {}
    assert statuses >= {(True, 200), (False, 200), (False, 303)}
