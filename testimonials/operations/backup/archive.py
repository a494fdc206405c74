"""The file format of a backup: a tar.gz with a manifest, the database, the secret, the settings.

The manifest comes first and says of each of the others how large it is and its SHA-256, so that
nothing needs to be believed: neither names, nor sizes, nor that the file is whole.
"""

import gzip
import hashlib
import json
import os
import tarfile
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any, cast

FORMAT = "testimonials-backup"
FORMAT_VERSION = 1
MANIFEST = "manifest.json"
DATABASE = "testimonials.db"
SECRET = "secret_key"  # noqa: S105 - a file's name
SETTINGS = "testimonials.toml"
MEMBERS = (DATABASE, SECRET, SETTINGS)

MAX_MANIFEST_BYTES = 1024 * 1024
MAX_REST_BYTES = 1024 * 1024
# What may stand between two files of an archive; the reader keeps it in memory as a whole.
MAX_HEADER_BYTES = 1024 * 1024
CHUNK = 1024 * 1024
# What the service itself writes meanwhile must find room too.
MARGIN_BYTES = 32 * 1024 * 1024


class ArchiveRefused(Exception):
    """The file is not a backup that can be trusted; the message says why."""


@dataclass(frozen=True)
class Member:
    """What the manifest says of one file."""

    size: int
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """What a backup holds."""

    program_version: str
    schema_revision: str
    created_at: str
    rows: dict[str, int]
    members: dict[str, Member]
    format: str = FORMAT
    format_version: int = field(default=FORMAT_VERSION)

    def as_json(self) -> dict[str, Any]:
        """Return it as it stands in the archive."""
        return {
            "format": self.format,
            "formatVersion": self.format_version,
            "programVersion": self.program_version,
            "schemaRevision": self.schema_revision,
            "createdAt": self.created_at,
            "rows": self.rows,
            "members": {name: asdict(member) for name, member in self.members.items()},
        }


def describe_member(path: Path) -> Member:
    """Return a file's size and SHA-256."""
    with path.open("rb") as file:
        return Member(path.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest())


def write_archive(target: Path, manifest: Manifest, files: Mapping[str, Path]) -> None:
    """Write the archive to a new file, mode 0600, and wait until it is on the disk."""
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        with tarfile.open(fileobj=file, mode="w:gz", compresslevel=6) as tar:
            text = json.dumps(manifest.as_json(), indent=2).encode()
            draft = target.with_name(f"{target.name}.manifest")
            draft.write_bytes(text)
            for name, path in {MANIFEST: draft, **files}.items():
                info = tar.gettarinfo(path, name)
                info.mode, info.uid, info.gid, info.uname, info.gname = 0o600, 0, 0, "", ""
                with path.open("rb") as content:
                    tar.addfile(info, content)
            draft.unlink()
        file.flush()
        os.fsync(file.fileno())


def read_archive(source: Path, folder: Path) -> Manifest:
    """Unpack an archive into `folder`, checking each byte; return its manifest.

    Only the names that a backup has are written, whatever else the file asks for. Raises
    `ArchiveRefused`, and `OSError` where the disk is full.
    """
    try:
        # Read as a stream: each part once, in the order in which a backup has them.
        with gzip.open(source, "rb") as stream:
            # The types know of files alone, where anything with a `read` will do.
            metered = _Metered(cast(IO[bytes], stream))
            with tarfile.open(fileobj=cast(IO[bytes], metered), mode="r|") as tar:
                manifest = _read_manifest(tar)
                _require_room(manifest, folder)
                metered.allow(MAX_HEADER_BYTES)
                # A loop over the archive would begin with the manifest again.
                while (info := tar.next()) is not None:
                    expected = _expect(info, manifest)
                    metered.allow(expected.size + MAX_HEADER_BYTES)
                    _unpack(_content(tar, info), expected, folder / info.name)
                    metered.allow(MAX_HEADER_BYTES)
            # Only the end of the stream shows that none of it is missing.
            if len(stream.read(MAX_REST_BYTES)) == MAX_REST_BYTES:
                raise ArchiveRefused("something follows its end")
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ArchiveRefused(_describe_damage(error)) from None
    if missing := [name for name in manifest.members if not (folder / name).exists()]:
        raise ArchiveRefused(f"it lacks {missing[0]}, which its manifest names")
    return manifest


