"""Opening the archive of a project: all of it is checked before anything is written.

The file may come from anybody. Only the files that belong in it are read, each up to a limit, and
names in it are never used as paths.
"""

import json
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import IO, Any

from marshmallow import ValidationError

from testimonials.core.pictures.stored_images import ImageDamaged, measure_stored_image
from testimonials.core.terminal_text import make_printable
from testimonials.core.web.errors import ServiceError
from testimonials.testimonials.moderation.changes import to_json
from testimonials.testimonials.moderation.tag_names import MAX_TAGS
from testimonials.transfer.archives.contents import (
    BATCH,
    CHANGE,
    FORMAT,
    IMAGE,
    INVITATION,
    OLD_SLUG,
    PROJECT,
    SIGHTING,
    TESTIMONIAL,
    VERSION,
    Part,
    to_name,
)
from testimonials.transfer.archives.unzipping import UNREADABLE, read_entry, require_known_files
from testimonials.transfer.archives.values import Filled, Moment
from testimonials.transfer.archives.writing import JSON_NAME, image_file

MAX_JSON_BYTES = 256 * 1024 * 1024
MAX_IMAGE_BYTES = 2 * 1024 * 1024
TAG_LENGTH = 40

Row = dict[str, Any]

_KEYS = {
    "format", "version", "program", "exportedAt", "project", "oldSlugs", "widgetSightings",
    "testimonials", "invitationBatches", "invitations", "team", "images",
}  # fmt: skip
_COLUMNS = {to_name(column): column for column in TESTIMONIAL.columns} | {"tags": "tags"}
_TAG = Filled(TAG_LENGTH)


class ArchiveRefused(ServiceError):
    """The file is no archive that can be taken; the message says why."""

    status = 422
    code = "ARCHIVE_REFUSED"


@dataclass
class Archive:
    """What an archive holds, as columns of rows. Changes and tags are by their testimonial."""

    project: Row
    old_slugs: list[Row]
    sightings: list[Row]
    testimonials: list[Row]
    tags: dict[str, list[str]]
    changes: dict[str, list[Row]]
    batches: list[Row]
    invitations: list[Row]
    unsubscribed: dict[str, datetime]
    images: list[Row]
    file: zipfile.ZipFile = field(repr=False)

    def read_image(self, image_id: str) -> bytes:
        """Return the bytes of a picture, which were checked when the archive was opened."""
        return read_entry(self.file, image_file(image_id), MAX_IMAGE_BYTES)


@contextmanager
def open_archive(source: IO[bytes]) -> Iterator[Archive]:
    """Open and check an archive; raise `ArchiveRefused`."""
    with _refusing():
        file = zipfile.ZipFile(source)
    with file:
        with _refusing():
            require_known_files(file)
            described = _parse(read_entry(file, JSON_NAME, MAX_JSON_BYTES))
            archive = _read_described(described, file)
            _check_images(archive)
        yield archive


@contextmanager
def _refusing() -> Iterator[None]:
    """Tell whatever is wrong with the file in a sentence."""
    try:
        yield
    except ValidationError as error:
        told = make_printable(str(error.messages[0]))
        raise ArchiveRefused(f"The archive can’t be used. {told}") from None
    except UNREADABLE as error:
        raise ArchiveRefused(
            f"This is no archive that can be read, or it is damaged ({type(error).__name__}). "
            "Export it once more."
        ) from None


