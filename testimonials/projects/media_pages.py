"""The public address of stored pictures."""

from flask import Blueprint, Response, request

from testimonials.core.data.identifiers import is_identifier
from testimonials.core.pictures.images import CONTENT_TYPE, Image
from testimonials.core.web.errors import NotFound
from testimonials.core.web.languages import gettext_noop
from testimonials.core.web.response_headers import DATA_POLICY
from testimonials.extensions import db

media = Blueprint("media", __name__)


@media.get("/media/<image_id>.webp")
def get_image(image_id: str) -> Response:
    """Return a picture; it never changes, so it can be cached for ever."""
    image = db.session.get(Image, image_id) if is_identifier(image_id) else None
    if image is None or image.is_held:
        raise NotFound(gettext_noop("There is no picture at this address."))
    response = Response(image.content, content_type=CONTENT_TYPE)
    response.set_etag(image.id)
    response.headers["Cache-Control"] = "public, max-age=31536000, immutable"
    # Whatever a browser takes the bytes for, nothing in them runs.
    response.headers["Content-Security-Policy"] = f"{DATA_POLICY}; sandbox"
    response.headers["Cross-Origin-Resource-Policy"] = "cross-origin"
    response.make_conditional(request)
    return response