class _Metered:
    """A stream that gives what was allowed and no more: packed zeros could fill the memory."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._left = MAX_MANIFEST_BYTES + MAX_HEADER_BYTES

    def allow(self, size: int) -> None:
        """Let `size` bytes through from here on."""
        self._left = size

    def read(self, size: int) -> bytes:
        """Return `size` bytes, or what is there; raises `ArchiveRefused` past what was allowed."""
        self._left -= size
        if self._left < 0:
            raise ArchiveRefused("it holds more than its manifest says")
        return self._stream.read(size)


def _describe_damage(error: Exception) -> str:
    if isinstance(error, gzip.BadGzipFile) and "Not a gzipped file" in str(error):
        return "it is no backup made by this program (not a .tar.gz file)"
    return f"it is damaged or cut off ({error})"


def _read_manifest(tar: tarfile.TarFile) -> Manifest:
    first = tar.next()
    if first is None or first.name != MANIFEST or not first.isreg():
        raise ArchiveRefused("it is no backup made by this program (no manifest)")
    if first.size > MAX_MANIFEST_BYTES:
        raise ArchiveRefused("its manifest is too large")
    try:
        values = json.loads(_content(tar, first).read())
    except (ValueError, RecursionError):
        raise ArchiveRefused("its manifest is no JSON") from None
    if not isinstance(values, dict) or values.get("format") != FORMAT:
        raise ArchiveRefused("it is no backup made by this program")
    if values.get("formatVersion") != FORMAT_VERSION:
        raise ArchiveRefused(
            f"it was made by another version of this program ({values.get('programVersion')}), "
            f"whose format {values.get('formatVersion')} this one doesn't know"
        )
    try:
        manifest = _parse_manifest(values)
    except (KeyError, TypeError, ValueError, OverflowError, AttributeError):
        raise ArchiveRefused("its manifest is incomplete") from None
    if DATABASE not in manifest.members or not set(manifest.members) <= set(MEMBERS):
        raise ArchiveRefused("its manifest names other files than a backup has")
    return manifest


def _parse_manifest(values: dict[str, Any]) -> Manifest:
    return Manifest(
        program_version=str(values["programVersion"]),
        schema_revision=str(values["schemaRevision"]),
        created_at=str(values["createdAt"]),
        rows={str(name): int(count) for name, count in values["rows"].items()},
        members={
            str(name): Member(int(member["size"]), str(member["sha256"]))
            for name, member in values["members"].items()
        },
    )


def _require_room(manifest: Manifest, folder: Path) -> None:
    """Refuse what would fill the disk, on which a service may be running."""
    needed = sum(member.size for member in manifest.members.values()) + MARGIN_BYTES
    found = os.statvfs(folder)
    free = found.f_bavail * found.f_frsize
    if free < needed:
        raise ArchiveRefused(
            f"unpacked it needs {megabytes(needed)} in {folder.parent}, and {megabytes(free)} are "
            "free"
        )


def megabytes(size: int) -> str:
    """Write a number of bytes for a person."""
    return f"{size / 1e6:.0f} MB"


def _expect(info: tarfile.TarInfo, manifest: Manifest) -> Member:
    """Return what the manifest says of the file that comes next; raises `ArchiveRefused`."""
    expected = manifest.members.get(info.name)
    # A sparse file may be a terabyte of nothing.
    if expected is None or not info.isreg() or info.issparse():
        raise ArchiveRefused(f"it holds {info.name!r}, which no backup does")
    if info.size != expected.size:
        raise ArchiveRefused(f"{info.name} in it has another size than its manifest says")
    return expected


def _unpack(content: IO[bytes], expected: Member, path: Path) -> None:
    if path.exists():
        raise ArchiveRefused(f"it holds {path.name} twice")
    digest = hashlib.sha256()
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        while chunk := content.read(CHUNK):
            digest.update(chunk)
            file.write(chunk)
    if digest.hexdigest() != expected.sha256:
        raise ArchiveRefused(f"{path.name} in it is damaged: its checksum is another one")


def _content(tar: tarfile.TarFile, info: tarfile.TarInfo) -> IO[bytes]:
    content = tar.extractfile(info)
    if content is None:
        raise ArchiveRefused(f"{info.name} in it is no file")
    return content
