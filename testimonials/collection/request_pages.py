"""What the links in a mailed request lead to, besides the form itself.

A GET changes nothing, since mail scanners open links; mail programs send the one-click POST
themselves (RFC 8058).
"""

from collections.abc import Callable

from flask import Blueprint, Response, render_template, request
from flask.typing import ResponseReturnValue

from testimonials.collection import responses
from testimonials.collection.models import MailedRequest
from testimonials.collection.page_data import describe_page
from testimonials.collection.responses import Asked, read_answer_token
from testimonials.core.extensions import begin_write, db
from testimonials.core.http.i18n import use_visitors_language
from testimonials.core.http.security import answer_privately
from testimonials.projects.models import Project
from testimonials.projects.projects import find_public_project

requests = Blueprint("requests", __name__)
requests.before_request(use_visitors_language)


@requests.post("/<slug>/opened")
def note_opened(slug: str) -> ResponseReturnValue:
    """Note that a browser opened the form by a mailed link; the page's script calls this."""
    return _note(slug, "opened_at", responses.note_opened)


@requests.post("/<slug>/started")
def note_started(slug: str) -> ResponseReturnValue:
    """Note that somebody began to write after a mailed link; the page's script calls this."""
    return _note(slug, "started_at", responses.note_started)


def _note(slug: str, column: str, note: Callable[[MailedRequest], None]) -> Response:
    token = request.form.get("invitation", "")
    project_id = find_public_project(slug=slug).id
    found = responses.find_request(token, project_id)
    if found is not None and getattr(found, column) is None:
        begin_write()
        found = responses.find_request(token, project_id, for_update=True)
        if found is not None:
            note(found)
        db.session.commit()
    return Response(status=204)


@requests.get("/requests/<token>/<any(decline,unsubscribe):answer>")
def show_answer(token: str, answer: str) -> ResponseReturnValue:
    """Show the button that declines or unsubscribes."""
    asked, project = read_answer_token(token)
    return _page(asked, project, token, answer, is_done=False)


@requests.post("/requests/<token>/<any(decline,unsubscribe,subscribe):answer>")
def take_answer(token: str, answer: str) -> ResponseReturnValue:
    """Decline a request, unsubscribe, or subscribe again."""
    begin_write()
    asked, project = read_answer_token(token)
    {
        "decline": responses.decline,
        "unsubscribe": responses.unsubscribe,
        "subscribe": responses.subscribe_again,
    }[answer](asked)
    db.session.commit()
    return _page(asked, project, token, answer, is_done=True)


def _page(
    asked: Asked, project: Project | None, token: str, answer: str, *, is_done: bool
) -> Response:
    page = render_template(
        "collection/requests/request.html",
        **(describe_page(project) if project else {"project": None}),
        answer=answer,
        is_done=is_done,
        is_unsubscribed=responses.is_unsubscribed(asked),
        token=token,
    )
    return answer_privately(page)
