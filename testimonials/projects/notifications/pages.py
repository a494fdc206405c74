"""Unsubscribing from a project's notifications by the link in each mail (RFC 8058).

A GET changes nothing, since mail scanners open links; mail programs send the POST themselves.
"""

from flask import Blueprint, render_template
from flask.typing import ResponseReturnValue

from testimonials.auth.sign_in.cookies import use_persons_language
from testimonials.core.urls import project_url
from testimonials.core.web.response_headers import answer_privately
from testimonials.extensions import begin_write, db
from testimonials.projects.models import Project
from testimonials.projects.notifications.services import read_unsubscribe_token, set_mode

unsubscribe = Blueprint("unsubscribe", __name__)
unsubscribe.before_request(use_persons_language)


@unsubscribe.get("/unsubscribe/<token>")
def show_unsubscribe(token: str) -> ResponseReturnValue:
    project, _ = read_unsubscribe_token(token)
    return answer_privately(_page(project, is_done=False))


@unsubscribe.post("/unsubscribe/<token>")
def end_mails(token: str) -> ResponseReturnValue:
    begin_write()
    project, account_id = read_unsubscribe_token(token, for_update=True)
    set_mode(project, account_id, "never")
    db.session.commit()
    return answer_privately(_page(project, is_done=True))


def _page(project: Project, *, is_done: bool) -> str:
    return render_template(
        "projects/notifications/unsubscribe.html",
        project_name=project.name,
        is_done=is_done,
        choose_url=project_url(project.id, "notifications"),
    )
