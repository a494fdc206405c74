"""Listing and deleting events, and describing them as sentences."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from sqlalchemy import ColumnElement, Row, select, text, update
from sqlalchemy.orm.attributes import set_committed_value

from testimonials.core import clock
from testimonials.core.audit import (
    IS_ENDED,
    IS_HISTORY,
    IS_SINGLE,
    IS_TOLD,
    ActorKind,
    Event,
    EventType,
)
from testimonials.core.db.identifiers import first_identifier
from testimonials.core.db.transactions import delete_rows
from testimonials.core.extensions import db
from testimonials.core.http.i18n import gettext, gettext_noop, ngettext, translate
from testimonials.core.settings.table import current_settings

ROWS_AT_ONCE = 500


def list_events(
    *conditions: ColumnElement[bool], limit: int | None = None, **same: str | None
) -> Iterator[Event]:
    """Yield events that people may read, newest first.

    `same` are values that columns must have; empty ones are ignored.
    """
    query = select(Event).where(IS_TOLD, is_kept(), *conditions)
    query = query.filter_by(**{name: value for name, value in same.items() if value})
    query = query.order_by(Event.id.desc()).limit(limit)
    yield from db.session.scalars(query.execution_options(yield_per=ROWS_AT_ONCE))


def hide_from_team(event: Event) -> None:
    """Hide colleagues' networks and the end of the owner's key in a loaded event."""
    set_committed_value(event, "network", None)
    if event.actor_kind == ActorKind.AGENT:
        set_committed_value(event, "actor_name", None)


def read_after(project_id: str, after: str, limit: int) -> Sequence[Row[str, str, str | None]]:
    """Return the id, type and testimonial of the events after an id, oldest first.

    Continuing with the last id misses nothing (`record`).
    """
    query = select(Event.id, Event.type, Event.testimonial_id).where(
        Event.project_id == project_id, Event.id > after, IS_SINGLE
    )
    return db.session.execute(query.order_by(Event.id).limit(limit)).all()


def is_kept() -> ColumnElement[bool]:
    """Return the condition for events of the last ACTIVITY_DAYS."""
    until = clock.expired_until(current_settings().activity_days)
    return Event.id >= first_identifier(until)


def find_types(text: str) -> list[EventType]:
    """Return the types with this name, or whose name begins with this subject."""
    types = EventType.known.whole().values()
    return [type for type in types if text in (type, type.partition(".")[0])]


def forget_networks(limit: int) -> int:
    """Remove the network of at most `limit` events older than NETWORK_DAYS; return how many."""
    old = Event.id < first_identifier(clock.expired_until(current_settings().network_days))
    some = select(Event.id).where(old, Event.network.is_not(None)).limit(limit)
    statement = update(Event).where(Event.id.in_(some)).values(network=None).returning(Event.id)
    return len(db.session.scalars(statement).all())


def delete_old_events(limit: int) -> int:
    """Delete at most `limit` events older than ACTIVITY_DAYS; return how many.

    A testimonial's history stays as long as the testimonial. An entry of the public record stays as
    long as the project, but the rest of its event is emptied.
    """
    ended = select(Event.id).where(~is_kept(), text(IS_ENDED))
    empty = {"type": "", "times": 0, "actor_name": None, "details": {}}
    db.session.execute(update(Event).where(Event.id.in_(ended.limit(limit))).values(empty))
    some = select(Event.id).where(~is_kept(), ~IS_HISTORY, Event.entry.is_(None)).limit(limit)
    return delete_rows(Event, Event.id.in_(some))


# A person whose account was deleted is shown by the last digits of its id.
SHOWN_OF_ID = 6

DELETED_TOKEN = gettext_noop("A deleted token")
# Details in our own words, so they are translated.
OWN_WORDS = ("means", "role", "title")
# Roles as pages name them.
ROLE_LABELS = {
    "owner": gettext_noop("Owner"),
    "admin": gettext_noop("Manages"),
    "moderator": gettext_noop("Decides"),
    "reader": gettext_noop("Reads"),
}
# Why a testimonial was set aside, written after a colon.
REASONS = {
    "spam": gettext_noop("spam"),
    "abusive": gettext_noop("abusive or unlawful"),
    "off_topic": gettext_noop("off topic"),
    "not_customer": gettext_noop("not a customer"),
    "same_person": gettext_noop("the same person twice"),
    "withdrawn": gettext_noop("withdrawn by its author"),
}
WORDS = (
    gettext_noop("password"),
    gettext_noop("password and app"),
    gettext_noop("passkey"),
    gettext_noop("company"),
    gettext_noop("link"),
    gettext_noop("every browser"),
    gettext_noop("every other browser"),
)

# Addresses and names by id, or by `token_key` for tokens.
Names = Mapping[str, str]


def token_key(token_id: str) -> str:
    return f"{ActorKind.TOKEN}.{token_id}"


def write_sentence(event: Event, people: Names, projects: Names) -> str:
    """Return an event as a sentence; `people` has the names that the reader may see."""
    return f"{name_actor(event, people)} {write_predicate(event, projects)}"


def write_predicate(event: Event, projects: Names) -> str:
    """Return an event as a sentence without its actor."""
    details, sentence = _translate_details(event), EventType.known[event.type].sentence
    message = sentence if isinstance(sentence, str) else sentence(event.facts)
    parts = [translate(message) % details]
    if (project := projects.get(event.project_id or "")) and "name" not in details:
        parts.append(gettext("in %(project)s", project=project))
    if event.network:
        # An IPv4 network is shown as 203.0.113.x.
        parts.append(gettext("from %(network)s", network=event.network.replace(".0/24", ".x")))
    if "browser" in details:
        parts.append(gettext("with %(browser)s", browser=details["browser"]))
    if event.times > 1 and "%(count)s" not in message:
        parts.append(f"({ngettext('%(num)s time', '%(num)s times', event.times)})")
    return " ".join(" ".join(parts).split())


def _translate_details(event: Event) -> defaultdict[str, object]:
    details = defaultdict(str, event.facts)
    if "role" in details:
        details["role"] = ROLE_LABELS.get(details["role"], details["role"])
    if details["reason"] in REASONS:
        details["reason"] = translate(REASONS[details["reason"]])
    details |= {name: translate(details[name]) for name in OWN_WORDS if name in details}
    if "member" in details:
        details["member"] = details["member"][-SHOWN_OF_ID:]
    for name in ("browser", "which"):
        if name in details:
            details[name] = translate_browser(details[name])
    return details


def name_actor(event: Event, people: Names) -> str:
    name = event.actor_name or ""
    match ActorKind(event.actor_kind):
        case ActorKind.PERSON:
            former = gettext("A former user (…%(id)s)", id=name[-SHOWN_OF_ID:])
            return people.get(name, former)
        case ActorKind.AGENT:
            ending = gettext("An agent (API key ending in %(ending)s)", ending=name)
            return ending if name else gettext("An agent (API key)")
        case ActorKind.TOKEN:
            token = people.get(token_key(name), translate(DELETED_TOKEN))
            return gettext("%(name)s (access token)", name=token)
        case ActorKind.OPERATOR:
            return gettext("The operator (%(name)s)", name=name)
        case ActorKind.SYSTEM:
            return translate(name) or gettext("The service")
        case ActorKind.VISITOR:
            return translate(name) or gettext("Someone")


BROWSERS = ("Edg", "OPR", "Firefox", "Chrome", "Safari")
SYSTEMS = ("Android", "iPhone", "iPad", "Windows", "Mac OS", "Linux")
NAMES = {"Edg": "Edge", "OPR": "Opera", "Mac OS": "Mac"}
UNKNOWN = gettext_noop("A browser")
UNNAMED = gettext_noop("an unnamed program")
# A program's name and version, without anything that mail programs would make a link.
_PROGRAM = re.compile(r"[A-Za-z][\w+-]{0,39}(?:/\d[\d.]{0,15})?", re.ASCII)


def describe_program(user_agent: str) -> str:
    """Return an English label for a client of the API, such as curl/8.5.0."""
    browser = describe_browser(user_agent)
    if not browser.startswith(UNKNOWN):
        return browser
    match = _PROGRAM.match(user_agent)
    return match[0] if match else UNNAMED


def describe_browser(user_agent: str) -> str:
    """Return an English label for a browser, such as Firefox on Windows."""
    browser = next((name for name in BROWSERS if name in user_agent), UNKNOWN)
    system = next((name for name in SYSTEMS if name in user_agent), "")
    words = [NAMES.get(browser, browser), NAMES.get(system, system)]
    return " on ".join(word for word in words if word)


def translate_browser(label: str) -> str:
    """Return a label of `describe_browser` in the current language."""
    name, _, system = label.partition(" on ")
    browser = translate(name)
    return (
        gettext("%(browser)s on %(system)s", browser=browser, system=system) if system else browser
    )
