"""Copies of photos: from the public internet alone, and within their time."""

import hashlib
import socket
from collections.abc import Iterator

import pytest

from testimonials.core.extensions import db, lock_for_writing
from testimonials.core.http_client import AddressRefused, connect
from testimonials.testimonials import models
from testimonials.testimonials.record import hash_salted, list_entries
from testimonials.transfer.models import TableImport
from testimonials.transfer.tables.jobs import copy_some
from testimonials.transfer.tables.plan import PictureUnreachable, fetch_picture, is_website
from tests.integrations.webhooks.receiver import Handler, drip, receiving
from tests.support.commands import run_json
from tests.support.pictures import photo, read, to_bytes
from tests.support.rows import read_testimonials
from tests.support.servers import PATIENCE

AWAY = "It can’t be fetched from the public internet."
PICTURE = to_bytes(photo(300, 200), "PNG")
ANSWERS: dict[str, tuple[int, bytes, dict[str, str]]] = {
    "/picture?size=1": (200, PICTURE, {}),
    "/page": (200, b"<html>", {}),
    "/turn": (302, b"", {"Location": "/picture?size=1"}),
    "/round": (302, b"", {"Location": "/round"}),
    "/inwards": (302, b"", {"Location": "http://10.0.0.1/secret"}),
    "/file": (302, b"", {"Location": "file:///etc/passwd"}),
    "/nowhere": (302, b"", {"Location": "http://[/"}),
    "/large": (200, bytes(11 * 1024 * 1024), {}),
}


def answer(handler: Handler) -> None:
    """Answer as websites do, and as those that mean harm do."""
    if handler.path == "/drip":
        drip(handler)
    else:
        status, content, headers = ANSWERS.get(handler.path, (404, b"", {}))
        handler.answer(status, content, **headers)


@pytest.fixture
def website() -> Iterator[str]:
    with receiving() as receiver:
        receiver.behaviour = answer
        yield receiver.url.removesuffix("/hook")


def is_here(address: str, _port: int) -> bool:
    """Allow this machine, which the program itself never does."""
    return address in ("127.0.0.1", "::1")


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "0.0.0.1",
        "100.64.0.1", "224.0.0.1", "255.255.255.255", "::1", "::", "fe80::1%eth0", "fd00::1",
        "::ffff:127.0.0.1", "::ffff:8.8.8.8", "2002:7f00:1::", "64:ff9b::7f00:1", "ff02::1",
        "::127.0.0.1", "fec0::1", "5f00::1", "192.0.0.8", "192.0.0.9", "192.88.99.1", "240.0.0.1",
        "198.18.0.1", "203.0.113.1", "2001::1", "2001:db8::1", "2001:20::1", "3fff::1",
        "2002:808:808::1", "64:ff9b:1::808:808", "100::1", "2001:0:808:808::1", "4000::1",
    ],
)  # fmt: skip
def test_no_private_address_is_gone_to(address):
    assert not is_website(address, 443)


def test_only_the_ports_of_the_web_are_gone_to():
    assert is_website("8.8.8.8", 443)
    assert is_website("2606:4700:4700::1111", 80)
    assert not is_website("8.8.8.8", 22)


def test_a_picture_is_fetched_also_by_a_redirect(website):
    assert fetch_picture(f"{website}/picture?size=1", is_here) == PICTURE
    assert fetch_picture(f"{website}/turn", is_here) == PICTURE


def test_each_address_of_a_name_is_tried(website):
    port = int(website.rpartition(":")[2])
    # Without a name the system gives both of its own addresses; nobody answers at the first.
    addresses = [each[4][0] for each in socket.getaddrinfo(None, port, type=socket.SOCK_STREAM)]
    assert addresses == ["::1", "127.0.0.1"]
    connect(None, port, PATIENCE, is_here).close()  # type: ignore[arg-type]
    with pytest.raises(AddressRefused):
        connect(None, port, PATIENCE, lambda address, _port: address == "::1")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("path", "reason", "seconds"),
    [
        ("/nothing", "Its server answered 404.", PATIENCE),
        ("/round", AWAY, PATIENCE),
        ("/inwards", AWAY, PATIENCE),
        ("/file", AWAY, PATIENCE),
        ("/nowhere", AWAY, PATIENCE),
        ("/large", "It is too large.", PATIENCE),
        ("/drip", AWAY, 1.0),
    ],
)
def test_what_is_no_picture_ends(website, path, reason, seconds):
    with pytest.raises(PictureUnreachable, match=reason):
        fetch_picture(f"{website}{path}", is_here, seconds=seconds)


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/", "http://localhost/", "http://[::1]/", "ftp://8.8.8.8/", "http://",
        "http://user:secret@8.8.8.8/", "http://8.8.8.8:22/", "http://0x7f.1/", "http://[x/",
        "http://8.8.8.8:99999/", "file:///etc/passwd",
    ],
)  # fmt: skip
def test_nothing_else_is_even_asked(url):
    with pytest.raises(PictureUnreachable):
        fetch_picture(url)


def test_a_copy_replaces_its_url(app, owner, website, tmp_path):
    project, file = owner.create_project(slug="fern")["_id"], tmp_path / "file.csv"
    paths = ("/turn", "/page", "/nothing")
    file.write_text("Name,Review,Avatar\n" + "".join(f"{x},Words,{website}{x}\n" for x in paths))
    import_id = run_json(app, "testimonials", "import", "fern", str(file))["import"]
    with app.app_context():
        copied = copy_some(import_id, "", is_here)
        assert copied is not None
        lock_for_writing()
        row = db.session.get_one(TableImport, import_id)
        copied.write(row)
        assert len(row.outcome["photos"]) == 2
        last = row.photos_to or ""
        db.session.commit()
        assert copy_some(import_id, last, is_here) is None
    rows = {row.author_name: row for row in read_testimonials(app, project)}
    assert rows["/turn"].author_avatar is None
    content = owner.client.get(f"/media/{rows['/turn'].avatar_id}.webp").data
    with app.app_context():
        row = db.session.get_one(models.Testimonial, rows["/turn"].id)
        received, changed = list_entries(row)
        other = db.session.get_one(models.Testimonial, rows["/page"].id)
        assert len(list_entries(other)) == 1
    assert "media" not in received["entry"]
    hashed = hash_salted(changed["salt"], hashlib.sha256(content).hexdigest())
    assert changed["entry"]["media"] == {"photo": hashed}
    assert read(content).size == (200, 200)
    for path in ("/page", "/nothing"):
        assert (rows[path].author_avatar, rows[path].avatar_id) == (f"{website}{path}", None)


@pytest.mark.parametrize("options", [(), ("--fetch-avatars",)])
def test_an_address_in_the_own_network_stays_an_address(app, owner, website, tmp_path, options):
    project, file = owner.create_project(slug="fern")["_id"], tmp_path / "file.csv"
    url = f"{website}/picture?size=1"
    file.write_text(f"Name,Review,Avatar\nA,B,{url}")
    photos = run_json(app, "testimonials", "import", "fern", str(file), *options)["photos"]
    assert photos == ([{"url": url, "reason": AWAY}] if options else [])
    (row,) = read_testimonials(app, project)
    assert (row.author_avatar, row.avatar_id) == (url, None)
