"""Importing a project from its archive in the dashboard."""

import io
import zipfile
from pathlib import Path

from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from testimonials.projects.models import Project
from testimonials.transfer.models import WaitingArchive
from tests.auth.browsers import open_browser
from tests.conftest import Caller
from tests.dashboard.transfer.imports import text_of
from tests.support.rows import count_rows
from tests.transfer.archives.projects import VERSION_1, change_json, run_well

PATH = "/dashboard/projects/import"


def upload(browser: FlaskClient, content: bytes) -> TestResponse:
    head = '--x\r\nContent-Disposition: form-data; name="file"; filename="fern.zip"\r\n\r\n'
    body = head.encode() + content + b"\r\n--x--\r\n"
    kind = "multipart/form-data; boundary=x"
    return browser.post(PATH, data=body, content_type=kind, follow_redirects=True)


def test_a_project_comes_back_as_a_new_one(
    app: Flask, owner: Caller, browser: FlaskClient, tmp_path: Path
) -> None:
    assert f'href="{PATH}"' in browser.get("/dashboard/projects").text
    page = upload(browser, VERSION_1.read_bytes())
    assert page.status_code == 200
    assert "Testimonials" in text_of(page)
    assert count_rows(app, Project) == 0
    answer = browser.post(f"{PATH}/confirm", data={"slug": "fern"})
    assert answer.status_code == 303
    assert "The project was imported" in browser.get(answer.headers["Location"]).text
    assert (count_rows(app, Project), count_rows(app, WaitingArchive)) == (1, 0)
    (project,) = owner.get("/v1/projects").json["data"]  # type: ignore[index]
    assert project["publicPageConfig"]["slug"] == "fern"
    # Pressed twice, it makes one.
    assert browser.post(f"{PATH}/confirm", data={"slug": "fern-2"}).status_code == 303
    assert count_rows(app, Project) == 1
    # Here again, it needs another address.
    path = tmp_path / "fern.zip"
    run_well(app, "projects", "export", "fern", str(path))
    upload(browser, path.read_bytes())
    refused = browser.post(f"{PATH}/confirm", data={"slug": "fern"})
    assert refused.status_code == 422
    assert "This address is taken. Choose another." in refused.text
    assert "Write the address as b-2." in browser.post(f"{PATH}/confirm", data={"slug": "B 2"}).text
    assert browser.post(f"{PATH}/confirm", data={"slug": "b-2"}).status_code == 303
    assert count_rows(app, Project) == 2


def test_the_limit_of_projects_holds(app: Flask, owner: Caller, browser: FlaskClient) -> None:
    upload(browser, VERSION_1.read_bytes())
    run_well(app, "accounts", "set-limit", owner.email, "0")
    assert "You have used all of your projects." in browser.get(PATH).text
    assert browser.post(f"{PATH}/confirm", data={"slug": "fern"}).status_code == 422
    assert count_rows(app, Project) == 0


def test_what_waits_belongs_to_its_account_and_can_be_discarded(
    app: Flask, browser: FlaskClient, outsider: Caller
) -> None:
    upload(browser, VERSION_1.read_bytes())
    other = open_browser(app, outsider)
    assert "fern.zip" not in other.get(PATH).text
    other.post(f"{PATH}/discard")
    assert "fern.zip" in browser.get(PATH).text
    browser.post(f"{PATH}/discard")
    assert "fern.zip" not in browser.get(PATH).text


def _zip(*files: tuple[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files:
            archive.writestr(name, content)
    return out.getvalue()


HOSTILE = (
    (b"", "The file is not an archive, or it is damaged"),
    (b"Name,Review\nA,B\n", "The file is not an archive, or it is damaged"),
    (_zip(("../evil", b"")), "It has a file that doesn’t belong there"),
    (_zip(("project.json", b"[" * 5000)), "project.json is not JSON"),
    # 17 MB of text, and 80 MB of pictures, in a few hundred kB.
    (_zip(("project.json", b" " * 9_000_000)), "project.json is larger than 8 MB."),
    (
        _zip(*((f"images/{n:024x}.webp", bytes(2_000_000)) for n in range(40))),
        "It unpacks to more than 64 MB.",
    ),
    (b"PK" + b"x" * (14 * 1024 * 1024), "which takes 14 MB"),
    (b"PK" + b"x" * (15 * 1024 * 1024), "which takes 14 MB"),
)


def test_hostile_archives_are_refused_as_by_the_command(app: Flask, browser: FlaskClient) -> None:
    for content, reason in HOSTILE:
        answer = upload(browser, content)
        assert answer.status_code == 422
        assert reason in text_of(answer)
    assert count_rows(app, WaitingArchive) == 0


def test_words_of_an_archive_are_text(browser: FlaskClient, tmp_path: Path) -> None:
    def change(described: dict[str, dict[str, str]]) -> None:
        described["project"]["businessName"] = "<img src=x onerror=alert(1)>"

    page = upload(browser, change_json(VERSION_1, change, tmp_path / "evil.zip").read_bytes()).text
    assert "&lt;img src=x" in page
    assert "<img src=x" not in page
