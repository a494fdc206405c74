"""Recordings as others see them: where they are played, and who may."""

import base64
import hashlib
import hmac
from collections.abc import Iterable
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm.attributes import set_committed_value

from testimonials.core import clock
from testimonials.core.urls import captions_url, image_url, recording_url
from testimonials.core.web.signing import require_key
from testimonials.extensions import db
from testimonials.testimonials.models import Recording, Testimonial
from testimonials.testimonials.recordings.captions import caption

# A key opens a recording for this long or up to twice as long. It doesn't change meanwhile, so that
# neither do answers that contain it.
KEY_SECONDS = 7 * 24 * 60 * 60
KEY_BYTES = 16


def make_key(recording_id: str, age: int = 0) -> str:
    """Return the key that opens a recording that isn't public."""
    period = int(clock.now().timestamp()) // KEY_SECONDS
    message = f"testimonials:recording:{recording_id}:{period - age}".encode()
    digest = hmac.digest(require_key().encode(), message, hashlib.sha256)
    return base64.urlsafe_b64encode(digest[:KEY_BYTES]).decode().rstrip("=")


def opens(recording_id: str, key: str) -> bool:
    """Tell whether a key opens a recording now."""
    given = key.encode("utf-8", "surrogatepass")
    return any(hmac.compare_digest(given, make_key(recording_id, age).encode()) for age in (0, 1))


def find_captions(recording: Recording) -> str | None:
    """Return the captions as WebVTT: the owner's, or else the transcript over the whole time."""
    if recording.captions:
        return recording.captions
    return caption(recording.transcript, recording.seconds or 0) if recording.transcript else None


def describe_recording(recording: Recording, key: str = "") -> dict[str, Any]:
    """Return a recording as the API and pages show it; `key` opens one that isn't public."""
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


def describe_of(row: Testimonial) -> dict[str, Any] | None:
    """Return the recording of a testimonial, or None; with a key unless it is public."""
    recording = row.recording if row.kind != "written" else None
    if recording is None:
        return None
    is_shown = row.status in ("approved", "demo") and row.deleted_at is None
    is_public = is_shown and row.project.is_active
    return describe_recording(recording, "" if is_public else make_key(recording.id))


def load_recordings(rows: Iterable[Testimonial]) -> None:
    """Load the recordings of testimonials, in one query if there are any."""
    spoken = {row.id: row for row in rows if row.kind != "written"}
    if not spoken:
        return
    query = select(Recording).where(Recording.testimonial_id.in_(spoken))
    found = {each.testimonial_id: each for each in db.session.scalars(query)}
    for testimonial_id, row in spoken.items():
        set_committed_value(row, "recording", found.get(testimonial_id))
