"""Imports in the background: progress, stopping, dying half-way, and undoing."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from flask import Flask

from testimonials.core.extensions import db
from testimonials.core.jobs import run_due
from testimonials.testimonials import models
from testimonials.transfer.models import TableImport
from testimonials.transfer.tables import jobs
from tests.auth.browsers import open_browser
from tests.auth.tokens import give_token
from tests.conftest import Caller
from tests.core.events import read_history
from tests.dashboard.inbox.inbox import JSON, Inbox, open_inbox
from tests.dashboard.transfer.imports import TABLE, import_all, start, text_of, upload, work
from tests.support.commands import run, run_well
from tests.support.rows import count_rows, read_testimonials

pytestmark = pytest.mark.recount

FIVE = "Name,Review\n" + "".join(f"P{n},W{n}\n" for n in range(5))


@pytest.fixture
def inbox(app: Flask, owner: Caller, monkeypatch: pytest.MonkeyPatch) -> Inbox:
    """A signed-in owner with an empty project; imports go two lines at a time."""
    monkeypatch.setattr(jobs, "BATCH_ROWS", 2)
    return open_inbox(app, owner, slug="fern")


def work_until(app: Flask, parts: int) -> None:
    """Let the background thread begin, and its process end after so many parts."""
    left = iter([False] * (parts + 1))
    with app.app_context():
        run_due("imports", lambda: next(left, True))


def read_import(app: Flask) -> TableImport:
    with app.app_context():
        return db.session.query(TableImport).one()


def shown(inbox: Inbox, path: str) -> dict[str, Any]:
    """Return what the page's script hears."""
    found: dict[str, Any] = inbox.client.get(path, headers=JSON).get_json()
    return found


def test_an_import_goes_on_by_itself_and_the_page_tells_how_far(app, inbox):
    page = start(inbox, upload(inbox, FIVE))
    path = page.request.path
    assert '<noscript><meta http-equiv="refresh"' in page.text
    assert shown(inbox, path)["text"] == "Loading…"
    work_until(app, 1)
    told = shown(inbox, path)
    assert (told["state"], told["text"]) == ("running", "2 of 5 imported")
    work(app)
    page = inbox.client.get(path)
    assert "Added 5" in text_of(page)
    assert "Added 5 Already here 0 Refused 0" in text_of(page)
    row = read_import(app)
    assert (row.state, row.done, row.added) == ("done", 5, 5)
    names = [row.author_name for row in read_testimonials(app, inbox.project)]
    assert sorted(names) == [f"P{n}" for n in range(5)]
    assert "reviews.csv" in inbox.get("import").text
    # Pressed twice, or gone back to: all of it is here now.
    assert "Nothing to import" in text_of(upload(inbox, FIVE))


def test_a_killed_process_leaves_no_doubles_and_another_goes_on(
    app, inbox, monkeypatch, moved_clock
):
    start(inbox, upload(inbox, FIVE))
    writes: Iterator[Any] = iter([jobs.write_batch])
    with monkeypatch.context() as patched:
        patched.setattr(jobs, "write_batch", lambda *values: next(writes, _die)(*values))
        with pytest.raises(KeyboardInterrupt):
            work(app)
    assert count_rows(app, models.Testimonial) == 2
    # Its lease holds for a while: it may only be slow.
    work(app)
    assert count_rows(app, models.Testimonial) == 2
    moved_clock.move(minutes=3)
    work(app)
    row = read_import(app)
    assert (row.state, row.done, row.added) == ("done", 5, 5)
    assert count_rows(app, models.Testimonial) == 5
    assert len(read_history(app)) == 5


def _die(*_values: Any) -> int:
    raise KeyboardInterrupt


def test_it_can_be_stopped_and_goes_on_where_it_was(app, inbox):
    path = start(inbox, upload(inbox, FIVE)).request.path
    work_until(app, 1)
    page = inbox.client.post(f"{path}/stop", follow_redirects=True)
    assert "Stopped" in text_of(page)
    work(app)
    assert count_rows(app, models.Testimonial) == 2
    inbox.client.post(f"{path}/start")
    work(app)
    assert read_import(app).added == count_rows(app, models.Testimonial) == 5


def test_two_imports_of_the_same_file_add_each_testimonial_once(app, inbox):
    pages = [upload(inbox, FIVE) for _ in range(2)]
    paths = [start(inbox, page).request.path for page in pages]
    work(app)
    assert count_rows(app, models.Testimonial) == 5
    assert [shown(inbox, path)["state"] for path in paths] == ["done", "done"]


def test_into_a_deleted_project_nothing_is_imported_until_it_is_back(app, inbox):
    path = start(inbox, upload(inbox, "Name,Review\nA,B\n")).request.path
    inbox.client.post(f"{inbox.base}/settings/delete", data={"confirm": "fern"})
    work(app)
    assert count_rows(app, models.Testimonial) == 0
    inbox.client.post(f"{inbox.base}/take-back")
    assert "The project was deleted." in text_of(inbox.client.get(path))
    inbox.client.post(f"{path}/start")
    work(app)
    assert count_rows(app, models.Testimonial) == 1


