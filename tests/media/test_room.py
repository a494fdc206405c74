"""The room that recordings take: counted for the operator and the owner, and what is amiss."""

import json
from typing import Any

from flask import Flask
from flask.testing import FlaskClient

from testimonials.media import store
from tests.conftest import MovableClock
from tests.media.recorded import VIDEO
from tests.support.applications import change_settings


def run(app: Flask, *arguments: str) -> Any:
    result = app.test_cli_runner().invoke(args=[*arguments, "--json"])
    return json.loads(result.stdout)


def doctor(app: Flask) -> list[str]:
    checks = {each["check"]: each["findings"] for each in run(app, "doctor")["checks"]}
    return [finding["problem"] for finding in checks["recordings"]]


def test_operators_see_what_is_missing(app: Flask, sent: str, moved_clock: MovableClock) -> None:
    (listed,) = run(app, "recordings", "list")
    assert (listed["mediaType"], listed["state"]) == ("video/webm", "ready")
    with app.app_context():
        assert list(store.list_files()) == [listed["_id"]]
    assert doctor(app) == []
    with app.app_context():
        store.append_piece("f" * 24, 0, VIDEO)
        store.path_of(listed["_id"]).unlink()
    moved_clock.move(hours=2)
    assert any("such as " + listed["_id"] in each for each in doctor(app))
    assert any("1 file(s)" in each for each in doctor(app))
    found = {"files": {"f" * 24: len(VIDEO)}, "missing": [listed["_id"]]}
    assert run(app, "recordings", "orphans") == found | {"isRemoved": False}
    assert run(app, "recordings", "orphans", "--remove") == found | {"isRemoved": True}
    assert run(app, "recordings", "orphans")["files"] == {}
    change_settings(app, all_recordings_megabytes=0)
    assert any("take 0 of 0 MB" in each for each in doctor(app))


def test_the_owner_sees_their_share(browser: FlaskClient, sent: str) -> None:
    page = browser.get("/dashboard/account").text
    assert "1 recording takes 0.0 of 2,000 MB." in page
