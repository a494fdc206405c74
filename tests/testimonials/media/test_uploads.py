"""Uploads in pieces: they go on after a loss, and are checked by what is in them."""

import resource
import struct
from collections.abc import Callable
from contextlib import suppress

import pytest
from flask import Flask

from testimonials.core.extensions import db
from testimonials.testimonials.media import recordings, uploads
from testimonials.testimonials.media.containers import (
    Contents,
    Unreadable,
    read_mp4,
    read_ogg,
    read_webm,
)
from testimonials.testimonials.models import Recording
from tests.support.applications import change_settings
from tests.support.pictures import photo, to_bytes
from tests.support.racing import at_once
from tests.support.rows import change_project
from tests.support.sampling import sample
from tests.testimonials.media.recorded import FILES, JSON, MP4, VIDEO, VOICE, Upload

pytestmark = pytest.mark.usefixtures("page")


def read(app: Flask, recording_id: str) -> Recording | None:
    with app.app_context():
        return db.session.get(Recording, recording_id)


def files(app: Flask) -> list[str]:
    with app.app_context():
        return sorted(recordings.list_files())


RECORDED: tuple[tuple[str, str, str, str, tuple[int | None, int | None]], ...] = (
    ("chromium.webm", "video", "video/webm", "vp8, opus", (320, 240)),
    ("chromium.mp4", "video", "video/mp4", "vp09, opus", (320, 240)),
    ("firefox.webm", "video", "video/webm", "vp8, opus", (320, 240)),
    ("chromium-voice.webm", "voice", "audio/webm", "opus", (None, None)),
    ("firefox-voice.ogg", "voice", "audio/ogg", "opus", (None, None)),
)


def test_what_browsers_record_is_known_by_its_header(app, client):
    for name, kind, media_type, codecs, size in RECORDED:
        sent = Upload(client, (FILES / name).read_bytes(), kind)
        assert sent.finish().status_code == 204
        found = read(app, sent.id)
        assert found is not None
        assert (found.state, found.kind, found.media_type) == ("ready", kind, media_type)
        assert (found.codecs, (found.width, found.height)) == (codecs, size)
        assert found.seconds == pytest.approx(2.5, abs=0.3)
        # Asked again after its end, it says that all has arrived.
        assert sent.offset == len(sent.content)


def test_the_duration_that_browsers_leave_out_is_written(app, client):
    for name in ("chromium.webm", "firefox.webm"):
        sent = Upload(client, (FILES / name).read_bytes())
        sent.finish()
        with app.app_context():
            path = recordings.path_of(sent.id)
            size = path.stat().st_size
            with path.open("rb") as file:
                found = read_webm(file, size, 10_000)
        assert found.duration is not None
        row = read(app, sent.id)
        assert row is not None
        assert (row.size, round(found.seconds, 2)) == (size, row.seconds)
        # In milliseconds.
        (written,) = struct.unpack(">d", found.duration.value)
        assert written == found.seconds * 1000


def test_an_upload_goes_on_where_it_was_cut(app, client):
    sent = Upload(client)
    assert sent.begun.json is not None
    assert sent.begun.json["pieceBytes"] == 512 * 1024
    assert sent.send(0, VIDEO[:9000]).headers["Upload-Offset"] == "9000"
    assert sent.offset == 9000
    # A process killed while it wrote leaves a part of a piece, which counts.
    with app.app_context(), recordings.path_of(sent.id).open("ab") as file:
        file.write(VIDEO[9000:9100])
    wrong = sent.send(9000, VIDEO[9000:])
    assert (wrong.status_code, wrong.headers["Upload-Offset"]) == (409, "9100")
    assert sent.finish(sent.offset).status_code == 204
    sent = Upload(client)
    with app.app_context():
        recordings.append_piece(sent.id, 0, VIDEO)
    assert sent.offset == len(VIDEO)
    row = read(app, sent.id)
    assert row is not None
    assert row.state == "ready"


