"""WebM: what is in a file, and the duration that browsers leave out of what they record."""

import os
import shutil
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from testimonials.media.containers.contents import Contents, Unreadable

DOCTYPE, SEGMENT, INFO, SCALE, DURATION = 0x4282, 0x18538067, 0x1549A966, 0x2AD7B1, 0x4489
TRACKS, TRACK, TRACK_TYPE, CODEC = 0x1654AE6B, 0xAE, 0x83, 0x86
VIDEO, WIDTH, HEIGHT = 0xE0, 0xB0, 0xBA
CLUSTER, CLUSTER_TIME, GROUP, BLOCK, SIMPLE_BLOCK = 0x1F43B675, 0xE7, 0xA0, 0xA1, 0xA3
HEADER = 0x1A45DFA3
# What is looked into, and what ends with the next of its kind: browsers write no sizes of them.
ENTERED = {HEADER, SEGMENT, INFO, TRACKS, TRACK, VIDEO, CLUSTER, GROUP}
VALUES = {DOCTYPE, SCALE, DURATION, TRACK_TYPE, CODEC, WIDTH, HEIGHT, CLUSTER_TIME}
LONGEST_VALUE = 64
CODECS = {"V_VP8": "vp8", "V_VP9": "vp9", "V_AV1": "av01", "A_OPUS": "opus", "A_VORBIS": "vorbis"}
# A new Duration: its id, its length, and a float of eight bytes.
NEW_DURATION = b"\x44\x89\x88"


@dataclass
class Element:
    """One element: where it and its data begin, and how long the data is, if that was known."""

    id: int
    start: int
    data: int
    length: int | None
    value: bytes = b""

    @property
    def number(self) -> int:
        return int.from_bytes(self.value)


@dataclass
class WebM(Contents):
    """A WebM file, and where its duration stands or could."""

    scale: int = 1_000_000
    tracks: list[int] = field(default_factory=list)
    segment: Element | None = None
    info: Element | None = None
    duration: Element | None = None


def read_webm(file: BinaryIO, size: int, most: int) -> WebM:
    """Return what is in the file of `size` bytes, of at most `most` elements."""
    found = WebM("webm")
    last = cluster = 0
    for each in _elements(file, size, most):
        if each.id == DOCTYPE and each.value.rstrip(b"\0") != b"webm":
            raise Unreadable
        if each.id == CLUSTER_TIME:
            cluster = each.number
        elif each.id in (BLOCK, SIMPLE_BLOCK):
            last = max(last, cluster + _read_block_time(each.value))
        else:
            _note(found, each)
    found.seconds = last * found.scale / 1e9
    return found


def _note(found: WebM, each: Element) -> None:
    if each.id == SEGMENT:
        found.segment = each
    elif each.id == INFO:
        found.info = each
    elif each.id == DURATION:
        found.duration = each
    elif each.id == SCALE:
        found.scale = each.number
    elif each.id == CODEC:
        name = each.value.rstrip(b"\0").decode("ascii", "replace")
        known = CODECS.get(name, name)
        (found.video if name.startswith("V_") else found.audio).append(known)
    elif each.id == WIDTH:
        found.width = found.width or each.number
    elif each.id == HEIGHT:
        found.height = found.height or each.number


def _elements(file: BinaryIO, size: int, most: int) -> Iterator[Element]:
    """Yield each element in order, with those inside; what is cut off at the end is left out."""
    position = 0
    for _ in range(most):
        if position >= size:
            return
        file.seek(position)
        head = file.read(12)
        id, id_length = _read_number(head, 0, keeps_length=True)
        length, length_length = _read_number(head, id_length)
        data = position + id_length + length_length
        each = Element(id or 0, position, data, length)
        if id in ENTERED:
            position = data
        elif length is None:
            raise Unreadable
        else:
            position = data + length
            if position > size:
                return
        if id in VALUES or id in (BLOCK, SIMPLE_BLOCK):
            file.seek(data)
            each.value = file.read(min(length or 0, LONGEST_VALUE))
        yield each
    raise Unreadable


def _read_number(head: bytes, at: int, *, keeps_length: bool = False) -> tuple[int | None, int]:
    """Return a number of variable length, or None for "unknown", and how many bytes it takes."""
    if at >= len(head) or head[at] == 0:
        raise Unreadable
    length = 9 - head[at].bit_length()
    if at + length > len(head):
        raise Unreadable
    value = int.from_bytes(head[at : at + length])
    if keeps_length:
        return value, length
    unknown = (1 << 7 * length) - 1
    return (None if value & unknown == unknown else value & unknown), length


def _read_block_time(block: bytes) -> int:
    _, length = _read_number(block, 0)
    if len(block) < length + 2:
        raise Unreadable
    return int.from_bytes(block[length : length + 2], signed=True)


def write_duration(path: Path, found: WebM) -> None:
    """Write how long the file plays into its header, where the browser left that out.

    Without it players show no length and can't seek. What browsers record bit by bit has neither
    an index nor a size, so that bytes may be inserted; a file that has them is complete.
    """
    value = found.seconds * 1e9 / found.scale
    at = found.duration
    if at is not None:
        if at.length in (4, 8) and not struct.unpack(_float(at.length), at.value)[0] > 0:
            with path.open("r+b") as file:
                file.seek(at.data)
                file.write(struct.pack(_float(at.length), value))
    elif found.info and found.segment and found.segment.length is None:
        _insert(path, found.info, NEW_DURATION + struct.pack(">d", value))


def _float(length: int) -> str:
    return ">f" if length == 4 else ">d"


def _insert(path: Path, info: Element, added: bytes) -> None:
    """Write the file anew with `added` at the begin of the information in its header."""
    if info.length is None:
        return
    # The length in eight bytes, whatever it had before.
    head = INFO.to_bytes(4) + b"\x01" + (info.length + len(added)).to_bytes(7)
    new = path.with_name(f"{path.name}.new")
    try:
        with path.open("rb") as old, new.open("wb") as file:
            file.write(old.read(info.start) + head + added)
            old.seek(info.data)
            shutil.copyfileobj(old, file, 1024 * 1024)
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)
