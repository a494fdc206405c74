"""Whether this host can serve pages now, and what its operator should look at; bounded in time."""

import shutil
import tempfile
from collections.abc import Callable
from concurrent.futures import Future, wait
from dataclasses import dataclass
from datetime import timedelta
from threading import Thread

from flask import Flask, current_app
from sqlalchemy import select
from sqlalchemy.exc import SQLAlchemyError

from testimonials.core import clock
from testimonials.core.clock import iso
from testimonials.core.data.leases import BackgroundJob
from testimonials.core.mail.outbox import measure_waiting
from testimonials.extensions import db, limiter
from testimonials.migrations import runner
from testimonials.settings.current import current_settings

EXTENSION = "testimonials_looks"
# A host that answers later than this serves nobody well.
PATIENCE_SECONDS = 1.0
# Mail leaves within seconds; a receiver may ask to come back in some minutes.
LONGEST_WAIT = timedelta(minutes=15)
MEGABYTE = 1024 * 1024
# Enough for a day of writing and for the database's own log beside it.
LEAST_FREE = 100 * MEGABYTE
A_PAGE = bytes(4096)


@dataclass(frozen=True)
class Check:
    """What one look found; `detail` holds neither secrets nor addresses."""

    is_ok: bool
    detail: str


Found = dict[str, Check]
# Without these no page can be served. All others are the operator's to look at.
NEEDED = ("database", "disk")


def check_host() -> Found:
    """Look at everything, the needed first; what has not answered within a second is not well.

    Each look has a thread of its own, and none is begun while its last one still waits.
    """
    looks = {"database": look_at_data, "disk": look_at_disk}
    if current_settings().ratelimit_storage_url:
        looks["redis"] = look_at_redis
    begun = {name: _begin(name, look) for name, look in looks.items()}
    wait(begun.values(), timeout=PATIENCE_SECONDS)
    late = Check(False, f"has not answered within {PATIENCE_SECONDS:g} s")
    found: Found = {}
    for name, future in begun.items():
        found |= future.result() if future.done() else {name: late}
    if not current_settings().smtp_url:
        found["smtp"] = Check(False, "SMTP_URL is not set: mail is printed to the log")
    return found


def look_at_data() -> Found:
    """Look at the database, and at what it says of mail and of background work."""
    database = check_database()
    if not database.is_ok:
        return {"database": database}
    return {"database": database, "mail": check_mail(), "jobs": check_jobs()}


def check_database() -> Check:
    """Look whether the database answers, with the schema that this program needs."""
    revision, newest = runner.current(db.engine), runner.head()
    name = db.engine.dialect.name
    if revision != newest:
        return Check(False, f"{name}, at revision {revision or 'none'}, needs {newest}")
    return Check(True, f"{name}, at revision {newest}")


def check_mail() -> Check:
    """Look for mail that has not left, also while it waits for its next attempt."""
    count, age = measure_waiting(db.session())
    words = f"{count} mail(s) not sent, the oldest for {int(age.total_seconds())} s"
    return Check(age <= LONGEST_WAIT, words if count else "no mail waits")


def check_jobs() -> Check:
    """Look for background jobs whose last run failed, and for a service that does none."""
    jobs = db.session.scalars(select(BackgroundJob).order_by(BackgroundJob.name)).all()
    failed = [f"{job.name} failed at {iso(job.failed_at)}" for job in jobs if job.failed_at]
    newest = max((job.finished_at for job in jobs if job.finished_at), default=None)
    if newest is not None and clock.now() - newest > LONGEST_WAIT:
        failed.append(f"none was done since {iso(newest)}")
    return Check(not failed, ", ".join(failed) or "all went well")


def look_at_disk() -> Found:
    """Look whether data can be written where it is kept, and how much more of it."""
    return {"disk": check_disk(), "room": check_room_left()}


def check_disk() -> Check:
    """Look whether the folders that are written to take anything."""
    for folder in data_folders():
        try:
            with tempfile.TemporaryFile(dir=folder) as file:
                file.write(A_PAGE)
        except OSError as error:
            return Check(False, f"can't be written to: {error.strerror}")
    return Check(True, "takes writes")


def check_room_left() -> Check:
    """Look whether there is room for what a day brings."""
    free = measure_free()
    return Check(free >= LEAST_FREE, f"{free // MEGABYTE} MB free")


def measure_free() -> int:
    """Return how many bytes are free where the least are."""
    return min(shutil.disk_usage(folder).free for folder in data_folders())


def look_at_redis() -> Found:
    """Look whether requests can be counted in Redis, where they are."""
    is_there = limiter.can_count()
    return {
        "redis": Check(
            is_there, "counts" if is_there else "does not count: it is away, full or read-only"
        )
    }


def data_folders() -> list[str]:
    """Return the folders that are written to: the instance's and the database file's."""
    settings = current_settings()
    folders = [str(settings.instance_path)]
    if settings.database_file is not None:
        folders.append(str(settings.database_file.parent))
    return folders


def _begin(name: str, look: Callable[[], Found]) -> Future[Found]:
    under_way: dict[str, Future[Found]] = current_app.extensions.setdefault(EXTENSION, {})
    future = under_way.get(name)
    if future is None or future.done():
        future = under_way[name] = Future()
        app = current_app._get_current_object()  # type: ignore[attr-defined]
        Thread(target=_run, args=(app, name, look, future), name=name, daemon=True).start()
    return future


def _run(app: Flask, name: str, look: Callable[[], Found], future: Future[Found]) -> None:
    try:
        with app.app_context():
            found = look()
        future.set_result(found)
    except runner.SchemaError:
        # Its message names the server.
        future.set_result({name: Check(False, "can't be reached")})
    except (SQLAlchemyError, OSError) as error:
        future.set_result({name: Check(False, f"can't be looked at: {type(error).__name__}")})
    except BaseException as error:
        future.set_exception(error)
