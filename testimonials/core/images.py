"""Pictures that people upload: decoded, turned upright, made small, and stored as WebP.

Nothing of the file itself is kept, so neither a camera's place and name nor whatever else was
hidden in it. What can't be a plain picture is refused with the reason.
"""

import io
import logging
import re
import struct
import threading
import warnings
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from flask import current_app
from sqlalchemy import LargeBinary
from sqlalchemy.orm import Mapped, mapped_column

from testimonials.core.database import Base, Timestamp, present
from testimonials.core.errors import ServiceError
from testimonials.core.i18n import gettext as _
from testimonials.core.i18n import gettext_noop
from testimonials.core.identifiers import new_identifier

if TYPE_CHECKING:
    from PIL import Image as Pictures

MEGABYTE = 1024 * 1024
CONTENT_TYPE = "image/webp"
QUALITY = 84
# A picture takes 3 or 4 bytes a pixel while it is decoded. A JPEG is decoded at the size needed,
# but a progressive one is held whole. A phone's JPEG may hold several pictures: an MPO.
MAX_PIXELS = {"JPEG": 50_000_000, "MPO": 50_000_000, "PNG": 25_000_000, "WEBP": 25_000_000}
MAX_PROGRESSIVE_PIXELS = 25_000_000
# Beginnings of other languages and containers. A picture that a program elsewhere would read as
# one of these is no accident; what may follow keeps chance out of ten megabytes of picture.
FOREIGN = re.compile(rb"<(?:script|html|svg|iframe)[\s>/]|<!doctype\s|<\?php\s|%pdf-1\.", re.I)
ZIP_END = b"PK\x05\x06"
ZIP_END_WITHIN = 70_000
# The number of the EXIF tag that says how the camera was held.
ORIENTATION = 0x0112

DAMAGED = gettext_noop("The picture is damaged. Save it again and use that.")

logger = logging.getLogger("testimonials")

# One at a time in a process: decoding takes memory, and there are visitors to answer meanwhile.
decoding = threading.Lock()


class ImageRefused(ServiceError):
    """The file is no picture that can be taken; the message says why, in the spoken language."""

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
        raise ImageRefused(_("The file is empty. Choose another picture."))
    if len(data) > use.max_bytes:
        raise ImageRefused(
            _(
                "The picture is too large: it has %(size)s MB, and %(limit)s MB are the most.",
                size=f"{len(data) / MEGABYTE:.1f}",
                limit=use.max_bytes // MEGABYTE,
            )
        )
    _refuse_what_is_no_picture(data)
    with decoding:
        content, width, height = _encode(data, use)
    return Image(content=content, width=width, height=height)


def image_url(image_id: str | None) -> str | None:
    """Give the public address of a stored picture."""
    return f"{current_app.config['BASE_URL']}/media/{image_id}.webp" if image_id else None


def _refuse_what_is_no_picture(data: bytes) -> None:
    head = data[:512].removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    if head.startswith(b"<") and (b"<svg" in head or head.startswith(b"<?xml")):
        raise ImageRefused(_("SVG pictures can hold programs. Save it as PNG and use that."))
    if data[4:8] == b"ftyp":
        raise ImageRefused(_("HEIC and AVIF pictures can’t be read here. Save it as JPEG."))
    if data[:4] == b"GIF8":
        raise ImageRefused(_("GIF pictures can’t be used. Save it as PNG or JPEG."))
    if ZIP_END in data[-ZIP_END_WITHIN:] or FOREIGN.search(data):
        raise ImageRefused(
            _("This file holds more than a picture. Save the picture again as PNG or JPEG.")
        )
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        # Opening a WebP takes memory for all its pixels.
        _require_few_pixels("WEBP", *read_webp_size(data))


def _encode(data: bytes, use: Use) -> tuple[bytes, int, int]:
    # Loaded with the first picture: most processes of the command never see one.
    from PIL import Image as Pictures
    from PIL import UnidentifiedImageError

    # The check of sizes is ours and comes before anything is decoded.
    Pictures.MAX_IMAGE_PIXELS = None
    try:
        with warnings.catch_warnings():
            # A wrong tag in a file is the file's business, and all tags are thrown away.
            warnings.simplefilter("ignore")
            small = _decode(data, use)
            out = io.BytesIO()
            # The encoder would take these over from the file.
            small.save(out, "WEBP", quality=QUALITY, method=4, exif=b"", xmp=b"", icc_profile=b"")
    except ImageRefused:
        raise
    except UnidentifiedImageError:
        raise ImageRefused(
            _("This is no picture that can be read. Use PNG, JPEG or WebP.")
        ) from None
    except Exception as error:
        # A decoder meets damage in whatever way it happens to: the file is at fault, not we.
        logger.info("a picture could not be decoded: %s", type(error).__name__)
        raise ImageRefused(_(DAMAGED)) from None
    return out.getvalue(), *small.size


