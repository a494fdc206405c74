"""Playing recordings with byte ranges and captions, and serving stored pictures."""

import base64
import hashlib
import hmac
import re
from collections.abc import Iterable, Iterator
from operator import itemgetter
from typing import Any, BinaryIO

from flask import Response, request
from sqlalchemy import select
from sqlalchemy.orm.attributes import set_committed_value
from werkzeug.datastructures import ContentRange
from werkzeug.wsgi import wrap_file

from testimonials.auth.models import Account
from testimonials.core import clock
from testimonials.core.db.identifiers import is_identifier
from testimonials.core.db.transactions import find_row
from testimonials.core.extensions import db
from testimonials.core.http.blueprints import media
from testimonials.core.http.errors import NotFound, require_found
from testimonials.core.http.i18n import gettext, gettext_noop
from testimonials.core.http.security import DATA_POLICY
from testimonials.core.http.signing import require_key
from testimonials.core.http.urls import captions_url, image_url, recording_url
from testimonials.core.images.uploads import CONTENT_TYPE, Image
from testimonials.projects.models import Project
from testimonials.projects.projects import is_shown
from testimonials.testimonials.media import recordings
from testimonials.testimonials.models import Recording, Testimonial

# Captions: WebVTT from the owner, checked and rewritten, or made from a transcript.

CAPTIONS_LENGTH = 40_000
# The length of a cue made from a transcript.
GLANCE = 80
TIME = r"(?:(\d{1,3}):)?([0-5]\d):([0-5]\d)\.(\d{3})"
TIMING = re.compile(rf"{TIME}[ \t]+-->[ \t]+{TIME}(?:[ \t]+([^\n]*))?")
# Blocks to drop.
BESIDE = re.compile(r"(NOTE|STYLE|REGION)\b")

Cue = tuple[float, float, str]


class CaptionsRefused(Exception):
    """The text isn't valid WebVTT; the message says where."""


def clean_captions(text: str) -> str:
    """Return the WebVTT with only its cues. Raises `CaptionsRefused`."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").strip()
    if not re.match(r"WEBVTT([ \t\n]|$)", text):
        raise CaptionsRefused(
            gettext("Captions must be WebVTT, which begins with the line WEBVTT.")
        )
    cues = [_read_cue(block) for block in re.split(r"\n{2,}", text)[1:] if not BESIDE.match(block)]
    if not cues:
        raise CaptionsRefused(
            gettext("There is no cue in these captions: a time, and words below it.")
        )
    # Cues that begin together keep their order, in which they are stacked.
    return _write(sorted(cues, key=itemgetter(0)))


def _read_cue(block: str) -> Cue:
    lines = block.split("\n")
    at = 0 if "-->" in lines[0] else 1
    timing = TIMING.fullmatch(lines[at].strip()) if at < len(lines) else None
    words = "\n".join(line.strip() for line in lines[at + 1 :] if line.strip())
    shown = lines[min(at, len(lines) - 1)][:60]
    if timing is None or _seconds(timing, 1) >= _seconds(timing, 5):
        problem = gettext_noop(
            "A cue must have a time such as 00:01.000 --> 00:04.000: “%(line)s”."
        )
    elif not words or "-->" in words:
        problem = gettext_noop("A cue must have words below its time: “%(line)s”.")
    else:
        return _seconds(timing, 1), _seconds(timing, 5), words
    raise CaptionsRefused(gettext(problem, line=shown))


def _seconds(timing: re.Match[str], first: int) -> float:
    hours, minutes, seconds, thousandths = (int(timing[first + at] or 0) for at in range(4))
    return hours * 3600 + minutes * 60 + seconds + thousandths / 1000


def caption(transcript: str, seconds: float) -> str:
    """Return WebVTT for a transcript: cues of about a line, timed by their share of the text."""
    lines: list[str] = []
    for word in transcript.split():
        if lines and len(lines[-1]) + 1 + len(word) <= GLANCE:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    total, begin = sum(map(len, lines)), 0.0
    cues = []
    for words in lines:
        end = begin + seconds * len(words) / total
        # These would be markup in WebVTT.
        plain = words.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        cues.append((begin, end, plain))
        begin = end
    return _write(cues)


def _write(cues: list[Cue]) -> str:
    return "\n\n".join(["WEBVTT", *(f"{_time(a)} --> {_time(b)}\n{words}" for a, b, words in cues)])


def _time(seconds: float) -> str:
    thousandths = round(seconds * 1000)
    minutes, rest = divmod(thousandths, 60_000)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:02}:{minutes:02}:{rest // 1000:02}.{rest % 1000:03}"


# URLs of recordings that aren't public have a key, which works for one to two periods. It changes
# only once in a period, since answers that contain it change too.
KEY_SECONDS = 7 * 24 * 60 * 60


def make_key(recording_id: str, age: int = 0) -> str:
    period = int(clock.now().timestamp()) // KEY_SECONDS
    message = f"testimonials:recording:{recording_id}:{period - age}".encode()
    digest = hmac.digest(require_key().encode(), message, hashlib.sha256)
    return base64.urlsafe_b64encode(digest[:16]).decode().rstrip("=")


def opens(recording_id: str, key: str) -> bool:
    """Return whether a key is now valid for a recording."""
    sent = key.encode("utf-8", "surrogatepass")
    return any(hmac.compare_digest(sent, make_key(recording_id, age).encode()) for age in (0, 1))


def find_captions(recording: Recording) -> str | None:
    """Return the owner's captions as WebVTT, or else the transcript."""
    if recording.captions:
        return recording.captions
    return caption(recording.transcript, recording.seconds or 0) if recording.transcript else None


