"""How many statements each door sends to the database, however much that holds."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from flask import Flask
from sqlalchemy import Table, UniqueConstraint, insert, select, update

from testimonials.auth.models import Account
from testimonials.core.db.engine import Base
from testimonials.core.db.identifiers import new_identifier
from testimonials.core.extensions import db, lock_for_writing
from testimonials.projects.models import NotificationChoice, Project
from tests.attacks.conftest import restore, world
from tests.attacks.test_access import addresses
from tests.attacks.world import Door, World, find_doors
from tests.support.plans import count_statements
from tests.support.schemas import KEPT

__all__ = ["world"]

TABLE = Path(__file__).with_name("statements.json")
# They ask in threads or by connections of their own, or not at all.
APART = {"/healthz", "/metrics", "/readyz", "/static/<path:filename>", "/widget/<project_id>/feed"}
# What takes a statement or more for each row, and why.
PER_ROW = {
    "POST /dashboard/account/export": "It holds an archive of each project.",
    "POST /dashboard/projects/<project_id>/collect/asked/cancel": "Each takes its mail along.",
}
# An account is what everything belongs to.
NOT_COPIED = {"account", "custom_domain", "rate_limit_counter", *KEPT}


def find_counted(app: Flask) -> Iterator[tuple[str, Door]]:
    """Yield every door that is counted, with its name in the table."""
    for door in find_doors(app):
        if door.method != "HEAD" and door.rule.rule not in APART:
            yield " ".join((str(door), *door.words.values())), door


def find_requests(app: Flask, world: World, door: Door) -> list[dict[str, Any]]:
    """Return what the owner sends to a door, once for each set of fields that a form there has."""
    if door.first == "v1":
        return [
            {"headers": each["owner"]} | world.call(app, door)
            for each in (world.keys, world.tokens)
        ]
    if door.is_safe:
        return [{}]
    bodies = world.bodies(world.path(door))
    filled = {tuple(sorted(name for name in body if any(body[name]))): body for body in bodies}
    return [{"data": body} for body in filled.values()]


def count(app: Flask, world: World, door: Door, request: dict[str, Any]) -> int:
    browser, path = world.open(app, "owner"), world.path(door)
    sent = {"method": door.method, "environ_base": {"REMOTE_ADDR": next(addresses)}} | request

    def work() -> None:
        with browser.open(path, buffered=True, **sent) as answer:
            assert answer.status_code < 500, door

    with app.app_context():
        engine = db.engine
    return count_statements(engine, work)


def double() -> None:
    """Copy every row of every account, under other keys."""
    projects: dict[str, str] = {}
    for table in Base.metadata.sorted_tables:
        if table.name not in NOT_COPIED:
            for row in db.session.execute(select(table)).mappings().all():
                # Who is in all projects of an owner is one of the accounts.
                if table.name == "member" and row["owner_id"]:
                    continue
                db.session.execute(insert(table).values(copy_row(table, dict(row), projects)))


def copy_row(table: Table, row: dict[str, Any], projects: dict[str, str]) -> dict[str, Any]:
    unique = [each for each in table.constraints if isinstance(each, UniqueConstraint)]
    indexes = [each for each in table.indexes if each.unique]
    columns = [column for each in (table.primary_key, *unique, *indexes) for column in each.columns]
    own = {column.name for column in columns if not column.foreign_keys}
    copy = {each.name: row[each.name] for each in table.columns if each.computed is None}
    for name in own:
        if isinstance(copy[name], int):
            del copy[name]
        elif copy[name] is not None:
            copy[name] = new_identifier() if name == "id" else copy[name][:20] + new_identifier()
    if table.name == "project":
        projects[row["id"]] = copy["id"]
    if not own or table.name == "member":
        copy["project_id"] = projects[copy["project_id"]]
    return copy


def grow(app: Flask, instance: Path, times: int) -> bytes:
    """Return the database with its rows doubled so many times, and no answer left in memory."""
    restore(app, instance)
    with app.app_context():
        lock_for_writing()
        for _ in range(times):
            double()
        # Which makes what is kept in memory too old.
        version = Project.feed_version + times
        db.session.execute(update(Project).values(feed_version=version))
        db.session.execute(update(Account).values(project_limit=1_000))
        # Or it would depend on the minutes since the last mail whether there is another.
        db.session.execute(update(NotificationChoice).values(last_sent_at=None))
        db.session.commit()
        db.session.execute(db.text("PRAGMA wal_checkpoint(TRUNCATE)"))
    return (instance / "testimonials.db").read_bytes()


def count_all(app: Flask, instance: Path, world: World, *, times: int) -> dict[str, int]:
    """Return the highest number of every door, with the rows doubled so many times."""
    found: dict[str, int] = {}
    content = grow(app, instance, times)
    for name, door in find_counted(app):
        found[name] = 0
        for request in find_requests(app, world, door):
            found[name] = max(found[name], count(app, world, door, request))
            if not door.is_safe:
                restore(app, instance, content)
    return found


def test_no_door_takes_more_statements_than_said(app, instance, world):
    """With WRITE_STATEMENTS=1 the table is written; think twice about a number that gets higher."""
    found = count_all(app, instance, world, times=3)
    if os.environ.get("WRITE_STATEMENTS"):
        TABLE.write_text(json.dumps(found, indent=2, sort_keys=True) + "\n")
    table = json.loads(TABLE.read_text())
    higher = {name: each for name, each in found.items() if each > table.get(name, -1)}
    assert not higher, f"more statements than {TABLE.name} says"
    assert table.keys() == found.keys(), "the table names doors that are gone"
    more = count_all(app, instance, world, times=4)
    grown = {name: each for name, each in more.items() if each > found[name]}
    assert grown.keys() == PER_ROW.keys(), "a door asks once for each row of a list"
