"""The format of a backup: a tar.gz of a manifest, database, secret, settings and recordings.

The manifest comes first. It has the size and the SHA-256 of each other file, so the reader needn't
trust the names and sizes in the archive, and notices if something is missing.
"""

import contextlib
import errno
import fcntl
import gzip
import hashlib
import io
import json
import os
import re
import shutil
import tarfile
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, TypedDict, cast

from testimonials.core.faults import refusing
from testimonials.testimonials.media.recordings import FOLDER

FORMAT = "testimonials-backup"
FORMAT_VERSION = 1
MANIFEST = "manifest.json"
DATABASE = "testimonials.db"
SECRET = "secret_key"  # noqa: S105 - a file's name
SETTINGS = "testimonials.toml"
MEMBERS = {DATABASE, SECRET, SETTINGS}
# Recordings are members too, named by their paths in the instance folder.
RECORDING = re.compile(rf"{FOLDER}/[0-9a-f]{{24}}")
FILE_TYPES = {tarfile.REGTYPE, tarfile.AREGTYPE}

MAX_MANIFEST_BYTES = 32 * 1024 * 1024
MAX_REST_BYTES = 1024 * 1024
MAX_PAX_BYTES = 64 * 1024
CHUNK = 1024 * 1024
# It takes a third of the time of the default (6), and produces 5% more bytes.
COMPRESSION = 4
# Left free, since the service needs room to write.
MARGIN_BYTES = 32 * 1024 * 1024


class RestoreRefused(Exception):
    """The backup can't be restored, and nothing was changed."""


class Member(TypedDict):
    """What the manifest says about one file."""

    size: int
    sha256: str


class Manifest(TypedDict):
    """A backup's manifest as it is written to the archive."""

    format: str
    formatVersion: int
    programVersion: str
    schemaRevision: str
    createdAt: str
    rows: dict[str, int]
    members: dict[str, Member]


def describe_member(path: Path) -> Member:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"size": path.stat().st_size, "sha256": digest}


def describe_rows(rows: dict[str, int]) -> str:
    """Return in words how much a backup contains."""
    names = ("account", "project", "testimonial")
    return ", ".join(f"{rows.get(name, 0)} {name}(s)" for name in names)


def write_archive(target: Path, manifest: Manifest, files: Mapping[str, Path]) -> None:
    """Write a new file with mode 0600, and flush it to the disk."""
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        packed = _Packed(file)
        with tarfile.open(fileobj=packed, mode="w|") as tar:  # type: ignore[call-overload]
            text = json.dumps(manifest, indent=2).encode()
            _add(tar, MANIFEST, io.BytesIO(text), len(text))
            # Recordings, which can't be compressed, come last.
            for name, path in sorted(files.items(), key=lambda each: FOLDER in each[0]):
                if RECORDING.fullmatch(name):
                    packed.stop_compressing()
                with path.open("rb") as content:
                    _add(tar, name, content, path.stat().st_size)
        packed.close()
        file.flush()
        os.fsync(file.fileno())


