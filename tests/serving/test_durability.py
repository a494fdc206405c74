"""What was acknowledged is there after any end."""

import contextlib
import shutil
import sqlite3
import threading
import urllib.error
from http.client import HTTPException
from pathlib import Path

import pytest

from tests.conftest import StartService
from tests.process import Service
from tests.servers import PATIENCE, wait_for

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


def test_every_acknowledged_testimonial_survives_kill_9(
    start: StartService, tmp_path: Path
) -> None:
    service = start()
    headers = service.sign_up()
    created = service.call("POST", "/v1/projects", {"skipDemoTestimonials": True}, headers)
    path = f"/v1/projects/{created.data['_id']}/testimonials"
    acknowledged: set[str] = set()
    for _ in range(3):
        streams = [Stream(service, path, headers) for _ in range(4)]
        for stream in streams:
            stream.start()
        wait_for(
            lambda streams=streams: sum(len(stream.acknowledged) for stream in streams) > 40,
            what="a stream of testimonials",
        )
        service.kill()
        for stream in streams:
            stream.join(PATIENCE)
            acknowledged.update(stream.acknowledged)
        database = sqlite3.connect(tmp_path / "service" / "testimonials.db")
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert database.execute("PRAGMA foreign_key_check").fetchall() == []
        database.close()
        service = start()
        items: list[dict[str, str]] = []
        while page := service.call(
            "GET", f"{path}?limit=100&offset={len(items)}", headers=headers
        ).data["items"]:
            items += page
        assert acknowledged <= {item["_id"] for item in items}
        times = [item["createdAt"] for item in items]
        assert times == sorted(set(times), reverse=True)
        # What was in flight is whole or not there at all: at most one for each stream.
        assert len(items) - len(acknowledged) <= 12
        total = service.call("GET", f"/widget/{created.data['_id']}/feed").json["total"]
        assert total == len(items)


def test_a_form_that_was_acknowledged_survives_and_repeats_as_one_row(
    start: StartService, tmp_path: Path
) -> None:
    service = start(min_form_seconds="0")
    headers = service.sign_up()
    body = {"slug": "kiln", "skipDemoTestimonials": True}
    assert service.call("POST", "/v1/projects", body, headers).status == 200
    page = service.call("GET", "/kiln").body.decode()
    token = page.partition('name="token" value="')[2].partition('"')[0]
    form = f"text=Hello&name=Noor&consent=yes&token={token}".encode()
    kind = {"Content-Type": "application/x-www-form-urlencoded"}
    # The client follows the redirect to the thanks.
    assert b"Thank you" in service.call("POST", "/kiln", form, kind).body
    service.kill()
    again = start()
    assert b"Thank you" in again.call("POST", "/kiln", form, kind).body
    database = sqlite3.connect(tmp_path / "service" / "testimonials.db")
    assert database.execute("SELECT status, text FROM testimonial").fetchall() == [
        ("pending", "Hello")
    ]
    database.close()


def test_the_one_file_has_everything_after_a_clean_stop_or_the_log_says_that_it_has_not(
    start: StartService, tmp_path: Path
) -> None:
    file = tmp_path / "service" / "testimonials.db"

    def count_in_the_one_file() -> int:
        alone = sqlite3.connect(shutil.copy(file, tmp_path / "copy.db"))
        with contextlib.closing(alone):
            return int(alone.execute("SELECT count(*) FROM account").fetchone()[0])

    service = start()
    service.sign_up("first@example.com")
    assert service.stop() == 0
    assert (count_in_the_one_file(), "newest changes" in "".join(service.output)) == (1, False)
    service = start()
    with contextlib.closing(sqlite3.connect(file)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM account").fetchone()
        service.sign_up("second@example.com")
        assert service.stop() == 0
        assert count_in_the_one_file() == 1
    assert "the newest changes stay in testimonials.db-wal" in "".join(service.output)
