"""The editor of the collection page: its look, pictures and preview."""

import io
from datetime import datetime
from typing import Any

from flask import g, jsonify, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from werkzeug.exceptions import RequestEntityTooLarge

from testimonials.collection.context import make_context
from testimonials.collection.forms import find_shown_form, list_forms, update_page_design
from testimonials.collection.page_data import describe_form, describe_thanks
from testimonials.collection.submission import Submission
from testimonials.core import clock
from testimonials.core.audit import record
from testimonials.core.extensions import begin_write, db
from testimonials.core.http.blueprints import pages
from testimonials.core.http.errors import ServiceError
from testimonials.core.http.form_errors import Errors, answer_errors, wants_json
from testimonials.core.http.forms import add_notice, read_notice
from testimonials.core.http.i18n import LANGUAGES, gettext_noop, speaking
from testimonials.core.http.i18n import gettext as _
from testimonials.core.http.security import answer_as
from testimonials.core.http.urls import collection_page_url, image_url
from testimonials.core.images.uploads import (
    MEGABYTE,
    PAGE_PICTURES,
    Image,
    ImageBusy,
    ImageRefused,
    read_image,
)
from testimonials.core.settings.current import current_settings
from testimonials.dashboard.framework import require_role
from testimonials.dashboard.page_form import (
    LIMITS,
    LISTS,
    PageEdit,
    flatten,
    name_fields,
    read_page_edit,
)
from testimonials.dashboard.page_lists import Item, new_id
from testimonials.dashboard.shell import build_shell
from testimonials.projects import page_design
from testimonials.projects.access import Access, Role, find_access
from testimonials.projects.events import PAGE_CHANGED
from testimonials.projects.models import Project
from testimonials.projects.settings import set_picture, update_page_config
from testimonials.testimonials.fields import count_answers

# What the templates of the page editor show.


MOST = {
    "prompts": page_design.MAX_PROMPTS,
    "questions": page_design.MAX_QUESTIONS,
    "choices": page_design.CHOICES_RANGE[1],
    "steps": page_design.MAX_STEPS,
}
QUESTION_KINDS = {
    "text": gettext_noop("Text"),
    "choice": gettext_noop("Choice"),
    "scale": gettext_noop("Scale"),
    "consent": gettext_noop("Consent"),
}
STEP_KINDS = {"link": gettext_noop("Link"), "code": gettext_noop("Code")}
# How long people take for the stars, their words and their name, and for a question, in seconds.
BASE_SECONDS, SECONDS = 35, {"text": 15, "choice": 5, "scale": 5, "consent": 5}


def render_page(access: Access, edit: PageEdit | None = None) -> str:
    """Return the editor; `edit` is a form that was refused."""
    project, edit = access.project, edit or PageEdit()
    design, settings = project.whole_page_design, flatten(project)
    lists = {each: edit.shown.get(each, design[each]) for each in LISTS}
    return render_template(
        "dashboard/page/page.html",
        view="first",
        preview_url=url_for("dashboard.pages.show_page_preview"),
        **describe_frame(access),
        values=settings | edit.shown,
        before=settings | {each: design[each] for each in LISTS},
        lists=lists,
        errors=edit.errors,
        targets=find_targets(edit.errors),
        open_ids=find_open([*lists["questions"], *lists["steps"]], edit.errors),
        until={
            each["id"]: describe_day(each["until"]) for each in lists["steps"] if each.get("until")
        },
        pictures=describe_pictures(project),
        is_own=bool(
            project.page_config["buttonColor"] or (project.logo_id and project.brand_logo_id)
        ),
        languages=list_spoken(project),
        **describe_questions(project, lists["questions"]),
        steps=_add_new(lists["steps"], "step", {"kind": "link", "title": "", "text": ""}),
        adds=request.args.get("add", ""),
        seconds_of_recording=current_settings().recording_seconds,
    )


def list_spoken(project: Project) -> list[str]:
    """Return the names of the languages in which the page has words of its owner."""
    design = project.whole_page_design
    parts = [design["translations"], *(each["translations"] for each in design["questions"])]
    return [each.name for each in LANGUAGES if any(each.code in part for part in parts)]


def describe_frame(access: Access) -> dict[str, Any]:
    """Return what the pages of the editor and of the forms have in common."""
    project = access.project
    g.has_preview = True
    return {
        "shell": build_shell(access, "collect"),
        "notice": read_notice(),
        "limits": LIMITS,
        "most": MOST,
        "question_kinds": QUESTION_KINDS,
        "step_kinds": STEP_KINDS,
        "page_url": collection_page_url(project.slug, project.own_host),
        "is_active": project.is_active,
        "forms": list_forms(project),
        "form": None,
    }


def find_targets(errors: Errors) -> dict[str, str]:
    """Return the ids of the fields that errors are about."""
    switches = {"showConfetti", "video", "voice", "needsCaptions"}
    ids = {"theme": "theme-light", "prompts": "prompt-1", "title": "new-title"}
    return {
        name: ids.get(name) or (name if "-" in name or name in switches else f"editor-{name}")
        for name in errors
    }


def find_open(items: list[Item], errors: Errors) -> set[str]:
    """Return the ids of the cards that are open: the one the URL names, and those with errors."""
    wrong = {name.partition("-")[0] for name in errors}
    return {each["id"] for each in items if each["id"] in wrong} | {request.args.get("open", "")}


