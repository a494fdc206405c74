"""Health checks: whether this host can serve pages, and warnings for its operator."""

import shutil
import tempfile
from collections.abc import Callable
from concurrent.futures import Future, wait
from dataclasses import dataclass
from datetime import datetime, timedelta
from threading import Thread

from flask import Flask, current_app, jsonify
from flask.typing import ResponseReturnValue
from sqlalchemy import select
from sqlalchemy.exc import SQLAlchemyError

from testimonials.core import clock
from testimonials.core.clock import iso
from testimonials.core.db import migrate
from testimonials.core.db.sqlite import is_damage
from testimonials.core.extensions import db, limiter
from testimonials.core.http.blueprints import site
from testimonials.core.jobs import KINDS, Job
from testimonials.core.late import load_all
from testimonials.core.mail.outbox import is_mail_refused, measure_waiting
from testimonials.core.settings.table import current_settings
from testimonials.operations.backup.creating import COPY_JOB, VERIFY_JOB

EXTENSION = "testimonials_health"
PATIENCE_SECONDS = 1.0
# How long mail may be queued, and how long the service may go without running a background job (one
# runs every minute).
LONGEST_WAIT = timedelta(minutes=15)
MEGABYTE = 1024 * 1024
# A backup needs room for the database twice, and recordings are refused below 256 MB. The alert
# TestimonialsDiskLow says the same.
LEAST_FREE = 500 * MEGABYTE


@dataclass(frozen=True)
class Check:
    """The result of a check; `detail` contains neither secrets nor addresses."""

    is_ok: bool
    detail: str


Results = dict[str, Check]
# If one of these fails, no page can be served; the others are warnings.
NEEDED = ("database", "disk")


def check_host() -> Results:
    """Run all checks; one that takes longer than a second counts as failed.

    Each check has a thread of its own, and isn't started again while it is running.
    """
    checks: dict[str, Callable[[], Results]] = {
        "database": _check_data,
        "disk": lambda: {"disk": check_disk(), "room": check_room_left()},
    }
    if current_settings().ratelimit_storage_url:
        checks["redis"] = lambda: {"redis": check_redis()}
    futures = {name: _start(name, check) for name, check in checks.items()}
    wait(futures.values(), timeout=PATIENCE_SECONDS)
    late = Check(False, f"has not answered within {PATIENCE_SECONDS:g} s")
    results: Results = {}
    for name, future in futures.items():
        results |= future.result() if future.done() else {name: late}
    if not current_settings().smtp_url:
        results["smtp"] = Check(False, "SMTP_URL is not set: mail is printed to the log")
    return results


def _check_data() -> Results:
    database = check_database()
    if not database.is_ok:
        return {"database": database}
    return {"database": database, "mail": check_mail(), "jobs": check_jobs()}


def check_redis() -> Check:
    is_ok = limiter.can_count()
    return Check(is_ok, "counts" if is_ok else "can't count: it is unreachable, full or read-only")


def check_database() -> Check:
    """Check that the database answers and has this version's schema."""
    revision, newest = migrate.current(db.engine), migrate.head()
    name = db.engine.dialect.name
    if revision != newest:
        return Check(False, f"{name}, at revision {revision or 'none'}, needs {newest}")
    return Check(True, f"{name}, at revision {newest}")


def check_mail() -> Check:
    """Check whether the server refuses mail, and whether mail has waited too long."""
    count, age = measure_waiting(db.session())
    is_refused = is_mail_refused(db.session())
    words = f"{count} email(s) not sent, the oldest for {int(age.total_seconds())} s"
    if is_refused:
        words += "; the mail server refuses them or does not answer"
    return Check(not is_refused and age <= LONGEST_WAIT, words if count else "no mail is waiting")


def check_jobs() -> Check:
    """Check whether background jobs failed, and whether any was done lately."""
    jobs = list_jobs()
    failed = [f"{job.id} failed at {iso(job.failed_at)}" for job in jobs if job.failed_at]
    newest = find_last_work(jobs)
    if newest is not None and clock.now() - newest > LONGEST_WAIT:
        failed.append(f"none has run since {iso(newest)}")
    return Check(not failed, ", ".join(failed) or "all succeeded")


def list_jobs() -> list[Job]:
    """Return the repeated jobs, without those that are switched off."""
    jobs = db.session.scalars(select(Job).where(Job.run_at.is_(None)).order_by(Job.id))
    settings = current_settings()
    is_on = {
        COPY_JOB: settings.backup_to or settings.backup_command,
        VERIFY_JOB: settings.backup_verify_days,
    }
    return [job for job in jobs if is_on.get(job.id, True)]


def find_last_work(jobs: list[Job]) -> datetime | None:
    """Return when the thread of most jobs last did one; others go on if it hangs."""
    load_all()
    times = [job.finished_at for job in jobs if job.id in KINDS and KINDS[job.id].thread == "jobs"]
    return max(filter(None, times), default=None)


def check_disk() -> Check:
    for folder in data_folders():
        try:
            with tempfile.TemporaryFile(dir=folder) as file:
                file.write(bytes(4096))
        except OSError as error:
            return Check(False, f"can't be written to: {error.strerror}")
    return Check(True, "can be written to")


def check_room_left() -> Check:
    free = measure_free()
    return Check(free >= LEAST_FREE, f"{free // MEGABYTE} MB free")


def measure_free() -> int:
    """Return the free bytes on the fullest disk with data."""
    return min(shutil.disk_usage(folder).free for folder in data_folders())


def data_folders() -> list[str]:
    """Return the instance folder, and the folder of the database file."""
    settings = current_settings()
    folders = [str(settings.instance_path)]
    if settings.database_file is not None:
        folders.append(str(settings.database_file.parent))
    return folders


def _start(name: str, check: Callable[[], Results]) -> Future[Results]:
    futures: dict[str, Future[Results]] = current_app.extensions.setdefault(EXTENSION, {})
    future = futures.get(name)
    if future is None or future.done():
        future = futures[name] = Future()
        app = current_app._get_current_object()  # type: ignore[attr-defined]
        Thread(target=_run, args=(app, name, check, future), name=name, daemon=True).start()
    return future


def _run(app: Flask, name: str, check: Callable[[], Results], future: Future[Results]) -> None:
    try:
        with app.app_context():
            results = check()
        future.set_result(results)
    except migrate.SchemaError:
        # Its message contains the server's address.
        future.set_result({name: Check(False, "can't be reached")})
    except (SQLAlchemyError, OSError) as error:
        words = "is damaged" if is_damage(error) else f"can't be checked: {type(error).__name__}"
        future.set_result({name: Check(False, words)})
    except BaseException as error:
        future.set_exception(error)


@site.get("/readyz")
def check_ready() -> ResponseReturnValue:
    """Return 200 if this host can serve pages and 503 otherwise, with warnings."""
    results = check_host()
    checks = {name: {"ok": results[name].is_ok, "detail": results[name].detail} for name in NEEDED}
    warnings = {
        name: each.detail for name, each in results.items() if name not in NEEDED and not each.is_ok
    }
    is_ready = all(check["ok"] for check in checks.values())
    body = {"status": "ready" if is_ready else "not ready", "checks": checks, "warnings": warnings}
    return jsonify(body), 200 if is_ready else 503, {"Cache-Control": "no-store"}
