"""Reading MP4, WebM and Ogg files, and checking recordings by their content."""

import hashlib
import os
import re
import shutil
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from testimonials.core.faults import refusing
from testimonials.core.http.i18n import gettext as _
from testimonials.core.settings.table import current_settings
from testimonials.testimonials.media.recordings import (
    DAMAGED,
    HAS_PICTURE,
    NOT_PLAYABLE,
    TOO_LONG,
    RecordingRefused,
)


class Unreadable(ValueError):
    """The file is damaged, or isn't what its first bytes say."""


@dataclass
class Contents:
    """A file's container (`webm`, `mp4` or `ogg`), codecs, real length, and SHA-256 (`digest`)."""

    container: str
    video: list[str] = field(default_factory=list)
    audio: list[str] = field(default_factory=list)
    seconds: float = 0.0
    width: int | None = None
    height: int | None = None
    digest: str = ""

    @property
    def kind(self) -> str:
        return "video" if self.video else "voice"

    @property
    def media_type(self) -> str:
        return f"{'video' if self.video else 'audio'}/{self.container}"

    @property
    def codecs(self) -> str:
        """The codecs, in the format of RFC 6381 if they are known."""
        return ", ".join([*self.video, *self.audio])


# MP4 and QuickTime, whole or in fragments, as browsers write them.

ENTERED = {b"moov", b"trak", b"mdia", b"minf", b"stbl", b"mvex", b"moof", b"traf"}
READ = {b"tkhd", b"mdhd", b"hdlr", b"stsd", b"stts", b"trex", b"tfhd", b"tfdt", b"trun"}
# The tables for several minutes take far less, and phones write at most five tracks.
MOST_TABLE_BYTES = 4 * 1024 * 1024
MOST_TRACKS = 16
# Offsets in a sample description: of the size in pixels, and of the boxes that follow.
PIXELS, AFTER_VIDEO = 32, 86
# Flags of a table of samples, each of which adds four bytes.
FIRST_SAMPLE_FLAGS, HAS_DURATION = 0x4, 0x100
OF_EACH_SAMPLE = (0x100, 0x200, 0x400, 0x800)


@dataclass
class Track:
    """A track: its number, its units per second (`scale`), and its length in `units`."""

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
    """Return the contents of a file of `size` bytes with at most `most` boxes."""
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
    contents = Contents("mp4")
    for track in tracks:
        if track.handler == b"vide":
            contents.video.append(track.codec)
            size = (track.width, track.height)
            contents.width, contents.height = size[::-1] if track.is_turned else size
        elif track.handler == b"soun":
            contents.audio.append(track.codec)
        else:
            continue
        if track.scale:
            contents.seconds = max(contents.seconds, track.units / track.scale)
    return contents


def _boxes(file: BinaryIO, size: int, most: int) -> Iterator[tuple[bytes, bytes]]:
    """Yield the name of each box in order, with the data of those in READ."""
    position, left = 0, MOST_TABLE_BYTES
    for _rest in range(most):
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
        # Phones held upright record sideways, and note that the picture has to be rotated.
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
    """Return the length of a fragment's samples in units."""
    flags, count = _number(data, 0) & 0xFFFFFF, _number(data, 4)
    if not flags & HAS_DURATION:
        return count * default
    begin = 8 + 4 * bool(flags & 0x1) + 4 * bool(flags & FIRST_SAMPLE_FLAGS)
    step = 4 * sum(bool(flags & bit) for bit in OF_EACH_SAMPLE)
    if begin + count * step > len(data):
        raise Unreadable
    # The duration is the first value of each sample.
    each = struct.iter_unpack(f">I{step - 4}x", data[begin : begin + step * count])
    return sum(duration for (duration,) in each)


# WebM, with the duration, which browsers leave out when they record.

DOCTYPE, SEGMENT, INFO, SCALE, DURATION = 0x4282, 0x18538067, 0x1549A966, 0x2AD7B1, 0x4489
TRACKS, TRACK, TRACK_TYPE, CODEC_ID = 0x1654AE6B, 0xAE, 0x83, 0x86
VIDEO, WIDTH, HEIGHT = 0xE0, 0xB0, 0xBA
CLUSTER, CLUSTER_TIME, GROUP, BLOCK, SIMPLE_BLOCK = 0x1F43B675, 0xE7, 0xA0, 0xA1, 0xA3
HEADER = 0x1A45DFA3
# Elements whose children are read; browsers write some of them without a size.
ENTERED_ELEMENTS = {HEADER, SEGMENT, INFO, TRACKS, TRACK, VIDEO, CLUSTER, GROUP}
VALUES = {DOCTYPE, SCALE, DURATION, TRACK_TYPE, CODEC_ID, WIDTH, HEIGHT, CLUSTER_TIME}
LONGEST_VALUE = 64
CODECS = {"V_VP8": "vp8", "V_VP9": "vp9", "V_AV1": "av01", "A_OPUS": "opus", "A_VORBIS": "vorbis"}
# The id and length of a Duration that is a float of eight bytes.
NEW_DURATION = b"\x44\x89\x88"


