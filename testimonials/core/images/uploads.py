"""Uploaded pictures: limits, storing, and checking those of an archive."""

import hashlib
import io
import os
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import IO, Any

from sqlalchemy import Boolean, LargeBinary, String, false
from sqlalchemy.orm import Mapped, mapped_column

from testimonials.core.db.engine import Base, Timestamp, present
from testimonials.core.db.identifiers import new_identifier
from testimonials.core.http.errors import ServiceError
from testimonials.core.http.i18n import gettext as _
from testimonials.core.http.rate_limits import Limit
from testimonials.core.images.decode import (
    TOO_MUCH_WORK,
    Unreadable,
    Use,
    count_colors,
    find_damaged,
    read_webp_size,
)
from testimonials.core.images.worker import DecoderBusy, LimitsExceeded, decoder
from testimonials.core.settings.table import current_settings

# Uploaded pictures are decoded, turned upright, scaled down and stored as WebP. Nothing else of the
# file is kept: no location, no camera, nothing hidden in it.

MEGABYTE = 1024 * 1024
# A form without its recording: more than a photo's limit, so that a larger photo gets its own
# error.
UPLOAD_FORM_BYTES = 16 * MEGABYTE
CONTENT_TYPE = "image/webp"
UPLOADED_TYPES = ("image/png", "image/jpeg", CONTENT_TYPE)
# Each picture sent to the API is decoded and stored for two days, even if it is never used.
UPLOADS_PER_ACCOUNT = Limit("api-picture", 300, "for one account", for_load=True)
# In seconds, after which most of the waiting pictures are decoded.
RETRY_AFTER = 5


class ImageRefused(ServiceError):
    status = 422
    meaning = "The file can't be used as a picture."
    remedy = "Send one as `message` describes."


class ImageBusy(ServiceError):
    status = 503
    code = "IMAGES_BUSY"
    meaning = "Too many pictures are being processed. Nothing was changed."
    remedy = "Try again in a few seconds."


LOGO = Use(640, 320, 2 * MEGABYTE)
AVATAR = Use(256, 256, 10 * MEGABYTE, is_square=True)
# Twice the width at which pages show it; they crop it to the screen.
COVER = Use(2032, 1016, 10 * MEGABYTE)
PORTRAIT = AVATAR
PAGE_PICTURES = {"logo": LOGO, "cover": COVER, "portrait": PORTRAIT}
LARGEST_SIDE = COVER.width


def largest_form() -> int:
    return current_settings().recording_megabytes * MEGABYTE + UPLOAD_FORM_BYTES


def _digest(context: Any) -> str:
    return hashlib.sha256(context.get_current_parameters()["content"]).hexdigest()


class Image(Base):
    """A stored WebP, which never changes; its URL contains its id."""

    id: Mapped[str] = mapped_column(primary_key=True, default=new_identifier)
    width: Mapped[int]
    height: Mapped[int]
    content: Mapped[bytes] = mapped_column(LargeBinary)
    # It belongs to a proposal that isn't accepted, so its public URL answers 404.
    is_held: Mapped[bool] = mapped_column(Boolean, default=False, server_default=false())
    # SHA-256 of the content. None in rows older than this column, until `record.fill_digests`.
    digest: Mapped[str | None] = mapped_column(String(64), default=_digest)
    created_at: Mapped[datetime] = mapped_column(Timestamp, default=present)


def read_image(file: IO[bytes], use: Use) -> Image:
    """Return the row for an uploaded file, not yet added to a session.

    Raises `ImageRefused` and `ImageBusy`.
    """
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    if size > use.max_bytes:
        raise ImageRefused(
            _(
                "The picture is too large: it has %(size)s MB, and the limit is %(limit)s MB.",
                size=f"{size / MEGABYTE:.1f}",
                limit=use.max_bytes // MEGABYTE,
            )
        )
    try:
        picture = decoder.decode(file, use)
    except Unreadable as error:
        raise ImageRefused(_(error.text, **error.values)) from None
    except DecoderBusy:
        message = _("The server is busy with other pictures. Try again in a few seconds.")
        raise ImageBusy(message, headers={"Retry-After": str(RETRY_AFTER)}) from None
    return Image(content=picture.content, width=picture.width, height=picture.height)


def list_colors(image: Image) -> list[str]:
    """Return the colors of a small picture on a white background, most frequent first."""
    result, _content = decoder.run(count_colors, io.BytesIO(image.content), turns=decoder.turns)
    return list(result["colors"])


# Pictures of an archive are stored as they are, so they must be like converted uploads: a WebP with
# one still picture and nothing else.

# What our encoder writes: the picture and its transparency.
_CHUNKS = {b"VP8 ", b"VP8L", b"VP8X", b"ALPH"}


class ImageDamaged(Exception):
    """The bytes aren't a picture of the kind that we store."""


def measure_stored_image(content: bytes) -> tuple[int, int]:
    """Return the width and height in a stored picture's header. Raises `ImageDamaged`."""
    try:
        if not set(_list_chunks(content)) <= _CHUNKS:
            raise ImageDamaged("It contains more than a picture.")
        width, height = read_webp_size(content)
    except Unreadable:
        raise ImageDamaged("It is damaged.") from None
    if max(width, height) > LARGEST_SIDE:
        raise ImageDamaged(f"It has {width} x {height} pixels, more than any stored picture.")
    return width, height


def find_damaged_image(contents: Sequence[bytes]) -> int | None:
    """Return the index of the first measured picture that can't be decoded, if there is one.

    Raises `ImageBusy`, and `ImageDamaged` if decoding them takes too much time or memory.
    """
    try:
        file = io.BytesIO(b"".join(contents))
        result, _content = decoder.run(find_damaged, file, turns=decoder.turns)
    except LimitsExceeded:
        raise ImageDamaged(TOO_MUCH_WORK) from None
    except DecoderBusy:
        raise ImageBusy(headers={"Retry-After": str(RETRY_AFTER)}) from None
    index: int | None = result["index"]
    return index


def _list_chunks(content: bytes) -> Iterator[bytes]:
    """Yield the names of a WebP's chunks, which must fill the file exactly."""
    is_whole = int.from_bytes(content[4:8], "little") + 8 == len(content)
    if content[:4] != b"RIFF" or content[8:12] != b"WEBP" or not is_whole:
        raise ImageDamaged("It is not a WebP picture.")
    at = 12
    while at < len(content):
        yield content[at : at + 4]
        length = int.from_bytes(content[at + 4 : at + 8], "little")
        at += 8 + length + length % 2
    if at != len(content):
        raise ImageDamaged("It is damaged.")
