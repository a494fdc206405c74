"""What each kind of change does: the service of the owner's own click, and the event."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import exists, or_, select

from testimonials.collection.address_lists import AddressList, Person
from testimonials.collection.models import RequestBatch
from testimonials.collection.request_mail import suggest_texts
from testimonials.collection.requests import (
    LeftOut,
    ask_people,
    choose_people,
    make_batch_token,
    sort_people,
)
from testimonials.core import clock
from testimonials.core.audit import record_project_event
from testimonials.core.event_types import EventType
from testimonials.core.extensions import db
from testimonials.core.http.errors import NotFound
from testimonials.core.http.i18n import gettext_noop
from testimonials.core.images.uploads import Image
from testimonials.core.settings.current import current_settings
from testimonials.projects.models import Project
from testimonials.projects.schemas import ProjectSchema
from testimonials.testimonials.highlights import arrange
from testimonials.testimonials.history import record_addition
from testimonials.testimonials.inbox import InboxFilter, find_rows
from testimonials.testimonials.models import Testimonial
from testimonials.testimonials.moderation import (
    ACTIONS,
    ActionRefused,
    apply_action,
    edit_testimonial,
    find_testimonial,
    list_open,
)
from testimonials.testimonials.schemas import TestimonialSchema
from testimonials.testimonials.submissions import require_known
from testimonials.testimonials.testimonials import add_approved_testimonial, find_by_external_ids
from testimonials.testimonials.undo import make_undo_token
from testimonials.widget.settings import change_widget as change_settings
from testimonials.widget.settings import update_widget_config

Values = dict[str, Any]

_PROJECT = ProjectSchema()
_TESTIMONIAL = TestimonialSchema()


@dataclass(frozen=True)
class Outcome:
    """What a change made."""

    # What the API answers.
    data: Any
    # What the proposal remembers for the agent, such as the id of a new testimonial.
    result: Values
    # What undoes it (`undo_batch`), where something does.
    undo: str | None = None


def change_widget(project: Project, _target: str | None, values: Values, _actor: str) -> Outcome:
    update_widget_config(project, values)
    return finish(project, EventType.WIDGET_CHANGED, is_changed=bool(values))


def change_design(project: Project, _target: str | None, values: Values, _actor: str) -> Outcome:
    was = project.widget_design
    change_settings(project, project, values)
    return finish(project, EventType.WIDGET_CHANGED, is_changed=project.widget_design != was)


def add_testimonial(project: Project, _target: str | None, values: Values, actor: str) -> Outcome:
    """Add a testimonial; one that is there under its writer's own id is returned as it is."""
    if name := values.get("external_id"):
        for row in find_by_external_ids(project, [name]).values():
            return Outcome(_TESTIMONIAL.dump(row), {"testimonialId": row.id})
    row = add_approved_testimonial(project, values)
    record_addition(row, actor)
    record_project_event(EventType.TESTIMONIAL_CREATED, project, testimonial=row.id)
    return Outcome(_TESTIMONIAL.dump(row), {"testimonialId": row.id})


def edit(project: Project, target: str | None, values: Values, actor: str) -> Outcome:
    row = find_testimonial(project, target or "")
    if values.get("avatar_id") != row.avatar_id:
        publish_picture(project, values.get("avatar_id"))
    batch = edit_testimonial(project, row, _to_columns(row, values), actor)
    undo = make_undo_token(project, batch) if batch else None
    return Outcome(_TESTIMONIAL.dump(row), {"testimonialId": row.id}, undo)


def decide(project: Project, _target: str | None, values: Values, actor: str) -> Outcome:
    """Decide about testimonials; those whose state doesn't allow it stay as they are."""
    rows = _find_all(project, values["ids"])
    name = values["decision"]
    changed = [row.id for row in list_open(project, rows, name)]
    if not changed:
        states = ", ".join(sorted({name_state(row) for row in rows}))
        raise ActionRefused(f"This can’t be done: the state now is {states}.")
    batch, _ = apply_action(project, rows, name, actor)
    undo = make_undo_token(project, batch)
    unchanged = [row.id for row in rows if row.id not in changed]
    return Outcome({"changed": changed, "unchanged": unchanged, "undo": undo}, {}, undo)


def ask(project: Project, _target: str | None, values: Values, actor: str) -> Outcome:
    """Ask people by mail; the account was locked before the project."""
    subject, message = suggest_texts(project, values["language"])
    listed = AddressList(_list_people(values))
    _, left_out = choose_people(project, [listed])
    batch = RequestBatch(
        subject=values.get("subject", subject),
        message=values.get("message", message),
        language=values["language"],
        form_name=values.get("form_name"),
        remind_after_days=values["remind_after_days"],
    )
    token, wait = make_batch_token(project), values.get("wait_days", 0)
    count = ask_people(project, token, batch, listed, actor, wait)
    record_project_event(EventType.REQUESTS_SENT, project, count=count)
    return Outcome(_describe_asked(count, left_out), {"count": count})


