"""Widgets, walls and fragments as files of a static host."""

import errno
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from flask import Flask

from testimonials.extensions import begin_write, db
from testimonials.projects.changes import move_to_trash
from testimonials.projects.services import lock_project
from testimonials.publishing import publisher as publisher_module
from testimonials.publishing.publisher import Publisher
from testimonials.settings.secret import SettingError
from testimonials.settings.table import load_settings
from tests.conftest import Caller, MakeApp, MakeCaller

HOST = "https://static.example.com/reviews"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where files are published."""
    return tmp_path / "published"


@pytest.fixture
def published_app(make_app: MakeApp, folder: Path) -> Flask:
    """An application that publishes."""
    return make_app(publish_to=str(folder), publish_url=HOST)


@pytest.fixture
def publisher(published_app: Flask, folder: Path) -> Iterator[Publisher]:
    """Its publisher, whose turn it is until the end of the test."""
    made = Publisher(str(folder))
    yield made
    made.end()


@pytest.fixture
def publishing_owner(published_app: Flask, make_caller: MakeCaller) -> Caller:
    """An owner whose projects are published."""
    return make_caller("owner@example.com", is_claimed=True, on=published_app)


def run(app: Flask, publisher: Publisher) -> None:
    # PostgreSQL is asked for changes only now and then.
    publisher._next_look = 0.0
    with app.app_context():
        publisher.run()


def test_files_say_what_the_service_says(
    published_app: Flask, publisher: Publisher, publishing_owner: Caller, folder: Path
) -> None:
    project = publishing_owner.create_project(businessName="Loom & Co")
    for number in range(30):
        publishing_owner.create_testimonial(project["_id"], text=f"Words {number}", rating=4)
    run(published_app, publisher)
    own = folder / "widget" / project["_id"]
    client = published_app.test_client()
    for lang in ("en", "de", "ja"):
        asked = client.get(f"/widget/{project['_id']}/feed?lang={lang}")
        assert (own / f"feed.lang-{lang}.json").read_bytes() == asked.data
        asked = client.get(f"/widget/{project['_id']}/feed?shape=badge&lang={lang}")
        assert (own / f"feed.shape-badge.lang-{lang}.json").read_bytes() == asked.data
        asked = client.get(f"/widget/{project['_id']}/fragment?lang={lang}")
        assert (own / f"fragment.lang-{lang}.html").read_bytes() == asked.data
    feed = json.loads((own / "feed.lang-en.json").read_text())
    shown = len(feed["items"])
    while feed["next"]:
        feed = json.loads((own / f"feed.after-{feed['next']}.json").read_text())
        shown += len(feed["items"])
    assert shown == 30
    wall = (own / "wall.html").read_text()
    assert wall.count("Words ") >= 30
    assert 'href="/' not in wall
    assert 'src="/' not in wall
    assert 'href="?' not in wall


def test_what_is_out_is_not_written_again(
    published_app: Flask, publisher: Publisher, publishing_owner: Caller, folder: Path
) -> None:
    publishing_owner.create_project(businessName="Loom & Co")
    publishing_owner.create_project(businessName="Another")
    run(published_app, publisher)
    times = read_times(folder)
    run(published_app, publisher)
    # Nor does who comes after it, which reads what is there.
    publisher.end()
    run(published_app, Publisher(str(folder)))
    assert {path for path, time in read_times(folder).items() if time != times.get(path)} == {
        folder / "widget" / "v1.js"
    }


def test_what_is_gone_is_removed(
    published_app: Flask, publisher: Publisher, publishing_owner: Caller, folder: Path
) -> None:
    made = publishing_owner.create_project(businessName="Loom & Co", skipDemoTestimonials=False)
    project, other = made["_id"], publishing_owner.create_project(businessName="Another")["_id"]
    run(published_app, publisher)
    own = folder / "widget" / project
    (sample, *_) = json.loads((own / "feed.lang-en.json").read_text())["items"]
    (folder / "widget" / "notes.txt").write_text("Not ours")
    publishing_owner.delete(f"/v1/projects/{project}/testimonials/demo")
    run(published_app, publisher)
    assert [path for path in own.iterdir() if sample["id"] in path.read_text()] == []
    with published_app.app_context():
        begin_write()
        move_to_trash(lock_project(project))
        db.session.commit()
    run(published_app, publisher)
    assert not own.exists()
    assert (folder / "widget" / other / "wall.html").exists()
    assert (folder / "widget" / "notes.txt").exists()


def test_only_one_process_publishes(
    published_app: Flask, publisher: Publisher, publishing_owner: Caller, folder: Path
) -> None:
    run(published_app, publisher)
    other = Publisher(str(folder))
    project = publishing_owner.create_project(businessName="Loom & Co")["_id"]
    run(published_app, other)
    assert not (folder / "widget" / project).exists()
    publisher.end()
    run(published_app, other)
    assert (folder / "widget" / project / "wall.html").exists()
    other.end()


def test_a_full_disk_is_tried_again_and_leaves_whole_files(
    published_app: Flask,
    publisher: Publisher,
    publishing_owner: Caller,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    project = publishing_owner.create_project(businessName="Loom & Co")["_id"]
    run(published_app, publisher)
    before = {path.name: path.read_bytes() for path in (folder / "widget" / project).iterdir()}
    publishing_owner.create_testimonial(project, text="Written once there is room")

    def fail(path: Path, content: bytes) -> int:
        with path.open("wb") as file:
            file.write(content[:10])
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", fail)
        run(published_app, publisher)
    own = folder / "widget" / project
    assert {path.name: path.read_bytes() for path in own.iterdir()} == before
    monkeypatch.setattr(publisher_module, "PAUSE_SECONDS", 0.0)
    publisher.end()
    run(published_app, Publisher(str(folder)))
    assert b"once there is room" in (own / "feed.lang-en.json").read_bytes()


def read_times(folder: Path) -> dict[Path, int]:
    """Return when each published file was written."""
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


def test_neither_setting_goes_without_the_other(instance: Path) -> None:
    folder = {"instance_path": str(instance)}
    for name, value in (("publish_to", "published"), ("publish_url", HOST)):
        with pytest.raises(SettingError, match="need each other"):
            load_settings({}, folder | {name: value})
    with pytest.raises(SettingError, match="such as https://cdn"):
        load_settings({}, folder | {"publish_to": "published", "publish_url": "ftp://host"})
    settings = load_settings({}, folder | {"publish_to": "published", "publish_url": HOST + "/"})
    assert (settings.publish_to, settings.publish_url) == (str(instance / "published"), HOST)
