"""The testimonials in other formats than the widget, for anybody to fetch."""

from flask import Blueprint, Response, request

from testimonials.core.web.endpoint import dump_json
from testimonials.core.web.languages import PARAMETER, speaking
from testimonials.widget.formats.choosing import choose_items
from testimonials.widget.formats.json_feed import describe_json_feed
from testimonials.widget.formats.newsletter import IN_NEWSLETTER, render_newsletter
from testimonials.widget.formats.oembed import describe_embed
from testimonials.widget.memory.keeping import keep_page
from testimonials.widget.services import find_shown_project

formats = Blueprint("formats", __name__)

# Opened in a browser, its inline styles apply, and nothing runs.
NEWSLETTER_POLICY = (
    "default-src 'none'; style-src-attr 'unsafe-inline'; img-src https: http:; "
    "object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)


@formats.get("/widget/<project_id>/newsletter")
def get_newsletter(project_id: str) -> Response:
    """Serve HTML to paste into a newsletter: three testimonials, or ``?limit=``.

    Takes ``?id=``, ``?tag=``, ``?min=``, ``?widget=``, ``?theme=dark`` and ``?lang=``.
    """
    project = find_shown_project(project_id)
    keep_page(project)
    chosen = choose_items(project, request.args, IN_NEWSLETTER)
    with speaking(request.args.get(PARAMETER)):
        response = _answer(render_newsletter(chosen), "text/html")
    response.headers["Content-Security-Policy"] = NEWSLETTER_POLICY
    return response


@formats.get("/widget/<project_id>/feed.json")
def get_json_feed(project_id: str) -> Response:
    """Serve a JSON Feed, with the newsletter's parameters, and ``?after=`` for further pages."""
    project = find_shown_project(project_id)
    keep_page(project)
    chosen = choose_items(project, request.args, None)
    with speaking(request.args.get(PARAMETER)):
        content = dump_json(describe_json_feed(project, chosen))
    return _answer(content, "application/feed+json")


@formats.get("/oembed")
def get_embed() -> Response:
    """Answer oEmbed: ``?url=``, ``?maxwidth=``, ``?maxheight=`` and ``?format=json``."""
    with speaking(request.args.get(PARAMETER)):
        project, answer = describe_embed(request.args)
    keep_page(project)
    return _answer(dump_json(answer), "application/json")


def _answer(content: str | bytes, mimetype: str) -> Response:
    response = Response(content, mimetype=mimetype)
    response.headers["Cache-Control"] = "public, no-cache"
    response.headers["Access-Control-Allow-Origin"] = "*"
    response.headers["Cross-Origin-Resource-Policy"] = "cross-origin"
    response.add_etag()
    response.make_conditional(request)
    return response
