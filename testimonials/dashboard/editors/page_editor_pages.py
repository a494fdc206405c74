"""The page editor: what the collection page says and asks, its logo, and its preview.

A change answers a form with a redirect back to the editor, and a script with JSON.
"""

import io
from collections.abc import Mapping
from typing import Any

from flask import Blueprint, g, jsonify, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from marshmallow import ValidationError
from werkzeug.datastructures import MultiDict
from werkzeug.exceptions import RequestEntityTooLarge

from testimonials.activity.event_types import EventType
from testimonials.activity.recording import record_project_event
from testimonials.collection.describe import describe_form, describe_thanks
from testimonials.core.pictures.colours import ENOUGH, contrast, find_readable
from testimonials.core.pictures.images import (
    LOGO,
    MEGABYTE,
    ImageBusy,
    ImageRefused,
    read_image,
)
from testimonials.core.urls import collection_page_url, image_url
from testimonials.core.web.errors import FieldErrors, ValidationFailed
from testimonials.core.web.response_headers import answer_as
from testimonials.dashboard.forms import read_before, wants_json
from testimonials.dashboard.guards import build_shell, require_role
from testimonials.extensions import begin_write, db
from testimonials.projects.access import Access, Role, find_access
from testimonials.projects.changes import set_logo, update_page_config
from testimonials.projects.configuration import defaults
from testimonials.projects.models import Project
from testimonials.projects.schemas import PageConfigUpdateSchema

page_editor = Blueprint("page_editor", __name__)

TEXTS = ("businessName", "website", "headline", "description", "thankYouMessage")
CHOICES = ("theme", "buttonColor", "buttonTextColor")
ASKED = ("rating", "role", "company", "avatar", "email")
LOGO_FORM_BYTES = LOGO.max_bytes + MEGABYTE
LOGO_TOO_LARGE = f"The picture is too large: the limit is {LOGO.max_bytes // MEGABYTE} MB."

_SCHEMA = PageConfigUpdateSchema()


@page_editor.get("/dashboard/projects/<project_id>/page")
@require_role(Role.ADMIN)
def show_page_editor(access: Access) -> ResponseReturnValue:
    return _page(access, {}, {})


@page_editor.post("/dashboard/projects/<project_id>/page")
@require_role(Role.ADMIN, for_update=True)
def save_page(access: Access) -> ResponseReturnValue:
    """Change the settings that were sent; a form names in ``before`` what it showed."""
    project = access.project
    sent, was = read_settings(request.form), project.updated_at
    try:
        update_page_config(project, _SCHEMA.check(unflatten(sent)))
    except (ValidationError, ValidationFailed) as error:
        db.session.rollback()
        found = error.messages_dict if isinstance(error, ValidationError) else error.errors
        return _refuse(access, sent, _level(found or {}))
    if project.updated_at != was:
        record_project_event(EventType.PAGE_CHANGED, project)
    db.session.commit()
    if wants_json():
        return jsonify({"ok": True, "config": flatten(project), "contrast": _judge(project)})
    return redirect(url_for(".show_page_editor", done="saved"), 303)


@page_editor.post("/dashboard/projects/<project_id>/page/logo")
@require_role(Role.ADMIN)
def upload_logo(access: Access) -> ResponseReturnValue:
    request.max_content_length = LOGO_FORM_BYTES
    project = access.project
    try:
        file = request.files.get("logo")
        # Decoded before the lock is taken: visitors' submissions need not wait for it.
        logo = read_image(file.stream if file else io.BytesIO(), LOGO)
    except (ImageRefused, ImageBusy) as error:
        answer_as(error)
        return _refuse(access, {}, {"logo": [error.message]})
    except RequestEntityTooLarge:
        return _refuse(access, {}, {"logo": [LOGO_TOO_LARGE]})
    begin_write()
    project = find_access(access.user, project.id, Role.ADMIN, for_update=True).project
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
        shown = describe_thanks(project)
        return render_template("collection/thanks.html", is_preview=True, **shown)
    return render_template(
        "collection/page.html", is_preview=True, **describe_form(project, {}, {}, "")
    )


def read_settings(form: MultiDict[str, str]) -> dict[str, Any]:
    """Return the settings in a form by the names of its fields, without those left as they were."""
    sent: dict[str, Any] = {}
    for name in (*TEXTS, *CHOICES):
        if name in form:
            # Browsers send line breaks as CR LF.
            sent[name] = form.getlist(name)[-1].replace("\r\n", "\n").replace("\r", "\n")
    for name in ("showConfetti", *(f"ask-{each}" for each in ASKED)):
        if name in form:
            # A switch is sent twice when it is on, since browsers send nothing for one that is off.
            text = form.getlist(name)[-1]
            sent[name] = {"true": True, "false": False}.get(text, text)
    before = read_before(form.get("before", ""))
    return {name: value for name, value in sent.items() if value != before.get(name)}


def unflatten(sent: dict[str, Any]) -> dict[str, Any]:
    """Turn the names of the form's fields into those of the schema."""
    asked = {name: sent[f"ask-{name}"] for name in ASKED if f"ask-{name}" in sent}
    plain = {name: value for name, value in sent.items() if not name.startswith("ask-")}
    return plain | ({"collectFields": asked} if asked else {})


def flatten(project: Project) -> dict[str, Any]:
    config = project.page_config
    values = {name: config[name] for name in (*TEXTS[1:], *CHOICES, "showConfetti")}
    asked = {f"ask-{name}": config["collectFields"][name] for name in ASKED}
    return {"businessName": project.business_name} | values | asked


def _level(errors: Mapping[str, Any]) -> FieldErrors:
    """Return lists of messages by field; what the page asks for is one field of several."""
    return {
        name: [text for texts in each.values() for text in texts]
        if isinstance(each, dict)
        else each
        for name, each in errors.items()
    }


def _judge(project: Project) -> dict[str, Any]:
    """Tell whether the button can be read, and the nearest colour with which it could."""
    config = project.page_config
    button, text = config["buttonColor"], config["buttonTextColor"]
    ratio = contrast(button, text)
    return {
        # Cut, not rounded: 4.49 must not pass for 4.5.
        "ratio": f"{int(ratio * 10) / 10:g}",
        "is_enough": ratio >= ENOUGH,
        "suggestion": find_readable(button, text),
    }


def _answer_logo(project: Project) -> ResponseReturnValue:
    if wants_json():
        return jsonify({"ok": True, "logo_url": image_url(project.logo_id)})
    return redirect(url_for(".show_page_editor", done="saved"), 303)


def _refuse(access: Access, sent: dict[str, Any], errors: FieldErrors) -> ResponseReturnValue:
    if wants_json():
        messages = " ".join(message for each in errors.values() for message in each)
        return jsonify({"message": messages, "errors": errors}), 422
    return _page(access, sent, errors), 422


def _page(access: Access, sent: dict[str, Any], errors: FieldErrors) -> str:
    project = access.project
    g.has_preview = True
    before = flatten(project)
    is_saved = request.args.get("done") == "saved"
    return render_template(
        "dashboard/editors/page_editor.html",
        shell=build_shell(access, "page"),
        notice={"text": "Saved", "undo_url": None} if is_saved else None,
        values=before | sent,
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