def describe_day(day: str | None) -> str:
    """Return a day as people read it; nothing for none, and for what is refused as one."""
    try:
        return clock.day(datetime.fromisoformat(day or ""))
    except ValueError:
        return ""


def describe_questions(project: Project, asked: list[Item]) -> dict[str, Any]:
    """Return the questions as their cards show them, and how long the page takes to fill in."""
    counts = count_answers(project, [each["id"] for each in asked])
    seconds = BASE_SECONDS + sum(SECONDS.get(each["kind"], 0) for each in asked)
    return {
        "questions": _add_new(asked, "question", {"kind": "text", "text": ""}),
        "counts": counts,
        "seconds": seconds,
    }


def _add_new(items: list[Item], name: str, empty: Item) -> list[Item]:
    """Return the items, with an empty one where somebody without a script wants to add one."""
    if request.args.get("add") != name:
        return items
    return [*items, {"id": new_id(), "is_new": True} | empty]


def describe_pictures(project: Project) -> dict[str, dict[str, Any]]:
    ids = {"cover": project.cover_id, "portrait": project.portrait_id}
    return {
        name: {"url": image_url(id), "megabytes": PAGE_PICTURES[name].max_bytes // MEGABYTE}
        for name, id in ids.items()
    }


# The editor, saving what it changes, and the preview beside it.
#
# A change answers a form with a redirect back to the editor, and a script with JSON.


@pages.get("/dashboard/projects/<project_id>/collect/page")
@require_role(Role.ADMIN)
def show_page_editor(access: Access) -> ResponseReturnValue:
    """Show the page's settings; ``?add=question`` adds an empty one, ``?open=ID`` opens one."""
    return render_page(access)


@pages.post("/dashboard/projects/<project_id>/collect/page")
@require_role(Role.ADMIN, for_update=True)
def save_page(access: Access) -> ResponseReturnValue:
    """Change the settings that were sent and differ from what the form showed."""
    project, was = access.project, access.project.updated_at
    edit = read_page_edit(project, request.form)
    if edit.errors:
        return _refuse(access, edit)
    update_page_config(project, edit.config)
    try:
        update_page_design(project, edit.design)
    except ServiceError as error:
        edit.errors = name_fields(edit.shown, error.errors or {})
        return _refuse(access, edit)
    if project.updated_at != was:
        record(PAGE_CHANGED, project)
    db.session.commit()
    return _answer(access, edit)


@pages.get("/dashboard/projects/<project_id>/collect/page/preview")
@require_role(Role.ADMIN)
def show_page_preview(access: Access) -> ResponseReturnValue:
    """Show the page, one of its forms (``?form=``) or its thanks for the frame in the editor."""
    project, view = access.project, request.args.get("view", "")
    form = find_shown_form(project, request.args.get("form", ""))
    g.is_preview = True
    with speaking(request.args.get("lang") or project.whole_page_design["language"]):
        if view == "thanks":
            shown = describe_thanks(project, has_steps=True)
            return render_template("collection/thanks.html", is_preview=True, **shown)
        shown = describe_form(make_context(project, form), Submission())
        # Proposals and the other views show all of it.
        shown |= {"is_preview": True, "is_first_look": view == "first"}
        return render_template("collection/page.html", **shown)


def _answer(access: Access, edit: PageEdit) -> ResponseReturnValue:
    project = access.project
    if wants_json():
        return jsonify({"ok": True, "lists": edit.read_lists(project), "config": flatten(project)})
    here = url_for(".show_page_editor", add=edit.adds or None)
    return redirect(add_notice(here, edit.notice) + (f"#{edit.place}" if edit.place else ""), 303)


def _refuse(access: Access, edit: PageEdit) -> ResponseReturnValue:
    db.session.rollback()
    if wants_json():
        return answer_errors(edit.errors)
    return render_page(access, edit), 422


# The page editor's pictures: the cover, and the face beside the description.


@pages.post("/dashboard/projects/<project_id>/collect/page/<any(cover, portrait):picture>")
@require_role(Role.ADMIN)
def upload_picture(access: Access, picture: str) -> ResponseReturnValue:
    # Decoded before the lock is taken, so that no submission waits for it.
    image, problem = _read_picture(picture)
    if image is None:
        errors = {picture: [problem]}
        if wants_json():
            return answer_errors(errors)
        return render_page(access, PageEdit(errors=errors)), 422
    begin_write()
    project = find_access(access.user, access.project.id, Role.ADMIN, for_update=True).project
    return _set(project, picture, image)


@pages.post("/dashboard/projects/<project_id>/collect/page/<any(cover, portrait):picture>/remove")
@require_role(Role.ADMIN, for_update=True)
def remove_picture(access: Access, picture: str) -> ResponseReturnValue:
    return _set(access.project, picture, None)


def _set(project: Project, picture: str, image: Image | None) -> ResponseReturnValue:
    set_picture(project, picture, image)
    record(PAGE_CHANGED, project)
    db.session.commit()
    if wants_json():
        return jsonify({"ok": True, "url": image_url(image.id if image else None)})
    here = url_for("dashboard.pages.show_page_editor", _anchor=f"editor-{picture}")
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
