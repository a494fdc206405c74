"""Pictures that people upload: decoded, turned upright, made small, and stored as WebP.

Nothing of the file itself is kept, so neither a camera's place and name nor whatever else was
hidden in it. What can't be a plain picture is refused with the reason.
"""

import io
import struct
import threading
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from flask import current_app
from sqlalchemy import LargeBinary
from sqlalchemy.orm import Mapped, mapped_column

from testimonials.core.database import Base, Timestamp, present
from testimonials.core.errors import ServiceError
from testimonials.core.identifiers import new_identifier

if TYPE_CHECKING:
    from PIL import Image as Pictures

MEGABYTE = 1024 * 1024
CONTENT_TYPE = "image/webp"
QUALITY = 84
# A picture takes 3 or 4 bytes a pixel while it is decoded; a JPEG is decoded at the size needed.
MAX_PIXELS = {"JPEG": 50_000_000, "PNG": 25_000_000, "WEBP": 25_000_000}
# Beginnings of other languages and containers. A picture that a program elsewhere would read as
# one of these is no accident.
FOREIGN = (b"<script", b"<html", b"<!doctype", b"<svg", b"<?php", b"<iframe", b"%pdf-1")
ZIP_END = b"PK\x05\x06"
ZIP_END_WITHIN = 70_000

# One at a time in a process: decoding takes memory, and there are visitors to answer meanwhile.
_decoding = threading.Lock()


class ImageRefused(ServiceError):
    """The file is no picture that can be taken; the message says why and what to do."""

    status = 422
    code = "IMAGE_REFUSED"


@dataclass(frozen=True)
class Use:
    """What a picture is for: its largest sides in pixels, and the largest file in bytes."""

    width: int
    height: int
    max_bytes: int
    is_square: bool = False


LOGO = Use(640, 320, 2 * MEGABYTE)
AVATAR = Use(256, 256, 10 * MEGABYTE, is_square=True)


class Image(Base):
    """One stored picture, as WebP; it never changes, and its address is its id."""

    __tablename__ = "image"

    id: Mapped[str] = mapped_column(primary_key=True, default=new_identifier)
    width: Mapped[int]
    height: Mapped[int]
    content: Mapped[bytes] = mapped_column(LargeBinary)
    created_at: Mapped[datetime] = mapped_column(Timestamp, default=present)


def read_image(data: bytes, use: Use) -> Image:
    """Make an image row, not yet added to a session, from an uploaded file's bytes.

    Raises `ImageRefused`.
    """
    if not data:
        raise ImageRefused("The file is empty. Choose another picture.")
    if len(data) > use.max_bytes:
        raise ImageRefused(
            f"The picture is too large: it has {len(data) / MEGABYTE:.1f} MB, and "
            f"{use.max_bytes // MEGABYTE} MB are the most."
        )
    _refuse_what_is_no_picture(data)
    with _decoding:
        content, width, height = _encode(data, use)
    return Image(content=content, width=width, height=height)


def image_url(image_id: str | None) -> str | None:
    """Give the public address of a stored picture."""
    return f"{current_app.config['BASE_URL']}/media/{image_id}.webp" if image_id else None


def _refuse_what_is_no_picture(data: bytes) -> None:
    head = data[:512].lstrip().lower()
    if head.startswith((b"<?xml", b"<svg", b"<!doctype svg")):
        raise ImageRefused("SVG pictures can hold programs. Save it as PNG and use that.")
    if data[4:8] == b"ftyp":
        raise ImageRefused("HEIC and AVIF pictures can’t be read here. Save it as JPEG.")
    if data[:4] == b"GIF8":
        raise ImageRefused("GIF pictures can’t be used. Save it as PNG or JPEG.")
    is_container = ZIP_END in data[-ZIP_END_WITHIN:]
    lower = data.lower()
    if is_container or any(mark in lower for mark in FOREIGN):
        raise ImageRefused(
            "This file holds more than a picture. Save the picture again as PNG or JPEG."
        )
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        # Opening a WebP takes memory for all its pixels.
        _require_few_pixels("WEBP", *_read_webp_size(data))


def _encode(data: bytes, use: Use) -> tuple[bytes, int, int]:
    # Loaded with the first picture: most processes of the command never see one.
    from PIL import Image as Pictures
    from PIL import ImageOps, UnidentifiedImageError

    # The check of sizes is ours and comes before anything is decoded.
    Pictures.MAX_IMAGE_PIXELS = None
    try:
        with Pictures.open(io.BytesIO(data), formats=tuple(MAX_PIXELS)) as picture:
            _require_few_pixels(str(picture.format), *picture.size)
            # A JPEG can be decoded at a half, a quarter or an eighth of its size, for less memory.
            picture.draft("RGB", (use.width * 2, use.height * 2))
            upright = ImageOps.exif_transpose(picture)
            small = _shrink(_to_srgb(upright), use)
    except UnidentifiedImageError:
        raise ImageRefused("This is no picture that can be read. Use PNG, JPEG or WebP.") from None
    except (OSError, SyntaxError, ValueError, struct.error, EOFError):
        raise ImageRefused("The picture is damaged. Save it again and use that.") from None
    out = io.BytesIO()
    small.save(out, "WEBP", quality=QUALITY, method=4)
    return out.getvalue(), *small.size


def _shrink(picture: "Pictures.Image", use: Use) -> "Pictures.Image":
    from PIL import Image as Pictures
    from PIL import ImageOps

    if use.is_square:
        side = min(use.width, *picture.size)
        return ImageOps.fit(picture, (side, side), Pictures.Resampling.LANCZOS)
    picture.thumbnail((use.width, use.height), Pictures.Resampling.LANCZOS)
    return picture


def _to_srgb(picture: "Pictures.Image") -> "Pictures.Image":
    """Give the picture in the colours of the web, with transparency if it has any."""
    from PIL import ImageCms

    mode = "RGBA" if picture.has_transparency_data else "RGB"
    profile = picture.info.get("icc_profile")
    if profile and picture.mode in ("RGB", "RGBA", "CMYK"):
        try:
            converted = ImageCms.profileToProfile(
                picture, io.BytesIO(profile), ImageCms.createProfile("sRGB"), outputMode=mode
            )
        except ImageCms.PyCMSError:
            converted = None
        if converted is not None:
            return converted
    return picture.convert(mode)


def _require_few_pixels(kind: str, width: int, height: int) -> None:
    if width * height > MAX_PIXELS[kind]:
        raise ImageRefused(
            f"The picture has too many pixels ({width} x {height}). "
            f"Make it smaller: {MAX_PIXELS[kind] // 1_000_000} megapixels are the most."
        )


def _read_webp_size(data: bytes) -> tuple[int, int]:
    """Give width and height from a WebP's header, whichever of its three forms it has."""
    kind, body = data[12:16], data[20:30]
    if len(body) < 10:
        raise ImageRefused("The picture is damaged. Save it again and use that.")
    if kind == b"VP8X":
        width, height = (int.from_bytes(body[at : at + 3], "little") + 1 for at in (4, 7))
        return width, height
    if kind == b"VP8L":
        bits = int.from_bytes(body[1:5], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    width, height = struct.unpack("<HH", body[6:10])
    return width & 0x3FFF, height & 0x3FFF
