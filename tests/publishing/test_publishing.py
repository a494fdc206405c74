"""Widgets, walls and fragments as files of a static host."""

import errno
import json
import re
from collections.abc import Iterable, Iterator
from html import unescape
from pathlib import Path

import pytest
from flask import Flask

from testimonials.core.data.leases import BackgroundJob
from testimonials.core.pictures.images import Image
from testimonials.core.urls import image_url
from testimonials.extensions import begin_write, db
from testimonials.projects.changes import move_to_trash
from testimonials.projects.services import lock_project
from testimonials.publishing import publisher as publisher_module
from testimonials.publishing.progress import PUBLISH_JOB
from testimonials.publishing.publisher import Publisher
from testimonials.publishing.stores import FolderStore
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
    # Its filters are pages of the service.
    filters = {unescape(each) for each in re.findall(r'href="([^"]*/wall\?[^"]*)"', wall)}
    assert any("rating=4" in each for each in filters), filters
    for address in filters:
        assert client.get(address).status_code == 200


def test_a_wall_of_a_service_below_a_path_leads_there(
    make_app: MakeApp, make_caller: MakeCaller, folder: Path
) -> None:
    base = "https://example.com/testimonials"
    app = make_app(publish_to=str(folder), publish_url=HOST, base_url=base)
    owner = make_caller("owner@example.com", is_claimed=True, on=app)
    project = owner.create_project(businessName="Loom & Co")
    owner.create_testimonial(project["_id"], text="Words", rating=4)
    publisher = Publisher(str(folder))
    run(app, publisher)
    publisher.end()
    wall = (folder / "widget" / project["_id"] / "wall.html").read_text()
    links = re.findall(r'(?:href|src|data-seen)="([^"#][^"]*)"', wall)
    assert f"{base}/loom-co" in links
    assert any(link.startswith(f"{HOST}/static/") for link in links)
    assert any(link.startswith("wall.lang-") for link in links)
    for link in links:
        assert link.startswith((f"{base}/", f"{HOST}/", "wall.")), link
        assert link.count("/testimonials/") <= 1, link


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
    (folder / "widget" / "notes").mkdir()
    for name in ("notes.txt", ".txt", "...txt"):
        (folder / "published" / name).write_text("Not ours")
    publisher.end()
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
    publisher.end()
    run(published_app, Publisher(str(folder)))
    assert (folder / "widget" / "notes.txt").exists()
    assert (folder / "widget" / "notes").exists()
    assert (folder / "published" / "notes.txt").exists()