def _parse(content: bytes) -> dict[str, Any]:
    try:
        parsed = json.loads(content.decode("utf-8"), parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise ValidationError(f"{JSON_NAME} is no JSON in UTF-8.") from None
    if not isinstance(parsed, dict) or parsed.get("format") != FORMAT:
        raise ValidationError(f"{JSON_NAME} has no format “{FORMAT}”.")
    version = parsed.get("version")
    if version != VERSION or isinstance(version, bool):
        raise ValidationError(
            f"It has version {str(version)[:20]!r}, and this program reads version {VERSION}. "
            "Install the program that it was made with, or a newer one."
        )
    if unknown := sorted(set(parsed) - _KEYS):
        raise ValidationError(f"{JSON_NAME} holds something unknown: {unknown[0][:60]!r}.")
    return parsed


def _refuse_constant(name: str) -> Any:
    raise ValueError(name)


def _read_described(described: dict[str, Any], file: zipfile.ZipFile) -> Archive:
    archive = Archive(
        project=PROJECT.read(described.get("project"), "project"),
        old_slugs=list(_read_rows(described, "oldSlugs", OLD_SLUG)),
        sightings=list(_read_rows(described, "widgetSightings", SIGHTING)),
        testimonials=[],
        tags={},
        changes={},
        batches=list(_read_rows(described, "invitationBatches", BATCH)),
        invitations=[],
        unsubscribed={},
        images=list(_read_rows(described, "images", IMAGE)),
        file=file,
    )
    for row, rest, where in _read_with(described, "testimonials", TESTIMONIAL, ("tags", "changes")):
        archive.testimonials.append(row)
        archive.tags[row["id"]] = _read_tags(rest["tags"], where)
        archive.changes[row["id"]] = _read_changes(rest["changes"], where)
    moment = Moment(empty=True)
    for row, rest, where in _read_with(described, "invitations", INVITATION, ("unsubscribedAt",)):
        archive.invitations.append(row)
        time = _at(where, "unsubscribedAt", moment, rest["unsubscribedAt"])
        if time is not None:
            archive.unsubscribed[row["email"]] = time
    _check_references(archive)
    return archive


def _read_rows(described: Mapping[str, Any], name: str, part: Part) -> Iterator[Row]:
    for row, _rest, _where in _read_with(described, name, part, ()):
        yield row


def _read_with(
    described: Mapping[str, Any], name: str, part: Part, beside: tuple[str, ...]
) -> Iterator[tuple[Row, Row, str]]:
    """Return each row of a list: its columns, what is written `beside` them,
    and where it stands."""
    rows = described.get(name)
    if not isinstance(rows, list):
        raise ValidationError(f"{name}: It is no list.")
    for number, written in enumerate(rows, 1):
        where = f"{name} {number}"
        if not isinstance(written, dict) or not set(beside) <= written.keys():
            raise ValidationError(f"{where}: Something is missing.")
        columns = {key: value for key, value in written.items() if key not in beside}
        yield part.read(columns, where), {key: written[key] for key in beside}, where


def _read_tags(written: Any, where: str) -> list[str]:
    if not isinstance(written, list) or len(written) > MAX_TAGS:
        raise ValidationError(f"{where}, tags: They are at most {MAX_TAGS} in a list.")
    tags = [_at(where, "tags", _TAG, name) for name in written]
    if len(set(tags)) != len(tags):
        raise ValidationError(f"{where}, tags: One of them is there twice.")
    return tags


def _read_changes(written: Any, where: str) -> list[Row]:
    changes = []
    described = {"changes": written}
    for row, rest, place in _read_with(described, "changes", CHANGE, ("before",)):
        changes.append(row | {"before": _read_before(rest["before"], f"{where}, {place}")})
    return changes


def _read_before(written: Any, where: str) -> dict[str, Any]:
    """Return what a change remembers in the form in which the history keeps it."""
    if not isinstance(written, dict):
        raise ValidationError(f"{where}: It remembers no values.")
    before: dict[str, Any] = {}
    for name, value in written.items():
        column = _COLUMNS.get(name)
        if column is None:
            raise ValidationError(f"{where}: It remembers something unknown: {name[:60]!r}.")
        if column == "tags":
            before[column] = _read_tags(value, where)
        else:
            before[column] = to_json(_at(where, name, TESTIMONIAL.columns[column], value))
    return before


def _at(where: str, name: str, kind: Any, value: Any) -> Any:
    try:
        return kind.deserialize(value)
    except ValidationError as error:
        raise ValidationError(f"{where}, {name}: {error.messages[0]}") from None


def _check_references(archive: Archive) -> None:
    """Refuse ids that are there twice, and ids that name nothing in the archive."""
    changes = [change for each in archive.changes.values() for change in each]
    known = {}
    for name, rows in (
        ("testimonials", archive.testimonials),
        ("changes", changes),
        ("invitationBatches", archive.batches),
        ("invitations", archive.invitations),
        ("images", archive.images),
    ):
        known[name] = {row["id"] for row in rows}
        if len(known[name]) != len(rows):
            raise ValidationError(f"{name}: An id is there twice.")
    _require_unique("testimonials, submissionKey", archive.testimonials, "submission_key")
    _require_unique("testimonials, importKey", archive.testimonials, "import_key")
    _require_unique("invitations, email", archive.invitations, "email")
    _require_unique("oldSlugs, slug", archive.old_slugs, "slug")
    _require_unique("widgetSightings, origin", archive.sightings, "origin")
    named = {row["avatar_id"] for row in archive.testimonials} | {archive.project["logo_id"]}
    for name, ids, target in (
        ("A picture", named, "images"),
        ("An invitation’s batch", {row["batch_id"] for row in archive.invitations},
         "invitationBatches"),
        ("An invitation’s testimonial", {row["testimonial_id"] for row in archive.invitations},
         "testimonials"),
    ):  # fmt: skip
        if ids - {None} - known[target]:
            raise ValidationError(f"{name} is named but not in the archive.")


def _require_unique(what: str, rows: list[Row], column: str) -> None:
    values = [row[column] for row in rows if row[column] is not None]
    if len(set(values)) != len(values):
        raise ValidationError(f"{what}: One is there twice.")


def _check_images(archive: Archive) -> None:
    for row in archive.images:
        try:
            size = measure_stored_image(archive.read_image(row["id"]))
        except ImageDamaged as error:
            raise ValidationError(f"{image_file(row['id'])}: {error}") from None
        if size != (row["width"], row["height"]):
            raise ValidationError(f"{image_file(row['id'])}: It has another size than is told.")
