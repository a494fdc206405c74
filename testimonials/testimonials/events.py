"""The types of events about testimonials."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from testimonials.core.audit import Actor, ActorKind, EventType, OperatorEventType
from testimonials.core.http.i18n import gettext_noop
from testimonials.testimonials.models import Testimonial

# Reasons in `held_for`: the owner marked it as spam, or the holder of the address denied having
# written it. With any other reason, it was held before anybody was notified of it.
BY_HAND, DISOWNED = "owner", "disowned"
# Authors have no account, and their network isn't recorded.
AUTHOR = gettext_noop("The author")
BY_AUTHOR = Actor(ActorKind.VISITOR, AUTHOR)
ADDRESS = gettext_noop("The holder of the address")

# Texts by the action in an event's details.
BECAME = {
    "submit": gettext_noop("sent a testimonial"),
    "release": gettext_noop("moved a testimonial out of spam"),
    "edit": gettext_noop("edited a testimonial"),
    "correct": gettext_noop("corrected a testimonial"),
    "pin": gettext_noop("pinned a testimonial"),
    "unpin": gettext_noop("unpinned a testimonial"),
    "tag": gettext_noop("changed the tags of a testimonial"),
    "highlight": gettext_noop("highlighted words of a testimonial"),
    "restore": gettext_noop("restored a testimonial"),
    "undo": gettext_noop("undid a change to a testimonial"),
    "remove_recording": gettext_noop("removed the recording of a testimonial"),
    "consent": gettext_noop("consented again to a testimonial"),
    "confirm": gettext_noop("confirmed the words of a testimonial"),
    "object": gettext_noop("objected to the words of a testimonial"),
    "disown": gettext_noop("denied having written a testimonial"),
}
CHANGED = gettext_noop("changed a testimonial")
SET_ASIDE = gettext_noop("set a testimonial aside: %(reason)s")


def _name_action(details: Mapping[str, Any], usual: str = CHANGED) -> str:
    return BECAME.get(details.get("action", ""), usual)


TESTIMONIAL_CREATED = EventType(
    "testimonial.created", "added a testimonial", webhook="testimonial.approved"
)
TESTIMONIAL_SUBMITTED = EventType(
    "testimonial.submitted", _name_action, webhook="testimonial.submitted"
)
TESTIMONIAL_APPROVED = EventType(
    "testimonial.approved", "approved a testimonial", webhook="testimonial.approved"
)
TESTIMONIAL_REJECTED = EventType(
    "testimonial.rejected", "rejected a testimonial", webhook="testimonial.rejected"
)
TESTIMONIAL_SET_ASIDE = EventType(
    "testimonial.set_aside",
    partial(_name_action, usual=SET_ASIDE),
    # So that receivers stop showing it; the data says that it was set aside, and why.
    webhook="testimonial.rejected",
)
TESTIMONIAL_UPDATED = EventType("testimonial.updated", _name_action, webhook="testimonial.updated")
TESTIMONIAL_DELETED = EventType(
    "testimonial.deleted", "deleted a testimonial", webhook="testimonial.deleted"
)
TESTIMONIAL_WITHDRAWN = EventType(
    "testimonial.withdrawn", "withdrew a testimonial", webhook="testimonial.withdrawn"
)
AUTHOR_THANKED = EventType("author.thanked", "thanked an author by email")
REPLY_CHANGED = EventType(
    "reply.changed", "changed the public reply to a testimonial", webhook="testimonial.updated"
)
TESTIMONIALS_IMPORTED = EventType(
    "testimonials.imported",
    "imported testimonials: %(count)s",
    webhook="testimonial.updated",
    is_counted=True,
)
TESTIMONIALS_DELETED = EventType("testimonials.deleted", "deleted testimonials: %(count)s")
SAMPLES_DELETED = EventType("samples.deleted", "deleted samples: %(count)s")
NUMBERS_CHANGED = EventType("testimonials.numbers_changed", "let every genuine rating count")
TEXTS_READ = EventType("texts.read", "read a testimonial: %(reason)s")
AUTHOR_EXPORTED = OperatorEventType(
    "author.exported", "exported the data of a person with testimonials: %(count)s"
)
AUTHOR_ERASED = OperatorEventType("author.erased", "erased an author with testimonials: %(count)s")

BY_STATUS = {
    "approved": TESTIMONIAL_APPROVED,
    "rejected": TESTIMONIAL_REJECTED,
    "withdrawn": TESTIMONIAL_WITHDRAWN,
}


def name_change(row: Testimonial, before: Mapping[str, Any]) -> EventType | None:
    """Return the event type of a change that was just made, given the values `before`.

    None for changes that nobody is notified of: to samples, and to what is held as spam.
    """
    is_gone = "deleted_at" in before and row.deleted_at is not None
    if row.status == "demo":
        return SAMPLES_DELETED if is_gone else None
    was = before.get("status", row.status)
    if is_held(row):
        if was == "spam" and row.status == "pending":
            return TESTIMONIAL_SUBMITTED
        if was == "spam" or (was, row.status) == ("withdrawn", "spam"):
            return TESTIMONIALS_DELETED if is_gone else None
    if "deleted_at" in before:
        return TESTIMONIAL_DELETED if is_gone else TESTIMONIAL_UPDATED
    if "set_aside" in before and row.set_aside is not None:
        return TESTIMONIAL_SET_ASIDE
    by_status = BY_STATUS.get(row.status) if "status" in before else None
    return by_status or TESTIMONIAL_UPDATED


def is_held(row: Testimonial) -> bool:
    """Return whether the service held it as spam when it arrived, even if it was released since."""
    return bool(set((row.held_for or BY_HAND).split(",")) - {BY_HAND, DISOWNED})
