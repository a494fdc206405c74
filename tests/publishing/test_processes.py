"""Real processes publish, into a folder and into a bucket."""

import contextlib
import os
import signal
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from testimonials.publishing.buckets import BucketStore
from tests.publishing.s3_server import BUCKET, S3Server
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


def test_a_bucket_answers_while_the_service_is_off(
    instance: Path, s3_server: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in s3_server.variables.items():
        monkeypatch.setenv(name, value)
    # The store makes a bucket when somebody writes to it.
    BucketStore(f"s3://{BUCKET}").write([("made", b"")])
    host = f"{s3_server.url}/{BUCKET}/served"
    settings = {"publish_to": f"s3://{BUCKET}/served", "publish_url": host}

    def read(path: str) -> bytes:
        with contextlib.suppress(urllib.error.HTTPError), urllib.request.urlopen(path) as answer:
            return bytes(answer.read())
        return b""

    service = start_service(instance, (), settings)
    try:
        headers = service.sign_up()
        project = service.call("POST", "/v1/projects", {}, headers).data["_id"]
        snippet = service.call("GET", f"/v1/projects/{project}/embed-snippet", None, headers)
        path = f"/v1/projects/{project}/testimonials"
        service.call("POST", path, {"authorName": "Maya", "text": "Words to keep."}, headers)
        feed = f"{host}/widget/{project}/feed.lang-en.json"
        wait_for(lambda: b"Words to keep." in read(feed), what="the data")
    finally:
        service.kill()
    assert b"Words to keep." in read(feed)
    assert b"feed" in read(snippet.data["widgetUrl"])
