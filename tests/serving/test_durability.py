"""What was acknowledged is there after any end."""

import contextlib
import sqlite3
import threading
import urllib.error
from http.client import HTTPException
from pathlib import Path

import pytest

from tests.conftest import StartService
from tests.support.process import Service
from tests.support.servers import PATIENCE, wait_for

pytestmark = pytest.mark.process


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
