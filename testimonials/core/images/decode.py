"""Decoding of pictures: made upright, small and plain, or refused with the reason.

This runs in a process of its own (`worker`), which knows neither request nor language.
"""

import io
import re
import struct
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

# These messages are translated by the caller.
from testimonials.core.http.i18n import gettext_noop as _

if TYPE_CHECKING:
    from PIL import Image as Pictures

QUALITY = 84
# A picture takes 3 or 4 bytes a pixel while it is decoded. A JPEG is decoded at the size needed,
# but a progressive one is held whole. A phone's JPEG may hold several pictures: an MPO.
MAX_PIXELS = {"JPEG": 50_000_000, "MPO": 50_000_000, "PNG": 25_000_000, "WEBP": 25_000_000}
MAX_PROGRESSIVE_PIXELS = 25_000_000
# Each scan of a progressive JPEG goes through all of its pixels again, however small it is.
# Programs write about ten.
MAX_SCANS = 100
# Between a JPEG's segments: the byte that says what follows. In the pixels, FF is followed by zero
# or by the number of a restart.
JPEG_MARKER = re.compile(rb"\xff([^\x00\xd0-\xd7\xff])")
START_OF_PICTURE, END_OF_PICTURE, START_OF_SCAN = 0xD8, 0xD9, 0xDA
# Beginnings of other languages and containers. A picture that a program elsewhere would read as
# one of these is no accident; the characters that must follow rule out chance in ten megabytes.
FOREIGN = re.compile(rb"<(?:script|html|svg|iframe)[\s>/]|<!doctype\s|<\?php\s|%pdf-1\.", re.I)
ZIP_END = b"PK\x05\x06"
ZIP_END_WITHIN = 70_000

DAMAGED = _("The picture is damaged. Save it again and use that.")
TOO_MUCH_WORK = _(
    "This picture takes too long to read. Save it again as a plain JPEG or PNG and use that."
)


class Unreadable(Exception):
    """The file can't be used as a picture: why, in English, with values for its placeholders."""

    def __init__(self, text: str, **values: object) -> None:
        super().__init__(text)
        self.text, self.values = text, values


@dataclass(frozen=True)
class Use:
    """What a picture is for: its largest sides in pixels, and the largest file in bytes."""

    width: int
    height: int
    max_bytes: int
    is_square: bool = False


@dataclass(frozen=True)
class Decoded:
    """A picture encoded again, as WebP."""

    content: bytes
    width: int
    height: int


def _require_picture(data: bytes) -> None:
    head = data[:512].removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    if head.startswith(b"<") and (b"<svg" in head or head.startswith(b"<?xml")):
        raise Unreadable(_("SVG pictures can contain scripts. Save it as PNG and use that."))
    if data[4:8] == b"ftyp":
        raise Unreadable(_("HEIC and AVIF pictures can’t be read here. Save it as JPEG."))
    if data[:4] == b"GIF8":
        raise Unreadable(_("GIF pictures can’t be used. Save it as PNG or JPEG."))
    if ZIP_END in data[-ZIP_END_WITHIN:] or FOREIGN.search(data):
        raise Unreadable(
            _("This file contains more than a picture. Save the picture again as PNG or JPEG.")
        )
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        # Opening a WebP takes memory for all its pixels.
        _require_few_pixels(MAX_PIXELS["WEBP"], *read_webp_size(data))


def decode_picture(data: bytes, use: Use) -> Decoded:
    """Return a file's first picture as WebP: upright, small, without anything else of the file.

    Raises `Unreadable`, and `MemoryError` if the memory allowed is not enough.
    """
    _require_picture(data)
    # Loaded with the first picture: most processes of the command never see one. Without its writer
    # of WebP, Pillow would look for one by loading all of its forty kinds.
    from PIL import Image as Pictures
    from PIL import UnidentifiedImageError, WebPImagePlugin  # noqa: F401

    # The check of sizes is ours and comes before anything is decoded.
    Pictures.MAX_IMAGE_PIXELS = None
    try:
        with warnings.catch_warnings():
            # Wrong tags don't matter: all of them are thrown away.
            warnings.simplefilter("ignore")
            small = _decode(data, use)
            out = io.BytesIO()
            # The encoder would take these over from the file.
            small.save(out, "WEBP", quality=QUALITY, method=4, exif=b"", xmp=b"", icc_profile=b"")
    except (Unreadable, MemoryError):
        raise
    except UnidentifiedImageError:
        raise Unreadable(
            _("This file can’t be read as a picture. Use PNG, JPEG or WebP.")
        ) from None
    except Exception:
        # Damage can make a decoder raise anything.
        raise Unreadable(DAMAGED) from None
    return Decoded(out.getvalue(), *small.size)


