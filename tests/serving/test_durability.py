"""What was acknowledged is there after any end."""

import contextlib
import os
import shutil
import sqlite3
import subprocess
import sys
import threading
import urllib.error
from http.client import HTTPException
from pathlib import Path

import pytest

from tests.conftest import StartService
from tests.serving.power_cut import prepare_power_cut
from tests.support.process import Service
from tests.support.servers import PATIENCE, wait_for

pytestmark = [pytest.mark.process, pytest.mark.thorough]

needs_compiler = pytest.mark.skipif(
    not sys.platform.startswith("linux") or shutil.which("cc") is None,
    reason="needs Linux and a C compiler",
)
WRITER = """
import os, sqlite3, sys
database = sqlite3.connect(sys.argv[1], isolation_level=None)
database.execute("PRAGMA journal_mode=WAL")
database.execute("CREATE TABLE row (number INTEGER)")
database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
database.execute("PRAGMA synchronous=" + sys.argv[2])
database.execute("INSERT INTO row VALUES (1)")
os._exit(0)
"""


class Stream(threading.Thread):
    """Posts testimonials until the service is gone; keeps the ids that it acknowledged."""

    def __init__(self, service: Service, path: str, headers: dict[str, str]) -> None:
        super().__init__(daemon=True)
        self.service, self.path, self.headers = service, path, headers
        self.acknowledged: list[str] = []

    def run(self) -> None:
        """Post until an answer fails to come."""
        while True:
            body = {"authorName": "Maya", "text": f"No. {len(self.acknowledged)}"}
            try:
                answer = self.service.call("POST", self.path, body, self.headers)
            except (urllib.error.URLError, HTTPException, OSError):
                return
            assert answer.status == 200
            self.acknowledged.append(answer.data["_id"])


def test_everything_acknowledged_survives_kill_9(start: StartService, tmp_path: Path) -> None:
    service = start(min_form_seconds="0")
    headers = service.sign_up()
    body = {"slug": "kiln", "skipDemoTestimonials": True}
    created = service.call("POST", "/v1/projects", body, headers).data["_id"]
    page = service.call("GET", "/kiln").body.decode()
    token = page.partition('name="token" value="')[2].partition('"')[0]
    form = f"text=Hello&name=Noor&consent=yes&token={token}".encode()
    kind = {"Content-Type": "application/x-www-form-urlencoded"}
    # The client follows the redirect to the thanks.
    assert b"Thank you" in service.call("POST", "/kiln", form, kind).body
    path = f"/v1/projects/{created}/testimonials"
    streams = [Stream(service, path, headers) for _ in range(4)]
    for stream in streams:
        stream.start()
    wait_for(lambda: sum(len(each.acknowledged) for each in streams) > 40, what="a stream")
    service.kill()
    acknowledged: set[str] = set()
    for stream in streams:
        stream.join(PATIENCE)
        acknowledged.update(stream.acknowledged)
    with contextlib.closing(sqlite3.connect(tmp_path / "service" / "testimonials.db")) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert database.execute("PRAGMA foreign_key_check").fetchall() == []
    again = start()
    items: list[dict[str, str]] = []
    while page_of_items := again.call(
        "GET", f"{path}?limit=100&offset={len(items)}", headers=headers
    ).data["items"]:
        items += page_of_items
    assert acknowledged <= {item["_id"] for item in items}
    times = [item["createdAt"] for item in items]
    assert times == sorted(set(times), reverse=True)
    # What was in flight is whole or not there at all: at most one for each stream.
    assert len(items) - len(acknowledged) <= 4
    assert again.call("GET", f"/widget/{created}/feed").json["total"] == len(items)
    # The form is there, once, also when it is sent again.
    assert b"Thank you" in again.call("POST", "/kiln", form, kind).body
    with contextlib.closing(sqlite3.connect(tmp_path / "service" / "testimonials.db")) as database:
        query = "SELECT text FROM testimonial WHERE status = 'pending'"
        assert database.execute(query).fetchall() == [("Hello",)]


@needs_compiler
def test_everything_acknowledged_survives_a_power_cut(
    start: StartService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in prepare_power_cut(tmp_path).items():
        monkeypatch.setenv(name, value)
    service = start(workers="2")
    headers = service.sign_up()
    body = {"slug": "kiln", "skipDemoTestimonials": True}
    created = service.call("POST", "/v1/projects", body, headers).data["_id"]
    path = f"/v1/projects/{created}/testimonials"
    streams = [Stream(service, path, headers) for _ in range(4)]
    for stream in streams:
        stream.start()
    wait_for(lambda: sum(len(each.acknowledged) for each in streams) > 60, what="a stream")
    service.kill()
    acknowledged: set[str] = set()
    for stream in streams:
        stream.join(PATIENCE)
        acknowledged.update(stream.acknowledged)
    with contextlib.closing(sqlite3.connect(tmp_path / "synced/testimonials.db")) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert database.execute("PRAGMA foreign_key_check").fetchall() == []
        kept = {row[0] for row in database.execute("SELECT id FROM testimonial")}
    assert acknowledged <= kept


@needs_compiler
@pytest.mark.parametrize(("synchronous", "kept"), [("FULL", 1), ("NORMAL", 0)])
def test_the_power_cut_takes_what_was_not_synced(
    tmp_path: Path, synchronous: str, kept: int
) -> None:
    environment = dict(os.environ) | prepare_power_cut(tmp_path)
    command = [sys.executable, "-c", WRITER, str(tmp_path / "some.db"), synchronous]
    subprocess.run(command, env=environment, check=True)
    with contextlib.closing(sqlite3.connect(tmp_path / "some.db")) as database:
        assert database.execute("SELECT count(*) FROM row").fetchone() == (1,)
    with contextlib.closing(sqlite3.connect(tmp_path / "synced/some.db")) as database:
        assert database.execute("SELECT count(*) FROM row").fetchone() == (kept,)


def test_the_log_says_when_the_one_file_lacks_the_newest_changes(
    start: StartService, tmp_path: Path
) -> None:
    file = tmp_path / "service" / "testimonials.db"
    service = start()
    with contextlib.closing(sqlite3.connect(file)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM account").fetchone()
        service.sign_up("second@example.com")
        assert service.stop() == 0
    assert "the newest changes are in testimonials.db-wal" in "".join(service.output)
