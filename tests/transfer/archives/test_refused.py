"""Archives that are refused: nothing that is wrong comes in."""

import io
import sys
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from PIL import Image as Pictures

from testimonials.dashboard.exports import LIMITS, MAX_PARTS
from testimonials.projects.models import Project
from testimonials.transfer.archives.reading import ArchiveRefused, open_archive
from tests.support.commands import run, run_json
from tests.support.pictures import to_bytes, webp_of_size
from tests.support.process import run_program
from tests.support.rows import count_rows
from tests.transfer.archives.projects import VERSION_1, change_json, read_rows


def first(name: str, **changes: Any) -> Callable[[dict[str, Any]], object]:
    return lambda described: described[name][0].update(changes)


def remember(**before: Any) -> Callable[[dict[str, Any]], object]:
    def change(described: dict[str, Any]) -> None:
        row = next(row for row in described["testimonials"] if row["changes"])
        row["changes"][0]["before"] = before

    return change


def many(name: str) -> Callable[[dict[str, Any]], object]:
    return lambda described: described.update({name: [{}] * 21})


def page(**settings: Any) -> Callable[[dict[str, Any]], object]:
    return lambda described: described["project"]["pageConfig"].update(settings)


def dashboard(**settings: Any) -> Callable[[dict[str, Any]], object]:
    return lambda described: described["project"]["dashboardConfig"].update(settings)


NO_ID = "0" * 24


WRONG: list[tuple[Callable[[dict[str, Any]], object], str]] = [
    (lambda d: d.update(format="other"), "does not have the format “testimonials-project”"),
    (lambda d: d.update(version=2), "this program reads version 1"),
    (
        lambda d: d["project"].update({"\x1b[2J\ud83d": 1}),
        "project, \ufffd[2J\ufffd: Unknown field.",
    ),
    (lambda d: d.update(more=1), "project.json has an unknown key: 'more'"),
    (lambda d: d.pop("project"), "project: Must be an object."),
    (lambda d: d.update(testimonials={}), "testimonials: Must be a list."),
    (lambda d: d["testimonials"].append(1), "testimonials 12: Must be an object."),
    *(
        (many(name), f"{name}: Must be at most 20.")
        for name in ("widgetSightings", "savedWidgets", "forms")
    ),
    (first("testimonials", id="../../etc"), "testimonials 1, id: Must be an id"),
    (first("testimonials", text=5), "testimonials 1, text: Must be a string"),
    (first("testimonials", text=" "), "text: Must not be empty"),
    (first("testimonials", reply="x", repliedAt=None), "1, repliedAt: Must not be empty"),
    (first("testimonials", authorName=None), "authorName: Must not be null."),
    (first("testimonials", rating=6), "rating: Must be a number from 1 to 5."),
    (first("testimonials", status="shown"), "status: Must be one of"),
    (first("testimonials", authorAvatar="javascript:alert(1)"), "authorAvatar: Must be an abs"),
    (first("testimonials", twitter={"avatarUrl": "data:x"}), "twitter, avatarUrl: Must be an abs"),
    (first("testimonials", createdAt="2999-01-01T00:00:00.000Z"), "createdAt: Must not be so far"),
    (first("testimonials", createdAt="yesterday"), "createdAt: Must be a time"),
    (first("testimonials", createdAt="0001-01-01T00:00:00.000+23:59"), "Must be a time"),
    (first("testimonials", tags=["a", " "]), "testimonials 1, tags 2: Must not be empty"),
    (first("testimonials", changes=[{}]), "testimonials 1, changes 1, id: Is missing."),
    (first("testimonials", avatarId=NO_ID), f"A picture is missing from images: {NO_ID}"),
    (remember(text=5), "changes 1, before, text: Must be a string"),
    (remember(projectId="x"), "before, projectId: Unknown field."),
    (first("invitations", email="not one"), "invitations 1, email: Must be an email address."),
    (first("invitations", batchId=NO_ID), "The batch of a request is missing from invitation"),
    (first("invitations", testimonialId=NO_ID), "The answer to a request is missing from test"),
    (first("oldSlugs", slug="Über uns"), "slug: Must be lower-case letters"),
    (first("widgetSightings", origin="javascript:1"), "origin: Must be the origin of a website."),
    (first("images", width=10**9), "images 1, width: Must be a whole number"),
    (first("images", width=10), "Its size is not the one in “images”."),
    (lambda d: d["images"].append(d["images"][0]), "images: Two of them have the same id."),
    (lambda d: d["oldSlugs"].append(d["oldSlugs"][0]), "oldSlugs: Two of them have the same slug"),
    (lambda d: d["project"].update(widgetConfig={"evil": 1}), "widgetConfig, evil: Unknown"),
    (page(website="javascript:1"), "project, pageConfig, website: Must be an absolute URL"),
    (page(buttonColor="url(x)"), "pageConfig, buttonColor: Must be a col"),
    (page(logo="https://x.example/tracker"), "pageConfig, logo: Must be equal to None."),
    (dashboard(cta={"url": "javascript:1"}), "dashboardConfig, cta, url: Must be an absolute URL"),
    (dashboard(rated={"kind": "Spell", "name": "x"}), "rated, kind: Must be one of"),
]


