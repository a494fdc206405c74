"""Where pages tell what was seen, read and clicked; open to every origin."""

from flask import Blueprint, Response, request

from testimonials.core.data.identifiers import is_identifier
from testimonials.core.web.errors import NotFound
from testimonials.core.web.rate_limits import client_key
from testimonials.insights.beacons import read_beacon
from testimonials.insights.counting import current_counts

beacons = Blueprint("beacons", __name__)


@beacons.post("/widget/<project_id>/seen")
def note_seen(project_id: str) -> Response:
    """Count what a page tells; the answer is the same whether it was counted or not."""
    if not is_identifier(project_id):
        raise NotFound("There is no such project.")
    if (beacon := read_beacon(request)) is not None:
        current_counts().note(project_id, beacon, client_key())
    answer = Response(status=204)
    answer.headers["Access-Control-Allow-Origin"] = "*"
    answer.headers["Cache-Control"] = "no-store"
    return answer
