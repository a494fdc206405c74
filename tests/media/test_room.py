"""The room that recordings take: counted for the operator and the owner, and what is amiss."""

import json
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from testimonials.media import store
from tests.auth.browsers import open_browser
from tests.conftest import Caller, MovableClock
from tests.media.recorded import VIDEO, make_page, send, upload
from tests.support.applications import change_settings


@pytest.fixture
def sent(app: Flask, client: FlaskClient, owner: Caller) -> str:
    """The id of a recording that was sent."""
    make_page(app, owner)
    recording = upload(client)
    assert send(client, recording=recording).status_code == 303
    return recording


def run(app: Flask, *arguments: str) -> Any:
    result = app.test_cli_runner().invoke(args=[*arguments, "--json"])
    return json.loads(result.stdout)


def doctor(app: Flask) -> list[str]:
    checks = {each["check"]: each["findings"] for each in run(app, "doctor")["checks"]}
    return [finding["problem"] for finding in checks["recordings"]]


def test_the_operator_sees_what_is_there_and_what_is_missing(
    app: Flask, sent: str, moved_clock: MovableClock
) -> None:
    (listed,) = run(app, "recordings", "list")
    assert (listed["_id"], listed["mediaType"], listed["state"]) == (sent, "video/webm", "ready")
    assert doctor(app) == []
    with app.app_context():
        store.append_piece("f" * 24, 0, VIDEO)
        store.path_of(sent).unlink()
    moved_clock.move(hours=2)
    assert any("such as " + sent in each for each in doctor(app))
    assert any("1 file(s)" in each for each in doctor(app))
    found = {"files": {"f" * 24: len(VIDEO)}, "missing": [sent]}
    assert run(app, "recordings", "orphans") == found | {"isRemoved": False}
    assert run(app, "recordings", "orphans", "--remove") == found | {"isRemoved": True}
    assert run(app, "recordings", "orphans")["files"] == {}
    change_settings(app, all_recordings_megabytes=0)
    assert any("take 0 of 0 MB" in each for each in doctor(app))


def test_the_owner_sees_their_share(app: Flask, owner: Caller, sent: str) -> None:
    page = open_browser(app, owner).get("/dashboard/account").text
    assert "1 recording takes 0.0 of 2,000 MB." in page