@dataclass
class Element:
    """An element: its own offset, that of its data, and the length of its data if it is known."""

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
    """A WebM file, and the places where its duration is, or could be inserted."""

    scale: int = 1_000_000
    tracks: list[int] = field(default_factory=list)
    segment: Element | None = None
    info: Element | None = None
    duration: Element | None = None


def read_webm(file: BinaryIO, size: int, most: int) -> WebM:
    """Return the contents of a file of `size` bytes with at most `most` elements."""
    contents = WebM("webm")
    last = cluster = 0
    for each in _elements(file, size, most):
        if each.id == DOCTYPE and each.value.rstrip(b"\0") != b"webm":
            raise Unreadable
        if each.id == CLUSTER_TIME:
            cluster = each.number
        elif each.id in (BLOCK, SIMPLE_BLOCK):
            block = each.value
            _, length = _read_number(block, 0)
            if len(block) < length + 2:
                raise Unreadable
            last = max(last, cluster + int.from_bytes(block[length : length + 2], signed=True))
        else:
            _note_element(contents, each)
    contents.seconds = last * contents.scale / 1e9
    return contents


def _note_element(contents: WebM, each: Element) -> None:
    if each.id == SEGMENT:
        contents.segment = each
    elif each.id == INFO:
        contents.info = each
    elif each.id == DURATION:
        contents.duration = each
    elif each.id == SCALE:
        contents.scale = each.number
    elif each.id == CODEC_ID:
        name = each.value.rstrip(b"\0").decode("ascii", "replace")
        known = CODECS.get(name, name)
        (contents.video if name.startswith("V_") else contents.audio).append(known)
    elif each.id == WIDTH:
        contents.width = contents.width or each.number
    elif each.id == HEIGHT:
        contents.height = contents.height or each.number


def _elements(file: BinaryIO, size: int, most: int) -> Iterator[Element]:
    """Yield elements and their children in order, except one that is cut off at the end."""
    position = 0
    for _rest in range(most):
        if position >= size:
            return
        file.seek(position)
        head = file.read(12)
        id, id_length = _read_number(head, 0, keeps_length=True)
        length, length_length = _read_number(head, id_length)
        data = position + id_length + length_length
        each = Element(id or 0, position, data, length)
        if id in ENTERED_ELEMENTS:
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
    """Return a number of variable length (None: unknown), and how many bytes it takes."""
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


def write_duration(path: Path, contents: WebM) -> None:
    """Write the duration into the header if the browser left it out.

    Without it players show no length and can't seek. Such recordings have no index and no size, so
    bytes may be inserted; files with these are complete.
    """
    value = contents.seconds * 1e9 / contents.scale
    at = contents.duration
    if at is not None:
        if at.length in (4, 8) and not struct.unpack(_float(at.length), at.value)[0] > 0:
            with path.open("r+b") as file:
                file.seek(at.data)
                file.write(struct.pack(_float(at.length), value))
    elif contents.info and contents.segment and contents.segment.length is None:
        _insert(path, contents.info, NEW_DURATION + struct.pack(">d", value))


def _float(length: int) -> str:
    return ">f" if length == 4 else ">d"


def _insert(path: Path, info: Element, added: bytes) -> None:
    """Rewrite the file with `added` at the start of the Info element."""
    if info.length is None:
        return
    # The length now takes eight bytes.
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


# Ogg, in which Firefox records voice.

OPUS_RATE = 48_000
HEAD = 27


def read_ogg(file: BinaryIO, size: int, most: int) -> Contents:
    """Return the contents of a file of `size` bytes with at most `most` pages."""
    contents = Contents("ogg")
    position = rate = skipped = last = 0
    for _rest in range(most):
        if position >= size:
            contents.seconds = max(0, last - skipped) / rate if rate else 0.0
            return contents
        file.seek(position)
        head = file.read(HEAD)
        if len(head) < HEAD or head[:4] != b"OggS":
            raise Unreadable
        lengths = file.read(head[26])
        if head[5] & 2:
            codec, rate, skipped = _read_codec(file.read(32))
            (contents.video if codec == "theora" else contents.audio).append(codec)
        granule = int.from_bytes(head[6:14], "little", signed=True)
        last = max(last, granule)
        position += HEAD + len(lengths) + sum(lengths)
    raise Unreadable


