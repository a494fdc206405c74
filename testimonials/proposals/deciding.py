"""What waits for a decision, and deciding: accepting runs the service of the owner's own click."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from marshmallow import ValidationError
from sqlalchemy import case, func, select

from testimonials.access.models import AccessToken
from testimonials.activity.actors import ActorKind
from testimonials.activity.event_types import EventType
from testimonials.activity.recording import record_project_event
from testimonials.auth.display_names import called
from testimonials.auth.models import Account
from testimonials.core import clock
from testimonials.core.data.identifiers import is_identifier
from testimonials.core.web.errors import ServiceError, ValidationFailed
from testimonials.core.web.languages import ENGLISH, gettext_noop, ngettext, speaking, translate
from testimonials.core.web.languages import gettext as _
from testimonials.extensions import db
from testimonials.projects.models import Project
from testimonials.proposals.kinds import KINDS
from testimonials.proposals.models import Proposal

ACTOR_LENGTH = 254
# Kind and name, as in `Proposal`.
Maker = tuple[str, str | None]

GONE = gettext_noop("It isn’t here any more. Decided proposals aren’t kept for good.")
NOT_ALLOWED = gettext_noop("Only the project’s owner and admins decide about this.")
TAKEN = {
    "accepted": gettext_noop("Nothing was changed: %(who)s has accepted it already."),
    "declined": gettext_noop("Nothing was changed: %(who)s has declined it already."),
    "withdrawn": gettext_noop("Nothing was changed: the agent has withdrawn it already."),
}
# So many agents are named in one line.
SUMMED = 3


class DecisionRefused(ServiceError):
    """The proposal isn't decided; the message says why."""

    status = 409
    code = "DECISION_REFUSED"


@dataclass(frozen=True)
class Decider:
    """Who decides: the account, None for the operator, and how the history names them.

    `kinds` are those that they may decide about.
    """

    account_id: str | None
    label: str
    kinds: Collection[str] = tuple(KINDS)


@dataclass
class Decided:
    """What a decision did: the proposals it was for, and by id why others stay as they are."""

    done: list[Proposal] = field(default_factory=list)
    problems: dict[str, str] = field(default_factory=dict)
    # What undoes the only one that was accepted (`undo_batch`), where something does.
    undo: str | None = None


def decide_proposals(
    project: Project, ids: Iterable[str], status: str, decider: Decider, note: str = ""
) -> Decided:
    """Accept or decline proposals of the locked project, oldest first; `status` says which.

    One that can't be accepted goes on waiting. Where people are asked by mail, the account is
    locked before the project.
    """
    wanted = list(filter(is_identifier, dict.fromkeys(ids)))
    rows = db.session.scalars(
        select(Proposal)
        .where(Proposal.project_id == project.id, Proposal.id.in_(wanted))
        .order_by(Proposal.id)
    ).all()
    decided = Decided(
        problems=dict.fromkeys(set(wanted) - {row.id for row in rows}, translate(GONE))
    )
    # The history is for everybody, whatever the language of who decides.
    with speaking(ENGLISH.code):
        agents = name_agents(rows)
    people = name_people(rows)
    for row in rows:
        if (row.status, row.decided_by_id) == (status, decider.account_id):
            # A double click, or the form sent again.
            decided.done.append(row)
            continue
        try:
            _require_open(row, decider, people)
            with db.session.begin_nested():
                actor = f"{agents[row.id]}, accepted by {decider.label}"[:ACTOR_LENGTH]
                undo = _accept(project, row, actor) if status == "accepted" else None
                _close(project, row, status, decider, note)
        except ServiceError as error:
            decided.problems[row.id] = error.shown
        else:
            decided.done.append(row)
            decided.undo = undo if len(decided.done) == 1 else None
    return decided


