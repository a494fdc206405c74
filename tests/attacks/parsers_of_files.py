"""Parsers of files, and of what people paste."""

import errno
import gzip
import io
import json
import tarfile
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from testimonials.collection.address_lists import read_csv, read_pasted
from testimonials.core.csv_rows import TableUnreadable
from testimonials.core.extensions import db, lock_for_writing
from testimonials.core.http.errors import ServiceError
from testimonials.core.images.decode import Unreadable, Use, decode_picture
from testimonials.core.settings.table import current_settings
from testimonials.operations.backup.archive import RestoreRefused, read_archive
from testimonials.operations.backup.creating import make_backup
from testimonials.operations.backup.restoring import check_backup
from testimonials.projects.domains import read_host
from testimonials.projects.models import Project
from testimonials.projects.projects import lock_account
from testimonials.testimonials.media.containers import check_recording
from testimonials.testimonials.media.playback import CaptionsRefused, clean_captions
from testimonials.testimonials.media.recordings import FOLDER, RecordingRefused, remove_files
from testimonials.transfer.archives.reading import open_archive, storing_recordings
from testimonials.transfer.archives.restoring import restore_project
from testimonials.transfer.archives.writing import reading_snapshot, write_archive
from testimonials.transfer.erasure import ListDamaged, parse_list
from testimonials.transfer.tables.jobs import DEFAULT_OPTIONS, read_file
from testimonials.transfer.tables.plan import plan_import
from tests.attacks.parsing import Attacked, Parser, as_text, in_app, parser, take
from tests.support.mutating import to_json
from tests.support.pictures import photo, to_bytes
from tests.testimonials.media import recorded
from tests.transfer.archives.projects import VERSION_1, fill_project


# Files.
@parser("recordings")
def _(attacked: Attacked) -> Parser:
    path = attacked.folder / "recording"

    def read(sample: bytes) -> None:
        path.write_bytes(sample)
        check_recording(path, "video")

    # The heads, where most of what is read stands.
    heads = [each[:6000] for each in (recorded.VIDEO, recorded.MP4, recorded.VOICE)]
    whole = [recorded.VIDEO, recorded.MP4, recorded.VOICE]
    return Parser([*whole, *heads[:2], recorded.MP4], in_app(attacked, read), (RecordingRefused,))


@parser("captions")
def _(attacked: Attacked) -> Parser:
    text = (
        "WEBVTT\n\nNOTE a\n\n1\n00:01.000 --> 00:04.000 align:start\nWarm buns.\n\n"
        "00:00:05.000 --> 00:00:07.500\nAnd tea."
    )
    return Parser([text], in_app(attacked, clean_captions), (CaptionsRefused,))


@parser("pictures")
def _(attacked: Attacked) -> Parser:
    kinds = ("PNG", "JPEG", "WEBP")
    samples = [to_bytes(photo(40, 30), kind) for kind in kinds]
    samples.append(to_bytes(photo(40, 30), "JPEG", progressive=True))
    use = Use(64, 64, 10**6)
    return Parser(samples, lambda data: decode_picture(data, use), (Unreadable, MemoryError))


