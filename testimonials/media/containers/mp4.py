"""MP4 and QuickTime: what is in a file, whole or in fragments as browsers write it."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from testimonials.media.containers.contents import Contents, Unreadable

ENTERED = {b"moov", b"trak", b"mdia", b"minf", b"stbl", b"mvex", b"moof", b"traf"}
READ = {b"tkhd", b"mdhd", b"hdlr", b"stsd", b"stts", b"trex", b"tfhd", b"tfdt", b"trun"}
# All tables of a recording of several minutes are far below this; phones write up to five tracks.
MOST_TABLE_BYTES = 4 * 1024 * 1024
MOST_TRACKS = 16
# In a sample's description: where its size in pixels and its further boxes begin.
PIXELS, AFTER_VIDEO = 32, 86
# What each bit of the flags before a table of samples adds to it.
FIRST_SAMPLE_FLAGS, HAS_DURATION = 0x4, 0x100
OF_EACH_SAMPLE = (0x100, 0x200, 0x400, 0x800)


@dataclass
class Track:
    """One track: its number, how many of its units make a second, and how many it plays."""

    number: int = 0
    handler: bytes = b""
    codec: str = ""
    scale: int = 0
    default: int = 0
    units: int = 0
    width: int = 0
    height: int = 0
    is_turned: bool = False


def read_mp4(file: BinaryIO, size: int, most: int) -> Contents:
    """Return what is in the file of `size` bytes, of at most `most` boxes."""
    tracks: list[Track] = []
    fragment = Track()
    start = 0
    for name, data in _boxes(file, size, most):
        if name == b"trak":
            if len(tracks) == MOST_TRACKS:
                raise Unreadable
            tracks.append(Track())
        elif name == b"tfhd":
            fragment, start = _begin_fragment(tracks, data), -1
        elif name == b"tfdt":
            start = _number(data, 4, 8 if data[0] else 4)
        elif name == b"trun":
            begin = fragment.units if start < 0 else start
            start = begin + _add_up(data, fragment.default)
            fragment.units = max(fragment.units, start)
        elif name == b"trex":
            for track in tracks:
                if track.number == _number(data, 4):
                    track.default = _number(data, 12)
        elif tracks:
            _note(tracks[-1], name, data)
    return _describe(tracks)


def _describe(tracks: list[Track]) -> Contents:
    found = Contents("mp4")
    for track in tracks:
        if track.handler == b"vide":
            found.video.append(track.codec)
            size = (track.width, track.height)
            found.width, found.height = size[::-1] if track.is_turned else size
        elif track.handler == b"soun":
            found.audio.append(track.codec)
        else:
            continue
        if track.scale:
            found.seconds = max(found.seconds, track.units / track.scale)
    return found


def _boxes(file: BinaryIO, size: int, most: int) -> Iterator[tuple[bytes, bytes]]:
    """Yield the name of each box in order, and the data of those that are read."""
    position, left = 0, MOST_TABLE_BYTES
    for _ in range(most):
        if position == size:
            return
        file.seek(position)
        head = file.read(16)
        if len(head) < 8:
            raise Unreadable
        length, name = struct.unpack_from(">I4s", head)
        begin = 8
        if length == 1 and len(head) == 16:
            length, begin = _number(head, 8, 8), 16
        length = length or size - position
        if length < begin or position + length > size:
            raise Unreadable
        if name in READ:
            left -= length
            if left < 0:
                raise Unreadable
            file.seek(position + begin)
            yield name, file.read(length - begin)
        else:
            yield name, b""
        position += begin if name in ENTERED else length
    raise Unreadable


def _number(data: bytes, at: int, length: int = 4) -> int:
    if at + length > len(data):
        raise Unreadable
    return int.from_bytes(data[at : at + length])


def _note(track: Track, name: bytes, data: bytes) -> None:
    is_long = data[:1] == b"\x01"
    if name == b"tkhd":
        track.number = _number(data, 20 if is_long else 12)
        matrix = 52 if is_long else 40
        # A phone held upright records lying down, and says that it is to be turned.
        track.is_turned = _number(data, matrix) == 0 != _number(data, matrix + 4)
    elif name == b"mdhd":
        track.scale = _number(data, 20 if is_long else 12)
    elif name == b"hdlr" and not track.handler:
        track.handler = data[8:12]
    elif name == b"stsd":
        _note_sample(track, data[8:])
    elif name == b"stts":
        count = min(_number(data, 4), (len(data) - 8) // 8)
        each = struct.iter_unpack(">II", data[8 : 8 + 8 * count])
        track.units = sum(samples * duration for samples, duration in each)


def _note_sample(track: Track, entry: bytes) -> None:
    name = entry[4:8].decode("ascii", "replace")
    track.codec = {"Opus": "opus", "mp4a": "mp4a.40.2"}.get(name, name)
    if track.handler == b"vide":
        track.width, track.height = _number(entry, PIXELS, 2), _number(entry, PIXELS + 2, 2)
        if name == "avc1" and entry[AFTER_VIDEO + 4 : AFTER_VIDEO + 8] == b"avcC":
            track.codec += f".{entry[AFTER_VIDEO + 9 : AFTER_VIDEO + 12].hex()}"


def _begin_fragment(tracks: list[Track], data: bytes) -> Track:
    flags = _number(data, 0) & 0xFFFFFF
    track = next((each for each in tracks if each.number == _number(data, 4)), Track())
    if flags & 0x8:
        track.default = _number(data, 8 + (8 if flags & 0x1 else 0) + (4 if flags & 0x2 else 0))
    return track


def _add_up(data: bytes, default: int) -> int:
    """Return how many units a fragment's samples play."""
    flags, count = _number(data, 0) & 0xFFFFFF, _number(data, 4)
    if not flags & HAS_DURATION:
        return count * default
    begin = 8 + 4 * bool(flags & 0x1) + 4 * bool(flags & FIRST_SAMPLE_FLAGS)
    step = 4 * sum(bool(flags & bit) for bit in OF_EACH_SAMPLE)
    if begin + count * step > len(data):
        raise Unreadable
    # Of each sample, its duration comes first.
    each = struct.iter_unpack(f">I{step - 4}x", data[begin : begin + step * count])
    return sum(duration for (duration,) in each)
