"""One testimonial by itself: edited or added by hand, with its history."""

from datetime import UTC, date, datetime, time
from typing import Any

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from marshmallow import ValidationError
from werkzeug.exceptions import RequestEntityTooLarge

from testimonials.activity.event_types import EventType
from testimonials.activity.recording import record_project_event
from testimonials.auth.addresses import EmailMalformed, normalize_email
from testimonials.collection.requests.asked_people import find_invited_emails
from testimonials.core import clock
from testimonials.core.pictures.images import (
    AVATAR,
    MEGABYTE,
    Image,
    ImageBusy,
    ImageRefused,
    read_image,
)
from testimonials.core.web.errors import ServiceError
from testimonials.core.web.fields import clean
from testimonials.core.web.response_headers import answer_as
from testimonials.dashboard.describe import describe_change, describe_consent, describe_testimonial
from testimonials.dashboard.guards import build_shell, require_role
from testimonials.dashboard.notices import add_notice, read_notice
from testimonials.extensions import begin_write, db
from testimonials.projects.access import Access, Role, find_access
from testimonials.testimonials.fields import LINE_LENGTH, TEXT_LENGTH
from testimonials.testimonials.models import Testimonial
from testimonials.testimonials.moderation.services import (
    add_testimonial,
    edit_testimonial,
    find_testimonial,
    list_history,
)
from testimonials.testimonials.moderation.tag_names import (
    TagRefused,
    find_spellings,
    list_project_tags,
    read_tags,
    spell,
)
from testimonials.testimonials.moderation.undoing import make_undo_token

editor = Blueprint("editor", __name__)

Errors = dict[str, list[str]]

LINES = ("author_name", "author_role", "author_company")
FIELDS = (*LINES, "author_email", "text", "rating", "submitted_on", "twitter_handle", "tags")
# A photo may have 10 MB; what is written beside it is small.
UPLOAD_FORM_BYTES = 16 * MEGABYTE
TOO_LARGE = {
    "avatar": [
        "The picture is too large: 10 MB are the most. It was too much to read the rest either; "
        "go back in your browser to find what you typed, and choose a smaller picture."
    ]
}
REQUIRED = {"author_name": "Add the author’s name.", "text": "Add what they said."}


@editor.get("/dashboard/projects/<project_id>/testimonials/new")
@require_role(Role.MODERATOR)
def show_new(access: Access) -> ResponseReturnValue:
    """Show the form that adds a testimonial."""
    return _form(access, None, _empty_values(), {})


@editor.post("/dashboard/projects/<project_id>/testimonials/new")
@require_role(Role.MODERATOR)
def add_by_hand(access: Access) -> ResponseReturnValue:
    """Add an approved testimonial."""
    request.max_content_length = UPLOAD_FORM_BYTES
    try:
        values, columns, errors = read_form()
    except RequestEntityTooLarge:
        return _form(access, None, _empty_values(), TOO_LARGE), 422
    picture = _read_picture(errors)
    if errors:
        return _form(access, None, values, errors), 422
    begin_write()
    project = find_access(access.user, access.project.id, Role.MODERATOR, for_update=True).project
    _store_picture(picture, columns, None)
    columns["tags"] = spell(find_spellings(project.id), columns["tags"])
    row = add_testimonial(project, columns, access.user.email)
    record_project_event(EventType.TESTIMONIAL_CREATED, project, testimonial=row.id)
    db.session.commit()
    return redirect(url_for("inbox.show_inbox", status="approved"), 303)


@editor.get("/dashboard/projects/<project_id>/testimonials/<testimonial_id>")
@require_role(Role.MODERATOR)
def show_testimonial(access: Access, testimonial_id: str) -> ResponseReturnValue:
    """Show one testimonial with the form that edits it, and its history."""
    project = access.project
    row = find_testimonial(project, testimonial_id)
    return _form(access, row, _read_values(row), {})


@editor.post("/dashboard/projects/<project_id>/testimonials/<testimonial_id>")
@require_role(Role.MODERATOR)
def edit(access: Access, testimonial_id: str) -> ResponseReturnValue:
    """Change a testimonial; the words as they were sent are kept."""
    request.max_content_length = UPLOAD_FORM_BYTES
    try:
        values, columns, errors = read_form()
    except RequestEntityTooLarge:
        values, columns, errors = None, {}, dict(TOO_LARGE)
    picture = None if errors else _read_picture(errors)
    begin_write()
    access = find_access(access.user, access.project.id, Role.MODERATOR, for_update=True)
    project = access.project
    row = find_testimonial(project, testimonial_id)
    batch = None
    if not errors:
        try:
            _keep_unchanged(row, columns)
            _store_picture(picture, columns, row)
            spelled = spell(find_spellings(project.id), columns["tags"])
            columns["tags"] = sorted(spelled, key=str.casefold)
            batch = edit_testimonial(project, row, columns, access.user.email)
            db.session.commit()
        except ServiceError as error:
            errors = {"form": [error.message]}
    if errors:
        db.session.rollback()
        row = find_testimonial(project, testimonial_id)
        return _form(access, row, values or _read_values(row), errors), 422
    here = url_for(".show_testimonial", testimonial_id=row.id)
    if batch is None:
        return redirect(here, 303)
    return redirect(add_notice(here, "Saved", make_undo_token(project, batch)), 303)