@pytest.mark.parametrize(("change", "reason"), WRONG)
def test_a_wrong_archive_gets_a_sentence_that_names_the_place(tmp_path, change, reason):
    refuse(change_json(VERSION_1, change, tmp_path / "wrong.zip"), reason)


def test_a_wrong_archive_gets_a_sentence_and_changes_nothing(app, owner, tmp_path):
    wrong = change_json(VERSION_1, first("images", width=10), tmp_path / "wrong.zip")
    result = run(app, "projects", "import", str(wrong), "--account", owner.email)
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: The archive can’t be imported. images/")
    assert (result.stderr.count("\n"), count_rows(app, Project)) == (1, 0)


def refuse(path: Path, reason: str) -> None:
    with path.open("rb") as file, pytest.raises(ArchiveRefused) as raised, open_archive(file):
        pass
    assert reason in raised.value.message


def make_zip(path: Path, files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, content in files.items():
            opened.writestr(name, content)
    return path


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({}, "project.json is missing."),
        ({"a.txt": b""}, "It has a file that doesn’t belong there"),
        ({"project.json": b"{}", "../../evil": b"x"}, "It has a file that doesn’t belong there"),
        ({"project.json": b"{}", "/etc/passwd": b"x"}, "It has a file that doesn’t belong there"),
        ({"project.json": b"{}", "images/../x.webp": b"x"}, "It has a file that doesn’t belong"),
        ({"project.json": b"nothing"}, "project.json is not JSON in UTF-8."),
        ({"project.json": b"\xff"}, "project.json is not JSON in UTF-8."),
        ({"project.json": b"[" * 100_000}, "project.json is not JSON in UTF-8."),
        ({"project.json": b'{"format":NaN}'}, "project.json is not JSON in UTF-8."),
        ({"project.json": b"[]"}, "does not have the format"),
    ],
)
def test_a_file_that_is_no_archive_gets_a_sentence(tmp_path, files, reason):
    refuse(make_zip(tmp_path / "wrong.zip", files), reason)


def test_what_is_no_zip_damaged_or_encrypted_gets_a_sentence(tmp_path):
    content = VERSION_1.read_bytes()
    damaged = content[:200] + bytes([content[200] ^ 255]) + content[201:]
    encrypted = bytearray(make_zip(tmp_path / "zip", {"project.json": b"{}"}).read_bytes())
    for mark, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        encrypted[encrypted.index(mark) + place] |= 1
    for wrong in (b"", b"PK", content[:2000], damaged, b"\0" * 1000, bytes(encrypted)):
        (tmp_path / "wrong.zip").write_bytes(wrong)
        refuse(tmp_path / "wrong.zip", "The file isn’t an archive, or is damaged")


