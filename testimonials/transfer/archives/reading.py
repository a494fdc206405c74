"""Opening and checking an archive."""

import hashlib
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import IO, Any, cast
from zipfile import ZIP_DEFLATED, ZIP_STORED

from marshmallow import ValidationError
from sqlalchemy import PrimaryKeyConstraint, UniqueConstraint

from testimonials.core.chain import Log, LogInvalid, read_log
from testimonials.core.db.identifiers import new_identifier
from testimonials.core.faults import refusing
from testimonials.core.http.errors import ServiceError
from testimonials.core.http.i18n import gettext_noop
from testimonials.core.images.uploads import ImageDamaged, find_damaged_image, measure_stored_image
from testimonials.core.text import load_json, make_printable
from testimonials.projects.models import PICTURES
from testimonials.testimonials.media.containers import Contents, check_recording
from testimonials.testimonials.media.recordings import (
    NoRoom,
    RecordingRefused,
    hold,
    keep_file,
    remove_files,
)
from testimonials.transfer.archives.comparing import Differences, settle_differences
from testimonials.transfer.archives.format import CHANGE, FORMAT, LISTS, PROJECT, VERSION, Part, Row
from testimonials.transfer.archives.writing import JSON_NAME, image_file, recording_file

# An archive may come from anybody. Only the known files in it are read, each up to a limit, and
# their names are never used as paths.

MAX_JSON_BYTES = 256 * 1024 * 1024
MAX_IMAGE_BYTES = 2 * 1024 * 1024
MAX_FILES = 200_000
# How many images are in memory at once, and are decoded by one process.
IMAGES_AT_ONCE = 32
# Smaller images count as this many pixels, since unpacking and storing them takes time too.
LEAST_PIXELS = 256 * 256

_FILE = re.compile(r"images/[0-9a-f]{24}\.webp|recordings/[0-9a-f]{24}")
_KEYS = {"format", "version", "program", "exportedAt", "project", "team", "record", *LISTS}


class ArchiveRefused(ServiceError):
    """The archive can't be imported; the message says why."""

    status = 422


@dataclass
class Archive:
    """An open archive with its project and the rows of its lists."""

    project: Row
    lists: dict[str, list[Row]]
    file: zipfile.ZipFile
    # The project's public record, if it has one; its signatures are valid.
    log: Log | None = None
    differences: Differences = field(default_factory=Differences)

    def read_image(self, image_id: str) -> bytes:
        """Return the content of an image, which was checked when the archive was opened."""
        return _read_entry(self.file, image_file(image_id), MAX_IMAGE_BYTES)

    @contextmanager
    def open_recording(self, recording_id: str) -> Iterator[IO[bytes]]:
        """Open a recording, whose content isn't checked yet; raise `ArchiveRefused`."""
        with _refusing():
            opened = self.file.open(recording_file(recording_id))
        # An OSError is not caught here: while the caller reads, its disk may become full.
        with opened, refusing(_refuse_damage):
            yield opened

    @property
    def changes(self) -> list[Row]:
        return [change for row in self.lists["testimonials"] for change in row["changes"]]


@contextmanager
def open_archive(
    source: IO[bytes],
    most_text: int | None = None,
    most_bytes: int | None = None,
    most_pixels: int | None = None,
    most_parts: int | None = None,
    *,
    is_believed: bool = True,
) -> Iterator[Archive]:
    """Open and check an archive; raise `ArchiveRefused`.

    The limits are for its unpacked text (`most_text` bytes, `most_parts` lists and objects), for
    all that is in it (`most_bytes`) and for its images (`most_pixels`). Unless `is_believed`, all
    testimonials in an archive without a public record count as imported.
    """
    with _refusing():
        file = zipfile.ZipFile(source)
    with file:
        with _refusing():
            if most_bytes and sum(each.file_size for each in file.infolist()) > most_bytes:
                raise ValidationError(f"It unpacks to more than {most_bytes // 1024**2} MB.")
            _require_known_files(file)
            content = _read_entry(file, JSON_NAME, most_text or MAX_JSON_BYTES)
            if most_parts and content.count(b"{") + content.count(b"[") > most_parts:
                raise ValidationError(f"It has more than {most_parts:,} entries.")
            archive = _read_archive(file, content, most_pixels, is_believed=is_believed)
        yield archive


@contextmanager
def _refusing() -> Iterator[None]:
    try:
        # Damaged archives may have negative offsets, for which the system reports an error.
        with refusing(_refuse_damage, OSError):
            yield
    except ValidationError as error:
        reason = make_printable(str(error.messages[0]))
        raise ArchiveRefused(
            gettext_noop("The archive can’t be imported. %(reason)s"), values={"reason": reason}
        ) from None