def test_undoing_removes_all_of_it_but_what_was_changed_since(app, inbox):
    path = import_all(app, inbox, FIVE).request.path
    ids = {row.author_name: row.id for row in read_testimonials(app, inbox.project)}
    reply = inbox.client.post(
        f"{inbox.base}/testimonials/{ids['P3']}/reply", data={"reply": "Thank you!"}
    )
    assert reply.status_code in (200, 303)
    assert "Changed since" in text_of(inbox.client.get(path))
    page = inbox.client.post(f"{path}/undo", follow_redirects=True)
    assert "Moved 4 testimonials to the trash" in text_of(page)
    assert "Changed since P3" in text_of(page)
    assert inbox.shown() == ["P3"]
    # The file can be imported again, as if for the first time.
    assert "New 4 Already here 1" in text_of(upload(inbox, FIVE))
    import_all(app, inbox, FIVE)
    assert sorted(inbox.shown()) == [f"P{n}" for n in range(5)]
    # One more click for what was kept; there is nothing more after that.
    inbox.client.post(f"{path}/undo", data={"also_changed": "1"})
    assert "P3" not in inbox.shown()
    page = inbox.client.post(f"{path}/undo", data={"also_changed": "1"}, follow_redirects=True)
    assert "There is nothing left to undo" in text_of(page)


def test_undoing_ends_an_import_that_still_runs(app, inbox):
    path = start(inbox, upload(inbox, FIVE)).request.path
    work_until(app, 1)
    inbox.client.post(f"{path}/undo")
    work(app)
    assert (inbox.shown(), read_import(app).state) == ([], "undone")


def test_undoing_can_be_undone(app, inbox):
    path = import_all(app, inbox, FIVE).request.path
    page = inbox.client.post(f"{path}/undo", follow_redirects=True).text
    token = page.split('name="undo" value="')[1].split('"')[0]
    inbox.client.post(f"{inbox.base}/inbox/undo", data={"undo": token})
    assert len(inbox.shown()) == 5


def test_the_api_and_the_command_undo_too(app, inbox, owner):
    import_all(app, inbox, FIVE)
    agent = give_token(app, owner)
    (item,) = agent.get(f"/v1/projects/{inbox.project}/imports").json["data"]  # type: ignore[index]
    assert (item["fileName"], item["state"], item["addedCount"]) == ("reviews.csv", "done", 5)
    answer = agent.post(f"/v1/projects/{inbox.project}/imports/{item['_id']}/undo")
    assert answer.json["data"] == {"removedCount": 5, "keptCount": 0}  # type: ignore[index]
    assert agent.post(f"/v1/projects/{inbox.project}/imports/{item['_id']}/undo").status_code == 409
    import_all(app, inbox, FIVE)
    newest = json.loads(run_well(app, "testimonials", "imports", "fern", "--json"))[0]["_id"]
    told = json.loads(run_well(app, "testimonials", "undo-import", "fern", newest, "--json"))
    assert told == {"removedCount": 5, "keptCount": 0}
    assert run(app, "testimonials", "undo-import", "fern", newest).exit_code == 1
    assert inbox.shown() == []


def test_photos_are_copied_last_and_never_from_a_private_network(app, inbox):
    page = import_all(app, inbox, "Name,Review,Photo\nA,B,http://127.0.0.1/a.png\nC,D,\n")
    assert "1 photo not copied" in text_of(page)
    assert "http://127.0.0.1/a.png It can’t be fetched from the public internet." in text_of(page)
    assert len(inbox.shown()) == 2


def test_the_commands_dry_run_is_the_preview(app, inbox, tmp_path):
    file = tmp_path / "file.csv"
    file.write_text(TABLE.replace("2024-03-12", "12/03/2024").replace(",9,,", ",4,13/03/2024,"))
    told = json.loads(
        run_well(app, "testimonials", "import", "fern", str(file), "--dry-run", "--json")
    )
    assert told["columns"] == {
        "text": ["Quote"], "authorName": ["Name"], "authorRole": ["Job title"], "rating": ["Stars"],
        "submittedAt": ["Date"],
    }  # fmt: skip
    assert (told["dates"], told["dryRun"], told["unused"]) == ("dmy", True, [])
    assert told["lines"][0]["submittedAt"] == "2024-03-12T12:00:00.000Z"
    assert "12 Mar 2024" in upload(inbox, file.read_bytes()).text
    assert count_rows(app, models.Testimonial) == 0


def test_an_import_says_that_a_suspension_has_ended_it(app, inbox, owner):
    page = start(inbox, upload(inbox, FIVE))
    work_until(app, 1)
    run_well(app, "accounts", "suspend", owner.email, "--reason", "Invented praise.")
    work(app)
    assert (read_import(app).state, read_import(app).added) == ("stopped", 2)
    run_well(app, "accounts", "restore", owner.email)
    assert "suspended" in open_browser(app, owner).get(page.request.path).text
