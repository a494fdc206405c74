"""An import that is killed in the middle leaves whole testimonials, and can be finished."""

import contextlib
import sqlite3
import subprocess
from pathlib import Path

import pytest

from testimonials.transfer.importing import BATCH_ROWS
from tests.conftest import StartService
from tests.process import COMMAND, run_command
from tests.servers import wait_for

COUNT = 12 * BATCH_ROWS


def count(instance: Path, table: str) -> int:
    """Give how many rows a table has."""
    with contextlib.closing(sqlite3.connect(instance / "testimonials.db")) as connection:
        return int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


@pytest.mark.process
def test_an_import_that_is_killed_can_be_finished(start: StartService, tmp_path: Path) -> None:
    service = start()
    instance = Path(service.environment["TESTIMONIALS_INSTANCE_PATH"])
    headers = service.sign_up()
    body = {"slug": "fern", "skipDemoTestimonials": True}
    assert service.call("POST", "/v1/projects", body, headers).status == 200
    file = tmp_path / "file.csv"
    lines = [f"Person {number},Words {number},a" for number in range(COUNT)]
    file.write_text("\n".join(["Name,Review,Tags", *lines]))
    arguments = ["testimonials", "import", "fern", str(file)]
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
    assert service.call("GET", "/v1/projects", headers=headers).status == 200
    finished = run_command(arguments, service.environment)
    assert finished.returncode == 0, finished.stderr
    assert f"{COUNT - written} imported, {written} there already" in finished.stdout
    assert count(instance, "testimonial") == COUNT
