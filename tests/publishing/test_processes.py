"""One of several processes publishes, and another as soon as that one is gone."""

import os
import signal
from pathlib import Path

import pytest

from tests.support.process import start_service
from tests.support.servers import wait_for

pytestmark = [pytest.mark.process, pytest.mark.sqlite]


def test_another_worker_goes_on(instance: Path, tmp_path: Path) -> None:
    folder = tmp_path / "published"
    settings = {
        "workers": "2",
        "publish_to": str(folder),
        "publish_url": "https://static.example.com",
    }
    service = start_service(instance, (), settings)
    try:
        headers = service.sign_up()
        for number in range(3):
            values = {"businessName": f"Loom {number}"}
            project = service.call("POST", "/v1/projects", values, headers).data["_id"]
            wall = folder / "widget" / project / "wall.html"
            wait_for(wall.exists, what="the wall")
            # The oldest is killed each time, whichever has the turn.
            os.kill(service.workers[0], signal.SIGKILL)
            wait_for(lambda: service.call("GET", "/healthz").status == 200)
    finally:
        service.kill()