@pytest.mark.parametrize("packing", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_what_is_packed_in_another_way_gets_a_sentence(tmp_path, packing):
    with zipfile.ZipFile(tmp_path / "wrong.zip", "w", packing) as opened:
        opened.writestr("project.json", b"{}")
    refuse(tmp_path / "wrong.zip", "It is compressed in a way that archives never are.")


@pytest.mark.parametrize(
    ("part", "field", "size"),
    [
        # Where the directory and a file begin, how long they are, and how they are packed.
        (b"PK\x05\x06", 12, 4), (b"PK\x05\x06", 16, 4), (b"PK\x01\x02", 42, 4),
        (b"PK\x01\x02", 20, 4), (b"PK\x01\x02", 28, 4), (b"PK\x01\x02", 10, 2),
        (b"PK\x01\x02", 6, 2), (b"PK\x03\x04", 26, 4),
    ],
)  # fmt: skip
def test_places_and_lengths_that_lie_get_a_sentence(tmp_path, part, field, size):
    good = VERSION_1.read_bytes()
    at = good.index(part) + field
    # From memory, as a page reads it, and from a file, as the command does.
    for number in (0, 1, 0x0C, 0x0E, 0x7F, 0xFF):
        bad = good[:at] + bytes([number]) * size + good[at + size :]
        (tmp_path / "wrong.zip").write_bytes(bad)
        for source in (io.BytesIO(bad), (tmp_path / "wrong.zip").open("rb")):
            with source, suppress(ArchiveRefused), open_archive(source):
                pass


def test_a_bomb_is_not_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr("testimonials.transfer.archives.reading.MAX_JSON_BYTES", 1024 * 1024)
    bomb = make_zip(tmp_path / "bomb.zip", {"project.json": b" " * 8_000_000})
    assert bomb.stat().st_size < 100_000
    refuse(bomb, "project.json is larger than 1 MB.")


def webp(**options: Any) -> bytes:
    return to_bytes(Pictures.new("RGB", (90, 60)), "WEBP", **options)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, ".webp is missing."),
        (webp_of_size(b"VP8X", 16384, 16384), "It has 16384 x 16384 pixels"),
        (webp_of_size(b"VP8L", 16000, 16000) + b"\0", "It is not a WebP picture."),
        (b"<svg onload=alert(1)>", "It is not a WebP picture."),
        (webp(exif=b"Exif\0\0secret"), "It contains more than a picture."),
        (webp() + b"<script>", "It is not a WebP picture."),
        (b"\x89PNG", "It is not a WebP picture."),
        (webp_of_size(b"VP8X", 90, 60), "It is damaged."),
        (b"x" * 3_000_000, "is larger than 2 MB."),
    ],
)
def test_a_wrong_picture_is_not_decoded(tmp_path, content, reason):
    with zipfile.ZipFile(VERSION_1) as old:
        files = {name: old.read(name) for name in old.namelist()}
    name = next(each for each in files if each.startswith("images/"))
    if content is None:
        del files[name]
    else:
        files[name] = content
    refuse(make_zip(tmp_path / "wrong.zip", files), reason)


def test_pictures_are_decoded_in_the_process_for_them_alone():
    program = (
        "import sys\nfrom testimonials.transfer.archives.reading import open_archive\n"
        "with open(sys.argv[1], 'rb') as file, open_archive(file) as archive:\n"
        "    print(len(archive.lists['images']), 'PIL' in sys.modules)"
    )
    ended = run_program([sys.executable, "-c", program, VERSION_1])
    assert ended.stdout.split()[1:] == ["False"], ended.stderr
    assert int(ended.stdout.split()[0]) > 0


def test_pictures_of_few_bytes_and_many_pixels_are_not_decoded(tmp_path):
    content = to_bytes(Pictures.new("RGB", (2000, 2000)), "WEBP", lossless=True)
    rows = [
        {
            "id": f"{number:024x}",
            "width": 2000,
            "height": 2000,
            "createdAt": "2026-01-01T00:00:00.000Z",
        }
        for number in range(126)
    ]
    many = change_json(VERSION_1, lambda d: d["images"].extend(rows), tmp_path / "many.zip")
    with zipfile.ZipFile(many, "a") as opened:
        for row in rows:
            opened.writestr(f"images/{row['id']}.webp", content)
    assert many.stat().st_size < 100_000
    with many.open("rb") as file, open_archive(file):
        pass
    with (
        many.open("rb") as file,
        pytest.raises(ArchiveRefused, match="more than 500 megapixels"),
        open_archive(file, *LIMITS),
    ):
        pass


def test_more_rows_than_a_page_takes_are_not_read(tmp_path):
    rows = [{"day": day, "rating": 1, "number": 1} for day in range(MAX_PARTS)]
    many = change_json(VERSION_1, lambda d: d.update(keptRatings=rows), tmp_path / "many.zip")
    with (
        many.open("rb") as file,
        pytest.raises(ArchiveRefused, match="more than 65,536 entries"),
        open_archive(file, *LIMITS),
    ):
        pass
    with many.open("rb") as file, open_archive(file) as archive:
        assert len(archive.lists["keptRatings"]) == MAX_PARTS


def test_a_reserved_or_misspelt_slug_is_refused(app, outsider):
    arguments = ("projects", "import", str(VERSION_1), "--account", outsider.email, "--slug")
    assert "The slug login is reserved" in run(app, *arguments, "login").stderr
    assert "Write the slug as fern-co." in run(app, *arguments, "Fern & Co").stderr
    assert count_rows(app, Project) == 0


def test_a_change_names_no_picture_of_others(app, outsider, tmp_path):
    changed = change_json(VERSION_1, remember(avatarId="f" * 24), tmp_path / "changed.zip")
    told = run_json(app, "projects", "import", str(changed), "--account", outsider.email)
    (change,) = read_rows(app, told["_id"])["event"]
    assert change["before"] == {"avatar_id": None}
