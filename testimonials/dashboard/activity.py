"""The activity pages of accounts and projects."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from flask import request, url_for
from sqlalchemy import ColumnElement

from testimonials.auth.sessions import SignedIn
from testimonials.core import event_lists
from testimonials.core.audit import ActorKind, Event
from testimonials.core.changed import CHANGED
from testimonials.core.db.identifiers import is_identifier
from testimonials.core.http.blueprints import account
from testimonials.core.http.i18n import gettext_noop, translate
from testimonials.dashboard.framework import AccountPage, Values
from testimonials.testimonials.testimonials import find_authors
from testimonials.transfer.tables.export import find_names

PAGE_SIZE = 50
# Words are searched for in the sentences rather than by a query, so a request reads at most this
# many events, and links to the rest.
MAX_SEARCHED = 5000
MAX_SEARCH = 200
OTHERS = {
    ActorKind.AGENT: gettext_noop("Agents, by API key"),
    ActorKind.TOKEN: gettext_noop("Access tokens"),
    ActorKind.OPERATOR: gettext_noop("The operator"),
    ActorKind.SYSTEM: gettext_noop("The service itself"),
    ActorKind.VISITOR: gettext_noop("Someone not signed in"),
}
# The groups of actors that `?who=` may name.
KINDS = {
    "people": (ActorKind.PERSON, ActorKind.VISITOR, ActorKind.OPERATOR),
    "agents": (ActorKind.AGENT, ActorKind.TOKEN),
    "rules": (ActorKind.SYSTEM,),
}
GONE = gettext_noop("Former users")
KIND_LABELS = {
    "people": gettext_noop("People"),
    "agents": gettext_noop("Agents"),
    "rules": gettext_noop("Rules"),
}
# The filter's groups of subjects.
GROUPS = {
    gettext_noop("Sign-ins"): ("session", "company", "passkey", "app", "code", "codes", "sign_in"),
    gettext_noop("Account"): ("account", "password", "address", "key", "plan"),
    gettext_noop("People"): ("invitation", "member", "ownership"),
    gettext_noop("Projects"): ("project", "page", "form", "widget", "domain"),
    gettext_noop("Testimonials"): (
        *("testimonial", "testimonials", "samples", "requests", "request", "author", "reply"),
    ),
    gettext_noop("Operator"): ("report", "texts", "mail"),
    gettext_noop("API and developers"): ("proposal", "token", "purchases", "webhook"),
}


@dataclass(frozen=True)
class Search:
    account_id: str
    # Empty for all.
    project_id: str = ""
    q: str = ""
    type: str = ""
    who: str = ""
    before: str = ""

    @property
    def is_narrowed(self) -> bool:
        return bool(self.q or self.type or self.who)

    def find(self, limit: int | None = None) -> Iterator[Event]:
        kind, _, name = self.who.partition(".")
        kinds = KINDS.get(kind) or ([kind] if kind else [])
        types = [
            type for word in GROUPS.get(self.type, ()) for type in event_lists.find_types(word)
        ]
        wanted: list[ColumnElement[bool]] = [Event.type.in_(types)] if types else []
        wanted += [Event.actor_kind.in_(kinds)] if kinds else []
        wanted += [Event.id < self.before] if self.before else []
        same = {"account_id": self.account_id, "project_id": self.project_id, "actor_name": name}
        for event in event_lists.list_events(*wanted, limit=limit, **same):
            if self.project_id:
                event_lists.hide_from_team(event)
            yield event

    def matches(self, sentence: str) -> bool:
        folded = sentence.casefold()
        return all(word in folded for word in self.q.casefold().split())

    def address(self, before: str | None = None, *, as_csv: bool = False) -> str:
        """Return the URL of this search for events older than `before`."""
        view = "dashboard.account.export_activity" if as_csv else "dashboard.account.show_activity"
        if self.project_id:
            view = (
                "dashboard.settings.export_project_activity"
                if as_csv
                else "dashboard.settings.show_activity"
            )
        values: dict[str, Any] = {"q": self.q, "type": self.type, "who": self.who, "before": before}
        return url_for(view, **{name: value for name, value in values.items() if value})


def read_search(account_id: str, values: Mapping[str, str], project_id: str = "") -> Search:
    """Return the search in a query string, ignoring invalid values."""
    kind, _, name = values.get("who", "").partition(".")
    is_one = kind in (ActorKind.PERSON, ActorKind.TOKEN) and is_identifier(name)
    before = values.get("before", "")
    return Search(
        account_id,
        project_id,
        q=values.get("q", "").strip()[:MAX_SEARCH],
        type=values.get("type", "") if values.get("type") in GROUPS else "",
        who=f"{kind}.{name}" if is_one else kind if kind in OTHERS or kind in KINDS else "",
        before=before if is_identifier(before) else "",
    )


def describe_activity(search: Search) -> dict[str, Any]:
    people, projects = find_names(search.account_id, search.project_id)
    rows: list[dict[str, Any]] = []
    last = older_url = None
    limit = MAX_SEARCHED if search.q else PAGE_SIZE
    for count, event in enumerate(list(search.find(limit + 1))):
        if len(rows) == PAGE_SIZE or count == limit:
            older_url = search.address(last)
            break
        row, last = _describe(event, people, projects), event.id
        if search.matches(f"{row['who']} {row['what']}"):
            rows.append(row)
    # Only a project's page links to testimonials.
    about = {row["about"] for row in rows if row["about"] and search.project_id}
    return {
        "events": rows,
        "authors": find_authors(about) if about else {},
        "search": search,
        "groups": [(name, translate(name)) for name in GROUPS],
        "actors": [*_list_actors(search, people).items()],
        "older_url": older_url,
        "newest_url": search.address() if search.before else None,
        "here_url": replace(search, q="", type="", who="").address(),
        "csv_url": search.address(as_csv=True),
    }


def describe_newest(search: Search) -> dict[str, Any] | None:
    people, projects = find_names(search.account_id, search.project_id)
    return next((_describe(event, people, projects) for event in search.find(1)), None)


def _describe(
    event: Event, people: event_lists.Names, projects: event_lists.Names
) -> dict[str, Any]:
    who, what = event_lists.name_actor(event, people), event_lists.write_predicate(event, projects)
    about = event.testimonial_id or ""
    changes = event.details.get(CHANGED, ())
    row = {"who": who, "what": what, "time": event.created_at, "about": about}
    return row | {"changes": list(map(_write_change, changes))}


def _write_change(change: Mapping[str, Any]) -> str:
    if "after" not in change:
        return str(change["field"])
    before, after = ("–" if change[name] is None else change[name] for name in ("before", "after"))
    return f"{change['field']}: {before} → {after}"


def _list_actors(search: Search, people: event_lists.Names) -> dict[str, str]:
    actors = {name: translate(label) for name, label in KIND_LABELS.items()}
    actors |= {
        key if "." in key else f"{ActorKind.PERSON}.{key}": name for key, name in people.items()
    }
    actors |= {kind: translate(name) for kind, name in OTHERS.items()}
    # A bookmarked URL may name a former member or a deleted token.
    return {search.who: translate(GONE)} | actors if search.who else actors


activity = AccountPage(account, "/dashboard/account/activity", "account/activity.html")


@activity.show
def show_activity(owner: SignedIn) -> Values:
    return describe_activity(read_search(owner.account_id, request.args))