def pack_zip(files: dict[str, bytes], kind: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", kind) as opened:
        for name, content in files.items():
            opened.writestr(name, content)
    return out.getvalue()


@parser("archives of projects")
def _(attacked: Attacked) -> Parser:
    def export(project_id: str) -> bytes:
        out = io.BytesIO()
        with attacked.app.app_context(), reading_snapshot():
            write_archive(db.session.get_one(Project, project_id), out)
        return out.getvalue()

    visitor, project_id = attacked.app.test_client(), attacked.project_id
    voice = recorded.upload(visitor, recorded.VOICE, "voice")
    assert recorded.send(visitor, recording=voice).status_code == 303
    spoken, written = export(project_id), export(fill_project(attacked.app, attacked.owner))
    files: dict[str, bytes] = {}
    described = []
    for whole in (written, spoken):
        with zipfile.ZipFile(io.BytesIO(whole)) as opened:
            found = {name: opened.read(name) for name in opened.namelist()}
        described.append(json.loads(found.pop("project.json")))
        files |= found

    def read(sample: Any) -> None:
        if not isinstance(sample, bytes):
            said = to_json(sample)
            kept = {name: files[name] for name in files if name.partition("/")[2][:24] in said}
            sample = pack_zip({"project.json": as_text(sample), **kept}, zipfile.ZIP_STORED)
        stored_before = list_stored()
        # As the page does, from memory, or as the command does, from a file.
        (open_source,) = take((io.BytesIO, open_file, open_file, io.BytesIO), 1)
        try:
            restore(open_source, sample)
        except ServiceError:
            # Nothing half: what was stored of it is gone.
            assert list_stored() == stored_before
            raise

    def restore(open_source: Callable[[bytes], Any], content: bytes) -> None:
        with (
            open_source(content) as source,
            open_archive(source, 8 << 20, 64 << 20) as archive,
            storing_recordings(archive) as stored,
        ):
            lock_for_writing()
            account = lock_account(attacked.owner.account_id)
            restore_project(archive, account, stored, slug="copy", has_limit=False)
        # It isn't committed, so its files have no rows.
        remove_files(file for file, _ in stored.values())

    def list_stored() -> set[str]:
        return {each.name for each in (current_settings().instance_path / FOLDER).iterdir()}

    def open_file(content: bytes) -> Any:
        path = attacked.folder / "archive.zip"
        path.write_bytes(content)
        return path.open("rb")

    samples = [*described, VERSION_1.read_bytes(), *described, spoken]
    return Parser(samples, in_app(attacked, read), (ServiceError,))


@parser("backups")
def _(attacked: Attacked) -> Parser:

    file = attacked.folder / "backup.tar.gz"
    make_backup(current_settings(attacked.app), file)
    packed = file.read_bytes()
    plain = gzip.decompress(packed)

    def read(sample: bytes) -> None:
        content = sample if sample[:2] == packed[:2] else gzip.compress(sample, 0)
        with tempfile.TemporaryDirectory(dir=attacked.folder) as work:
            try:
                manifest = read_archive(io.BytesIO(content), Path(work))
            except OSError as error:
                # A manifest that names more than the disk has room for is refused by that.
                if error.errno != errno.ENOSPC:
                    raise
                return
            check_backup(manifest, Path(work))

    def read_any(sample: Any) -> None:
        if not isinstance(sample, bytes):
            content = as_text(sample)
            out = io.BytesIO()
            with tarfile.open(fileobj=out, mode="w") as tar:
                for name, each in ({"manifest.json": content} | members).items():
                    info = tarfile.TarInfo(name)
                    info.size = len(each)
                    tar.addfile(info, io.BytesIO(each))
            sample = out.getvalue()
        read(sample)

    with tarfile.open(fileobj=io.BytesIO(plain)) as tar:
        members = {info.name: tar.extractfile(info).read() for info in tar}  # type: ignore[union-attr]
    manifest = json.loads(members.pop("manifest.json"))
    return Parser([packed, plain, manifest], read_any, (RestoreRefused,))


@parser("the list of what was erased")
def _(attacked: Attacked) -> Parser:
    rows = [{"kind": "person", "id": "a" * 24, "at": 1764000000000}]
    listed = {"format": "testimonials-erased", "version": 1, "erased": rows}

    def read(sample: Any) -> object:
        return parse_list(as_text(sample), "erased.json")

    return Parser([listed, to_json(listed)], read, (ListDamaged,))


@parser("tables to import")
def _(attacked: Attacked) -> Parser:
    project_id = attacked.project_id
    table = (
        "Name,Email,Text,Rating,Date,Photo,Tags\n"
        '"Maya, K",m@a.example,It works.,4½,12/03/2026 10:00 PM,https://a.example/m.jpg,"a,b"\n'
        "Theo,t@b.example,Good.,5/5,2026-03-12T10:00:00+02:00,,c\n"
    )
    author = {"name": "Maya", "email": "m@a.example"}
    item = {"author": author, "text": "It works.", "rating": 4.5, "date": "2026-03-12"}
    items = [item | {"tags": ["a"]}]

    def read(sample: Any) -> None:
        content = sample if isinstance(sample, bytes) else as_text(sample)
        for encoding in ("utf-8", "shift-jis", "utf-16"):
            options = DEFAULT_OPTIONS | {"encoding": encoding, "repairs": ["rating", "text"]}
            try:
                reading = read_file(content, options)
            except ServiceError:
                continue
            plan_import(project_id, reading)

    samples = [table, table.encode("utf-16"), {"data": {"items": items}}, items, to_json(items)]
    return Parser(samples, in_app(attacked, read), (TableUnreadable,))


@parser("lists of addresses")
def _(attacked: Attacked) -> Parser:
    pasted = 'Maya K <m@a.example>, "Theo, B" <t@b.example>;c@d.example\ne@f.example (a comment)'
    table = "email;name;company;order\nm@a.example;Maya;Oats;A-1\nt@b.example;Theo;;\n"

    def read(sample: Any) -> None:
        if isinstance(sample, bytes):
            read_csv(sample)
        else:
            read_pasted(sample)

    return Parser([pasted, table, table.encode()], in_app(attacked, read), (TableUnreadable,))


@parser("host names")
def _(attacked: Attacked) -> Parser:
    hosts = ["https://reviews.bakery.example/a", "bücher.example", "xn--bcher-kva.example"]
    return Parser(hosts, in_app(attacked, read_host), (ServiceError,))
