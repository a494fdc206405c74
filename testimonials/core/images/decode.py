"""Decoding pictures: turning them upright, scaling and cleaning them, or refusing them.

This runs in a separate process (`worker`), without a request or its language.
"""

import io
import re
import struct
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

# The caller translates these messages.
from testimonials.core.http.i18n import gettext_noop as _

if TYPE_CHECKING:
    from PIL import Image as Pictures

QUALITY = 84
# A pixel takes 3 or 4 bytes during decoding. JPEGs are decoded at the size needed, except
# progressive ones. MPO is a phone's JPEG with several pictures.
MAX_PIXELS = {"JPEG": 50_000_000, "MPO": 50_000_000, "PNG": 25_000_000, "WEBP": 25_000_000}
MAX_PROGRESSIVE_PIXELS = 25_000_000
# Each scan of a progressive JPEG, however small, processes all of its pixels. Programs write about
# ten scans.
MAX_SCANS = 100
# Pillow reads the part before the pixels in Python: segment by segment, and junk byte by byte.
MAX_SEGMENTS = 2_000
MAX_JUNK = 64 * 1024
# The byte between a JPEG's segments that says what follows. Within pixel data, FF is followed by 0
# or the number of a restart.
JPEG_MARKER = re.compile(rb"\xff([^\x00\xd0-\xd7\xff])")
END_OF_PICTURE, START_OF_SCAN = 0xD9, 0xDA
# How other formats begin. A picture that another program would read as one of these isn't an
# accident: the patterns are too long to occur by chance in ten megabytes.
FOREIGN = re.compile(rb"<(?:script|html|svg|iframe)[\s>/]|<!doctype\s|<\?php\s|%pdf-1\.", re.I)
ZIP_END = b"PK\x05\x06"
ZIP_END_WITHIN = 70_000

NO_PICTURE = _("This file can’t be read as a picture. Use PNG, JPEG or WebP.")
DAMAGED = _("This picture is damaged. Save it again, and choose the new file.")
TOO_MUCH_WORK = _("This picture takes too long to read. Save it as a plain JPEG or PNG.")


class Unreadable(Exception):
    """The file can't be used as a picture; `text` is the reason, with placeholders for `values`."""

    def __init__(self, text: str, **values: object) -> None:
        super().__init__(text)
        self.text, self.values = text, values


@dataclass(frozen=True)
class Use:
    """The limits for a purpose of pictures: sides in pixels, and the uploaded file in bytes."""

    width: int
    height: int
    max_bytes: int
    is_square: bool = False


@dataclass(frozen=True)
class Decoded:
    """A picture that was encoded again as WebP."""

    content: bytes
    width: int
    height: int


def _require_picture(data: bytes) -> None:
    if data[:512].lstrip(b"\xef\xbb\xbf \r\n\t").startswith(b"<"):
        # It is SVG, for example.
        raise Unreadable(NO_PICTURE)
    if ZIP_END in data[-ZIP_END_WITHIN:] or FOREIGN.search(data):
        raise Unreadable(_("This file contains more than a picture. Save it as PNG or JPEG."))
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        # Just opening a WebP takes memory for all its pixels.
        _require_few_pixels(MAX_PIXELS["WEBP"], *read_webp_size(data))
    if data[:2] == b"\xff\xd8":
        _require_little_work(data)


def decode_picture(data: bytes, use: Use) -> Decoded:
    """Return a file's first picture as WebP, upright, scaled down, and without metadata.

    Raises `Unreadable`, and `MemoryError` if the memory limit is too low.
    """
    _require_picture(data)
    # Imported here, since most commands never need them. Without the WebP plugin, Pillow would
    # import all of its forty plugins.
    from PIL import Image as Pictures
    from PIL import UnidentifiedImageError, WebPImagePlugin  # noqa: F401

    # We check the size ourselves, before anything is decoded.
    Pictures.MAX_IMAGE_PIXELS = None
    try:
        with warnings.catch_warnings():
            # Invalid metadata doesn't matter, since all of it is dropped.
            warnings.simplefilter("ignore")
            small = _decode(data, use)
            out = io.BytesIO()
            # By default the encoder would copy these from the file.
            small.save(out, "WEBP", quality=QUALITY, method=4, exif=b"", xmp=b"", icc_profile=b"")
    except (Unreadable, MemoryError):
        raise
    except UnidentifiedImageError:
        raise Unreadable(NO_PICTURE) from None
    except Exception:
        # For a damaged file, a decoder may raise anything.
        raise Unreadable(DAMAGED) from None
    return Decoded(out.getvalue(), *small.size)


