"""Everything that is recorded, by the name that is stored and, later, sent elsewhere."""

from enum import StrEnum


class EventType(StrEnum):
    """What happened: the subject, then what became of it. A name never changes its meaning."""

    SESSION_STARTED = "session.started"
    SESSION_REFUSED = "session.refused"
    SESSION_ENDED = "session.ended"
    PASSWORD_CHANGED = "password.changed"  # noqa: S105
    PASSWORD_RESET = "password.reset"  # noqa: S105
    PASSWORD_REFUSED = "password.refused"  # noqa: S105
    ADDRESS_REQUESTED = "address.requested"
    ADDRESS_CHANGED = "address.changed"
    ADDRESS_RESTORED = "address.restored"
    KEY_ISSUED = "key.issued"
    KEY_REPLACED = "key.replaced"
    KEY_DROPPED = "key.dropped"
    ACCOUNT_CLAIMED = "account.claimed"
    ACCOUNT_EXPORTED = "account.exported"
    ACCOUNT_LIMITED = "account.limited"
    ACCOUNT_DELETED = "account.deleted"
    PLAN_CHANGED = "plan.changed"
    INVITATION_SENT = "invitation.sent"
    INVITATION_ACCEPTED = "invitation.accepted"
    INVITATION_DECLINED = "invitation.declined"
    INVITATION_WITHDRAWN = "invitation.withdrawn"
    MEMBER_CHANGED = "member.changed"
    MEMBER_REMOVED = "member.removed"
    MEMBER_LEFT = "member.left"
    PROJECT_CREATED = "project.created"
    PROJECT_CHANGED = "project.changed"
    PROJECT_RENAMED = "project.renamed"
    PROJECT_PAUSED = "project.paused"
    PROJECT_RESUMED = "project.resumed"
    PROJECT_EXPORTED = "project.exported"
    PROJECT_IMPORTED = "project.imported"
    PROJECT_DELETED = "project.deleted"
    PROJECT_RESTORED = "project.restored"
    PAGE_CHANGED = "page.changed"
    WIDGET_CHANGED = "widget.changed"
    REQUESTS_SENT = "requests.sent"
    REQUESTS_CANCELLED = "requests.cancelled"
    TESTIMONIAL_CREATED = "testimonial.created"
    TESTIMONIALS_IMPORTED = "testimonials.imported"
    TESTIMONIALS_DELETED = "testimonials.deleted"
    SAMPLES_DELETED = "samples.deleted"
    AUTHOR_ERASED = "author.erased"


# Of these, the same by the same actor from the same network within an hour is one event with a
# count: a guesser can't fill the disk, an editor that saves by itself can't fill the page, and an
# import that writes part after part is told of once.
COUNTED = {
    EventType.SESSION_REFUSED,
    EventType.PASSWORD_REFUSED,
    EventType.PROJECT_CHANGED,
    EventType.PAGE_CHANGED,
    EventType.WIDGET_CHANGED,
    EventType.TESTIMONIALS_IMPORTED,
}
