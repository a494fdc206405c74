"""The page editor's pictures: the logo, the cover, and the face beside the description."""

import io

from flask import Blueprint, jsonify, redirect, request, url_for
from flask.typing import ResponseReturnValue
from werkzeug.exceptions import RequestEntityTooLarge

from testimonials.activity.event_types import EventType
from testimonials.activity.recording import record_project_event
from testimonials.core.pictures.images import (
    MEGABYTE,
    PAGE_PICTURES,
    Image,
    ImageBusy,
    ImageRefused,
    read_image,
)
from testimonials.core.urls import image_url
from testimonials.core.web.languages import gettext as _
from testimonials.core.web.response_headers import answer_as
from testimonials.dashboard.forms import answer_errors, wants_json
from testimonials.dashboard.guards import require_role
from testimonials.dashboard.notices import add_notice
from testimonials.dashboard.page.saving import PageEdit
from testimonials.dashboard.page.view import render_tab
from testimonials.extensions import begin_write, db
from testimonials.projects.access import Access, Role, find_access
from testimonials.projects.changes import set_picture
from testimonials.projects.models import Project

page_pictures = Blueprint("page_pictures", __name__)


@page_pictures.post("/dashboard/projects/<project_id>/page/<any(logo, cover, portrait):picture>")
@require_role(Role.ADMIN)
def upload(access: Access, picture: str) -> ResponseReturnValue:
    # Decoded before the lock is taken, so that no submission waits for it.
    image, problem = _read_picture(picture)
    if image is None:
        errors = {picture: [problem]}
        if wants_json():
            return answer_errors(errors)
        return render_tab(access, "look", PageEdit("look", errors=errors)), 422
    begin_write()
    project = find_access(access.user, access.project.id, Role.ADMIN, for_update=True).project
    return _set(project, picture, image)


@page_pictures.post(
    "/dashboard/projects/<project_id>/page/<any(logo, cover, portrait):picture>/remove"
)
@require_role(Role.ADMIN, for_update=True)
def remove(access: Access, picture: str) -> ResponseReturnValue:
    return _set(access.project, picture, None)


def _set(project: Project, picture: str, image: Image | None) -> ResponseReturnValue:
    set_picture(project, picture, image)
    record_project_event(EventType.PAGE_CHANGED, project)
    db.session.commit()
    if wants_json():
        return jsonify({"ok": True, "url": image_url(image.id if image else None)})
    here = url_for("page_editor.show_page_editor", _anchor=f"editor-{picture}")
    return redirect(add_notice(here, _("Saved")), 303)


def _read_picture(name: str) -> tuple[Image | None, str]:
    """Return the picture that was uploaded, or None and what is wrong with it."""
    use = PAGE_PICTURES[name]
    request.max_content_length = use.max_bytes + MEGABYTE
    try:
        file = request.files.get(name)
        return read_image(file.stream if file else io.BytesIO(), use), ""
    except (ImageRefused, ImageBusy) as error:
        answer_as(error)
        return None, error.shown
    except RequestEntityTooLarge:
        return None, _(
            "The picture is too large: the limit is %(megabytes)s MB.",
            megabytes=use.max_bytes // MEGABYTE,
        )
