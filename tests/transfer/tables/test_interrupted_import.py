"""Imports that are killed in the middle, or run twice at once: each testimonial is there once."""

import contextlib
import json
import sqlite3
import subprocess
from pathlib import Path

import pytest

from testimonials.transfer.tables.importing import BATCH_ROWS
from tests.conftest import StartService
from tests.process import COMMAND, Service, run_command
from tests.servers import wait_for

COUNT = 12 * BATCH_ROWS


def count(instance: Path, table: str) -> int:
    """Return how many rows a table has."""
    with contextlib.closing(sqlite3.connect(instance / "testimonials.db")) as connection:
        return int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


def prepare(service: Service, folder: Path) -> list[str]:
    """Make a project and a file with many lines; return the command that imports it."""
    headers = service.sign_up()
    body = {"slug": "fern", "skipDemoTestimonials": True}
    assert service.call("POST", "/v1/projects", body, headers).status == 200
    file = folder / "file.csv"
    lines = [f"Person {number},Words {number},a" for number in range(COUNT)]
    file.write_text("\n".join(["Name,Review,Tags", *lines]))
    return ["testimonials", "import", "fern", str(file)]


@pytest.mark.process
def test_an_import_that_is_killed_can_be_finished(start: StartService, tmp_path: Path) -> None:
    service = start()
    instance = Path(service.environment["TESTIMONIALS_INSTANCE_PATH"])
    arguments = prepare(service, tmp_path)
    running = subprocess.Popen(
        [*COMMAND, *arguments], env=service.environment, stdout=subprocess.DEVNULL
    )
    wait_for(lambda: count(instance, "testimonial") > 0, what="the first part")
    running.kill()
    running.wait()
    written = count(instance, "testimonial")
    assert 0 < written <= COUNT
    assert written % BATCH_ROWS == 0
    assert count(instance, "testimonial_change") == count(instance, "testimonial_tag") == written
    # The service is there all the time, and the rest comes with the same command.
    assert service.call("GET", "/readyz").status == 200
    finished = run_command(arguments, service.environment)
    assert finished.returncode == 0, finished.stderr
    assert f"{COUNT - written} imported, {written} already there" in finished.stdout
    assert count(instance, "testimonial") == COUNT


@pytest.mark.process
def test_two_imports_at_once_tell_what_each_has_added(start: StartService, tmp_path: Path) -> None:
    service = start()
    instance = Path(service.environment["TESTIMONIALS_INSTANCE_PATH"])
    arguments = [*prepare(service, tmp_path), "--json"]
    both = [
        subprocess.Popen(
            [*COMMAND, *arguments], env=service.environment, stdout=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    told = [json.loads(each.communicate()[0]) for each in both]
    assert sum(each["new"] for each in told) == count(instance, "testimonial") == COUNT
    assert [each["new"] + each["there"] for each in told] == [COUNT, COUNT]