def _refuse_damage(_fault: Exception) -> ArchiveRefused:
    return ArchiveRefused(
        gettext_noop("The file isn’t an archive, or is damaged. Export the project again.")
    )


def _read_archive(
    file: zipfile.ZipFile, content: bytes, most_pixels: int | None, *, is_believed: bool
) -> Archive:
    members = _parse(content)
    project = PROJECT.read(members.get("project"), "project")
    for newer in ("savedWidgets", "forms", "keptRatings", "recordings"):
        members.setdefault(newer, [])
    lists = {name: part.read_all(members.get(name), name) for name, part in LISTS.items()}
    archive = Archive(project, lists, file, _read_record(members.get("record"), project["id"]))
    for name, part in LISTS.items():
        _require_unique(name, part, lists[name])
    _require_unique("changes", CHANGE, archive.changes)
    _check_references(archive)
    digests = _check_images(archive, most_pixels)
    _check_recordings(archive)
    if archive.log is not None:
        digests |= _read_digests(archive)
        with refusing(_refuse_record):
            archive.differences = settle_differences(lists, archive.log, digests)
    elif is_believed:
        answers = (row["testimonial_id"] for row in lists["invitations"])
        archive.differences.asked = [each for each in answers if each is not None]
    else:
        archive.differences = settle_differences(lists, Log([], {}, ""), {})
    return archive


def _refuse_record(_fault: Exception) -> ValidationError:
    return ValidationError("Its public record is not what was signed.")


def _read_record(lines: Any, project_id: str) -> Log | None:
    if not lines:
        return None
    with refusing(_refuse_record, LogInvalid):
        log = read_log("".join(f"{line}\n" for line in lines).encode())
        if log.head["project"] != project_id:
            raise ValidationError("Its public record is another project’s.")
    return log


def _require_known_files(file: zipfile.ZipFile) -> None:
    names = file.namelist()
    if len(names) > MAX_FILES or len(set(names)) != len(names):
        raise ValidationError("It has too many files, or the same file twice.")
    # If one of another kind is damaged, other errors are raised.
    if any(each.compress_type not in (ZIP_STORED, ZIP_DEFLATED) for each in file.infolist()):
        raise ValidationError("It is compressed in a way that archives never are.")
    for name in names:
        if name != JSON_NAME and not _FILE.fullmatch(name):
            raise ValidationError(f"It has a file that doesn’t belong there: {name[:80]!r}.")


def _read_entry(file: zipfile.ZipFile, name: str, limit: int) -> bytes:
    """Return a file's content, unpacking no more than the limit."""
    if name not in file.NameToInfo:
        raise ValidationError(f"{name} is missing.")
    with file.open(name) as opened:
        content = opened.read(limit + 1)
    if len(content) > limit:
        raise ValidationError(f"{name} is larger than {limit // (1024 * 1024)} MB.")
    return content


def _parse(content: bytes) -> dict[str, Any]:
    with refusing(lambda _fault: ValidationError(f"{JSON_NAME} is not JSON in UTF-8.")):
        parsed = load_json(content.decode("utf-8"), parse_constant=_refuse_constant)
    if not isinstance(parsed, dict) or parsed.get("format") != FORMAT:
        raise ValidationError(f"{JSON_NAME} does not have the format “{FORMAT}”.")
    version = parsed.get("version")
    if version != VERSION or isinstance(version, bool):
        raise ValidationError(
            f"It has version {str(version)[:20]!r}, and this program reads version {VERSION}. "
            "Install the version of the program that made it, or a newer one."
        )
    if unknown := sorted(set(parsed) - _KEYS):
        raise ValidationError(f"{JSON_NAME} has an unknown key: {unknown[0][:60]!r}.")
    return parsed


def _refuse_constant(name: str) -> Any:
    raise ValueError(name)


def _require_unique(name: str, part: Part, rows: Sequence[Row]) -> None:
    """Refuse rows that have the same value for a unique key."""
    keys = [each.columns for each in part.table.indexes if each.unique]
    kinds = (PrimaryKeyConstraint, UniqueConstraint)
    keys += [each.columns for each in part.table.constraints if isinstance(each, kinds)]
    for columns in keys:
        key = [each.name for each in columns if each.name not in part.left_out]
        values = [tuple(row[each] for each in key) for row in rows]
        complete = [value for value in values if None not in value]
        if len(set(complete)) != len(complete):
            raise ValidationError(f"{name}: Two of them have the same {', '.join(key)}.")


