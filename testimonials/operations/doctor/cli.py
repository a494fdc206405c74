"""`testimonials doctor`: look at everything, and say what to do."""

from dataclasses import asdict

import click
from flask.cli import with_appcontext

from testimonials.core.commands import json_option, print_json
from testimonials.operations.doctor.data import (
    check_backups,
    check_clock,
    check_database,
    check_schema,
    check_work,
)
from testimonials.operations.doctor.findings import NO_SCHEMA, Check, Finding, run_check
from testimonials.operations.doctor.network import (
    check_limits,
    check_mail,
    check_outbox_mail,
    check_urls,
)
from testimonials.operations.doctor.settings import (
    check_files,
    check_python,
    check_room,
    check_settings,
)

CHECKS: dict[str, Check] = {
    "python": check_python,
    "settings": check_settings,
    "files": check_files,
    "disk": check_room,
    "database": check_database,
    "schema": check_schema,
    "rate limits": check_limits,
    "clock": check_clock,
    "addresses": check_urls,
    "mail server": check_mail,
    "outbox": check_outbox_mail,
    "background work": check_work,
    "backups": check_backups,
}
# These ask tables, and to connect makes a database where there is none.
NEED_SCHEMA = ("clock", "outbox", "background work", "backups")


@click.command()
@json_option
@with_appcontext
def doctor(as_json: bool) -> None:
    """Look at settings, files, database, clock, mail, addresses and backups; say what to do.

    Changes no data and sends no mail. Exits with 1 when it finds anything.
    """
    found: dict[str, list[Finding]] = {}
    for name, check in CHECKS.items():
        is_possible = name not in NEED_SCHEMA or not found["schema"]
        found[name] = run_check(check) if is_possible else [NO_SCHEMA]
    is_fine = all(map(_is_fine, found.values()))
    if as_json:
        checks = [
            {
                "check": name,
                "ok": _is_fine(findings),
                "findings": [asdict(each) for each in findings],
            }
            for name, findings in found.items()
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


def _is_fine(findings: list[Finding]) -> bool:
    return all(finding.is_note for finding in findings)
