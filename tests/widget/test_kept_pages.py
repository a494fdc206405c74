"""Pages from memory: the wall, the widget as the server renders it, and its other formats."""

import gzip
import os

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from testimonials.core import clock
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db
from testimonials.projects.projects import lock_project
from testimonials.projects.settings import rename_slug, update_page_config
from testimonials.widget.versions import EXTENSION, PushedVersions
from tests.support.plans import count_statements
from tests.support.rows import add_testimonial, change_testimonial
from tests.support.servers import wait_for

DOORS = (
    "/kiln/wall", "/kiln/wall?sort=best&lang=de", "/widget/{id}", "/widget/{id}?shape=badge",
    "/widget/{id}/fragment", "/widget/{id}/newsletter", "/widget/{id}/feed.json",
    "/kiln/{testimonial}",
)  # fmt: skip
EMBED = "/oembed?url=https%3A%2F%2Ftestimonials.example.com%2Fwidget%2F{id}"
# Of these there is one for each request.
OWN = {"X-Request-Id", "Strict-Transport-Security"}


@pytest.fixture
def testimonial(app: Flask, project: str) -> str:
    return add_testimonial(app, project, text="The first", rating=5)


@pytest.fixture
def paths(project: str, testimonial: str) -> list[str]:
    return [door.format(id=project, testimonial=testimonial) for door in DOORS]


def _headers(answer: TestResponse) -> list[tuple[str, str]]:
    return sorted(each for each in answer.headers if each[0] not in OWN)


def test_the_second_answer_is_the_first_and_asks_flask_nothing(app, client, project, paths):
    with app.app_context():
        engine = db.engine
    for path in (*paths, EMBED.format(id=project)):
        first = client.get(path)
        assert first.status_code == 200
        assert count_statements(engine, lambda path=path: client.get(path)) == 0, path
        second = client.get(path)
        assert second.data == first.data
        assert _headers(second) == _headers(first)
        packed = client.get(path, headers={"Accept-Encoding": "gzip"})
        assert gzip.decompress(packed.data) == first.data
        unchanged = client.get(path, headers={"If-None-Match": first.headers["ETag"]})
        assert (unchanged.status_code, unchanged.data) == (304, b"")


def test_a_change_shows_in_the_next_answer(app, client, project, testimonial, paths):
    before = {path: [client.get(path).data for _ in range(2)] for path in paths}
    change_testimonial(app, testimonial, text="The second", rating=1)
    for path in paths:
        after = client.get(path)
        assert after.status_code == 200
        assert before[path][0] == before[path][1] != after.data, path
    # As in the trash, but without the version that this raises.
    with app.app_context(), write():
        lock_project(project).deleted_at = clock.now()
    assert {client.get(path).status_code for path in paths} == {404}


def test_a_new_address_and_website_show_now(app, client, project):
    embed = EMBED.format(id=project)
    for _ in range(2):
        assert client.get("/kiln/wall").status_code == 200
        assert client.get(embed).json["author_url"].endswith("/kiln/wall")  # type: ignore[index]
    with app.app_context(), write():
        update_page_config(lock_project(project), {"website": "https://clay.example.com"})
    assert "clay.example.com" in client.get("/kiln/wall").text
    with app.app_context(), write():
        rename_slug(lock_project(project), "clay")
    assert client.get("/kiln/wall").status_code == 307
    assert client.get("/clay/wall").status_code == 200
    assert client.get(embed).json["author_url"].endswith("/clay/wall")  # type: ignore[index]
    with app.app_context(), write():
        lock_project(project).deleted_at = clock.now()
    assert client.get(embed).status_code == 404


def test_each_language_has_its_page(client, project, testimonial):
    path = f"/widget/{project}"
    for _ in range(2):
        languages = ({}, {"Accept-Language": "de-AT,en;q=0.5"}, {"Accept-Language": "ja"})
        framed = {"Sec-Fetch-Dest": "iframe"}
        pages = [client.get(path, headers=headers) for headers in (*languages, framed)]
        said = [page.headers["Content-Language"] for page in pages]
        assert said == ["en", "de", "ja", "en"]
        assert len({page.data for page in pages}) == 4
        assert all("Accept-Language" in page.headers["Vary"] for page in pages)


def test_who_has_our_cookie_is_not_answered_from_memory(client, project):
    assert client.get("/kiln/wall").status_code == 200
    assert "X-Request-Id" not in client.get("/kiln/wall").headers
    client.set_cookie("testimonials", "abc")
    assert "X-Request-Id" in client.get("/kiln/wall").headers


def test_nobody_chooses_what_others_are_answered(client, paths):
    headers = {
        "Host": "evil.example", "X-Forwarded-Host": "evil.example", "X-Forwarded-Prefix": "/evil",
        "X-Request-Id": "evil", "Origin": "https://evil.example",
        "Referer": "https://evil.example/",
    }  # fmt: skip
    for path in paths:
        # A form's field names the language where no other does.
        client.get(path, data={"lang": "ja"}, headers=headers)
        kept = client.get(path, headers={"Accept-Encoding": "identity"})
        assert "ja" not in kept.headers.get("Content-Language", "")
        assert "evil" not in f"{kept.headers} {kept.text}", path
        client.get(path, headers=headers)
        assert "evil" not in client.get(path).text
        # What asks for less than the page is neither kept nor answered with all of it.
        head = client.head(path)
        assert (head.status_code, head.data) == (200, b"")
        assert client.get(path).data == kept.data


def test_a_mistake_is_not_kept(client, project):
    for _ in range(2):
        assert client.get("/kiln/wall?rating=9").status_code in (400, 422)
        assert client.get("/none/wall").status_code == 404


@pytest.mark.postgres
def test_versions_are_told_past_a_1000_descriptors(app, owner, project):
    if EXTENSION not in app.extensions:
        pytest.skip("SQLite is asked for each version")
    with app.app_context():
        engine = db.engine
    versions = PushedVersions(stale_seconds=0)
    held = [os.dup(0) for _ in range(1100)]
    try:
        versions.begin(engine)
        # From memory, once it is told.
        wait_for(lambda: count_statements(engine, lambda: versions.find(project)) == 0)
        before = versions.find(project)
        owner.create_testimonial(project, text="The second")
        wait_for(lambda: versions.find(project) != before)
    finally:
        versions.end()
        for each in held:
            os.close(each)
