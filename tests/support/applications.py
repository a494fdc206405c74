"""Applications that tests have one after another.

Making one takes ten times as long as most tests do: every address is compiled, and after that every
query and every template. So what a test got is put back to what it was and given to the next test
that asks for the same settings; one that asks twice gets two.
"""

import contextlib
import dataclasses
import itertools
import os
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from flask import Flask
from jinja2 import BytecodeCache
from sqlalchemy import Engine, QueuePool, text

from testimonials import create_app
from testimonials.core.db.cache import VersionedCache
from testimonials.core.db.engine import Base
from testimonials.core.extensions import READER, db
from testimonials.core.settings import instance
from testimonials.core.settings.table import EXTENSION, current_settings, load_settings
from testimonials.widget.cache import SIGHTINGS

# With these an application has more of its own (threads, counters, a reporter of the whole process)
# than can be put back, or is on something that only its test knows.
OWN_SETTINGS = {
    "database_url", "instance_path", "metrics_token", "ratelimit_storage_url", "sentry_dsn",
}  # fmt: skip
# One for all applications of a run, so that they read what any of them has signed.
SECRET = b"what the applications of all tests sign with\n"


@dataclasses.dataclass
class Lent:
    app: Flask
    extensions: dict[str, Any]


def change_settings(app: Flask, **values: object) -> None:
    """Put other values into the settings of an application that runs already."""
    settings = dataclasses.replace(current_settings(app), **values)  # type: ignore[arg-type]
    app.extensions[EXTENSION] = settings


class Applications:
    """The applications of one worker, which share an instance folder."""

    def __init__(self, folder: Path, compiled_templates: BytecodeCache) -> None:
        self.folder = folder
        self._compiled_templates = compiled_templates
        self._free: dict[str, list[Lent]] = defaultdict(list)

    def close(self) -> None:
        for one in itertools.chain.from_iterable(self._free.values()):
            with one.app.app_context():
                db.engine.dispose()

    @contextlib.contextmanager
    def clean_folder(self) -> Iterator[None]:
        """Empty the folder before and after a test, and let go of the hold on it."""
        self._empty_folder()
        yield
        self._empty_folder()

    @contextlib.contextmanager
    def lend(self, overrides: dict[str, Any]) -> Iterator[Callable[..., Flask]]:
        """Return a function that gives applications with more settings;
        take them back in the end."""
        is_shared = overrides["instance_path"] == str(self.folder)
        if is_shared:
            descriptor = os.open(self.folder / "secret_key", os.O_CREAT | os.O_WRONLY, 0o600)
            os.write(descriptor, SECRET)
            os.close(descriptor)
        lent: list[tuple[str, Lent]] = []
        plain = repr(sorted(overrides.items()))

        def take(*, is_own: bool = False, **settings: object) -> Flask:
            """Return an application; one of its own to a test that adds to it."""
            key = ""
            if is_shared and not is_own and not settings.keys() & OWN_SETTINGS:
                key = repr(sorted((overrides | settings).items()))
            free = self._free[key] if key else []
            one = free.pop() if free else self._make(overrides | settings)
            lent.append((key, one))
            return one.app

        yield take
        for index, (key, one) in enumerate(lent):
            _put_back(one, empties=index == 0, keeps_connections=key == plain)
            if key:
                self._free[key].append(one)

    def _make(self, settings: dict[str, Any]) -> Lent:
        app = create_app(load_settings({}, settings))
        app.jinja_env.bytecode_cache = self._compiled_templates
        return Lent(app, dict(app.extensions))

    def _empty_folder(self) -> None:
        held = instance._held.pop(self.folder, None)
        if held is not None:
            os.close(held)
        for path in self.folder.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()


def _put_back(one: Lent, *, empties: bool, keeps_connections: bool) -> None:
    """Take out of an application what its test did to it; empty the database if told."""
    app = one.app
    with app.app_context():
        db.session.remove()
        is_postgres = db.engine.dialect.name == "postgresql"
        if is_postgres and empties:
            _empty(db.engine)
        # The next test has another file. On PostgreSQL only what one thread needs is kept.
        if not (is_postgres and keeps_connections and _is_idle(db.engine)):
            db.engine.dispose()
    app.extensions.clear()
    app.extensions.update(one.extensions)
    app.extensions[SIGHTINGS].take()
    for cache in app.extensions.values():
        if isinstance(cache, VersionedCache):
            cache.__init__(cache._max_bytes)  # type: ignore[misc]
    let_go_of_file(app)


def let_go_of_file(app: Flask) -> None:
    """Close what reads an SQLite file apart before the file is replaced."""
    if READER in app.extensions:
        app.extensions[READER].close()


def _is_idle(engine: Engine) -> bool:
    pool = engine.pool
    assert isinstance(pool, QueuePool)
    return pool.checkedout() == 0 and pool.checkedin() <= 1


def _empty(engine: Engine) -> None:
    """Delete every row; TRUNCATE makes new files for each table, which takes many times longer."""
    deletions = [f"DELETE FROM {table.name}" for table in Base.metadata.sorted_tables]
    with engine.begin() as connection:
        # In this role references are not checked, so the order doesn't matter.
        connection.execute(text("SET LOCAL session_replication_role = replica"))
        connection.exec_driver_sql("; ".join(deletions))