def _read_codec(packet: bytes) -> tuple[str, int, int]:
    """Return a stream's codec, rate and skipped samples from its first packet."""
    if packet[:8] == b"OpusHead":
        return "opus", OPUS_RATE, int.from_bytes(packet[10:12], "little")
    if packet[:7] == b"\x01vorbis":
        return "vorbis", int.from_bytes(packet[12:16], "little"), 0
    if packet[:7] == b"\x80theora":
        return "theora", 0, 0
    raise Unreadable


# Checking a recording by its content, never by its name or declared type.

# The most blocks, boxes or pages per second, and besides in a header.
MOST_A_SECOND, MOST_BESIDE = 250, 5000
CODEC = re.compile(r"[A-Za-z0-9./_-]+")
# For how long browsers may go on recording after the limit.
GRACE_SECONDS = 2.0
# The lengths of a side, in pixels, that a screen could show.
SIDES = range(16, 8193)


# A damaged file can make a reader raise anything.
@refusing(lambda _fault: RecordingRefused(_(DAMAGED)))
def check_recording(path: Path, kind: str) -> Contents:
    """Return a file's contents, after completing the header that a browser wrote.

    Raises `RecordingRefused`, with the reason in the visitor's language.
    """
    longest = current_settings().recording_seconds
    contents = _read(path, longest)
    # Names of codecs are stored and shown, so they must be harmless.
    if contents and not all(map(CODEC.fullmatch, contents.video + contents.audio)):
        raise RecordingRefused(_(DAMAGED))
    if contents is None or not (contents.video or contents.audio):
        raise RecordingRefused(_(NOT_PLAYABLE))
    if contents.video and not (contents.width in SIDES and contents.height in SIDES):
        raise RecordingRefused(_(NOT_PLAYABLE))
    if contents.video and kind == "voice":
        raise RecordingRefused(_(HAS_PICTURE))
    if not contents.seconds > 0:
        raise RecordingRefused(_(DAMAGED))
    if contents.seconds > longest + GRACE_SECONDS:
        raise RecordingRefused(_(TOO_LONG, seconds=longest))
    if isinstance(contents, WebM):
        write_duration(path, contents)
    with path.open("rb") as file:
        contents.digest = hashlib.file_digest(file, "sha256").hexdigest()
    return contents


def _read(path: Path, longest: int) -> Contents | None:
    size, most = path.stat().st_size, longest * MOST_A_SECOND + MOST_BESIDE
    with path.open("rb") as file:
        head = file.read(12)
        if head[:4] == b"\x1aE\xdf\xa3":
            return read_webm(file, size, most)
        if head[:4] == b"OggS":
            return read_ogg(file, size, most)
        if head[4:8] == b"ftyp":
            return read_mp4(file, size, most)
    return None


# Which browsers can't play a recording, so that its owner knows before approving it. From the
# browsers' release notes and caniuse.com, as of 2026.

OLD_SAFARI = "Safari before 17.4"
UNSUPPORTED = (
    # A part of the media type or codecs, and who can't play it.
    ("ogg", "Safari before 18.4"),
    ("hvc1", "Firefox on Linux, and Chrome on computers without a decoder for HEVC"),
    ("hev1", "Firefox on Linux, and Chrome on computers without a decoder for HEVC"),
    ("av01", "Apple devices from before 2023"),
    ("webm", OLD_SAFARI),
    ("vp09", OLD_SAFARI),
    ("opus", OLD_SAFARI),
)
PLAYED = ("vp8", "vp9", "vp09", "av01", "avc1", "avc3", "hvc1", "hev1", "opus", "vorbis", "mp4a")


def describe_support(media_type: str, codecs: str) -> str:
    """Return a sentence about who can't play it, or "" if every common browser can."""
    unknown = [each for each in codecs.split(", ") if not each.startswith(PLAYED)]
    if unknown:
        return f"Most browsers can’t play this: it is in {unknown[0]}."
    for part, who in UNSUPPORTED:
        if part in f"{media_type} {codecs}":
            return f"{who} can’t play this."
    return ""