def tell_nobody_left(project: Project, values: Values) -> Values | None:
    """Return the answer if all people were asked before or don't want to be; None otherwise."""
    fresh, left_out = sort_people(project, _list_people(values))
    return None if fresh else _describe_asked(0, left_out)


def _list_people(values: Values) -> list[Person]:
    return [Person(number, **each) for number, each in enumerate(values["people"], 1)]


def _describe_asked(count: int, left_out: Sequence[LeftOut]) -> Values:
    """Return what `AskedSchema` describes."""
    skipped = [{"email": each.person.email, "reason": each.reason} for each in left_out]
    has_server = bool(current_settings().smtp_url)
    return {"count": count, "leftOut": skipped, "hasMailServer": has_server}


def read_widget(project: Project, _target: str | None, _values: Values) -> Values:
    return project.widget_config


def read_design(project: Project, _target: str | None, _values: Values) -> Values:
    return project.whole_widget_design


def read_nothing(_project: Project, _target: str | None, _values: Values) -> Values:
    return {}


def read_testimonial(project: Project, target: str | None, _values: Values) -> Values:
    return read_fields(find_testimonial(project, target or ""))


def read_fields(row: Testimonial) -> Values:
    """Return what an edit may change, as it is now."""
    return {
        "authorName": row.author_name,
        "authorRole": row.author_role,
        "authorCompany": row.author_company or "",
        "authorEmail": row.author_email,
        "authorAvatar": row.author_avatar,
        "text": row.text,
        "rating": row.rating,
        "tags": row.tags,
        "pinned": row.is_pinned,
        "reply": row.reply or "",
        "highlights": row.highlights or [],
        "avatarId": row.avatar_id,
        "transcript": row.transcript,
        "captions": row.captions,
        "showsTranscript": row.shows_transcript,
    }


def read_states(project: Project, _target: str | None, values: Values) -> Values:
    return {"ids": {row.id: name_state(row) for row in _find_all(project, values["ids"])}}


def _find_all(project: Project, ids: Sequence[str]) -> list[Testimonial]:
    """Return the testimonials in the order of their ids; raise `NotFound`."""
    require_known(project, ids)
    found = {row.id: row for row in find_rows(project.id, InboxFilter(), ids, is_all=False)}
    return [found[each] for each in ids]


def name_state(row: Testimonial) -> str:
    return "deleted" if row.deleted_at is not None else row.status


def find_picture(project: Project, image_id: str | None) -> Image | None:
    """Return the picture, None for None; raise `NotFound`, also for one of another project.

    Anybody reads a picture's id in its URL, and one that somebody else uses too would stay when its
    author erases it.
    """
    image = None if image_id is None else db.session.get(Image, image_id)
    if image is not None:
        by_author = exists().where(
            Testimonial.avatar_id == image_id, Testimonial.project_id != project.id
        )
        as_logo = exists().where(Project.logo_id == image_id, Project.id != project.id)
        image = None if db.session.scalar(select(or_(by_author, as_logo))) else image
    if image is None and image_id is not None:
        raise NotFound("There is no such picture. Upload it again.")
    return image


def publish_picture(project: Project, image_id: str | None) -> Image | None:
    """Return the picture, which anybody may see from now on."""
    if image := find_picture(project, image_id):
        image.is_held = False
    return image


def _to_columns(row: Testimonial, values: Values) -> Values:
    """Return the columns that an edit sets; raise `ActionRefused` if one can't be set."""
    columns = dict(values)
    if "author_company" in columns:
        columns["author_company"] = columns["author_company"] or None
    if values.get("avatar_id", "") is None:
        columns.setdefault("author_avatar", None)
    if "author_avatar" in values:
        # An uploaded photo would go before it.
        columns.setdefault("avatar_id", None)
    if values.get("is_pinned") and not (row.is_pinned or ACTIONS["pin"].can(row)):
        raise ActionRefused(gettext_noop("Only an approved testimonial can be pinned."))
    if "highlights" in values:
        text = values.get("text", row.text)
        columns["highlights"] = arrange(text, values["highlights"]) or None
    if "reply" in values:
        columns["reply"] = values["reply"] or None
        if columns["reply"] != row.reply:
            columns["replied_at"] = clock.now() if values["reply"] else None
    return columns


def finish(project: Project, event: EventType, *, is_changed: bool) -> Outcome:
    """Record a change of the project, if there was one."""
    if is_changed:
        record_project_event(event, project)
    return Outcome(_PROJECT.dump(project), {})
