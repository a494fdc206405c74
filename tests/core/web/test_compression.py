"""Style sheets and scripts go compressed over the wire, pages don't."""

import gzip

import pytest
from flask.testing import FlaskClient

from tests.conftest import Caller

GZIP = {"Accept-Encoding": "gzip, deflate, br"}


@pytest.mark.parametrize("path", ["css/app.css", "js/collection/page.js"])
def test_static_files_are_compressed_for_those_who_take_it(client: FlaskClient, path: str) -> None:
    plain = client.get(f"/static/{path}", buffered=True)
    packed = client.get(f"/static/{path}", buffered=True, headers=GZIP)
    assert "Content-Encoding" not in plain.headers
    assert packed.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(packed.data) == plain.data
    assert int(packed.headers["Content-Length"]) == len(packed.data) < len(plain.data) / 2
    for answer in (plain, packed):
        assert "Accept-Encoding" in answer.headers["Vary"]
    refused = client.get(
        f"/static/{path}", buffered=True, headers={"Accept-Encoding": "gzip;q=0, br"}
    )
    assert refused.data == plain.data


def test_a_compressed_file_is_not_sent_twice(client: FlaskClient) -> None:
    first = client.get("/static/css/app.css", buffered=True, headers=GZIP)
    again = client.get(
        "/static/css/app.css",
        buffered=True,
        headers=GZIP | {"If-None-Match": first.headers["ETag"]},
    )
    assert (again.status_code, again.data) == (304, b"")


def test_a_part_of_a_file_is_sent_as_it_is(client: FlaskClient) -> None:
    part = client.get("/static/css/app.css", buffered=True, headers=GZIP | {"Range": "bytes=0-9"})
    assert part.status_code == 206
    assert "Content-Encoding" not in part.headers
    assert part.data == client.get("/static/css/app.css", buffered=True).data[:10]


def test_pages_are_never_compressed(client: FlaskClient, owner: Caller) -> None:
    """They may repeat what was sent, beside a token: their length would tell of it."""
    slug = owner.create_project()["publicPageConfig"]["slug"]
    for path in (f"/{slug}", "/nothing-here"):
        assert "Content-Encoding" not in client.get(path, headers=GZIP).headers
