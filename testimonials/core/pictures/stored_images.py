"""Checking pictures from an archive, whose bytes are stored as they are.

Uploaded pictures are decoded and encoded again (`decoding`). Here the file is only checked to be
such a WebP: one still picture and nothing else.
"""

import io
from collections.abc import Iterator

from testimonials.core.pictures.decoding import Unreadable, read_webp_size
from testimonials.core.pictures.images import LARGEST_SIDE

# What our encoder writes: the picture, and its transparency.
_CHUNKS = {b"VP8 ", b"VP8L", b"VP8X", b"ALPH"}


class ImageDamaged(Exception):
    """The bytes are not a picture as we store them."""


def measure_stored_image(content: bytes) -> tuple[int, int]:
    """Return the width and height of a stored picture; raise `ImageDamaged` if it isn't one.

    The size is read and refused before anything is decoded.
    """
    try:
        if not set(_list_chunks(content)) <= _CHUNKS:
            raise ImageDamaged("It contains more than a picture.")
        width, height = read_webp_size(content)
    except Unreadable:
        raise ImageDamaged("It is damaged.") from None
    if max(width, height) > LARGEST_SIDE:
        raise ImageDamaged(f"It has {width} x {height} pixels, more than any stored picture.")
    if _decode_size(content) != (width, height):
        raise ImageDamaged("It is damaged.")
    return width, height


def _list_chunks(content: bytes) -> Iterator[bytes]:
    """Yield the names of the chunks of a WebP, which must fill the file exactly."""
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


def _decode_size(content: bytes) -> tuple[int, int] | None:
    # Most processes of the command never see a picture.
    from PIL import Image as Pictures

    try:
        with Pictures.open(io.BytesIO(content), formats=("WEBP",)) as picture:
            picture.load()
            return picture.size
    except Exception:
        # Damage can make a decoder raise anything.
        return None
