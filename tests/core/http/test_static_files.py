"""Style sheets and scripts are kept for good and go compressed over the wire; pages don't."""

import gzip
import re

GZIP = {"Accept-Encoding": "gzip, deflate, br"}


def test_pages_name_files_by_their_version_and_browsers_keep_those(client):
    addresses = re.findall(r'(?:href|src)="(/static/[^"]+)"', client.get("/login").text)
    assert len(addresses) >= 3
    for address in addresses:
        assert re.match(r"/static/v[0-9a-f]{12}/(css|js|img)/", address)
        control = client.get(address, buffered=True).cache_control
        assert (control.immutable, control.public, control.max_age) == (True, True, 31536000)
    # Another version is answered and not kept.
    for folder in ("/static/", "/static/v000000000000/"):
        answer = client.get(f"{folder}css/app.css", buffered=True)
        assert (answer.status_code, answer.headers["Cache-Control"]) == (200, "no-cache")


def test_static_files_are_compressed_for_those_who_take_it(client):
    path = "js/collection/page.js"
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
    # It is not sent twice, and a part of it goes as it is.
    known = GZIP | {"If-None-Match": packed.headers["ETag"]}
    again = client.get(f"/static/{path}", buffered=True, headers=known)
    assert (again.status_code, again.data) == (304, b"")
    part = client.get(f"/static/{path}", buffered=True, headers=GZIP | {"Range": "bytes=0-9"})
    assert (part.status_code, part.data) == (206, plain.data[:10])
    assert "Content-Encoding" not in part.headers


def test_pages_are_never_compressed(client, owner):
    """They may repeat what was sent, beside a token: their length would tell of it."""
    slug = owner.create_project()["publicPageConfig"]["slug"]
    for path in (f"/{slug}", "/nothing-here"):
        assert "Content-Encoding" not in client.get(path, headers=GZIP).headers
