"""Programs that write to a running service, whatever happens to it meanwhile."""

import contextlib
import sqlite3
import threading
import time
import urllib.error
from http.client import HTTPException
from pathlib import Path

from tests.support.process import Service
from tests.support.servers import PATIENCE, wait_for

NEEDED = {"authorName": "Maya Kowalski", "text": "It simply works."}


class Load:
    """Writers that post testimonials until told to stop; each on new connections.

    With `may_be_refused` an error of the service is no fault, and what it refuses is counted.
    """

    def __init__(
        self,
        service: Service,
        headers: dict[str, str],
        count: int = 3,
        *,
        project: str = "",
        may_be_refused: bool = False,
    ) -> None:
        self.service, self.headers, self.may_be_refused = service, headers, may_be_refused
        self.project = project or service.make_project(headers)
        self.acknowledged: list[str] = []
        self.broken: list[BaseException] = []
        self.refused = 0
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._run, daemon=True) for _ in range(count)]
        for thread in self._threads:
            thread.start()

    def _run(self) -> None:
        path = f"/v1/projects/{self.project}/testimonials"
        while not self._stop.is_set():
            try:
                answer = self.service.call("POST", path, NEEDED, self.headers)
            except (urllib.error.URLError, HTTPException, OSError) as error:
                self.broken.append(error)
                continue
            if answer.status == 200:
                self.acknowledged.append(answer.data["_id"])
                continue
            assert self.may_be_refused, answer.body
            self.refused += 1
            time.sleep(0.05)

    def go_on(self, more: int = 30) -> None:
        """Wait until so many more are acknowledged."""
        aim = len(self.acknowledged) + more
        wait_for(lambda: len(self.acknowledged) >= aim, what=f"{more} more answers")

    def end(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(PATIENCE)

    def lost(self, file: Path | None = None) -> set[str]:
        """Check the database, or another file; name what was acknowledged and is not in it."""
        folder = Path(self.service.environment["TESTIMONIALS_INSTANCE_PATH"])
        with contextlib.closing(sqlite3.connect(file or folder / "testimonials.db")) as database:
            assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            assert database.execute("PRAGMA foreign_key_check").fetchall() == []
            rows = {row[0] for row in database.execute("SELECT id FROM testimonial")}
        return set(self.acknowledged) - rows
