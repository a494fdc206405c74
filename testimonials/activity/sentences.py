"""Events in a person's words: Anna signed in from 203.0.113.x with Firefox on Linux."""

from collections import defaultdict
from collections.abc import Mapping

from testimonials.activity.actors import ActorKind
from testimonials.activity.event_types import EventType
from testimonials.activity.models import Event

# What each type says, with the names of its details in braces.
SENTENCES = {
    EventType.SESSION_STARTED: "signed in by {means}",
    EventType.SESSION_REFUSED: "tried to sign in with a wrong password",
    EventType.SESSION_ENDED: "signed out {which}",
    EventType.PASSWORD_CHANGED: "changed the password",
    EventType.PASSWORD_RESET: "chose a new password by a mailed link",
    EventType.PASSWORD_REFUSED: "gave a wrong password while signed in",
    EventType.ADDRESS_REQUESTED: "asked to change the email address to {email}",
    EventType.ADDRESS_CHANGED: "changed the email address from {old} to {email}",
    EventType.ADDRESS_RESTORED: "took the account back to {email} from {old}",
    EventType.KEY_ISSUED: "made a new API key",
    EventType.KEY_REPLACED: "replaced the API key",
    EventType.KEY_DROPPED: "removed the assistant’s API key",
    EventType.ACCOUNT_CLAIMED: "claimed the account",
    EventType.ACCOUNT_EXPORTED: "exported the whole account",
    EventType.ACCOUNT_LIMITED: "set the project limit to {limit}",
    EventType.ACCOUNT_DELETED: "deleted the account {account}",
    EventType.PLAN_CHANGED: "changed the plan to {plan}",
    EventType.INVITATION_SENT: "invited {email} as {role}",
    EventType.INVITATION_ACCEPTED: "accepted the invitation to {email}",
    EventType.INVITATION_DECLINED: "declined the invitation to {email}",
    EventType.INVITATION_WITHDRAWN: "took back the invitation to {email}",
    EventType.MEMBER_CHANGED: "made {email} {role}",
    EventType.MEMBER_REMOVED: "removed {email} (…{member}) from the team",
    EventType.MEMBER_LEFT: "left the team",
    EventType.PROJECT_CREATED: "created {name}",
    EventType.PROJECT_CHANGED: "changed the settings",
    EventType.PROJECT_RENAMED: "changed the page’s address from {old} to {slug}",
    EventType.PROJECT_PAUSED: "paused the project",
    EventType.PROJECT_RESUMED: "resumed the project",
    EventType.PROJECT_EXPORTED: "exported the project as {form}",
    EventType.PROJECT_IMPORTED: "imported {name} from an archive",
    EventType.PROJECT_DELETED: "deleted {name}",
    EventType.PROJECT_RESTORED: "took back the deletion of {name}",
    EventType.PAGE_CHANGED: "changed the collection page",
    EventType.WIDGET_CHANGED: "changed the widget",
    EventType.REQUESTS_SENT: "asked for testimonials by mail: {count}",
    EventType.REQUESTS_CANCELLED: "cancelled requests that waited: {count}",
    EventType.TESTIMONIAL_CREATED: "added a testimonial",
    EventType.TESTIMONIALS_IMPORTED: "imported testimonials: {count}",
    EventType.TESTIMONIALS_DELETED: "deleted testimonials: {count}",
    EventType.SAMPLES_DELETED: "removed samples: {count}",
    EventType.AUTHOR_ERASED: "erased an author with testimonials: {count}",
}
# The first words of types that a filter offers as one.
GROUPS = {
    "Sign-ins": ("session",),
    "Account": ("account", "password", "address", "key", "plan"),
    "Team": ("invitation", "member"),
    "Projects": ("project", "page", "widget"),
    "Testimonials": ("testimonial", "testimonials", "samples", "requests", "author"),
}

# How much of an account's id stands for whoever has no address here any more.
SHOWN_OF_ID = 6

# Addresses or names by ids.
Names = Mapping[str, str]


def tell(event: Event, people: Names, projects: Names) -> str:
    """Return the sentence of an event; `people` has the addresses that the reader may know."""
    details = defaultdict(str, event.details)
    details["member"] = details["member"][-SHOWN_OF_ID:]
    parts = [name_actor(event, people), SENTENCES[EventType(event.type)].format_map(details)]
    if (project := projects.get(event.project_id or "")) and "name" not in details:
        parts.append(f"in {project}")
    if event.network:
        parts.append(f"from {shorten(event.network)}")
    if "browser" in details:
        parts.append(f"with {details['browser']}")
    if event.times > 1 and "count" not in details:
        parts.append(f"({event.times} times)")
    return " ".join(" ".join(parts).split())


def name_actor(event: Event, people: Names) -> str:
    """Say who did it."""
    name = event.actor_name or ""
    return {
        ActorKind.PERSON: people.get(name, f"A former user (…{name[-SHOWN_OF_ID:]})"),
        ActorKind.AGENT: f"An assistant (key ending in {name})",
        ActorKind.OPERATOR: f"The operator ({name})",
        ActorKind.SYSTEM: name or "The service",
        ActorKind.VISITOR: "Somebody",
    }[ActorKind(event.actor_kind)]


def shorten(network: str) -> str:
    """Write an IPv4 network as people read it: 203.0.113.x."""
    return network.replace(".0/24", ".x")
