"""Uploads of recordings by a page's script, piece by piece, before the form is sent.

Until then, only the browser that began an upload knows its id.
"""

import io
from contextlib import AbstractContextManager
from typing import Any

from flask import Response, jsonify, request
from flask.typing import ResponseReturnValue

from testimonials.core.db.transactions import write
from testimonials.core.extensions import db, limiter
from testimonials.core.http.blueprints import media
from testimonials.core.http.errors import ServiceError, answer_service_error, error_body
from testimonials.core.http.i18n import translate
from testimonials.core.http.rate_limits import client_key
from testimonials.core.http.resource import load, read_json_object
from testimonials.core.images.uploads import read_image
from testimonials.projects.models import Project
from testimonials.projects.projects import find_public_project, lock_project
from testimonials.testimonials.media import recordings as store
from testimonials.testimonials.media import uploads
from testimonials.testimonials.media.uploads import UploadSchema, delete_slow_uploads
from testimonials.testimonials.models import Recording

_UPLOAD = UploadSchema()


@media.post("/<slug>/recordings")
def begin_upload(slug: str) -> ResponseReturnValue:
    """Begin an upload; return its id and the size of its pieces."""
    project = find_public_project(slug=slug)
    limiter.count(uploads.RECORDINGS_PER_ADDRESS, f"{project.id} {client_key()}")
    values: dict[str, Any] = load(_UPLOAD, read_json_object())
    with write(lambda: lock_project(project.id)) as locked:
        try:
            recording = uploads.begin_upload(locked, values["kind"], values["size"])
        except store.NoRoom:
            if not delete_slow_uploads():
                raise
            recording = uploads.begin_upload(locked, values["kind"], values["size"])
    return jsonify(id=recording.id, offset=0, pieceBytes=uploads.PIECE_BYTES), 201


@media.get("/<slug>/recordings/<recording_id>")
def find_offset(slug: str, recording_id: str) -> Response:
    """Say in headers how much of an upload has arrived."""
    project = find_public_project(slug=slug)
    recording = uploads.find_upload(project, recording_id)
    offset = uploads.find_offset(recording)
    _finish_if_whole(project, recording, offset)
    response = _offset_response(offset, 200)
    response.headers["Upload-Length"] = str(recording.received or recording.size)
    return response


@media.patch("/<slug>/recordings/<recording_id>")
def append_piece(slug: str, recording_id: str) -> Response:
    """Store the next piece of an upload; after the last, check the recording."""
    project = find_public_project(slug=slug)
    recording = uploads.find_upload(project, recording_id)
    uploads.require_open(project)
    request.max_content_length = uploads.PIECE_BYTES
    piece = request.get_data(cache=False)
    text = request.headers.get("Upload-Offset", "")
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise ServiceError("Send the header Upload-Offset.")
    offset = uploads.receive_piece(recording, int(text), piece)
    _finish_if_whole(project, recording, offset)
    return _offset_response(offset, 204)


@media.put("/<slug>/recordings/<recording_id>/poster")
def set_poster(slug: str, recording_id: str) -> ResponseReturnValue:
    """Store the picture that is shown before the video plays."""
    project = find_public_project(slug=slug)
    uploads.find_upload(project, recording_id)
    uploads.require_open(project)
    limiter.count(uploads.POSTERS_PER_ADDRESS, f"{project.id} {client_key()}")
    request.max_content_length = uploads.POSTER.max_bytes
    # Decoded before the lock is taken, so that no submission waits for it.
    picture = read_image(io.BytesIO(request.get_data(cache=False)), uploads.POSTER)
    with _writing(project, recording_id) as recording:
        uploads.set_poster(recording, picture)
    return "", 204


@media.delete("/<slug>/recordings/<recording_id>")
def discard_upload(slug: str, recording_id: str) -> ResponseReturnValue:
    _discard(find_public_project(slug=slug), recording_id)
    return "", 204


@media.errorhandler(ServiceError)
def answer_error(error: ServiceError) -> ResponseReturnValue:
    """Answer the script with an error as JSON."""
    if "slug" not in (request.view_args or {}):
        return answer_service_error(error)
    body = error_body(translate(error.message), error.code, error.errors)
    return jsonify(body), error.status, error.headers


def _finish_if_whole(project: Project, recording: Recording, offset: int) -> None:
    """Check a complete recording, unless the process that stored the last piece did."""
    if recording.state == "ready" or offset < recording.size:
        return
    try:
        contents = uploads.check_upload(project, recording)
    except store.RecordingRefused:
        _discard(project, recording.id)
        raise
    with _writing(project, recording.id) as locked:
        uploads.set_contents(locked, contents)


def _discard(project: Project, recording_id: str) -> None:
    with _writing(project, recording_id) as recording:
        db.session.delete(recording)
    store.remove_files([recording_id])


def _writing(project: Project, recording_id: str) -> AbstractContextManager[Recording]:
    return write(lambda: uploads.find_upload(project, recording_id, for_update=True))


def _offset_response(offset: int, status: int) -> Response:
    response = Response(status=status)
    response.headers["Upload-Offset"] = str(offset)
    response.headers["Cache-Control"] = "no-store"
    return response
