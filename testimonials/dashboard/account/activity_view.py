"""An account's activity, as its owner searches and reads it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from flask import url_for

from testimonials.activity.actors import ActorKind
from testimonials.activity.event_types import GROUPS
from testimonials.activity.models import Event
from testimonials.activity.sentences import Names, name_actor, write_sentence
from testimonials.activity.services import EventFilter, find_types, list_events
from testimonials.core.data.identifiers import is_identifier
from testimonials.transfer.tables.activity_table import find_names

PAGE_SIZE = 50
# Words are searched for in the sentences, not by a query; one request reads at most this many
# events, and links to the rest.
MOST_SEARCHED = 5000
MOST_WORDS = 200
OTHERS = {
    ActorKind.AGENT: "Agents, by API key",
    ActorKind.TOKEN: "Access tokens",
    ActorKind.OPERATOR: "The operator",
    ActorKind.SYSTEM: "The service itself",
    ActorKind.VISITOR: "Somebody not signed in",
}


@dataclass(frozen=True)
class Search:
    account_id: str
    q: str = ""
    type: str = ""
    who: str = ""
    before: str = ""

    @property
    def is_narrowed(self) -> bool:
        return bool(self.q or self.type or self.who)

    def find(self, limit: int | None = None) -> Iterator[Event]:
        kind, _, name = self.who.partition(".")
        types = [type for word in GROUPS.get(self.type, ()) for type in find_types(word)]
        return list_events(EventFilter(self.account_id, types, kind, name, self.before), limit)

    def matches(self, sentence: str) -> bool:
        return all(word in sentence.casefold() for word in self.q.casefold().split())

    def address(self, before: str | None = None, view: str = "account.show_activity") -> str:
        """Return the URL of this search for events older than `before`."""
        values: dict[str, Any] = {"q": self.q, "type": self.type, "who": self.who, "before": before}
        return url_for(view, **{name: value for name, value in values.items() if value})


def read_search(account_id: str, values: Mapping[str, str]) -> Search:
    """Return the search in a URL's parameters, ignoring invalid ones."""
    kind, _, name = values.get("who", "").partition(".")
    is_person = kind == ActorKind.PERSON and is_identifier(name)
    before = values.get("before", "")
    return Search(
        account_id,
        q=values.get("q", "").strip()[:MOST_WORDS],
        type=values.get("type", "") if values.get("type") in GROUPS else "",
        who=f"{kind}.{name}" if is_person else kind if kind in OTHERS else "",
        before=before if is_identifier(before) else "",
    )


def describe_activity(search: Search) -> dict[str, Any]:
    people, projects = find_names(search.account_id)
    rows: list[dict[str, Any]] = []
    last = older_url = None
    most = MOST_SEARCHED if search.q else PAGE_SIZE
    for count, event in enumerate(list(search.find(most + 1))):
        if len(rows) == PAGE_SIZE or count == most:
            older_url = search.address(last)
            break
        sentence, last = write_sentence(event, people, projects), event.id
        if search.matches(sentence):
            who = name_actor(event, people)
            what = sentence.removeprefix(who).strip()
            rows.append({"who": who, "what": what, "time": event.created_at})
    return {
        "events": rows,
        "search": search,
        "groups": list(GROUPS),
        "actors": _list_actors(search, people),
        "older_url": older_url,
        "newest_url": search.address() if search.before else None,
        "csv_url": search.address(view="exporting.export_activity"),
    }


def _list_actors(search: Search, people: Names) -> dict[str, str]:
    actors = {f"{ActorKind.PERSON}.{key}": email for key, email in people.items()} | OTHERS
    # A bookmarked URL may name somebody who has left.
    return {search.who: "A former user"} | actors if search.who else actors