def decode_for_parent(data: bytes, *use: Any) -> tuple[dict[str, object], bytes]:
    """Return the picture with its size, or why it can't be read."""
    try:
        found = decode_picture(data, Use(*use))
    except Unreadable as error:
        return {"text": error.text, "values": error.values}, b""
    return {"size": [found.width, found.height]}, found.content


def count_colors(data: bytes) -> tuple[dict[str, object], bytes]:
    """Return the colors of a stored picture as it stands on white, most of it first."""
    from PIL import Image as Pictures
    from PIL import WebPImagePlugin

    with WebPImagePlugin.WebPImageFile(io.BytesIO(data)) as picture:
        white = Pictures.new("RGBA", picture.size, "white")
        whole = Pictures.alpha_composite(white, picture.convert("RGBA"))
    few = whole.convert("RGB").quantize(8)
    palette = bytes(few.getpalette() or [])
    counts = sorted(enumerate(few.histogram()), key=lambda each: -each[1])
    colors = [f"#{palette[3 * at : 3 * at + 3].hex().upper()}" for at, count in counts if count]
    return {"colors": colors}, b""


def find_damaged(data: bytes) -> tuple[dict[str, object], bytes]:
    """Return the place of the first of stored pictures, one after another, that isn't whole."""
    from PIL import WebPImagePlugin

    place, at = 0, 0
    while at < len(data):
        # Each begins with its length, which was checked.
        end = at + 8 + int.from_bytes(data[at + 4 : at + 8], "little")
        try:
            with WebPImagePlugin.WebPImageFile(io.BytesIO(data[at:end])) as picture:
                picture.load()
                is_whole = picture.size == read_webp_size(data[at:end])
        except Exception:
            # Damage can make a decoder raise anything.
            is_whole = False
        if not is_whole:
            return {"place": place}, b""
        place, at = place + 1, end
    return {"place": None}, b""


def _decode(data: bytes, use: Use) -> "Pictures.Image":
    """Return the file's first picture: upright, small, in sRGB."""
    from PIL import Image as Pictures

    with Pictures.open(io.BytesIO(data), formats=("JPEG", "PNG", "WEBP")) as picture:
        _require_few_pixels(MAX_PIXELS[str(picture.format)], *picture.size)
        if picture.info.get("progressive"):
            _require_few_pixels(MAX_PROGRESSIVE_PIXELS, *picture.size)
            if _count_scans(data) > MAX_SCANS:
                raise Unreadable(TOO_MUCH_WORK)
        # A JPEG can be decoded at a half, a quarter or an eighth of its size, for less memory.
        picture.draft("RGB", (use.width * 2, use.height * 2))
        picture.load()
        # Made small before anything else, which then costs next to nothing.
        small = _turn_upright(_reduce(_to_plain_mode(picture), use))
        return _shrink(_to_srgb(small), use)


def _count_scans(data: bytes) -> int:
    """Return the number of scans of a JPEG's first picture, at most one over the limit."""
    at = scans = 0
    while (found := JPEG_MARKER.search(data, at)) and scans <= MAX_SCANS:
        kind, at = found[1][0], found.end()
        if kind == END_OF_PICTURE:
            break
        scans += kind == START_OF_SCAN
        # A segment begins with its length, but for the marker at the beginning of the file.
        at += int.from_bytes(data[at : at + 2], "big") if kind != START_OF_PICTURE else 0
    return scans


def _turn_upright(picture: "Pictures.Image") -> "Pictures.Image":
    from PIL import ImageOps

    try:
        return ImageOps.exif_transpose(picture)
    except Exception:
        # A picture with a damaged note beside it is still a picture.
        return picture


def _to_plain_mode(picture: "Pictures.Image") -> "Pictures.Image":
    """Return the picture in a mode that can be made smaller without loss: no palette, 8 bits."""
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


def _require_few_pixels(most: int, width: int, height: int) -> None:
    if width * height > most:
        text = _(
            "The picture has too many pixels (%(width)s x %(height)s). "
            "Make it smaller: the limit is %(limit)s megapixels."
        )
        raise Unreadable(text, width=width, height=height, limit=most // 1_000_000)


def read_webp_size(data: bytes) -> tuple[int, int]:
    """Return width and height from a WebP's header, whichever of its three forms it has."""
    kind, body = data[12:16], data[20:30]
    if len(body) < 10:
        raise Unreadable(DAMAGED)
    if kind == b"VP8X":
        width, height = (int.from_bytes(body[at : at + 3], "little") + 1 for at in (4, 7))
        return width, height
    if kind == b"VP8L":
        bits = int.from_bytes(body[1:5], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    width, height = struct.unpack("<HH", body[6:10])
    return width & 0x3FFF, height & 0x3FFF
