"""The activity record as CSV, with a sentence for each event."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import IO, Any

from sqlalchemy import Row, func, or_, select

from testimonials.access.tokens import find_token_names
from testimonials.activity.models import Event
from testimonials.activity.sentences import Names, token_key, write_sentence
from testimonials.auth.display_names import called
from testimonials.auth.models import Account
from testimonials.core.clock import iso
from testimonials.core.web.languages import speaking
from testimonials.extensions import db
from testimonials.projects.models import Project, ProjectMember, WorkspaceMember
from testimonials.transfer.tables.table_export import write_csv

COLUMNS = (
    "id", "createdAt", "type", "accountId", "projectId", "actorKind", "actorName", "network",
    "times", "sentence", "details",
)  # fmt: skip


def find_names(account_id: str | None, project_id: str = "") -> tuple[Names, Names]:
    """Return the people and tokens that a reader may know, and the names of the projects.

    An operator (None) may know all of them, and the owner of an account those of its present team:
    a person who has left may have another address by now. In a project, that is its own team.
    """
    people = select(Account.id, Account.email, Account.display_name).order_by(called())
    projects = select(
        Project.id, func.coalesce(func.nullif(Project.business_name, ""), Project.slug)
    )
    if account_id is not None:
        owned = Project.account_id == account_id
        members = select(ProjectMember.account_id).join(
            Project, Project.id == ProjectMember.project_id
        )
        members = members.where(owned, *([Project.id == project_id] if project_id else []))
        everywhere = select(WorkspaceMember.account_id).where(
            WorkspaceMember.owner_id == account_id
        )
        team = (Account.id.in_(members), Account.id.in_(everywhere))
        people = people.where(or_(Account.id == account_id, *team))
        projects = projects.where(owned)
    names = find_token_names(account_id, project_id or None)
    tokens = {token_key(token_id): name for token_id, name in names.items()}
    return (
        _tell_apart(db.session.execute(people).all()) | tokens,
        # The record of one project needn't name it.
        {} if project_id else {row[0]: row[1] for row in db.session.execute(projects)},
    )


def _tell_apart(people: Sequence[Row[str, str, str | None]]) -> dict[str, str]:
    """Return how these people are called; those who chose the same name with their address."""
    taken = Counter((name or "").casefold() for _, _, name in people)
    return {
        account_id: email
        if not name
        else f"{name} ({email})"
        if taken[name.casefold()] > 1
        else name
        for account_id, email, name in people
    }


def describe_event(event: Event, people: Names, projects: Names) -> dict[str, Any]:
    """Return an event as JSON has it, by the names of COLUMNS; files are in English."""
    with speaking(None):
        sentence = write_sentence(event, people, projects)
    values = (
        event.id, iso(event.created_at), event.type, event.account_id, event.project_id,
        event.actor_kind, event.actor_name, event.network, event.times,
        sentence, event.details,
    )  # fmt: skip
    return dict(zip(COLUMNS, values, strict=True))


def write_events(events: Iterable[Event], people: Names, projects: Names, out: IO[bytes]) -> None:
    """Write events as CSV, their details as JSON."""
    described = (describe_event(event, people, projects) for event in events)
    rows = (
        (row | {"details": json.dumps(row["details"], ensure_ascii=False)}).values()
        for row in described
    )
    write_csv(COLUMNS, rows, out)
