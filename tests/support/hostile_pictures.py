"""Small files that ask a decoder for much time or memory, and what becomes of them."""

import struct
import zlib
from collections.abc import Callable

from tests.support.pictures import chunk, photo, to_bytes, webp_of_size

Maker = Callable[[], bytes]


def segment(kind: int, body: bytes) -> bytes:
    return bytes([0xFF, kind]) + struct.pack(">H", len(body) + 2) + body


def many_scans(side: int, count: int) -> bytes:
    """Return a grey progressive JPEG whose pixels are gone through once for each scan."""
    blocks = (side // 8) ** 2
    # A scan says "nothing new in the next 32,767 blocks" until all are passed.
    runs = "".join(f"00{min(left, 32_767) - 16_384:014b}" for left in _count_down(blocks))
    runs += "1" * (-len(runs) % 8)
    scan = segment(0xDA, bytes([1, 1, 0, 1, 63, 0]))
    scan += int(runs, 2).to_bytes(len(runs) // 8, "big").replace(b"\xff", b"\xff\0")
    return b"".join(
        [
            b"\xff\xd8", segment(0xDB, b"\0" + b"\x01" * 64),
            segment(0xC2, struct.pack(">BHHB", 8, side, side, 1) + b"\x01\x11\0"),
            segment(0xC4, b"\0\x01" + bytes(15) + b"\0"),
            segment(0xC4, b"\x10\0\x01" + bytes(14) + b"\xe0"),
            segment(0xDA, bytes([1, 1, 0, 0, 0, 0])) + bytes(blocks // 8), scan * count,
            b"\xff\xd9",
        ]
    )  # fmt: skip


def _count_down(blocks: int) -> list[int]:
    return [max(left, 16_384) for left in range(blocks, 0, -32_767)]


def png(*chunks: bytes, side: int = 64, depth: int = 8, is_interlaced: bool = False) -> bytes:
    """Return a transparent PNG with these chunks before its pixels."""
    packer = zlib.compressobj(1)
    row = bytes(1 + side * depth // 2)
    # Interlaced, it has nearly twice as many rows, most of them short.
    rows = side * (2 if is_interlaced else 1)
    pixels = b"".join(packer.compress(row) for _ in range(rows)) + packer.flush()
    header = struct.pack(">IIBBBBB", side, side, depth, 6, 0, 0, is_interlaced)
    body = [chunk(b"IHDR", header), *chunks, chunk(b"IDAT", pixels), chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(body)


def tags(count: int, following: int = 0) -> bytes:
    entries = b"".join(struct.pack("<HHII", number, 4, 1, number) for number in range(count))
    return b"II*\0\x08\0\0\0" + struct.pack("<H", count) + entries + struct.pack("<I", following)


def insert(data: bytes, at: int, inserted: bytes) -> bytes:
    return data[:at] + inserted + data[at:]


def zeros(megabytes: int) -> bytes:
    """Return as many zeros, compressed to a thousandth."""
    return zlib.compress(bytes(megabytes * 1024 * 1024), 1)


JPEG = to_bytes(photo(), "JPEG")
TOO_LONG, DAMAGED = "This picture takes too long to read", "This picture is damaged"
# What a visitor is told, nothing where the picture is taken.
HOSTILE: dict[str, tuple[str, Maker]] = {
    "3,000 scans": (TOO_LONG, lambda: many_scans(5000, 3000)),
    "99 scans": ("", lambda: many_scans(5000, 99)),
    "scans, cut off": (DAMAGED, lambda: many_scans(5000, 90)[:-1000]),
    "segments": (TOO_LONG, lambda: insert(JPEG, 2, segment(0xFE, b"") * 2_000_000)),
    "100 segments": ("", lambda: insert(JPEG, 2, segment(0xFE, b"x" * 60_000) * 100)),
    "fill bytes": (TOO_LONG, lambda: insert(JPEG, 2, b"\xff" * 9_000_000)),
    "fill bytes in a segment without length": (
        TOO_LONG,
        lambda: insert(JPEG, 2, (b"\xff\xf0" + b"\xff" * 60_000) * 150),
    ),
    "profile of zeros": ("", lambda: to_bytes(photo(), "JPEG", icc_profile=bytes(1_000_000))),
    "deep and interlaced": ("", lambda: png(side=3000, depth=16, is_interlaced=True)),
    "texts that unpack": (DAMAGED, lambda: png(chunk(b"zTXt", b"a\0\0" + zeros(1)) * 100)),
    "text in one chunk": ("", lambda: png(chunk(b"iTXt", b"a\0\0\0\0\0" + b"x" * 9_000_000))),
    "profile that unpacks": (DAMAGED, lambda: png(chunk(b"iCCP", b"a\0\0" + zeros(50)))),
    "chunks": ("", lambda: png(chunk(b"abCd", b"") * 200_000)),
    "60,000 tags": ("", lambda: png(chunk(b"eXIf", tags(60_000)))),
    "tags in a circle": ("", lambda: to_bytes(photo(), "WEBP", exif=b"Exif\0\0" + tags(9, 8))),
    "animation without frames": (DAMAGED, lambda: webp_of_size(b"VP8X", 5000, 5000)),
    "moving pictures": (
        "",
        lambda: to_bytes(
            photo(900, 900), "WEBP", save_all=True, append_images=[photo(900, 900, "L")] * 9
        ),
    ),
    "beginnings of tags": ("can’t be read as a picture", lambda: b"\x89PNG\r\n" + b"<" * 9_000_000),
}
