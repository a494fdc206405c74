"""Ogg, in which Firefox records voices: its codec, and how long it plays."""

from typing import BinaryIO

from testimonials.media.containers.contents import Contents, Unreadable

OPUS_RATE = 48_000
HEAD = 27


def read_ogg(file: BinaryIO, size: int, most: int) -> Contents:
    """Return what is in the file of `size` bytes, of at most `most` pages."""
    found = Contents("ogg")
    position = rate = skipped = last = 0
    for _ in range(most):
        if position >= size:
            found.seconds = max(0, last - skipped) / rate if rate else 0.0
            return found
        file.seek(position)
        head = file.read(HEAD)
        if len(head) < HEAD or head[:4] != b"OggS":
            raise Unreadable
        lengths = file.read(head[26])
        if head[5] & 2:
            codec, rate, skipped = _read_codec(file.read(32))
            (found.video if codec == "theora" else found.audio).append(codec)
        granule = int.from_bytes(head[6:14], "little", signed=True)
        last = max(last, granule)
        position += HEAD + len(lengths) + sum(lengths)
    raise Unreadable


def _read_codec(packet: bytes) -> tuple[str, int, int]:
    """Return the codec of a stream's first packet, its rate, and what isn't played of it."""
    if packet[:8] == b"OpusHead":
        return "opus", OPUS_RATE, int.from_bytes(packet[10:12], "little")
    if packet[:7] == b"\x01vorbis":
        return "vorbis", int.from_bytes(packet[12:16], "little"), 0
    if packet[:7] == b"\x80theora":
        return "theora", 0, 0
    raise Unreadable