def decode_for_parent(data: bytes, *use: Any) -> tuple[dict[str, object], bytes]:
    """Return the picture and its size, or the reason why it can't be read."""
    try:
        picture = decode_picture(data, Use(*use))
    except Unreadable as error:
        return {"text": error.text, "values": error.values}, b""
    return {"size": [picture.width, picture.height]}, picture.content


def count_colors(data: bytes) -> tuple[dict[str, object], bytes]:
    """Return the colors of a stored picture on a white background, most frequent first."""
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
    """Return the index of the first of several concatenated stored pictures that is damaged."""
    from PIL import WebPImagePlugin

    index, at = 0, 0
    while at < len(data):
        # Each contains its length, which has been checked.
        end = at + 8 + int.from_bytes(data[at + 4 : at + 8], "little")
        try:
            with WebPImagePlugin.WebPImageFile(io.BytesIO(data[at:end])) as picture:
                picture.load()
                is_whole = picture.size == read_webp_size(data[at:end])
        except Exception:
            # For a damaged file, a decoder may raise anything.
            is_whole = False
        if not is_whole:
            return {"index": index}, b""
        index, at = index + 1, end
    return {"index": None}, b""


def _decode(data: bytes, use: Use) -> "Pictures.Image":
    """Return the file's first picture, upright, scaled down, in sRGB."""
    from PIL import Image as Pictures

    with Pictures.open(io.BytesIO(data), formats=("JPEG", "PNG", "WEBP")) as picture:
        _require_few_pixels(MAX_PIXELS[str(picture.format)], *picture.size)
        if picture.info.get("progressive"):
            _require_few_pixels(MAX_PROGRESSIVE_PIXELS, *picture.size)
        # To save memory, decode a JPEG at a half, a quarter or an eighth of its size.
        picture.draft("RGB", (use.width * 2, use.height * 2))
        picture.load()
        # Reduced first, so that all other steps are cheap.
        small = _turn_upright(_reduce(_to_plain_mode(picture), use))
        return _shrink(_to_srgb(small), use)


def _require_little_work(data: bytes) -> None:
    """Refuse a JPEG whose first picture has more segments or scans than any program writes."""
    from PIL import JpegImagePlugin

    at = segments = scans = junk = 0
    kind = None
    while kind != END_OF_PICTURE:
        match = JPEG_MARKER.search(data, at)
        junk += 0 if scans else (match.start() if match else len(data)) - at
        segments += 1
        if segments > MAX_SEGMENTS or scans > MAX_SCANS or junk > MAX_JUNK:
            raise Unreadable(TOO_MUCH_WORK)
        if match is None:
            return
        kind, at = match[1][0], match.end()
        scans += kind == START_OF_SCAN
        *_names, read = JpegImagePlugin.MARKER.get(0xFF00 | kind, (None,))
        # Segments that Pillow reads begin with their length.
        at += int.from_bytes(data[at : at + 2], "big") if read else 0


def _turn_upright(picture: "Pictures.Image") -> "Pictures.Image":
    from PIL import ImageOps

    try:
        return ImageOps.exif_transpose(picture)
    except Exception:
        # Damaged EXIF data doesn't matter.
        return picture


def _to_plain_mode(picture: "Pictures.Image") -> "Pictures.Image":
    """Convert the picture to a mode that can be resized: 8 bits, no palette."""
    if picture.mode.startswith("I"):
        # A plain conversion would clip 16 bits at white instead of scaling them.
        return picture.point(lambda value: value * (1 / 256)).convert("L")
    if picture.mode in ("L", "LA", "RGB", "RGBA", "CMYK") and "transparency" not in picture.info:
        return picture
    return picture.convert("RGBA" if picture.has_transparency_data else "RGB")


def _reduce(picture: "Pictures.Image", use: Use) -> "Pictures.Image":
    """Reduce the picture by an integer factor, to no less than twice the needed size."""
    width, height = picture.size
    # Cropping to a square uses the short side, fitting the long one.
    factors = (width // (use.width * 2), height // (use.height * 2))
    factor = min(factors) if use.is_square else max(factors)
    # A narrow strip must keep at least one pixel.
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
    """Return the width and height in a WebP's header, which has one of three forms."""
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
