"""Instance folders with something in them, for tests of what is done to a whole instance."""

import json
import sqlite3
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from testimonials import create_app
from testimonials.auth.services import start_account
from testimonials.extensions import begin_write, db
from testimonials.migrations.runner import upgrade
from testimonials.operations.backup.cli import restore
from testimonials.settings.table import load_settings
from tests.process import clean_environment, run_command


def make_instance(folder: Path, *emails: str) -> Path:
    """Make an instance with an account for each address."""
    app = create_app(load_settings({}, {"instance_path": str(folder)}))
    with app.app_context():
        upgrade(db.engine)
        for email in emails:
            begin_write()
            start_account(email)
            db.session.commit()
        db.session.remove()
        db.engine.dispose()
    return folder


def command(
    instance: Path, *arguments: str | Path, **settings: str
) -> subprocess.CompletedProcess[str]:
    """Run a command on the instance."""
    return run_command([*map(str, arguments)], clean_environment(instance, settings))


def answer(instance: Path, *arguments: str | Path, **settings: str) -> Any:
    """Run a command that succeeds; return the JSON that it prints."""
    done = command(instance, *arguments, "--json", **settings)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def refusal(instance: Path, *arguments: str | Path, **settings: str) -> str:
    """Run a command that fails; return its one sentence."""
    done = command(instance, *arguments, **settings)
    assert (done.returncode, done.stdout) == (1, ""), done
    assert done.stderr.startswith("Error: ")
    assert "Traceback" not in done.stderr
    return done.stderr


def restore_here(instance: Path, *arguments: str | Path) -> Result:
    """Run the restore command within this process, where only what it says and does matters."""
    runner = CliRunner(env={"TESTIMONIALS_INSTANCE_PATH": str(instance)})
    result = runner.invoke(restore, [*map(str, arguments)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def restore_refused(instance: Path, *arguments: str | Path) -> str:
    """Run a restore that is refused; return its one sentence."""
    result = restore_here(instance, *arguments)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("Error: ")
    return result.stderr


def query(
    instance: Path, statement: str, values: Sequence[object] = (), name: str = "testimonials.db"
) -> list[Any]:
    """Ask the instance's database."""
    connection = sqlite3.connect(instance / name)
    try:
        with connection:
            return connection.execute(statement, values).fetchall()
    finally:
        connection.close()


def emails(instance: Path, name: str = "testimonials.db") -> set[str]:
    """Return the addresses of the accounts."""
    return {row[0] for row in query(instance, "SELECT email FROM account", name=name)}