def name_agents(rows: Iterable[Proposal]) -> dict[str, str]:
    """Return by proposal how pages and the history name who made it."""
    makers = {row.id: (row.actor_kind, row.actor_name) for row in rows}
    names = name_actors(makers.values())
    return {proposal_id: names[maker] for proposal_id, maker in makers.items()}


def name_actors(makers: Iterable[Maker]) -> dict[Maker, str]:
    """Return how those with these kinds and names are called; moderators read it too."""
    makers = set(makers)
    ids = [name for kind, name in makers if kind == ActorKind.TOKEN]
    query = select(AccessToken.id, AccessToken.name, AccessToken.revoked_at)
    tokens = {
        row[0]: _("%(name)s (access token, revoked since)", name=row[1])
        if row[2]
        else _("%(name)s (access token)", name=row[1])
        for row in db.session.execute(query.where(AccessToken.id.in_(ids)))
    }
    return {
        (kind, name): tokens.get(name or "", _("A deleted access token"))
        if kind == ActorKind.TOKEN
        else _("An agent (API key)")
        for kind, name in makers
    }


def name_people(rows: Iterable[Proposal]) -> dict[str, str]:
    """Return how those are called who decided, by the ids of their accounts."""
    ids = {row.decided_by_id for row in rows} - {None}
    found = db.session.execute(select(Account.id, called()).where(Account.id.in_(ids)))
    return {row[0]: row[1] for row in found}


def _require_open(row: Proposal, decider: Decider, people: Mapping[str, str]) -> None:
    if row.status != "waiting":
        who = people.get(row.decided_by_id or "") or _("somebody else")
        raise DecisionRefused(TAKEN[row.status], values={"who": who})
    if row.kind not in decider.kinds:
        raise DecisionRefused(NOT_ALLOWED)


def _accept(project: Project, row: Proposal, actor: str) -> str | None:
    """Make the change, and return what undoes it; raise why it can't be made any more."""
    kind = KINDS[row.kind]
    try:
        values = kind.schema.check(row.values)
    except ValidationError as error:
        raise ValidationFailed.of(error.messages_dict) from None
    outcome = kind.apply(project, row.target_id, values, actor)
    row.result = outcome.result
    return outcome.undo


def _close(project: Project, row: Proposal, status: str, decider: Decider, note: str) -> None:
    row.status, row.note = status, note or None
    row.decided_at, row.decided_by_id = clock.now(), decider.account_id
    details = {"proposal": row.id, "status": status, "title": KINDS[row.kind].title}
    record_project_event(EventType.PROPOSAL_DECIDED, project, **details)


def count_waiting(project_id: str, kinds: Iterable[str] = tuple(KINDS)) -> int:
    query = select(func.count(Proposal.id)).where(
        Proposal.project_id == project_id, Proposal.status == "waiting", Proposal.kind.in_(kinds)
    )
    return int(db.session.scalar(query) or 0)


def summarise(project_id: str, kinds: Iterable[str] = tuple(KINDS)) -> list[str]:
    """Return who drafted how many testimonials, and would change how much else."""
    drafts = case((Proposal.kind == "testimonial.add", 1), else_=0)
    rows = db.session.execute(
        select(Proposal.actor_kind, Proposal.actor_name, func.sum(drafts), func.count())
        .where(Proposal.project_id == project_id, Proposal.status == "waiting")
        .where(Proposal.kind.in_(kinds))
        .group_by(Proposal.actor_kind, Proposal.actor_name)
        .limit(SUMMED)
    ).all()
    names = name_actors([(row[0], row[1]) for row in rows])
    lines = []
    for kind, name, drafted, count in rows:
        parts = [_count_drafted(drafted)] if drafted else []
        if count > drafted:
            parts.append(ngettext("%(num)s change", "%(num)s changes", count - drafted))
        lines.append(f"{names[kind, name]}: {', '.join(parts)}")
    return lines


def _count_drafted(number: int) -> str:
    return ngettext("%(num)s drafted testimonial", "%(num)s drafted testimonials", number)
