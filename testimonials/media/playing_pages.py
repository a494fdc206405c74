"""The public addresses of recordings and their captions."""

from flask import Blueprint, Response, request

from testimonials.core.web.errors import NotFound
from testimonials.core.web.languages import use_visitors_language
from testimonials.media.playing import NONE, find_playable, open_to_others, send_recording
from testimonials.testimonials.recordings.describing import find_captions

playing = Blueprint("playing", __name__)
playing.before_request(use_visitors_language)


@playing.get("/media/recordings/<recording_id>")
def get_recording(recording_id: str) -> Response:
    """Play a recording, from anywhere in it."""
    recording, is_public = find_playable(recording_id, request.args.get("key", ""))
    return send_recording(recording, is_public=is_public)


@playing.get("/media/recordings/<recording_id>.vtt")
def get_captions(recording_id: str) -> Response:
    """Return a recording's captions, or its transcript as captions."""
    recording, is_public = find_playable(recording_id, request.args.get("key", ""))
    captions = find_captions(recording)
    if captions is None:
        raise NotFound(NONE)
    response = Response(captions, content_type="text/vtt; charset=utf-8")
    response.add_etag()
    response.make_conditional(request)
    return open_to_others(response, is_public=is_public)