def _check_references(archive: Archive) -> None:
    testimonials, requests = (archive.lists[name] for name in ("testimonials", "invitations"))
    recordings = archive.lists["recordings"]
    for what, ids, target in (
        ("A picture", {archive.project[name] for name in PICTURES}, "images"),
        ("A picture", {row["avatar_id"] for row in testimonials}, "images"),
        ("A poster", {row["poster_id"] for row in recordings}, "images"),
        (
            "The testimonial of a recording",
            {row["testimonial_id"] for row in recordings},
            "testimonials",
        ),
        ("The batch of a request", {row["batch_id"] for row in requests}, "invitationBatches"),
        ("The answer to a request", {row["testimonial_id"] for row in requests}, "testimonials"),
    ):
        if unknown := ids - {None} - {row["id"] for row in archive.lists[target]}:
            raise ValidationError(f"{what} is missing from {target}: {min(unknown)}.")


def _check_recordings(archive: Archive) -> None:
    """Refuse recordings without a file or a testimonial, testimonials without words, and replies
    without a time.

    The content of the files is checked when it is stored.
    """
    names = set(archive.file.namelist())
    for number, row in enumerate(archive.lists["testimonials"], 1):
        if row["kind"] == "written" and not row["text"]:
            raise ValidationError(f"testimonials {number}, text: Must not be empty.")
        if row["reply"] and not row["replied_at"]:
            raise ValidationError(f"testimonials {number}, repliedAt: Must not be empty.")
    for row in archive.lists["recordings"]:
        if recording_file(row["id"]) not in names:
            raise ValidationError(f"{recording_file(row['id'])} is missing.")
        if row["testimonial_id"] is None:
            raise ValidationError("recordings: One belongs to no testimonial.")


def _read_digests(archive: Archive) -> dict[str, str]:
    digests = {}
    for row in archive.lists["recordings"]:
        with archive.open_recording(row["id"]) as file:
            digest = hashlib.file_digest(cast(Any, file), "sha256")
        digests[row["testimonial_id"]] = digest.hexdigest()
    return digests


def _check_images(archive: Archive, most_pixels: int | None) -> dict[str, str]:
    """Check the images, and return their digests by id."""
    rows, digests = archive.lists["images"], {}
    pixels = sum(max(LEAST_PIXELS, row["width"] * row["height"]) for row in rows)
    if most_pixels and pixels > most_pixels:
        raise ValidationError(f"Its pictures have more than {most_pixels // 10**6} megapixels.")
    for start in range(0, len(rows), IMAGES_AT_ONCE):
        some = rows[start : start + IMAGES_AT_ONCE]
        contents = [archive.read_image(row["id"]) for row in some]
        for row, content in zip(some, contents, strict=True):
            digests[row["id"]] = hashlib.sha256(content).hexdigest()
            with _naming(row):
                size = measure_stored_image(content)
            if size != (row["width"], row["height"]):
                raise ValidationError(
                    f"{image_file(row['id'])}: Its size is not the one in “images”."
                )
        with _naming(some[0]):
            place = find_damaged_image(contents)
        if place is not None:
            raise ValidationError(f"{image_file(some[place]['id'])}: It is damaged.")
    return digests


@contextmanager
def _naming(row: Row) -> Iterator[None]:
    try:
        yield
    except ImageDamaged as error:
        raise ValidationError(f"{image_file(row['id'])}: {error}") from None


# Recordings are stored and checked before the import takes the write lock.

# Each recording's new id and contents, by its id in the archive.
Stored = Mapping[str, tuple[str, Contents]]


@contextmanager
def storing_recordings(archive: Archive) -> Iterator[Stored]:
    """Store the recordings under new ids, like uploads; remove them after an error.

    Commit within the block. Raises `ArchiveRefused`.
    """
    rows = archive.lists["recordings"]
    ids = {row["id"]: new_identifier() for row in rows}
    try:
        yield {row["id"]: (ids[row["id"]], _store(archive, row, ids[row["id"]])) for row in rows}
    except (RecordingRefused, NoRoom) as error:
        remove_files(ids.values())
        raise ArchiveRefused(
            gettext_noop("The archive can’t be imported. %(reason)s"),
            values={"reason": error.message},
        ) from None
    except BaseException:
        remove_files(ids.values())
        raise


def _store(archive: Archive, row: Mapping[str, str], recording_id: str) -> Contents:
    with archive.open_recording(row["id"]) as file:
        keep_file(recording_id, file)
    with hold(recording_id) as path:
        return check_recording(path, row["kind"])