def _decode(data: bytes, use: Use) -> "Pictures.Image":
    """Give the first picture of the file: upright, small, in the colours of the web."""
    from PIL import Image as Pictures

    with Pictures.open(io.BytesIO(data), formats=("JPEG", "PNG", "WEBP")) as picture:
        _require_few_pixels(str(picture.format), *picture.size)
        if picture.info.get("progressive") and picture.size[0] * picture.size[1] > (
            MAX_PROGRESSIVE_PIXELS
        ):
            raise _too_many_pixels(*picture.size, MAX_PROGRESSIVE_PIXELS)
        # A JPEG can be decoded at a half, a quarter or an eighth of its size, for less memory.
        picture.draft("RGB", (use.width * 2, use.height * 2))
        picture.load()
        # Made small before anything else, which then costs next to nothing.
        small = _reduce(_to_plain_mode(picture), use)
        if turn := _find_turn(picture):
            small = small.transpose(turn)
        return _shrink(_to_srgb(small), use)


def _find_turn(picture: "Pictures.Image") -> "Pictures.Transpose | None":
    """Give what turns the picture upright, as the camera noted how it was held."""
    from PIL import Image as Pictures

    turn = Pictures.Transpose
    try:
        orientation = picture.getexif().get(ORIENTATION)
    except Exception:
        # A picture with a damaged note beside it is still a picture.
        return None
    return {
        2: turn.FLIP_LEFT_RIGHT,
        3: turn.ROTATE_180,
        4: turn.FLIP_TOP_BOTTOM,
        5: turn.TRANSPOSE,
        6: turn.ROTATE_270,
        7: turn.TRANSVERSE,
        8: turn.ROTATE_90,
    }.get(orientation or 1)


def _to_plain_mode(picture: "Pictures.Image") -> "Pictures.Image":
    """Give the picture in a mode that can be made smaller without loss: no palette, 8 bits."""
    if picture.mode.startswith("I"):
        # Converted as they are, 16 bits would be cut off at white and not scaled.
        return picture.point(lambda value: value * (1 / 256)).convert("L")
    if picture.mode in ("L", "LA", "RGB", "RGBA", "CMYK") and "transparency" not in picture.info:
        return picture
    return picture.convert("RGBA" if picture.has_transparency_data else "RGB")


def _reduce(picture: "Pictures.Image", use: Use) -> "Pictures.Image":
    """Make the picture smaller by a whole number, but not smaller than twice its use."""
    width, height = picture.size
    # What is cut to a square needs its short side, what is fitted in its longer one.
    factors = (width // (use.width * 2), height // (use.height * 2))
    factor = min(factors) if use.is_square else max(factors)
    # A strip of a picture keeps its short side.
    factor = min(factor, width, height)
    return picture.reduce(factor) if factor > 1 else picture.copy()


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

    mode = "RGBA" if picture.mode in ("RGBA", "LA") else "RGB"
    profile = picture.info.get("icc_profile")
    if profile and picture.mode in ("RGB", "RGBA", "CMYK"):
        try:
            converted = ImageCms.profileToProfile(
                picture, io.BytesIO(profile), ImageCms.createProfile("sRGB"), outputMode=mode
            )
        except (ImageCms.PyCMSError, OSError):
            converted = None
        if converted is not None:
            return converted
    return picture.convert(mode)


def _require_few_pixels(kind: str, width: int, height: int) -> None:
    if width * height > MAX_PIXELS[kind]:
        raise _too_many_pixels(width, height, MAX_PIXELS[kind])


def _too_many_pixels(width: int, height: int, limit: int) -> ImageRefused:
    return ImageRefused(
        _(
            "The picture has too many pixels (%(width)s x %(height)s). "
            "Make it smaller: %(limit)s megapixels are the most.",
            width=width,
            height=height,
            limit=limit // 1_000_000,
        )
    )


def read_webp_size(data: bytes) -> tuple[int, int]:
    """Give width and height from a WebP's header, whichever of its three forms it has."""
    kind, body = data[12:16], data[20:30]
    if len(body) < 10:
        raise ImageRefused(_(DAMAGED))
    if kind == b"VP8X":
        width, height = (int.from_bytes(body[at : at + 3], "little") + 1 for at in (4, 7))
        return width, height
    if kind == b"VP8L":
        bits = int.from_bytes(body[1:5], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    width, height = struct.unpack("<HH", body[6:10])
    return width & 0x3FFF, height & 0x3FFF
