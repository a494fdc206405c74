"""Moderation: deciding, setting aside, editing, and the trash."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import and_, delete, or_, select

from testimonials.core import clock
from testimonials.core.db.transactions import find_row
from testimonials.core.extensions import db
from testimonials.core.http.errors import ServiceError, require_found
from testimonials.core.http.i18n import gettext_noop, pgettext_noop
from testimonials.core.settings.table import current_settings
from testimonials.projects.models import Project
from testimonials.projects.projects import mark_changed
from testimonials.testimonials.events import BY_HAND
from testimonials.testimonials.highlights import Ranges, follow_edit
from testimonials.testimonials.history import Part, change_all, in_parts
from testimonials.testimonials.inbox import find_rows
from testimonials.testimonials.media.playback import load_recordings
from testimonials.testimonials.models import Testimonial
from testimonials.testimonials.tags import find_spellings, spell
from testimonials.testimonials.testimonials import prepare_approved, write_added


class ActionRefused(ServiceError):
    status = 409
    meaning = "The state of the testimonial doesn't allow this."
    remedy = "Read it again: it may be done already."


@dataclass(frozen=True)
class Action:
    """A decision: when it is allowed, the columns that it sets, and its label once done.

    `values` also gets a reason, one of REASONS or "".
    """

    can: Callable[[Testimonial], bool]
    values: Callable[[Testimonial, datetime, str], dict[str, Any]]
    done: str


def _decide(status: str, done: str, *sources: str) -> Action:
    # A set-aside testimonial may be decided again, even to the same status.
    return Action(
        lambda row: row.deleted_at is None and (row.status in sources or _is_aside(row)),
        lambda row, now, _reason: {"status": status, "reviewed_at": now} | _count_again(row),
        done,
    )


def _is_aside(row: Testimonial) -> bool:
    return row.status == "rejected" and row.set_aside is not None


def _count_again(row: Testimonial) -> dict[str, Any]:
    """Return the further columns of a decision, which revoke setting aside."""
    return {"set_aside": None} if row.set_aside is not None else {}


def _may_be_set_aside(row: Testimonial) -> bool:
    return row.status in ("pending", "approved", "rejected") and row.set_aside is None


def keeps_rating(row: Testimonial) -> bool:
    """Return whether its rating still counts if it is deleted without a reason."""
    return row.source == "public_page" and _may_be_set_aside(row)


def _set_aside(row: Testimonial, now: datetime, reason: str) -> dict[str, Any]:
    """Return the columns that take a rating out of the numbers, if there is a reason."""
    if not reason or not _may_be_set_aside(row):
        return {}
    status = reason if reason in ("spam", "withdrawn") else "rejected"
    values = {"status": status, "set_aside": reason, "reviewed_at": now}
    if status == "spam":
        values["held_for"] = BY_HAND
    elif status == "withdrawn":
        values["consent_withdrawn_at"] = now
    return values


SET_ASIDE, DELETE = "set-aside", "delete"
# All others take no reason.
WITH_REASON = (SET_ASIDE, DELETE)
ACTIONS = {
    "approve": _decide("approved", gettext_noop("Approved"), "pending", "rejected"),
    "reject": _decide("rejected", gettext_noop("Rejected"), "pending", "approved"),
    # Also possible in the trash, where a visitor's rating still counts.
    SET_ASIDE: Action(_may_be_set_aside, _set_aside, pgettext_noop("state", "Set aside")),
    "pin": Action(
        lambda row: row.deleted_at is None and row.status == "approved" and not row.is_pinned,
        lambda *_: {"is_pinned": True},
        gettext_noop("Pinned"),
    ),
    "unpin": Action(
        lambda row: row.deleted_at is None and row.is_pinned,
        lambda *_: {"is_pinned": False},
        gettext_noop("Unpinned"),
    ),
    DELETE: Action(
        lambda row: row.deleted_at is None,
        lambda row, now, reason: {"deleted_at": now} | _set_aside(row, now, reason),
        gettext_noop("Deleted"),
    ),
    "restore": Action(
        lambda row: row.deleted_at is not None,
        lambda *_: {"deleted_at": None},
        gettext_noop("Restored"),
    ),
    # `held_for` stays, so that it isn't reported as new.
    "release": Action(
        lambda row: row.deleted_at is None and row.status == "spam",
        lambda row, *_: {"status": "pending", "reviewed_at": None} | _count_again(row),
        gettext_noop("Not spam"),
    ),
}


def apply_action(
    project: Project,
    rows: Sequence[Testimonial],
    name: str,
    actor: str,
    part: Part | None = None,
    reason: str = "",
) -> tuple[str, int]:
    """Apply `name` (a key of ACTIONS) to the rows that `list_open` returns, like `change_all`.

    Raises `ActionRefused` like `list_open`, and for setting aside without a reason: nothing leaves
    the numbers unless somebody says why.
    """
    if name == SET_ASIDE and not reason:
        raise ActionRefused(gettext_noop("Choose why it is set aside."))
    action, now = ACTIONS[name], clock.now()
    changes = [(row, action.values(row, now, reason)) for row in list_open(project, rows, name)]
    return change_all(project, changes, actor, name, part)


def apply_to_many(
    project: Project, ids: Sequence[str], name: str, actor: str, reason: str = ""
) -> tuple[str, int]:
    """Apply an action to any number of testimonials, in parts (`in_parts`)."""
    refused: list[ActionRefused] = []

    def work(some: Sequence[str], part: Part) -> int:
        rows = find_rows(project.id, some)
        try:
            return apply_action(project, rows, name, actor, part, reason)[1]
        except ActionRefused as error:
            refused.append(error)
            return 0

    batch, count = in_parts(ids, work)
    if refused and not count:
        raise refused[0]
    return batch, count


def list_open(project: Project, rows: Sequence[Testimonial], name: str) -> list[Testimonial]:
    """Return the rows whose state allows an action.

    Raises `ActionRefused` if all of these lack the captions that the project requires.
    """
    can = [row for row in rows if ACTIONS[name].can(row)]
    if name != "approve" or not project.whole_page_design["needsCaptions"]:
        return can
    load_recordings(can)
    mute = [row for row in can if row.is_recorded and not (row.transcript or row.captions)]
    if mute and len(mute) == len(can):
        raise ActionRefused(
            gettext_noop("A recording needs a transcript or captions before you can approve it.")
        )
    return [row for row in can if row not in mute]


def edit_testimonial(
    project: Project, row: Testimonial, values: dict[str, Any], actor: str
) -> str | None:
    """Change columns of a testimonial, keeping its original text.

    Unless there are new highlights, those whose words are gone are dropped. Returns the batch, or
    None if nothing changed. Raises `ActionRefused` for a sample, a withdrawn testimonial, and a
    visitor's stars.
    """
    _require_editable(row)
    if row.source == "public_page" and values.get("rating", row.rating) != row.rating:
        raise ActionRefused("Only its author can change the stars of a testimonial.")
    new = values | _spell_tags(project, values) | _follow_transcript(row, values)
    changes = {name: value for name, value in new.items() if getattr(row, name) != value}
    if not changes:
        return None
    if "text" in changes and row.original_text is None:
        changes["original_text"] = row.text
    if "text" in changes and row.highlights and "highlights" not in values:
        changes["highlights"] = follow_edit(row.text, changes["text"], row.highlights) or None
    if "author_email" in changes and row.email_verified_at is not None:
        # The new address isn't verified.
        changes["email_verified_at"] = None
    batch, _ = change_all(project, [(row, changes)], actor, "edit")
    return batch


def set_highlights(project: Project, row: Testimonial, ranges: Ranges, actor: str) -> str | None:
    """Set a testimonial's highlights; returns and raises like `edit_testimonial`."""
    _require_editable(row)
    if (row.highlights or []) == ranges:
        return None
    batch, _ = change_all(project, [(row, {"highlights": ranges or None})], actor, "highlight")
    return batch


