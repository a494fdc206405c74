"""Files of pictures, made as cameras, editors and troublemakers make them."""

import io
import struct
import zlib
from functools import cache
from typing import Any

from PIL import Image

from testimonials.core.images import uploads

GIF = b"GIF89a" + struct.pack("<HHBBB", 1, 1, 0, 0, 0) + b"\x3b"
HEIC = struct.pack(">I", 24) + b"ftypheic" + bytes(12) + bytes(200)
SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'


def photo(width: int = 64, height: int = 48, mode: str = "RGB") -> Image.Image:
    """Return a picture whose upper half is red and whose lower half is blue."""
    picture = Image.new("RGB", (width, height), (220, 20, 20))
    picture.paste((20, 20, 220), (0, height // 2, width, height))
    return picture.convert(mode)


def to_bytes(picture: Image.Image, kind: str, **options: Any) -> bytes:
    out = io.BytesIO()
    picture.save(out, kind, **options)
    return out.getvalue()


def read(content: bytes) -> Image.Image:
    picture = Image.open(io.BytesIO(content))
    picture.load()
    return picture


def read_image(data: bytes, use: uploads.Use) -> uploads.Image:
    """Make an image row of a file, as an upload does."""
    return uploads.read_image(io.BytesIO(data), use)


def chunk(name: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))


@cache
def png_of_size(width: int, height: int) -> bytes:
    """Return a small file that is a sound PNG of any number of pixels."""
    packer = zlib.compressobj(9)
    row = bytes(1 + width)
    body = b"".join(packer.compress(row) for _ in range(height)) + packer.flush()
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", body) + chunk(b"IEND", b"")


def webp_of_size(kind: bytes, width: int, height: int) -> bytes:
    """Return a file with the header of a WebP of any size, followed by rubbish."""
    if kind == b"VP8X":
        body = bytes(4) + (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    elif kind == b"VP8L":
        body = b"\x2f" + ((width - 1) | (height - 1) << 14).to_bytes(4, "little") + bytes(40)
    else:
        body = b"\x10\x00\x00\x9d\x01\x2a" + struct.pack("<HH", width, height) + bytes(40)
    content = b"WEBP" + kind + struct.pack("<I", len(body)) + body
    return b"RIFF" + struct.pack("<I", len(content)) + content
