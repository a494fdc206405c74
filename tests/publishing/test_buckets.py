"""Widgets, walls and fragments in a bucket of a real S3-compatible store."""

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.client import HTTPResponse

import pytest
from flask import Flask

from testimonials.extensions import begin_write, db
from testimonials.projects.changes import move_to_trash
from testimonials.projects.services import lock_project
from testimonials.publishing import publisher as publisher_module
from testimonials.publishing.buckets import BucketStore
from testimonials.publishing.publisher import Publisher
from tests.conftest import Caller, MakeApp, MakeCaller
from tests.publishing.s3_server import BUCKET, S3Server
from tests.support.servers import free_port

PREFIX = "a/prefix"
PLACE = f"s3://{BUCKET}/{PREFIX}"


@pytest.fixture
def store(s3_server: S3Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[BucketStore]:
    """An empty bucket."""
    for name, value in s3_server.variables.items():
        monkeypatch.setenv(name, value)
    bucket = BucketStore(f"s3://{BUCKET}")
    # The store makes a bucket when somebody writes to it.
    bucket.write([("made", b"")])
    paths = [each["path"] for page in bucket._bucket().list() for each in page]
    bucket.remove(paths)
    return BucketStore(PLACE)


@pytest.fixture
def published_app(store: BucketStore, s3_server: S3Server, make_app: MakeApp) -> Flask:
    """An application that publishes into a bucket, which is the static host too."""
    return make_app(publish_to=PLACE, publish_url=f"{s3_server.url}/{BUCKET}/{PREFIX}")


@pytest.fixture
def publisher(published_app: Flask) -> Iterator[Publisher]:
    """Its publisher, whose turn it is until the end of the test."""
    made = Publisher(PLACE)
    yield made
    made.end()


@pytest.fixture
def publishing_owner(published_app: Flask, make_caller: MakeCaller) -> Caller:
    """An owner whose projects are published."""
    return make_caller("owner@example.com", is_claimed=True, on=published_app)


def run(app: Flask, publisher: Publisher) -> None:
    publisher._next_look = 0.0
    with app.app_context():
        publisher.run()


def read(server: S3Server, path: str) -> HTTPResponse:
    """Ask the store for a file as a browser does."""
    url = f"{server.url}/{BUCKET}/{PREFIX}/{path}"
    answer: HTTPResponse = urllib.request.urlopen(url, timeout=30)
    return answer


def test_bucket_has_what_the_service_says(
    published_app: Flask, publisher: Publisher, publishing_owner: Caller, s3_server: S3Server
) -> None:
    project = publishing_owner.create_project(businessName="Loom & Co")["_id"]
    for number in range(30):
        publishing_owner.create_testimonial(project, text=f"Words {number}", rating=4)
    run(published_app, publisher)
    client = published_app.test_client()
    with read(s3_server, f"widget/{project}/feed.lang-de.json") as answer:
        assert answer.headers["Content-Type"] == "application/json"
        assert answer.headers["Cache-Control"] == "public, no-cache"
        feed = answer.read()
    assert feed == client.get(f"/widget/{project}/feed?lang=de").data
    following = json.loads(feed)["next"]
    with read(s3_server, f"widget/{project}/feed.after-{following}.json") as answer:
        assert json.load(answer)["items"]
    with read(s3_server, f"widget/{project}/wall.html") as answer:
        assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
        assert answer.read().count(b"Words ") >= 30
    with read(s3_server, "widget/v1.js") as answer:
        assert answer.headers["Content-Type"] == "text/javascript; charset=utf-8"
        assert answer.headers["Cache-Control"] == "public, no-cache"


def test_what_is_gone_is_removed(
    published_app: Flask,
    publisher: Publisher,
    publishing_owner: Caller,
    store: BucketStore,
    s3_server: S3Server,
) -> None:
    made = publishing_owner.create_project(businessName="Loom & Co", skipDemoTestimonials=False)
    project, other = made["_id"], publishing_owner.create_project(businessName="Another")["_id"]
    run(published_app, publisher)
    with read(s3_server, f"widget/{project}/feed.lang-en.json") as answer:
        (sample, *_) = json.load(answer)["items"]
    publishing_owner.delete(f"/v1/projects/{project}/testimonials/demo")
    run(published_app, publisher)
    for name in sorted(store.names(f"widget/{project}")):
        with read(s3_server, f"widget/{project}/{name}") as answer:
            assert sample["id"].encode() not in answer.read()
    with published_app.app_context():
        begin_write()
        move_to_trash(lock_project(project))
        db.session.commit()
    run(published_app, publisher)
    with pytest.raises(urllib.error.HTTPError, match="404"):
        read(s3_server, f"widget/{project}/wall.html")
    assert store.names(f"widget/{project}") == set()
    assert {name.partition(".")[0] for name in store.names("published")} == {other}


def test_what_is_out_is_not_written_again(
    published_app: Flask,
    publisher: Publisher,
    publishing_owner: Caller,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    publishing_owner.create_project(businessName="Loom & Co")
    run(published_app, publisher)
    publisher.end()
    written = []
    write = BucketStore.write

    def note(store: BucketStore, files: Iterator[tuple[str, bytes]]) -> None:
        batch = list(files)
        written.extend(path for path, _ in batch)
        write(store, batch)

    monkeypatch.setattr(BucketStore, "write", note)
    following = Publisher(PLACE)
    run(published_app, following)
    following.end()
    assert written == ["widget/v1.js"]


def test_an_absent_store_is_tried_again(
    published_app: Flask,
    publisher: Publisher,
    publishing_owner: Caller,
    s3_server: S3Server,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    project = publishing_owner.create_project(businessName="Loom & Co")["_id"]
    run(published_app, publisher)
    publishing_owner.create_testimonial(project, text="Written once it is back")
    with monkeypatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{free_port()}")
        patch.setattr(publisher, "_store", BucketStore(PLACE))
        run(published_app, publisher)
    assert (publisher.progress.measure() or (0, 0.0))[0] == 1
    monkeypatch.setattr(publisher_module, "PAUSE_SECONDS", 0.0)
    publisher._paused.clear()
    run(published_app, publisher)
    assert publisher.progress.measure() == (0, 0.0)
    with read(s3_server, f"widget/{project}/feed.lang-en.json") as answer:
        assert b"Written once it is back" in answer.read()


def test_doctor_says_what_is_wrong(
    published_app: Flask,
    publisher: Publisher,
    publishing_owner: Caller,
    make_app: MakeApp,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    publishing_owner.create_project(businessName="Loom & Co")
    assert "Not everything has been out yet." in consult(published_app)
    run(published_app, publisher)
    assert consult(published_app) == ""
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "another")
    assert f"PUBLISH_TO ({PLACE}) can't be read" in consult(published_app)
    nowhere = make_app(publish_to=PLACE, publish_url=f"http://127.0.0.1:{free_port()}")
    assert "PUBLISH_URL does not answer" in consult(nowhere)


def consult(app: Flask) -> str:
    """Return what `testimonials doctor` finds of publishing."""
    done = app.test_cli_runner().invoke(args=["doctor", "--json"])
    checks = {each["check"]: each for each in json.loads(done.stdout)["checks"]}
    return " ".join(each["problem"] for each in checks["publishing"]["findings"])