def describe_recording(recording: Recording, key: str = "") -> dict[str, Any]:
    """Return a recording as the API and pages show it, with a `key` if it isn't public."""
    has_captions = bool(recording.captions or recording.transcript)
    return {
        "kind": recording.kind,
        "url": recording_url(recording.id, key),
        "posterUrl": image_url(recording.poster_id),
        "seconds": recording.seconds,
        "mediaType": recording.media_type,
        "width": recording.width,
        "height": recording.height,
        "transcript": recording.transcript,
        "captionsUrl": captions_url(recording.id, key) if has_captions else None,
    }


def describe_recording_of(row: Testimonial) -> dict[str, Any] | None:
    """Return a testimonial's recording, if there is one, with a key unless it is public."""
    recording = row.recording if row.kind != "written" else None
    if recording is None:
        return None
    is_shown = row.status in ("approved", "demo") and row.deleted_at is None
    is_public = is_shown and row.project.is_active
    return describe_recording(recording, "" if is_public else make_key(recording.id))


def load_recordings(rows: Iterable[Testimonial]) -> None:
    recorded = {row.id: row for row in rows if row.kind != "written"}
    if not recorded:
        return
    query = select(Recording).where(Recording.testimonial_id.in_(recorded))
    loaded = {each.testimonial_id: each for each in db.session.scalars(query)}
    for testimonial_id, row in recorded.items():
        set_committed_value(row, "recording", loaded.get(testimonial_id))


# Serving recordings without blocking a thread for a slow client.

NONE = gettext_noop("There is no recording at this address.")
# If the file is opened directly, nothing in the browser's page for it may run.
POLICY = (
    "default-src 'none'; media-src 'self'; style-src 'unsafe-inline'; object-src 'none'; "
    "base-uri 'none'; frame-ancestors 'none'; sandbox"
)
CHUNK = 64 * 1024


def find_playable(recording_id: str, key: str) -> tuple[Recording, bool]:
    """Return a recording, and whether it is public. Raises `NotFound`.

    The key also opens pending and rejected ones, but none that was withdrawn or deleted.
    """
    row = Testimonial
    query = (
        select(Recording, row.is_visible, Project)
        .join(row, Recording.testimonial_id == row.id)
        .join(Project, row.project_id == Project.id)
        .join(Account, Project.account_id == Account.id)
        .where(Recording.id == recording_id, Recording.state == "ready", is_shown())
        .where(row.deleted_at.is_(None), row.status != "withdrawn")
    )
    found = db.session.execute(query).one_or_none() if is_identifier(recording_id) else None
    if found is None:
        raise NotFound(NONE)
    recording, is_visible, project = found
    is_public = is_visible and project.is_active
    if not (is_public or (key and opens(recording_id, key))):
        raise NotFound(NONE)
    return recording, is_public


