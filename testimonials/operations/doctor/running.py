"""Running the checks of the doctor, for the command and the operator’s page."""

from collections.abc import Callable, Iterator

import click
from sqlalchemy.exc import SQLAlchemyError

from testimonials.core.data.damage import advise_restore, is_damage
from testimonials.core.logs.scrubbing import scrub
from testimonials.extensions import db
from testimonials.operations.doctor import backups, company, data, network, settings
from testimonials.operations.doctor.findings import NO_SCHEMA, Finding

Check = Callable[[], Iterator[Finding]]
CHECKS: dict[str, Check] = {
    "python": settings.check_python,
    "settings": settings.check_settings,
    "files": settings.check_files,
    "disk": settings.check_room,
    "database": data.check_database,
    "schema": data.check_schema,
    "rate limits": network.check_limits,
    "clock": data.check_clock,
    "addresses": network.check_urls,
    "mail server": network.check_mail,
    "company sign-in": company.check_company,
    "outbox": network.check_outbox_mail,
    "background work": data.check_work,
    "slugs": data.check_slugs,
    "webhooks": data.check_webhooks,
    "backups": backups.check_backups,
    "recordings": data.check_recordings,
}
# These query tables, and connecting would create a database if there is none.
NEED_SCHEMA = (
    "clock",
    "company sign-in",
    "outbox",
    "background work",
    "slugs",
    "webhooks",
    "backups",
    "recordings",
)


def examine() -> dict[str, list[Finding]]:
    """Run the checks; return what each found."""
    found: dict[str, list[Finding]] = {}
    for name, check in CHECKS.items():
        is_possible = name not in NEED_SCHEMA or not found["schema"]
        found[name] = _run(check) if is_possible else [NO_SCHEMA]
    return found


def is_fine(findings: list[Finding]) -> bool:
    """Return whether nothing has to be done."""
    return all(finding.is_note for finding in findings)


def _run(check: Check) -> list[Finding]:
    try:
        return list(check())
    except (SQLAlchemyError, click.ClickException) as error:
        reason = scrub(" ".join(str(getattr(error, "orig", None) or error).split()))
        fix = advise_restore() if is_damage(error) else "Fix the cause, then run this again."
        return [Finding(f"The database can't be queried: {reason}", fix)]
    except OSError as error:
        words = f"{error.strerror or error} ({error.filename or 'no file'})"
        return [Finding(f"This can't be checked: {words}", "Run this as the service's own user.")]
    finally:
        db.session.rollback()
