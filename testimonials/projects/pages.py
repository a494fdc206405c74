"""Public pages: unsubscribing, stored pictures, and what proxies ask about host names."""

from flask import Response, render_template, request
from flask.typing import ResponseReturnValue

from testimonials.core.db.transactions import find_row, write
from testimonials.core.http.blueprints import media, projects, site
from testimonials.core.http.errors import require_found
from testimonials.core.http.i18n import gettext_noop
from testimonials.core.http.security import DATA_POLICY, answer_privately
from testimonials.core.http.urls import own_names, project_url
from testimonials.core.images.uploads import CONTENT_TYPE, Image
from testimonials.projects.domains import is_served, make_mark
from testimonials.projects.models import Project
from testimonials.projects.notifications import read_unsubscribe_token, set_mode

# Unsubscribing from a project's notifications by the link in each mail (RFC 8058).
#
# A GET changes nothing, since mail scanners open links; mail programs send the POST themselves.


@projects.get("/unsubscribe/<token>")
def show_unsubscribe(token: str) -> ResponseReturnValue:
    project, _ = read_unsubscribe_token(token)
    return answer_privately(_unsubscribe_page(project, is_done=False))


@projects.post("/unsubscribe/<token>")
def end_mails(token: str) -> ResponseReturnValue:
    with write(lambda: read_unsubscribe_token(token, for_update=True)) as (project, account_id):
        set_mode(project, account_id, "never")
    return answer_privately(_unsubscribe_page(project, is_done=True))


def _unsubscribe_page(project: Project, *, is_done: bool) -> str:
    return render_template(
        "projects/notifications/unsubscribe.html",
        project_name=project.name,
        is_done=is_done,
        choose_url=project_url(project.id, "settings/mail"),
    )


# The public address of stored pictures.


@media.get("/media/<image_id>.webp")
def get_image(image_id: str) -> Response:
    """Return a picture; it never changes, so it can be cached for ever."""
    found = find_row(Image, image_id, ~Image.is_held)
    image = require_found(found, gettext_noop("There is no picture at this address."))
    response = Response(image.content, content_type=CONTENT_TYPE)
    response.set_etag(image.id)
    response.headers["Cache-Control"] = "public, max-age=31536000, immutable"
    # Whatever a browser takes the bytes for, nothing in them runs.
    response.headers["Content-Security-Policy"] = f"{DATA_POLICY}; sandbox"
    response.headers["Cross-Origin-Resource-Policy"] = "cross-origin"
    response.make_conditional(request)
    return response


# What proxies and this service itself ask about host names.


@site.get("/domains/ask")
def answer_proxy() -> ResponseReturnValue:
    """Answer 200 if a certificate may be asked for a host name, as Caddy's on-demand TLS wants."""
    name = request.args.get("domain", "")
    is_ours = name.lower() in own_names()
    is_known = is_ours or is_served(name)
    text = "yes\n" if is_known else "There is nothing at this host name.\n"
    return Response(text, 200 if is_known else 404, mimetype="text/plain")


@site.get("/domains/mark")
def show_mark() -> Response:
    """Say that this very service answers here, at whatever host name."""
    response = Response(make_mark(), mimetype="text/plain")
    response.headers["Cache-Control"] = "no-store"
    return response
