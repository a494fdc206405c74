"""A damaged SQLite file: whoever looks is told so, and the one command that restores it works."""

import contextlib
import os
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from flask import Flask

from testimonials.core.extensions import db
from tests.operations.instances import app_on, back_up, emails, make_instance, run_here
from tests.support.process import clean_environment, run_command

PAGE = 2048


def _destroy(path: Path, start: int, length: int) -> None:
    with path.open("r+b") as file:
        file.seek(start)
        file.write(os.urandom(length))


def _leave_log(path: Path) -> None:
    """Leave a write-ahead log with a change, as a process does that is killed; destroy its head."""
    log = path.with_name(f"{path.name}-wal")
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE account SET display_name = 'Newest'")
        connection.commit()
        content = log.read_bytes()
    log.write_bytes(content)
    _destroy(log, 0, 32)


DAMAGES: dict[str, Callable[[Path], None]] = {
    "header": lambda path: _destroy(path, 0, 100),
    "middle": lambda path: _destroy(path, PAGE, path.stat().st_size // PAGE // 2 * PAGE),
    "truncated": lambda path: os.truncate(path, path.stat().st_size // 2 // PAGE * PAGE),
    "emptied": lambda path: os.truncate(path, 0),
    "log": _leave_log,
}
COMMANDS = ("accounts list", "doctor", "db check", "db upgrade", "backup now", "mail retry")


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    """Make an instance that has a backup."""
    instance = make_instance(tmp_path / "instance", "owner@example.com")
    (instance / "backups").mkdir()
    back_up(instance, instance / "backups")
    return instance


def _ask(app: Flask, arguments: str) -> str:
    """Run a command; return all that it says, without the breaks of lines."""
    done = app.test_cli_runner().invoke(args=arguments.split())
    with app.app_context():
        db.session.remove()
        db.engine.dispose()
    assert isinstance(done.exception, SystemExit | None), done.exception
    return f"{done.exit_code} {' '.join(done.output.split())}"


@pytest.mark.parametrize("kind", DAMAGES)
def test_every_command_says_so_and_its_advice_restores(damaged, kind):
    (backup,) = (damaged / "backups").glob("*.tar.gz")
    DAMAGES[kind](damaged / "testimonials.db")
    app, advice = app_on(damaged), f"testimonials restore {backup.name} --replace"
    for command in COMMANDS:
        said = _ask(app, command)
        assert said.startswith("1 "), command
        assert "The database is damaged: " in said, command
        assert f"The newest backup is {backup.name} in {backup.parent}. Stop the service" in said
        assert f"`{advice}`" in said, command
    done = run_here("restore", damaged, *advice.split()[2:])
    assert done.output.startswith("Restored ")
    assert emails(damaged) == {"owner@example.com"}
    assert _ask(app, "db check").startswith("0 The database is sound")


@pytest.mark.thorough
@pytest.mark.process
@pytest.mark.parametrize("kind", DAMAGES)
def test_serve_says_so_in_one_sentence(damaged, kind):
    DAMAGES[kind](damaged / "testimonials.db")
    done = run_command(["serve", "--port", "0"], clean_environment(damaged, {"workers": "1"}))
    assert done.returncode == 1
    assert re.match(r"Error: The database is damaged: .* --replace`;", done.stderr)
    assert "Traceback" not in done.stderr


def test_without_a_backup_there_is_no_name(tmp_path):
    instance = make_instance(tmp_path / "instance", "owner@example.com")
    DAMAGES["header"](instance / "testimonials.db")
    said = _ask(app_on(instance), "doctor")
    assert "There is no backup in BACKUP_PATH or BACKUP_TO. Fetch one" in said
    assert "nor is it in" in run_here("restore", instance, "gone.tar.gz", "--replace").output


def test_a_page_says_that_it_can_not_be_answered_and_the_log_what_to_do(damaged, caplog):
    """Also where only a part that is rarely read is damaged."""
    path = damaged / "testimonials.db"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        query = "SELECT rootpage FROM sqlite_master WHERE tbl_name = 'project' AND rootpage"
        pages = [row[0] for row in connection.execute(query)]
    for page in pages:
        _destroy(path, (page - 1) * PAGE, PAGE)
    app = app_on(damaged)
    answer = app.test_client().get("/nothing-here")
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "60")
    assert "The database is damaged: database disk image is malformed. The newest" in caplog.text
    assert "--replace`" in caplog.text
    with app.app_context():
        db.session.remove()
        db.engine.dispose()