@pytest.mark.postgres
def test_one_piece_sent_twice_at_once_is_stored_once(app, client):
    sent = Upload(client)
    first = {"Upload-Offset": "0"}
    answers = at_once(
        8, lambda _: app.test_client().patch(sent.path, data=VIDEO[:5000], headers=first)
    )
    assert sorted(answer.status_code for answer in answers) == [204] + [409] * 7
    assert sent.offset == 5000


LIES = {
    "no recording at all": b"<html><script>alert(1)</script></html>" * 100,
    "a picture": to_bytes(photo(80, 60), "PNG"),
    "a page with the first bytes of a WebM": b"\x1aE\xdf\xa3<html>" + b"x" * 4000,
    "a page with the first bytes of an MP4": b"\0\0\0\x18ftypisom" + b"<html>" * 800,
    "a page with the first bytes of an Ogg": b"OggS<html>" + b"x" * 4000,
    "half an MP4": MP4[: len(MP4) // 2],
    "a header without a recording": VIDEO[:188],
    "a codec that is no text": MP4.replace(b"vp09", b"v\0<9"),
    "a header of endless length": VIDEO.replace(
        b"\x15\x49\xa9\x66", b"\x15\x49\xa9\x66\x01" + b"\xff" * 6 + b"\xf0", 1
    ),
    # It ends with its name; what was in it is in a part that nobody reads.
    "a time of a fragment without a time": MP4.replace(
        b"\0\0\0\x14tfdt\1" + bytes(11), b"\0\0\0\x08tfdt\0\0\0\x0cfree" + bytes(4), 1
    ),
    "another document type": VIDEO.replace(b"\x42\x82\x84webm", b"\x42\x82\x84wxbm"),
}


def test_a_file_that_lies_is_refused_and_not_kept(app, client):
    for lie, content in LIES.items():
        sent = Upload(client, content)
        answer = sent.finish()
        assert answer.status_code == 422, lie
        assert answer.json is not None
        assert answer.json["code"] == "RECORDING_REFUSED"
        assert read(app, sent.id) is None
        assert files(app) == []
        assert sent.finish().status_code == 404


def test_a_header_full_of_nonsense_ends_soon(tmp_path):
    """Each byte of a real file is broken in turn: it is read, or refused, in few steps."""
    path = tmp_path / "file"
    readers: tuple[tuple[bytes, Callable[..., Contents]], ...] = (
        (VIDEO, read_webm), (MP4, read_mp4), (VOICE, read_ogg)
    )  # fmt: skip
    for whole, read_file in readers:
        good = whole[:1500]
        for at in sample(range(len(good)), 150):
            path.write_bytes(good[:at] + bytes([good[at] ^ 0xFF, *good[at + 1 :]]))
            with path.open("rb") as file, suppress(Unreadable):
                read_file(file, len(good), 500)
    for costly in (
        # A hundred tracks, and tables of megabytes.
        struct.pack(">I4s", 8, b"trak") * 100,
        (struct.pack(">I4sI", 2**21, b"stts", 0) + b"\0" * (2**21 - 12)) * 3,
    ):
        path.write_bytes(MP4[:36] + costly)
        with path.open("rb") as file, pytest.raises(Unreadable):
            read_mp4(file, 36 + len(costly), 500)


def test_a_recording_is_not_too_long_nor_another_kind(app, client):
    answer = Upload(client, VIDEO, "voice").finish()
    assert (answer.status_code, "is a video" in answer.text) == (422, True)
    # Two more are allowed, which a browser's timer may take to end.
    change_settings(app, recording_seconds=0)
    answer = Upload(client).finish()
    assert (answer.status_code, "too long" in answer.text) == (422, True)


def test_no_more_is_taken_than_was_announced(client):
    sent = Upload(client)
    assert sent.send(0, VIDEO + b"x").status_code == 413
    assert sent.offset == 0
    too_large = client.post(sent.path.rpartition("/")[0], json={"kind": "video", "size": 2**39})
    assert too_large.status_code == 413
    # Longer than a piece may be: not read at all.
    assert sent.send(0, b"x" * (uploads.PIECE_BYTES + 1)).status_code == 413


def test_the_account_and_the_service_have_shares(app, client):
    change_settings(app, account_recordings_megabytes=0)
    refused = Upload(client).begun
    assert (refused.status_code, refused.json and refused.json["code"]) == (507, "NO_ROOM")
    change_settings(app, account_recordings_megabytes=1, all_recordings_megabytes=0)
    assert Upload(client).begun.status_code == 507
    change_settings(app, all_recordings_megabytes=1)
    # What is on its way counts whole.
    content = b"x" * 600_000
    assert Upload(client, content).begun.status_code == 201
    assert Upload(client, content).begun.status_code == 507


def test_the_silent_give_way(client, app, moved_clock):
    change_settings(app, account_recordings_megabytes=1)
    content = b"x" * 600_000
    silent = Upload(client, content)
    moved_clock.move(seconds=59)
    assert Upload(client, content).begun.status_code == 507
    moved_clock.move(seconds=2)
    other = Upload(client, content)
    assert other.begun.status_code == 201
    assert silent.send(0, b"x").status_code == 404
    # Once it is under way, it stays.
    other.send(0, content[:500_000])
    moved_clock.move(seconds=70)
    assert Upload(client, content).begun.status_code == 507
    # A whole one waits for its form for an hour, if there is no room.
    change_settings(app, account_recordings_megabytes=0.06)
    moved_clock.move(hours=25)
    client.delete(other.path)
    whole = Upload(client)
    assert whole.finish().status_code == 204
    moved_clock.move(minutes=59)
    assert Upload(client, content[:50_000]).begun.status_code == 507
    moved_clock.move(minutes=2)
    assert Upload(client, content[:50_000]).begun.status_code == 201
    assert whole.send(0, b"x").status_code == 404


def test_a_full_disk_leaves_the_upload_as_it_was(app, client):
    sent = Upload(client)
    assert sent.send(0, VIDEO[:10_000]).status_code == 204
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    # The kernel writes up to this size and then refuses, as it does where a disk ends.
    resource.setrlimit(resource.RLIMIT_FSIZE, (15_000, limit[1]))
    try:
        answer = sent.send(10_000, VIDEO[10_000:])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    assert answer.status_code == 507
    assert sent.offset == 10_000
    assert sent.finish(10_000).status_code == 204


def test_a_page_takes_only_what_is_wanted(app, client, page):
    change_project(app, page, page_design={"voice": True})
    assert Upload(client).begun.status_code == 422
    assert Upload(client, VOICE, "voice").begun.status_code == 201
    change_project(app, page, status="inactive")
    assert Upload(client, VOICE, "voice").begun.status_code == 422


def test_uploads_are_limited(client):
    many = [Upload(client, b"x").begun.status_code for _ in range(31)]
    assert many == [201] * 30 + [429]


def test_posters_are_pictures_and_discards_are_gone(app, client):
    sent = Upload(client)
    sent.finish()
    poster = to_bytes(photo(320, 240), "WEBP")
    assert client.put(f"{sent.path}/poster", data=b"GIF89a", headers=JSON).status_code == 422
    assert client.put(f"{sent.path}/poster", data=poster).status_code == 204
    row = read(app, sent.id)
    assert row is not None
    assert client.get(f"/media/{row.poster_id}.webp").status_code == 200
    # One in its place leaves nothing behind.
    assert client.put(f"{sent.path}/poster", data=poster).status_code == 204
    assert client.get(f"/media/{row.poster_id}.webp").status_code == 404
    assert files(app) == [sent.id]
    assert client.delete(sent.path).status_code == 204
    assert client.delete(sent.path).status_code == 404
    assert files(app) == []
