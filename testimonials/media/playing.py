"""Serving recordings: in parts, and never from a thread that waits for a slow reader."""

from collections.abc import Iterable, Iterator
from typing import BinaryIO

from flask import Response, request
from sqlalchemy import select
from werkzeug.datastructures import ContentRange
from werkzeug.wsgi import wrap_file

from testimonials.auth.models import Account
from testimonials.core.data.identifiers import is_identifier
from testimonials.core.web.errors import NotFound
from testimonials.core.web.languages import gettext_noop
from testimonials.extensions import db
from testimonials.media import store
from testimonials.projects.models import Project
from testimonials.projects.services import is_shown
from testimonials.testimonials.models import Recording, Testimonial
from testimonials.testimonials.recordings.describing import opens

NONE = gettext_noop("There is no recording at this address.")
# Opened by itself, a browser shows it in a page of its own; nothing in the file runs.
POLICY = (
    "default-src 'none'; media-src 'self'; style-src 'unsafe-inline'; object-src 'none'; "
    "base-uri 'none'; frame-ancestors 'none'; sandbox"
)
CHUNK = 64 * 1024


def find_playable(recording_id: str, key: str) -> tuple[Recording, bool]:
    """Return a recording, and whether anybody may play it; raise `NotFound`.

    With its key also one that waits or was rejected, though none that is withdrawn or deleted.
    """
    row = None
    if is_identifier(recording_id):
        row = db.session.execute(
            select(Recording, Testimonial.is_visible, Project)
            .join(Testimonial, Recording.testimonial_id == Testimonial.id)
            .join(Project, Testimonial.project_id == Project.id)
            .join(Account, Project.account_id == Account.id)
            .where(
                Recording.id == recording_id,
                Recording.state == "ready",
                Testimonial.deleted_at.is_(None),
                Testimonial.status != "withdrawn",
                is_shown(),
            )
        ).one_or_none()
    if row is None:
        raise NotFound(NONE)
    recording, is_visible, project = row
    is_public = is_visible and project.is_active
    if not (is_public or (key and opens(recording_id, key))):
        raise NotFound(NONE)
    return recording, is_public


def send_recording(recording: Recording, *, is_public: bool) -> Response:
    """Return the file, or the part that is asked for, or that it is unchanged."""
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
    """Let widgets on other sites play it, and keep every copy asking whether it is still public."""
    response.headers["Cache-Control"] = f"{'public' if is_public else 'private'}, no-cache"
    response.headers["Cross-Origin-Resource-Policy"] = "cross-origin"
    response.headers["Access-Control-Allow-Origin"] = "*"
    return response


def _send_part(recording: Recording, etag: str) -> Response:
    try:
        file = store.path_of(recording.id).open("rb")
    except FileNotFoundError:
        raise NotFound(NONE) from None
    size = file.seek(0, 2)
    wanted = request.range if request.headers.get("If-Range", etag) == etag else None
    # Several parts in one answer, which players don't ask for, may be answered with the whole.
    is_part = wanted is not None and wanted.units == "bytes" and len(wanted.ranges) == 1
    part = wanted.range_for_length(size) if wanted and is_part else (0, size)
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
    """Return what the server sends by itself, a bit whenever the reader has taken the last.

    An iterator would be read by the thread, into memory or until the slowest reader is done.
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
