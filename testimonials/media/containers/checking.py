"""Check a recording by what is in its file, never by its name or what the sender says."""

import re
from pathlib import Path

from testimonials.core.faults import refusing
from testimonials.core.web.languages import gettext as _
from testimonials.media.containers.contents import Contents
from testimonials.media.containers.mp4 import read_mp4
from testimonials.media.containers.ogg import read_ogg
from testimonials.media.containers.webm import WebM, read_webm, write_duration
from testimonials.media.refusals import (
    DAMAGED,
    HAS_PICTURE,
    NOT_PLAYABLE,
    TOO_LONG,
    RecordingRefused,
)
from testimonials.settings.current import current_settings

# Blocks, boxes or pages in a second of the liveliest recording, and those in a header.
MOST_A_SECOND, MOST_BESIDE = 250, 5000
CODEC = re.compile(r"[A-Za-z0-9./_-]+")
# What browsers record after their timer ended.
GRACE_SECONDS = 2.0
# The shortest side and the longest that a screen could show.
SIDES = range(16, 8193)


# Damage can make a reader raise anything.
@refusing(lambda _fault: RecordingRefused(_(DAMAGED)))
def check_recording(path: Path, kind: str) -> Contents:
    """Return what is in the file; complete the header of one that a browser recorded.

    Raises `RecordingRefused`, with the reason in the visitor's language.
    """
    longest = current_settings().recording_seconds
    found = _read(path, longest)
    # What names a codec is shown, and stored as text.
    if found and not all(map(CODEC.fullmatch, found.video + found.audio)):
        raise RecordingRefused(_(DAMAGED))
    if found is None or not (found.video or found.audio) or not _has_size(found):
        raise RecordingRefused(_(NOT_PLAYABLE))
    if found.video and kind == "voice":
        raise RecordingRefused(_(HAS_PICTURE))
    if not found.seconds > 0:
        raise RecordingRefused(_(DAMAGED))
    if found.seconds > longest + GRACE_SECONDS:
        raise RecordingRefused(_(TOO_LONG, seconds=longest))
    if isinstance(found, WebM):
        write_duration(path, found)
    return found


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


def _has_size(found: Contents) -> bool:
    return not found.video or (found.width in SIDES and found.height in SIDES)