def read_form() -> tuple[dict[str, str], dict[str, Any], Errors]:
    """Return what was typed, the columns it makes, and what must be changed first."""
    values = {name: request.form.get(name, "").replace("\r\n", "\n") for name in FIELDS}
    columns: dict[str, Any] = {}
    errors: Errors = {}
    for name in (*LINES, "text"):
        limit = TEXT_LENGTH if name == "text" else LINE_LENGTH
        columns[name] = _read_text(name, values[name], limit, errors)
    columns["author_company"] = columns["author_company"] or None
    columns["author_email"] = _read_email(values["author_email"].strip(), errors)
    columns["rating"] = _read_rating(values["rating"], errors)
    columns["submitted_at"] = _read_date(values["submitted_on"], errors)
    columns["twitter"] = _read_handle(values["twitter_handle"].strip().lstrip("@"), errors)
    try:
        columns["tags"] = read_tags(values["tags"])
    except TagRefused as error:
        errors["tags"] = [error.message]
    return values, columns, errors


def _read_text(name: str, raw: str, limit: int, errors: Errors) -> str:
    try:
        text = clean(raw, one_line=name != "text")
    except ValidationError:
        errors[name] = ["Remove the control characters and line breaks from this."]
        return raw
    if len(text) > limit:
        errors[name] = [f"Shorten this to {limit} characters; it has {len(text)}."]
    elif not text and name in REQUIRED:
        errors[name] = [REQUIRED[name]]
    return text


def _read_email(text: str, errors: Errors) -> str | None:
    try:
        return normalize_email(text) if text else None
    except EmailMalformed:
        errors["author_email"] = ["Write the address like name@example.com, or leave it empty."]
    except ServiceError:
        # A disposable address is the author's own business here: it is never written to.
        return text.lower()
    return None


def _read_rating(text: str, errors: Errors) -> float | None:
    try:
        # Any fraction that came over the API stays as it is when something else is edited.
        rating = float(text) if text else None
    except ValueError:
        rating = 0.0
    if rating is not None and not 1 <= rating <= 5:
        errors["rating"] = ["Choose from 1 to 5 stars, or none."]
    return rating


def _read_date(text: str, errors: Errors) -> datetime | None:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        errors["submitted_on"] = ["Choose the day they said it."]
        return None
    if not date(1990, 1, 1) <= day <= clock.now().date():
        errors["submitted_on"] = ["Choose a day that is not in the future."]
    return datetime.combine(day, time(12), UTC)


def _read_handle(text: str, errors: Errors) -> dict[str, Any] | None:
    if not text:
        return None
    if not (text.isascii() and text.replace("_", "").isalnum() and len(text) <= 15):
        errors["twitter_handle"] = ["A handle has letters, digits and _, at most 15 of them."]
        return None
    return {"id": "", "handle": text, "displayName": text, "avatarUrl": "", "verified": False}


def _read_picture(errors: Errors) -> Image | None:
    """Return the picture that was chosen, not stored yet; decoding it takes no lock."""
    file = request.files.get("avatar")
    if file is None or not file.filename:
        return None
    try:
        return read_image(file.stream, AVATAR)
    except (ImageRefused, ImageBusy) as error:
        errors["avatar"] = [error.message]
        answer_as(error)
        return None


def _store_picture(picture: Image | None, columns: dict[str, Any], row: Testimonial | None) -> None:
    """Store the picture that was chosen and set the columns, or those of having none."""
    if picture is not None:
        db.session.add(picture)
        db.session.flush()
        columns["avatar_id"] = picture.id
    elif row is not None and request.form.get("remove_avatar"):
        columns |= {"avatar_id": None, "author_avatar": None}
        if columns["twitter"]:
            # A picture that an import brought along.
            columns["twitter"] = columns["twitter"] | {"avatarUrl": ""}


def _keep_unchanged(row: Testimonial, columns: dict[str, Any]) -> None:
    """Leave what the form shows only in part as it is, where that part wasn't changed."""
    if columns["submitted_at"].date() == row.submitted_at.date():
        columns["submitted_at"] = row.submitted_at
    if (columns["twitter"] or {}).get("handle") == (row.twitter or {}).get("handle"):
        columns["twitter"] = row.twitter


def _read_values(row: Testimonial) -> dict[str, str]:
    return {
        "author_name": row.author_name,
        "author_role": row.author_role,
        "author_company": row.author_company or "",
        "author_email": row.author_email or "",
        "text": row.text,
        "rating": "" if row.rating is None else f"{row.rating:g}",
        "submitted_on": row.submitted_at.date().isoformat(),
        "twitter_handle": (row.twitter or {}).get("handle", ""),
        "tags": ", ".join(row.tags),
    }


def _empty_values() -> dict[str, str]:
    return dict.fromkeys(FIELDS, "") | {"submitted_on": clock.now().date().isoformat()}


def _form(
    access: Access,
    row: Testimonial | None,
    values: dict[str, str],
    errors: Errors,
) -> str:
    project = access.project
    return render_template(
        "dashboard/inbox/testimonial.html",
        shell=build_shell(access, "inbox"),
        mode="edit" if row else "add",
        notice=read_notice(),
        return_to=row and request.path,
        known_tags=[tag.name for tag in list_project_tags(project.id)],
        item=row and describe_testimonial(row),
        values=values,
        errors=errors,
        history=[describe_change(change) for change in list_history(row)] if row else [],
        original_text=row.original_text if row else None,
        consent=row and describe_consent(row),
        invited_email=find_invited_emails([row.id]).get(row.id) if row else None,
    )
