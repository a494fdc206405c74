"""How everything on this machine is."""

import platform
import shutil
from datetime import timedelta
from typing import Any

from sqlalchemy import func, select, text

from testimonials import __version__
from testimonials.auth.services import is_live
from testimonials.core import clock
from testimonials.core.mail.outbox import count_mails
from testimonials.extensions import db
from testimonials.media.quota import find_whole_share
from testimonials.operations.backup.state import describe_backups
from testimonials.operations.health import check_database, list_jobs
from testimonials.operations.metrics import POSTGRES_SIZE, SQLITE_SIZE
from testimonials.operator.overview.troubles import find_troubles
from testimonials.settings.current import current_settings

STARTED_AT = clock.now()


def describe_server() -> dict[str, Any]:
    """Return everything that the first page shows, but the newest accounts."""
    backups, storage = describe_backups(), _measure_storage()
    return {
        "troubles": find_troubles(backups, storage),
        "versions": describe_versions(),
        "storage": storage,
        "backups": backups,
        "mails": count_mails(db.session()),
        "accounts": db.session.scalar(select(func.count()).where(is_live())),
        "jobs": list_jobs(),
        "checked_at": clock.now(),
    }


def describe_versions() -> dict[str, str]:
    """Return what runs here, since when, and whether the database has the schema that it needs."""
    return {
        "Version": __version__,
        "Python": platform.python_version(),
        "Database": check_database().detail,
        "Up": _describe_span(clock.now() - STARTED_AT),
    }


def _describe_span(span: timedelta) -> str:
    minutes = max(0, int(span.total_seconds()) // 60)
    sizes = {"day": minutes // (24 * 60), "hour": minutes // 60, "minute": minutes}
    unit, count = next((each for each in sizes.items() if each[1]), ("minute", 0))
    return f"{count} {unit}{'' if count == 1 else 's'}"


def _measure_storage() -> dict[str, Any]:
    disk = shutil.disk_usage(current_settings().instance_path)
    query = SQLITE_SIZE if current_settings().is_sqlite else POSTGRES_SIZE
    recordings = find_whole_share()
    return {
        "used": disk.total - disk.free,
        "total": disk.total,
        "free": disk.free,
        "share": (disk.total - disk.free) / disk.total,
        "database": int(db.session.scalar(text(query)) or 0),
        "recordings": recordings.bytes,
        "recordings_limit": recordings.limit,
    }
