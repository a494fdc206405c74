"""`testimonials doctor`: check everything, and say what to do."""

from collections.abc import Callable, Iterator
from dataclasses import asdict

import click
from flask.cli import with_appcontext
from sqlalchemy.exc import SQLAlchemyError

from testimonials.core.commands import json_option, print_json
from testimonials.core.logs.scrubbing import scrub
from testimonials.extensions import db
from testimonials.operations.doctor import backups, company, data, network, publishing, settings
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
    "webhooks": data.check_webhooks,
    "backups": backups.check_backups,
    "recordings": data.check_recordings,
    "publishing": publishing.check_publishing,
}
# These query tables, and connecting would create a database if there is none.
NEED_SCHEMA = (
    "clock",
    "company sign-in",
    "outbox",
    "background work",
    "webhooks",
    "backups",
    "recordings",
    "publishing",
)


@click.command()
@json_option
@with_appcontext
def doctor(as_json: bool) -> None:
    """Check settings, files, database, clock, mail, addresses and backups, and say what to do.

    Changes no data and sends no mail. Exits with 1 if it finds a problem.
    """
    found: dict[str, list[Finding]] = {}
    for name, check in CHECKS.items():
        is_possible = name not in NEED_SCHEMA or not found["schema"]
        found[name] = _run(check) if is_possible else [NO_SCHEMA]
    is_fine = all(map(_is_fine, found.values()))
    if as_json:
        checks = [
            {"check": name, "ok": _is_fine(each), "findings": list(map(asdict, each))}
            for name, each in found.items()
        ]
        print_json({"ok": is_fine, "checks": checks})
    else:
        for name, findings in found.items():
            sign = "ok " if not findings else "-- " if _is_fine(findings) else "!! "
            click.echo(f"{sign} {name}")
            for each in findings:
                click.echo(f"      {each.problem}\n      -> {each.advice}")
    if not is_fine:
        click.get_current_context().exit(1)


def _run(check: Check) -> list[Finding]:
    try:
        return list(check())
    except (SQLAlchemyError, click.ClickException) as error:
        reason = scrub(" ".join(str(getattr(error, "orig", None) or error).split()))
        return [
            Finding(
                f"The database can't be queried: {reason}", "Fix the cause, then run this again."
            )
        ]
    except OSError as error:
        words = f"{error.strerror or error} ({error.filename or 'no file'})"
        return [Finding(f"This can't be checked: {words}", "Run this as the service's own user.")]
    finally:
        db.session.rollback()


def _is_fine(findings: list[Finding]) -> bool:
    return all(finding.is_note for finding in findings)
