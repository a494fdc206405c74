"""How everything on this server is: a value of each kind, and what needs somebody.

It takes the same few statements however many accounts and testimonials there are.
"""

import platform
import shutil
from datetime import timedelta
from typing import Any

from sqlalchemy import case, func, select, text

from testimonials import __version__
from testimonials.auth.models import Account
from testimonials.auth.services import is_live
from testimonials.core import clock
from testimonials.core.data.rate_limit_counters import RateLimitCounter
from testimonials.core.mail.outbox import count_mails
from testimonials.domains.services import count_domains
from testimonials.extensions import db
from testimonials.media.quota import find_whole_share
from testimonials.operations.backup.state import describe_backups
from testimonials.operations.health import check_database, list_jobs
from testimonials.operations.metrics import POSTGRES_SIZE, SQLITE_SIZE
from testimonials.operator.troubles import find_troubles
from testimonials.settings.current import current_settings

STARTED_AT = clock.now()


def describe_server() -> dict[str, Any]:
    """Return everything that the page shows."""
    settings = current_settings()
    backups, storage = describe_backups(), _measure_storage()
    jobs, domains = list_jobs(), count_domains()
    return {
        "troubles": find_troubles(backups, storage, jobs, domains.troubled),
        "versions": _describe_versions(),
        "storage": storage,
        "backups": backups,
        "mails": count_mails(db.session()),
        "accounts": _count_accounts(),
        "domains": domains,
        "failed_jobs": [job for job in jobs if job.failed_at],
        "last_job_at": max((job.finished_at for job in jobs if job.finished_at), default=None),
        "project_limit": settings.project_limit,
        "recordings_limit": settings.account_recordings_megabytes,
        "hit_limits": _list_hit_limits(),
    }


def _describe_versions() -> dict[str, str]:
    """Return what runs here, since when, and whether the database has the schema that it needs."""
    return {
        "version": __version__,
        "python": platform.python_version(),
        "database": check_database().detail,
        "up": _describe_span(clock.now() - STARTED_AT),
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


def _count_accounts() -> dict[str, int]:
    columns = {
        "all": func.count(),
        "unclaimed": func.count(case((Account.claimed_at.is_(None), 1))),
        "suspended": func.count(case((Account.suspended_at.is_not(None), 1))),
    }
    row = db.session.execute(select(*columns.values()).where(is_live())).one()
    return dict(zip(columns, row, strict=True))


def _list_hit_limits() -> list[str] | None:
    """Return the limits that somebody has hit within their hours, or None where Redis counts.

    A counter's key is `LIMITER/whom/scope/amount/multiple/hour`; whom it counts, such as a network
    with a slash in it, isn't shown.
    """
    if current_settings().ratelimit_storage_url:
        return None
    now = clock.now().timestamp()
    query = select(RateLimitCounter).where(RateLimitCounter.expires_at > now)
    hit: dict[str, int] = {}
    for row in db.session.scalars(query.execution_options(yield_per=500)):
        parts = row.key.split("/")
        if len(parts) < 5 or not parts[-3].isdigit() or row.hits < int(parts[-3]):
            continue
        hours = "an hour" if parts[-2] == "1" else f"in {parts[-2]} hours"
        limit = f"{parts[-4]}, {parts[-3]} {hours}"
        hit[limit] = hit.get(limit, 0) + 1
    return [f"{limit}: {count} over it" for limit, count in sorted(hit.items())]