def test_what_it_asks_itself_is_no_request(
    make_app: MakeApp, make_caller: MakeCaller, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings = {"publish_to": str(folder), "publish_url": HOST, "metrics_token": "m" * 32}
    app = make_app(**settings)
    owner = make_caller("owner@example.com", is_claimed=True, on=app)
    project = owner.create_project(businessName="Loom & Co")["_id"]
    publisher = Publisher(str(folder))
    with caplog.at_level("INFO", logger="testimonials.access"):
        run(app, publisher)
    publisher.end()
    assert (folder / "widget" / project / "wall.html").exists()
    assert [line.message for line in caplog.records] == []
    bearer = {"Authorization": f"Bearer {settings['metrics_token']}"}
    measured = app.test_client().get("/metrics", headers=bearer)
    assert measured.status_code == 200
    assert "/fragment" not in measured.text


def test_words_that_name_pictures_neither_stop_it_nor_publish_them(
    published_app: Flask, publisher: Publisher, publishing_owner: Caller, folder: Path
) -> None:
    with published_app.app_context():
        others, held = (
            Image(width=1, height=1, content=b"x", is_held=is_it) for is_it in (False, True)
        )
        db.session.add_all([others, held])
        db.session.commit()
        names = [others.id, held.id, "0" * 24]
        # Of others, only proposed, and of nothing.
        named = [f"{image_url(name)}" for name in names]
    project = publishing_owner.create_project(businessName="Loom & Co")["_id"]
    for text in (*named[1:], f"See {named[0]}"):
        publishing_owner.create_testimonial(project, text=text, rating=5)
    run(published_app, publisher)
    own = folder / "widget" / project
    feed = (own / "feed.lang-en.json").read_text()
    assert [each for each in named if each not in feed] == []
    assert (own / "wall.html").exists()
    assert [name for name in names if (own / f"{name}.webp").exists()] == []


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


def test_a_change_waits_for_no_backlog(
    published_app: Flask,
    publisher: Publisher,
    publishing_owner: Caller,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ids = [publishing_owner.create_project(businessName=f"Loom {n}")["_id"] for n in range(3)]
    run(published_app, publisher)
    for project in ids:
        publishing_owner.create_testimonial(project, text="The first words")
    order: list[str] = []
    write = FolderStore.write

    def note(store: FolderStore, files: Iterable[tuple[str, bytes]]) -> None:
        batch = list(files)
        write(store, batch)
        names = {path.removeprefix("widget/") for path, _ in batch}
        found = [each for each in names if each.endswith(("/feed.lang-en.json", "/wall.html"))]
        order.extend(found)
        if found == [f"{ids[2]}/wall.html"]:
            # Somebody writes while the first wall goes out and others wait.
            publishing_owner.create_testimonial(ids[0], text="The newest words")

    monkeypatch.setattr(FolderStore, "write", note)
    # Each look writes one thing of a kind.
    monkeypatch.setattr(publisher_module, "SLICE_SECONDS", 0.0)
    publisher.end()
    run(published_app, publisher)
    # What was there at the start goes out from the newest to the oldest.
    assert order[0] == f"{ids[2]}/feed.lang-en.json"
    first_wall = order.index(f"{ids[2]}/wall.html")
    assert order[first_wall + 1] == f"{ids[0]}/feed.lang-en.json"
    assert {f"{each}/wall.html" for each in ids} <= set(order)
    feed = folder / "widget" / ids[0] / "feed.lang-en.json"
    assert "The newest words" in feed.read_text()


def test_what_waits_is_told(
    published_app: Flask,
    publisher: Publisher,
    publishing_owner: Caller,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def read_job() -> BackgroundJob:
        with published_app.app_context():
            return db.session.get_one(BackgroundJob, PUBLISH_JOB)

    assert publisher.progress.measure() is None
    publishing_owner.create_project(businessName="Loom & Co")
    run(published_app, publisher)
    assert publisher.progress.measure() == (0, 0.0)
    assert read_job().finished_at is not None
    with monkeypatch.context() as patch:
        patch.setattr(FolderStore, "write", refuse)
        publishing_owner.create_project(businessName="Another")
        run(published_app, publisher)
    waiting, seconds = publisher.progress.measure() or (0, 0.0)
    assert waiting == 1
    assert seconds > 0
    assert read_job().error == "PermissionError: [Errno 13] Permission denied"
    monkeypatch.setattr(publisher_module, "PAUSE_SECONDS", 0.0)
    publisher._paused.clear()
    run(published_app, publisher)
    assert publisher.progress.measure() == (0, 0.0)
    assert read_job().error is None
    publisher.end()
    assert publisher.progress.measure() is None


def refuse(_store: FolderStore, _files: object) -> None:
    raise PermissionError(errno.EACCES, "Permission denied")


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


def test_a_bucket_is_no_folder(instance: Path) -> None:
    given = {"instance_path": str(instance), "publish_url": HOST}
    settings = load_settings({}, given | {"publish_to": "s3://bucket/reviews/"})
    assert settings.publish_to == "s3://bucket/reviews"
    for wrong in ("s3://", "s3://B", "s3://bucket//reviews", "s3://bucket/a b", "s3://../x"):
        with pytest.raises(SettingError, match="such as s3://bucket"):
            load_settings({}, given | {"publish_to": wrong})
