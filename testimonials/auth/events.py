"""Events as sentences: Anna signed in from 203.0.113.x with Firefox on Linux.

They are made when somebody reads them, in the language of the answer.
"""

from collections import defaultdict
from collections.abc import Mapping

from testimonials.core.audit import ActorKind, Event, translate_browser
from testimonials.core.event_types import EventType
from testimonials.core.http.i18n import gettext, gettext_noop, ngettext, translate

# How many digits of an account's id are shown for a person without an address here.
SHOWN_OF_ID = 6

# What became of a testimonial or of several, by the event's type or, where that leaves it open, by
# the action in its details.
BECAME = {
    EventType.TESTIMONIAL_CREATED: (
        gettext_noop("added a testimonial"),
        gettext_noop("added testimonials: %(count)s"),
    ),
    EventType.TESTIMONIAL_APPROVED: (
        gettext_noop("approved a testimonial"),
        gettext_noop("approved testimonials: %(count)s"),
    ),
    EventType.TESTIMONIAL_REJECTED: (
        gettext_noop("rejected a testimonial"),
        gettext_noop("rejected testimonials: %(count)s"),
    ),
    EventType.TESTIMONIAL_DELETED: (
        gettext_noop("deleted a testimonial"),
        gettext_noop("deleted testimonials: %(count)s"),
    ),
    EventType.TESTIMONIAL_WITHDRAWN: (
        gettext_noop("withdrew a testimonial"),
        gettext_noop("withdrew testimonials: %(count)s"),
    ),
    "submit": (gettext_noop("sent a testimonial"), gettext_noop("sent testimonials: %(count)s")),
    "release": (
        gettext_noop("moved a testimonial out of spam"),
        gettext_noop("moved testimonials out of spam: %(count)s"),
    ),
    "spam": (
        gettext_noop("marked a testimonial as spam"),
        gettext_noop("marked testimonials as spam: %(count)s"),
    ),
    "edit": (
        gettext_noop("edited a testimonial"),
        gettext_noop("edited testimonials: %(count)s"),
    ),
    "correct": (
        gettext_noop("corrected a testimonial"),
        gettext_noop("corrected testimonials: %(count)s"),
    ),
    "pin": (
        gettext_noop("pinned a testimonial"),
        gettext_noop("pinned testimonials: %(count)s"),
    ),
    "unpin": (
        gettext_noop("unpinned a testimonial"),
        gettext_noop("unpinned testimonials: %(count)s"),
    ),
    "tag": (
        gettext_noop("changed the tags of a testimonial"),
        gettext_noop("changed the tags of testimonials: %(count)s"),
    ),
    "highlight": (
        gettext_noop("highlighted words of a testimonial"),
        gettext_noop("highlighted words of testimonials: %(count)s"),
    ),
    "restore": (
        gettext_noop("restored a testimonial"),
        gettext_noop("restored testimonials: %(count)s"),
    ),
    "undo": (
        gettext_noop("undid a change of a testimonial"),
        gettext_noop("undid changes of testimonials: %(count)s"),
    ),
    "remove_recording": (
        gettext_noop("removed the recording of a testimonial"),
        gettext_noop("removed the recordings of testimonials: %(count)s"),
    ),
    "consent": (
        gettext_noop("consented again to a testimonial"),
        gettext_noop("consented again to testimonials: %(count)s"),
    ),
    "disown": (
        gettext_noop("denied having written a testimonial"),
        gettext_noop("denied having written testimonials: %(count)s"),
    ),
}
CHANGED = (
    gettext_noop("changed a testimonial"),
    gettext_noop("changed testimonials: %(count)s"),
)
DECLINED = gettext_noop("declined the proposal: %(title)s")
EXPORTED_TABLE = gettext_noop("exported the project as a table")
DELETED_TOKEN = gettext_noop("A deleted token")
# The details that are words of ours, not of people: they are translated with the sentence.
OWN_WORDS = ("means", "role", "title")
WORDS = (
    gettext_noop("password"),
    gettext_noop("password and app"),
    gettext_noop("passkey"),
    gettext_noop("company"),
    gettext_noop("link"),
    gettext_noop("every browser"),
    gettext_noop("every other browser"),
    gettext_noop("owner"),
    gettext_noop("admin"),
    gettext_noop("moderator"),
    gettext_noop("reader"),
)

# Addresses or names by ids; those of tokens by `token_key`.
Names = Mapping[str, str]


def token_key(token_id: str) -> str:
    return f"{ActorKind.TOKEN}.{token_id}"


def write_sentence(event: Event, people: Names, projects: Names) -> str:
    """Return the sentence of an event; `people` has those whom the reader may know."""
    return f"{name_actor(event, people)} {write_predicate(event, projects)}"


def write_predicate(event: Event, projects: Names) -> str:
    """Return the sentence without who did it."""
    details = _translate_details(event)
    parts = [translate(_choose_words(event)) % details]
    if (project := projects.get(event.project_id or "")) and "name" not in details:
        parts.append(gettext("in %(project)s", project=project))
    if event.network:
        # An IPv4 network as people read it: 203.0.113.x.
        parts.append(gettext("from %(network)s", network=event.network.replace(".0/24", ".x")))
    if "browser" in details:
        parts.append(gettext("with %(browser)s", browser=details["browser"]))
    if event.times > 1 and "count" not in details:
        parts.append(ngettext("(%(num)s time)", "(%(num)s times)", event.times))
    return " ".join(" ".join(parts).split())


def _choose_words(event: Event) -> str:
    type, details = EventType(event.type), event.details
    if type.startswith("testimonial."):
        one, many = BECAME.get(type) or BECAME.get(details.get("action", ""), CHANGED)
        return many if details.get("count", 1) > 1 else one
    if type is EventType.PROPOSAL_DECIDED and details.get("status") == "declined":
        return DECLINED
    if type is EventType.PROJECT_EXPORTED and details.get("form") == "a table":
        return EXPORTED_TABLE
    return type.sentence


def _translate_details(event: Event) -> defaultdict[str, object]:
    details = defaultdict(str, event.details)
    details |= {name: translate(details[name]) for name in OWN_WORDS if name in details}
    if "member" in details:
        details["member"] = details["member"][-SHOWN_OF_ID:]
    for name in ("browser", "which"):
        if name in details:
            details[name] = translate_browser(details[name])
    return details


def _name_agent(ending: str) -> str:
    if ending:
        return gettext("An agent (API key ending in %(ending)s)", ending=ending)
    return gettext("An agent (API key)")


def name_actor(event: Event, people: Names) -> str:
    """Return who it was, in the current language."""
    name = event.actor_name or ""
    match ActorKind(event.actor_kind):
        case ActorKind.PERSON:
            former = gettext("A former user (…%(id)s)", id=name[-SHOWN_OF_ID:])
            return people.get(name, former)
        case ActorKind.AGENT:
            return _name_agent(name)
        case ActorKind.TOKEN:
            token = people.get(token_key(name), translate(DELETED_TOKEN))
            return gettext("%(token)s (access token)", token=token)
        case ActorKind.OPERATOR:
            return gettext("The operator (%(name)s)", name=name)
        case ActorKind.SYSTEM:
            return translate(name) or gettext("The service")
        case ActorKind.VISITOR:
            return translate(name) or gettext("Somebody")
