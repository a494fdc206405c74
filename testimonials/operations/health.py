"""Whether this process can do its work now: database, schema, mail and disk."""

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from flask import current_app
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError

from testimonials.core.outbox import measure_delay
from testimonials.extensions import db
from testimonials.migrations import runner

# A worker that lives sends what is due within seconds; a server that hangs costs it minutes.
LONGEST_DELAY = timedelta(minutes=15)
MEGABYTE = 1024 * 1024
# Enough for a day of writing and for the database's own log beside it.
LEAST_FREE = 100 * MEGABYTE
READ_ONLY = "read-only"


@dataclass(frozen=True)
class Check:
    """What one look found; `detail` holds neither secrets nor addresses."""

    is_ok: bool
    detail: str


def check_readiness() -> dict[str, Check]:
    """Look at everything that answering depends on; cheap, and without any lock."""
    checks: dict[str, Callable[[], Check]] = {
        "database": check_database,
        "migrations": check_migrations,
        "outbox": check_outbox,
        "disk": check_disk,
    }
    found = {}
    for name, check in checks.items():
        try:
            found[name] = check()
        except (SQLAlchemyError, runner.SchemaError, OSError) as error:
            found[name] = Check(False, f"can't be looked at: {type(error).__name__}")
        finally:
            db.session.rollback()
    return found


def check_database() -> Check:
    """Look whether the database answers."""
    db.session.execute(text("SELECT 1"))
    return Check(True, db.engine.dialect.name)


def check_migrations() -> Check:
    """Look whether the schema is the one that this program needs."""
    revision, newest = runner.current(db.engine), runner.head()
    return Check(revision == newest, f"at {revision or 'nothing'}, needs {newest}")


def check_outbox() -> Check:
    """Look whether mail that is due leaves."""
    seconds = int(measure_delay(db.session()).total_seconds())
    words = f"the oldest due mail waits for {seconds} s" if seconds else "no mail waits"
    return Check(seconds <= LONGEST_DELAY.total_seconds(), words)


def check_disk() -> Check:
    """Look whether there is room where data is written, and whether writing is allowed."""
    free = min(shutil.disk_usage(folder).free for folder in data_folders())
    if any(os.statvfs(folder).f_flag & os.ST_RDONLY for folder in data_folders()):
        return Check(False, READ_ONLY)
    return Check(free >= LEAST_FREE, f"{free // MEGABYTE} MB free")


def data_folders() -> list[str]:
    """Give the folders that are written to: the instance's and the database file's."""
    settings = current_app.config["SETTINGS"]
    folders = [str(settings.instance_path)]
    if settings.database_file is not None:
        folders.append(str(settings.database_file.parent))
    return folders