def set_reply(project: Project, row: Testimonial, text: str, actor: str) -> str | None:
    """Set the public reply, or remove it if the text is empty; returns like `edit_testimonial`."""
    _require_editable(row)
    if (row.reply or "") == text:
        return None
    values = {"reply": text or None, "replied_at": clock.now() if text else None}
    batch, _ = change_all(project, [(row, values)], actor, "reply")
    return batch


def add_testimonial(project: Project, values: dict[str, Any], actor: str) -> Testimonial:
    """Add an approved testimonial to the locked project."""
    row = prepare_approved(project, values | _spell_tags(project, values))
    row.reviewed_at = row.created_at
    write_added(project, [row], actor)
    return row


def find_testimonial(project: Project, testimonial_id: str) -> Testimonial:
    row = find_row(Testimonial, testimonial_id, Testimonial.project_id == project.id)
    return require_found(row, gettext_noop("There is no such testimonial in this project."))


def empty_trash(limit: int) -> int:
    """Permanently delete up to `limit` testimonials whose time is up; return how many.

    The settings say after how many days in the trash or in another state. For spam and rejected
    ones these count from the last change, so that what was just restored can be released.
    """
    settings = current_settings()
    until = clock.expired_until
    since = {
        "spam": (Testimonial.updated_at, settings.spam_days),
        "rejected": (Testimonial.updated_at, settings.rejected_days),
        "withdrawn": (Testimonial.consent_withdrawn_at, settings.withdrawn_days),
    }
    old = [
        and_(Testimonial.status == status, column <= until(days))
        for status, (column, days) in since.items()
        if days
    ]
    row = Testimonial
    is_over = or_(row.deleted_at <= until(settings.trash_days), *old)
    ids = db.session.scalars(select(row.id).where(is_over).limit(limit)).all()
    # These leave the numbers, which changes what is shown and the public record.
    stays = and_(row.source == "public_page", row.rating.is_not(None))
    is_leaving = and_(row.id.in_(ids), row.standing == "genuine", ~stays)
    projects = select(Project).where(Project.id.in_(select(row.project_id).where(is_leaving)))
    locked = db.session.scalars(projects.order_by(Project.id).with_for_update()).all()
    # Checked again under the locks, and when deleting: somebody may just have restored it.
    rows = db.session.scalars(select(row).where(is_leaving, is_over)).all()
    for project in locked:
        mark_changed(project)
        own = [each for each in rows if each.project_id == project.id and not each.deleted_at]
        change_all(project, [(each, {"deleted_at": clock.now()}) for each in own], "", "delete")
    is_gone = or_(is_over, row.id.in_([each.id for each in rows]))
    db.session.execute(delete(row).where(row.id.in_(ids), is_gone))
    return len(ids)


def _require_editable(row: Testimonial) -> None:
    if row.status == "demo":
        raise ActionRefused(gettext_noop("A sample can’t be edited."))
    if row.status == "withdrawn":
        raise ActionRefused(gettext_noop("Its author has withdrawn it, so it can only be deleted."))


def _follow_transcript(row: Testimonial, values: dict[str, Any]) -> dict[str, Any]:
    """Return what else changes, so that a card that shows the transcript has its text."""
    if row.recording is None or not row.is_recorded:
        if values.keys() & {"transcript", "captions", "shows_transcript"}:
            raise ActionRefused(gettext_noop("It has no recording."))
        return {}
    if values.get("text", row.text) != row.text:
        # The text now differs from the transcript.
        return {"shows_transcript": False}
    is_shown = values.get("shows_transcript", row.shows_transcript)
    if is_shown and (transcript := values.get("transcript", row.transcript)):
        return {"text": transcript}
    if row.shows_transcript and not is_shown:
        return {"text": row.original_text or ""}
    return {}


def _spell_tags(project: Project, values: dict[str, Any]) -> dict[str, Any]:
    if "tags" not in values:
        return {}
    tags = spell(find_spellings(project.id), values["tags"])
    return {"tags": sorted(tags, key=str.casefold)}
