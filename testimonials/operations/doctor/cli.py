"""`testimonials doctor`: check everything, and say what to do."""

from dataclasses import asdict

import click
from flask.cli import with_appcontext

from testimonials.core.commands import json_option, print_json
from testimonials.operations.doctor.running import examine, is_fine


@click.command()
@json_option
@with_appcontext
def doctor(as_json: bool) -> None:
    """Check settings, files, database, clock, mail, addresses and backups, and say what to do.

    Changes no data and sends no mail. Exits with 1 if it finds a problem.
    """
    found = examine()
    is_healthy = all(map(is_fine, found.values()))
    if as_json:
        checks = [
            {"check": name, "ok": is_fine(each), "findings": list(map(asdict, each))}
            for name, each in found.items()
        ]
        print_json({"ok": is_healthy, "checks": checks})
    else:
        for name, findings in found.items():
            sign = "ok " if not findings else "-- " if is_fine(findings) else "!! "
            click.echo(f"{sign} {name}")
            for each in findings:
                click.echo(f"      {each.problem}\n      -> {each.advice}")
    if not is_healthy:
        click.get_current_context().exit(1)