def send_recording(recording: Recording, *, is_public: bool) -> Response:
    """Return the file, the requested range, or 304."""
    etag = f'"{recording.id}"'
    if request.if_none_match.contains(recording.id):
        response = Response(status=304)
    else:
        response = _send_part(recording, etag)
    response.headers["Accept-Ranges"] = "bytes"
    response.headers["ETag"] = etag
    response.headers["Content-Security-Policy"] = POLICY
    return open_to_others(response, is_public=is_public)


def open_to_others(response: Response, *, is_public: bool) -> Response:
    """Let widgets on other sites play a file, and make caches check that it is still public."""
    response.headers["Cache-Control"] = f"{'public' if is_public else 'private'}, no-cache"
    response.headers["Cross-Origin-Resource-Policy"] = "cross-origin"
    response.headers["Access-Control-Allow-Origin"] = "*"
    return response


def _send_part(recording: Recording, etag: str) -> Response:
    try:
        file = recordings.path_of(recording.id).open("rb")
    except FileNotFoundError:
        raise NotFound(NONE) from None
    size = file.seek(0, 2)
    ranges = request.range if request.headers.get("If-Range", etag) == etag else None
    # For several ranges, which players don't request, the whole file is a valid response.
    is_part = ranges is not None and ranges.units == "bytes" and len(ranges.ranges) == 1
    part = ranges.range_for_length(size) if ranges and is_part else (0, size)
    if part is None:
        file.close()
        response = Response(status=416)
        response.content_range = ContentRange("bytes", None, None, size)
        return response
    begin, end = part
    response = Response(
        _read(file, begin, end - begin),
        206 if is_part else 200,
        content_type=recording.media_type,
        direct_passthrough=True,
    )
    response.content_length = end - begin
    if is_part:
        response.content_range = ContentRange("bytes", begin, end, size)
    return response


def _read(file: BinaryIO, begin: int, length: int) -> Iterable[bytes]:
    """Return a file wrapper, which the server sends as the client reads it.

    An iterator would occupy the thread until the slowest client is done, or fill the memory.
    """
    file.seek(begin)
    if request.method == "HEAD":
        file.close()
        return ()
    if "wsgi.file_wrapper" in request.environ:
        return wrap_file(request.environ, file, CHUNK)
    return _chunks(file, length)


def _chunks(file: BinaryIO, length: int) -> Iterator[bytes]:
    with file:
        while length > 0 and (chunk := file.read(min(CHUNK, length))):
            length -= len(chunk)
            yield chunk


@media.get("/media/recordings/<recording_id>")
def get_recording(recording_id: str) -> Response:
    recording, is_public = find_playable(recording_id, request.args.get("key", ""))
    return send_recording(recording, is_public=is_public)


@media.get("/media/recordings/<recording_id>.vtt")
def get_captions(recording_id: str) -> Response:
    recording, is_public = find_playable(recording_id, request.args.get("key", ""))
    captions = require_found(find_captions(recording), NONE)
    response = Response(captions, content_type="text/vtt; charset=utf-8")
    response.add_etag()
    response.make_conditional(request)
    return open_to_others(response, is_public=is_public)


@media.get("/media/<image_id>.webp")
def get_image(image_id: str) -> Response:
    """Serve a picture; it never changes."""
    row = find_row(Image, image_id, ~Image.is_held)
    image = require_found(row, gettext_noop("There is no picture at this address."))
    response = Response(image.content, content_type=CONTENT_TYPE)
    response.set_etag(image.id)
    response.headers["Cache-Control"] = "public, max-age=31536000, immutable"
    # Whatever type a browser guesses, nothing in the file may run.
    response.headers["Content-Security-Policy"] = f"{DATA_POLICY}; sandbox"
    response.headers["Cross-Origin-Resource-Policy"] = "cross-origin"
    response.make_conditional(request)
    return response
