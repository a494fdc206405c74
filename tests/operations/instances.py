"""Instance folders with something in them, for tests of what is done to a whole instance."""

import json
import sqlite3
import subprocess
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result
from flask import Flask
from sqlalchemy import create_engine, insert

from testimonials import create_app
from testimonials.auth.models import Account
from testimonials.cli.backup import backup, restore
from testimonials.core import clock
from testimonials.core.db.migrate import upgrade
from testimonials.core.extensions import prepare_engine
from testimonials.core.settings.table import load_settings
from tests.support.process import clean_environment, run_command


def app_on(folder: Path, **settings: object) -> Flask:
    """Make an application on an instance folder, with no other setting than these."""
    return create_app(load_settings({}, {"instance_path": str(folder)} | settings))


def make_instance(folder: Path, *emails: str) -> Path:
    settings = load_settings({}, {"instance_path": str(folder)})
    engine = create_engine(settings.database_url)
    prepare_engine(engine)
    upgrade(engine)
    until = clock.now() + timedelta(days=7)
    rows = [
        {"email": email, "key_hash": email, "key_last_four": "0000", "claim_expires_at": until}
        for email in emails
    ]
    with engine.begin() as connection:
        connection.execute(insert(Account), rows)
    engine.dispose()
    return folder


def command(
    instance: Path, *arguments: str | Path, **settings: str
) -> subprocess.CompletedProcess[str]:
    return run_command([*map(str, arguments)], clean_environment(instance, settings))


def refusal(instance: Path, *arguments: str | Path, **settings: str) -> str:
    """Run a command that fails as a process; return its one sentence."""
    done = command(instance, *arguments, **settings)
    assert (done.returncode, done.stdout) == (1, ""), done
    assert done.stderr.startswith("Error: ")
    assert "Traceback" not in done.stderr
    return done.stderr


def run_here(name: str, instance: Path, *arguments: str | Path, **settings: str) -> Result:
    named = {f"TESTIMONIALS_{key.upper()}": value for key, value in settings.items()}
    runner = CliRunner(env={"TESTIMONIALS_INSTANCE_PATH": str(instance)} | named)
    result = runner.invoke({"backup": backup, "restore": restore}[name], [*map(str, arguments)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def back_up(instance: Path, *arguments: str | Path, **settings: str) -> Any:
    result = run_here("backup", instance, *arguments, "--json", **settings)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def restore_here(instance: Path, *arguments: str | Path, **settings: str) -> Any:
    result = run_here("restore", instance, *arguments, "--json", **settings)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def refused_here(name: str, instance: Path, *arguments: str | Path, **settings: str) -> str:
    result = run_here(name, instance, *arguments, **settings)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("Error: ")
    return result.stderr


def query(
    instance: Path, statement: str, values: Sequence[object] = (), name: str = "testimonials.db"
) -> list[Any]:
    connection = sqlite3.connect(instance / name)
    try:
        with connection:
            return connection.execute(statement, values).fetchall()
    finally:
        connection.close()


def emails(instance: Path, name: str = "testimonials.db") -> set[str]:
    return {row[0] for row in query(instance, "SELECT email FROM account", name=name)}