class _Packed:
    """A gzip file of which only the first part is compressed."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._part = gzip.GzipFile("", "wb", COMPRESSION, file)
        self._is_compressing = True

    def write(self, content: bytes) -> int:
        return self._part.write(content)

    def stop_compressing(self) -> None:
        """Store what follows uncompressed."""
        if self._is_compressing:
            self._part.close()
            self._part = gzip.GzipFile("", "wb", 0, self._file)
            self._is_compressing = False

    def close(self) -> None:
        self._part.close()


def _add(tar: tarfile.TarFile, name: str, content: IO[bytes], size: int) -> None:
    info = tarfile.TarInfo(name)
    info.size, info.mode, info.mtime = size, 0o600, int(time.time())
    tar.addfile(info, content)


def read_archive(source: IO[bytes], folder: Path, *, keeps_recordings: bool = True) -> Manifest:
    """Unpack a backup into `folder`, check each byte, and return its manifest.

    Without `keeps_recordings`, recordings are only checked. Raises `RestoreRefused`, and `OSError`
    if the disk is full.
    """
    try:
        with (
            refusing(
                lambda fault: RestoreRefused(f"it is damaged or cut off ({fault})"),
                tarfile.TarError,
            ),
            gzip.open(source, "rb") as stream,
        ):
            manifest = _read_manifest(stream)
            (folder / FOLDER).mkdir()
            kept = {
                name: member["size"]
                for name, member in manifest["members"].items()
                if keeps_recordings or not RECORDING.fullmatch(name)
            }
            require_room(folder, sum(kept.values()))
            seen = _read_members(stream, manifest, {name: folder / name for name in kept})
            # Reading to the end verifies gzip's checksum.
            if len(stream.read(MAX_REST_BYTES)) == MAX_REST_BYTES:
                raise RestoreRefused("there is more data after its end")
    except gzip.BadGzipFile:
        raise RestoreRefused("it is damaged, or not a backup (.tar.gz)") from None
    if missing := [name for name in manifest["members"] if name not in seen]:
        raise RestoreRefused(f"{missing[0]}, which its manifest names, is missing")
    return manifest


def _read_members(stream: gzip.GzipFile, manifest: Manifest, places: dict[str, Path]) -> set[str]:
    """Unpack the files that have a place, and only check the others; return the names of all."""
    seen: set[str] = set()
    while (header := _read_header(stream)) is not None:
        expected = manifest["members"].get(header.name)
        if expected is None or header.type not in FILE_TYPES:
            raise RestoreRefused(f"it contains {header.name!r}, which is not part of a backup")
        if header.name in seen:
            raise RestoreRefused(f"it contains {header.name} twice")
        seen.add(header.name)
        place = places.get(header.name)
        actual = _unpack(stream, expected, place) if place else _measure(stream, expected)
        stream.read(_padding(expected["size"]))
        if actual != expected:
            raise RestoreRefused(f"{header.name} is damaged: its size or checksum is wrong")
    return seen


def _read_header(stream: gzip.GzipFile) -> tarfile.TarInfo | None:
    """Return the next header, or None at the end; extended (pax) headers are skipped."""
    while (block := stream.read(tarfile.BLOCKSIZE)) != bytes(tarfile.BLOCKSIZE):
        header = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
        if header.type != tarfile.XHDTYPE or not 0 <= header.size <= MAX_PAX_BYTES:
            return header
        stream.read(header.size + _padding(header.size))
    return None


def _padding(size: int) -> int:
    return -size % tarfile.BLOCKSIZE


def _read_manifest(stream: gzip.GzipFile) -> Manifest:
    first = _read_header(stream)
    is_manifest = first and first.name == MANIFEST and first.type in FILE_TYPES
    if not (first and is_manifest and 0 <= first.size <= MAX_MANIFEST_BYTES):
        raise RestoreRefused("it is not a backup made by this program (no manifest)")
    values = json.loads(stream.read(first.size))
    stream.read(_padding(first.size))
    if not isinstance(values, dict) or values.get("format") != FORMAT:
        raise RestoreRefused("it is not a backup made by this program")
    if values.get("formatVersion") != FORMAT_VERSION:
        raise RestoreRefused(
            f"it has format {values.get('formatVersion')} and was made by version "
            f"{values.get('programVersion')}, but this program reads format {FORMAT_VERSION}"
        )
    with refusing(lambda _fault: RestoreRefused("its manifest is incomplete")):
        for member in values["members"].values():
            member["size"] = int(member["size"])
        manifest = cast(Manifest, {key: values[key] for key in Manifest.__annotations__})
    others = [name for name in manifest["members"] if not RECORDING.fullmatch(name)]
    if DATABASE not in others or not MEMBERS.issuperset(others):
        raise RestoreRefused("its manifest names files that no backup has, or no database")
    return manifest


def _unpack(stream: gzip.GzipFile, expected: Member, path: Path) -> Member:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        for chunk in _read_chunks(stream, expected["size"]):
            file.write(chunk)
    return describe_member(path)


def _measure(stream: gzip.GzipFile, expected: Member) -> Member:
    digest, size = hashlib.sha256(), 0
    for chunk in _read_chunks(stream, expected["size"]):
        digest.update(chunk)
        size += len(chunk)
    return {"size": size, "sha256": digest.hexdigest()}


def _read_chunks(stream: gzip.GzipFile, left: int) -> Iterator[bytes]:
    while left > 0 and (chunk := stream.read(min(left, CHUNK))):
        left -= len(chunk)
        yield chunk


@contextlib.contextmanager
def working_folder(parent: Path, prefix: str) -> Iterator[Path]:
    """Make a folder in `parent`, and remove it with its contents at the end.

    Only one process at a time works in `parent`, so any other such folder was left by a process
    that was killed, and is removed first.
    """
    descriptor = os.open(parent, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        for abandoned in parent.glob(f"{prefix}*"):
            shutil.rmtree(abandoned, ignore_errors=True)
        with tempfile.TemporaryDirectory(prefix=prefix, dir=parent) as folder:
            yield Path(folder)
    finally:
        os.close(descriptor)


def require_room(folder: Path, size: int) -> None:
    """Raise `OSError` if `size` bytes would nearly fill the disk."""
    needed, free = size + MARGIN_BYTES, shutil.disk_usage(folder).free
    if free < needed:
        raise OSError(
            errno.ENOSPC, f"{needed / 1e6:.0f} MB are needed and {free / 1e6:.0f} MB are free"
        )
