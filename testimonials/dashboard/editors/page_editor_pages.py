"""The page editor: what the collection page says and asks, its logo, and its preview.

A change answers a form with a redirect back to the editor, and a script with JSON.
"""

import io
from typing import Any

from flask import Blueprint, g, jsonify, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from werkzeug.exceptions import RequestEntityTooLarge

from testimonials.activity.event_types import EventType
from testimonials.activity.recording import record_project_event
from testimonials.collection.describe import describe_form, describe_thanks
from testimonials.collection.submission_form import FilledForm
from testimonials.core.pictures.colours import ENOUGH, contrast, find_text
from testimonials.core.pictures.images import (
    LOGO,
    MEGABYTE,
    Image,
    ImageBusy,
    ImageRefused,
    read_image,
)
from testimonials.core.urls import collection_page_url, image_url
from testimonials.core.web.response_headers import answer_as
from testimonials.dashboard.editors.forms import ASKED, PageForm, read_edit
from testimonials.dashboard.forms import Errors, answer_errors, wants_json
from testimonials.dashboard.guards import build_shell, require_role
from testimonials.dashboard.notices import add_notice, read_notice
from testimonials.extensions import begin_write, db
from testimonials.projects.access import Access, Role, find_access
from testimonials.projects.changes import set_logo, update_page_config
from testimonials.projects.configuration import defaults
from testimonials.projects.models import Project

page_editor = Blueprint("page_editor", __name__)

LOGO_FORM_BYTES = LOGO.max_bytes + MEGABYTE
LOGO_TOO_LARGE = f"The picture is too large: the limit is {LOGO.max_bytes // MEGABYTE} MB."


@page_editor.get("/dashboard/projects/<project_id>/page")
@require_role(Role.ADMIN)
def show_page_editor(access: Access) -> ResponseReturnValue:
    return _page(access, {}, {})


@page_editor.post("/dashboard/projects/<project_id>/page")
@require_role(Role.ADMIN, for_update=True)
def save_page(access: Access) -> ResponseReturnValue:
    """Change the settings that were sent and differ from what the form showed."""
    project, was = access.project, access.project.updated_at
    edit = read_edit(PageForm(), request.form)
    if edit.errors:
        db.session.rollback()
        return _refuse(access, edit.shown, edit.errors)
    update_page_config(project, unflatten(edit.changes))
    if project.updated_at != was:
        record_project_event(EventType.PAGE_CHANGED, project)
    db.session.commit()
    if wants_json():
        return jsonify({"ok": True, "config": flatten(project), "contrast": _judge(project)})
    return redirect(add_notice(url_for(".show_page_editor"), "Saved"), 303)


@page_editor.post("/dashboard/projects/<project_id>/page/logo")
@require_role(Role.ADMIN)
def upload_logo(access: Access) -> ResponseReturnValue:
    # Decoded before the lock is taken, so that no submission waits for it.
    logo, problem = _read_logo()
    if logo is None:
        return _refuse(access, {}, {"logo": [problem]})
    begin_write()
    project = find_access(access.user, access.project.id, Role.ADMIN, for_update=True).project
    set_logo(project, logo)
    record_project_event(EventType.PAGE_CHANGED, project)
    db.session.commit()
    return _answer_logo(project)


@page_editor.post("/dashboard/projects/<project_id>/page/logo/remove")
@require_role(Role.ADMIN, for_update=True)
def remove_logo(access: Access) -> ResponseReturnValue:
    project = access.project
    set_logo(project, None)
    record_project_event(EventType.PAGE_CHANGED, project)
    db.session.commit()
    return _answer_logo(project)


@page_editor.get("/dashboard/projects/<project_id>/page/preview")
@require_role(Role.ADMIN)
def show_page_preview(access: Access) -> ResponseReturnValue:
    """Show the collection page, or its thanks, for the frame in the editor."""
    project = access.project
    g.is_preview = True
    if request.args.get("view") == "thanks":
        shown = describe_thanks(project, has_steps=True)
        return render_template("collection/thanks.html", is_preview=True, **shown)
    return render_template(
        "collection/page.html", is_preview=True, **describe_form(project, FilledForm(""))
    )


def unflatten(changes: dict[str, Any]) -> dict[str, Any]:
    """Return the form's settings as `update_page_config` takes them."""
    asked = {name: changes.pop(f"ask-{name}") for name in ASKED if f"ask-{name}" in changes}
    return changes | ({"collectFields": asked} if asked else {})


def flatten(project: Project) -> dict[str, Any]:
    config = {"businessName": project.business_name} | project.page_config
    config |= {f"ask-{name}": config["collectFields"][name] for name in ASKED}
    return {name: config[name] for name in PageForm().fields}


def _judge(project: Project) -> dict[str, Any]:
    """Return whether the button is readable, and the colour of its text that makes it so."""
    config = project.page_config
    button, text = config["buttonColor"], config["buttonTextColor"]
    ratio = contrast(button, text)
    return {
        # Cut, not rounded: 4.49 isn't 4.5.
        "ratio": f"{int(ratio * 10) / 10:g}",
        "is_enough": ratio >= ENOUGH,
        "suggestion": find_text(button, text),
    }


def _read_logo() -> tuple[Image | None, str]:
    """Return the picture that was uploaded, or None and what is wrong with it."""
    request.max_content_length = LOGO_FORM_BYTES
    try:
        file = request.files.get("logo")
        return read_image(file.stream if file else io.BytesIO(), LOGO), ""
    except (ImageRefused, ImageBusy) as error:
        answer_as(error)
        return None, error.message
    except RequestEntityTooLarge:
        return None, LOGO_TOO_LARGE


def _answer_logo(project: Project) -> ResponseReturnValue:
    if wants_json():
        return jsonify({"ok": True, "logo_url": image_url(project.logo_id)})
    return redirect(add_notice(url_for(".show_page_editor"), "Saved"), 303)


def _refuse(access: Access, shown: dict[str, Any], errors: Errors) -> ResponseReturnValue:
    if wants_json():
        return answer_errors(errors)
    return _page(access, shown, errors), 422


def _page(access: Access, shown: dict[str, Any], errors: Errors) -> str:
    project = access.project
    g.has_preview = True
    before = flatten(project)
    return render_template(
        "dashboard/editors/page_editor.html",
        shell=build_shell(access, "page"),
        notice=read_notice(),
        values=before | shown,
        errors=errors,
        before=before,
        contrast=_judge(project),
        logo_url=image_url(project.logo_id),
        limits={
            "businessName": defaults.BUSINESS_NAME_LENGTH,
            "website": defaults.WEBSITE_LENGTH,
            "headline": defaults.HEADLINE_LENGTH,
            "description": defaults.DESCRIPTION_LENGTH,
            "thankYouMessage": defaults.THANK_YOU_LENGTH,
        },
        page_url=collection_page_url(project.slug),
        is_active=project.is_active,
    )
