"""Events as sentences: Anna signed in from 203.0.113.x with Firefox on Linux."""

from collections import defaultdict
from collections.abc import Mapping

from testimonials.activity.actors import ActorKind
from testimonials.activity.event_types import EventType
from testimonials.activity.models import Event
from testimonials.core.data.identifiers import is_identifier

# How many digits of an account's id are shown for a person without an address here.
SHOWN_OF_ID = 6

# What became of testimonials, by the action in an event's details.
DONE = {
    "submit": "sent",
    "release": "moved out of spam",
    "spam": "marked as spam",
    "edit": "edited",
    "correct": "corrected",
    "pin": "pinned",
    "unpin": "unpinned",
    "tag": "changed the tags of",
    "highlight": "highlighted words of",
    "restore": "restored",
    "undo": "undid a change of",
    "remove_recording": "removed the recording of",
    "consent": "consented again to",
    "disown": "denied having written",
}

# Addresses or names by ids; those of tokens by `token_key`.
Names = Mapping[str, str]


def token_key(token_id: str) -> str:
    return f"{ActorKind.TOKEN}.{token_id}"


def write_sentence(event: Event, people: Names, projects: Names) -> str:
    """Return the sentence of an event; `people` has those whom the reader may know."""
    details = defaultdict(str, event.details)
    details["member"] = details["member"][-SHOWN_OF_ID:]
    details["did"] = DONE.get(details["action"], "changed")
    count = event.details.get("count", 1)
    details["testimonials"] = f"testimonials: {count}" if count > 1 else "a testimonial"
    parts = [name_actor(event, people), EventType(event.type).sentence.format_map(details)]
    if (project := projects.get(event.project_id or "")) and "name" not in details:
        parts.append(f"in {project}")
    if event.network:
        # An IPv4 network as people read it: 203.0.113.x.
        parts.append(f"from {event.network.replace('.0/24', '.x')}")
    if "browser" in details:
        parts.append(f"with {details['browser']}")
    if event.times > 1 and "count" not in details:
        parts.append(f"({event.times} times)")
    return " ".join(" ".join(parts).split())


def _name_operator(name: str, people: Names) -> str:
    """Return a command's name; of an operator's page, who it was only to other operators."""
    if not is_identifier(name):
        return f"The operator ({name})"
    return f"The operator ({people[name]})" if name in people else "The operator"


def name_actor(event: Event, people: Names) -> str:
    name = event.actor_name or ""
    return {
        ActorKind.PERSON: people.get(name, f"A former user (…{name[-SHOWN_OF_ID:]})"),
        ActorKind.AGENT: f"An agent (API key{' ending in ' if name else ''}{name})",
        ActorKind.TOKEN: f"{people.get(token_key(name), 'A deleted token')} (access token)",
        ActorKind.OPERATOR: _name_operator(name, people),
        ActorKind.SYSTEM: name or "The service",
        ActorKind.VISITOR: name or "Somebody",
    }[ActorKind(event.actor_kind)]
