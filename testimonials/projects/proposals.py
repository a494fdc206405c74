"""Agents' proposals: making, listing and deciding them, and the email about them."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from marshmallow import ValidationError
from sqlalchemy import (
    ColumnElement,
    CompoundSelect,
    Select,
    and_,
    false,
    func,
    literal,
    or_,
    select,
    true,
    union,
)

from testimonials.auth.accounts import may_act
from testimonials.auth.models import AccessToken, Account
from testimonials.auth.tokens import Caller, Scope
from testimonials.core import clock
from testimonials.core.audit import ActorKind, current_actor, record
from testimonials.core.db.identifiers import is_identifier
from testimonials.core.db.transactions import find_row
from testimonials.core.extensions import db
from testimonials.core.http.answers import Cursor, Page, read_page
from testimonials.core.http.errors import ServiceError, ValidationFailed, require_found
from testimonials.core.http.i18n import ENGLISH, gettext_noop, speaking, translate
from testimonials.core.http.i18n import gettext as _
from testimonials.core.http.urls import project_url
from testimonials.core.images.uploads import Image
from testimonials.core.jobs import every
from testimonials.core.mail.outbox import send_mail
from testimonials.core.text import cut
from testimonials.projects.access import Role, has_role
from testimonials.projects.changes import CHANGES
from testimonials.projects.events import PROPOSAL_DECIDED, PROPOSAL_MADE, PROPOSAL_WITHDRAWN
from testimonials.projects.models import PROPOSED, Member, NotificationChoice, Project, Proposal
from testimonials.projects.notifications import (
    DEFAULT_MODE,
    PROPOSALS,
    SUBJECT_NAME,
    find_choice,
    latest_digest_time,
    make_unsubscribe_url,
    note_proposals_mailed,
    notify_each,
    project_look,
)

# Deciding; accepting does what the owner's own click would.

OVER = gettext_noop("Nothing was changed: this was already decided or withdrawn.")
NOT_ALLOWED = gettext_noop("Only the owner and people who manage can decide this.")


class DecisionRefused(ServiceError):
    status = 409


@dataclass(frozen=True)
class Decider:
    """Who decides: the account (None: the operator), their name in the history, and the `kinds`
    that they may decide (None: all).
    """

    account_id: str | None
    label: str
    kinds: Collection[str] | None = None


@dataclass
class Decided:
    """The proposals that were decided, and the problems with the others, by id."""

    done: list[Proposal] = field(default_factory=list)
    problems: dict[str, str] = field(default_factory=dict)
    # The batch that `undo_batch` takes, if only one change was accepted and it can be undone.
    undo: str | None = None


def decide_proposals(
    project: Project, ids: Iterable[str], status: str, decider: Decider, note: str = ""
) -> Decided:
    """Accept or decline proposals of the locked project, oldest first; `status` says which.

    One that can't be accepted stays waiting. If people are asked by email, the account is locked
    before the project.
    """
    chosen = set(ids)
    is_chosen = Proposal.id.in_(filter(is_identifier, chosen))
    query = select(Proposal).where(Proposal.project_id == project.id, is_chosen)
    rows = db.session.scalars(query.order_by(Proposal.id)).all()
    decided = Decided(problems=dict.fromkeys(chosen - {row.id for row in rows}, translate(OVER)))
    # The history is in English, whatever the decider's language.
    with speaking(ENGLISH.code):
        agents = name_agents(rows)
    for row in rows:
        if (row.status, row.decided_by_id) == (status, decider.account_id):
            # A double click, or a form sent twice.
            decided.done.append(row)
            continue
        try:
            _require_open(row, decider)
            with db.session.begin_nested():
                actor = f"{agents[row.id]}, accepted by {decider.label}"[:254]
                undo = _accept(project, row, actor) if status == "accepted" else None
                row.status, row.note = status, note or None
                row.decided_at, row.decided_by_id = clock.now(), decider.account_id
                title = CHANGES[row.kind].title
                record(PROPOSAL_DECIDED, project, proposal=row.id, status=status, title=title)
        except ServiceError as error:
            decided.problems[row.id] = error.shown
        else:
            decided.done.append(row)
            decided.undo = undo if len(decided.done) == 1 else None
    return decided


def name_agents(rows: Iterable[Proposal]) -> dict[str, str]:
    """Return the agents' names for pages and the history, by proposal."""
    rows = list(rows)
    ids = [row.actor_name for row in rows if row.actor_kind == ActorKind.TOKEN]
    query = select(AccessToken.id, AccessToken.name, AccessToken.revoked_at)
    tokens = {
        row[0]: _("%(name)s (access token, revoked since)", name=row[1])
        if row[2]
        else _("%(name)s (access token)", name=row[1])
        for row in db.session.execute(query.where(AccessToken.id.in_(ids)))
    }
    return {
        row.id: tokens.get(row.actor_name or "", _("A deleted token"))
        if row.actor_kind == ActorKind.TOKEN
        else _("An agent (API key)")
        for row in rows
    }


def _require_open(row: Proposal, decider: Decider) -> None:
    if row.status != "waiting":
        raise DecisionRefused(OVER)
    if decider.kinds is not None and row.kind not in decider.kinds:
        raise DecisionRefused(NOT_ALLOWED)


def _accept(project: Project, row: Proposal, actor: str) -> str | None:
    """Make the change and return its `Outcome.undo`; raise an error if it is no longer possible."""
    change = CHANGES[row.kind]
    try:
        values = change.schema.check(row.values)
    except ValidationError as error:
        raise ValidationFailed.of(error.messages_dict) from None
    outcome = change.apply(project, row.target_id, values, actor)
    row.result = outcome.result
    return outcome.undo


def select_waiting(project_id: str, kinds: Collection[str] | None = None) -> Select[Any]:
    """Select the number of waiting proposals, as a row like those of `count_states`."""
    row: Any = (Proposal.project_id, literal(PROPOSED), false(), func.count())
    return select(*row).where(*_is_waiting(project_id, kinds)).group_by(Proposal.project_id)


def count_waiting(project_id: str) -> int:
    query = select(func.count(Proposal.id)).where(*_is_waiting(project_id))
    return int(db.session.scalar(query) or 0)


def _is_waiting(project_id: str, kinds: Collection[str] | None = None) -> list[ColumnElement[bool]]:
    conditions = [Proposal.project_id == project_id, Proposal.status == "waiting"]
    return conditions if kinds is None else [*conditions, Proposal.kind.in_(kinds)]


STATUSES = ("waiting", "accepted", "declined", "withdrawn")
MOST_WAITING = 500
# The keys of uploaded pictures in the values of a proposal.
PICTURES = ("imageId", "avatarId")


class TooManyProposals(ServiceError):
    status = 409
    meaning = "The maximum number of proposals is waiting for the owner of this project."
    remedy = "Withdraw some of yours, or wait until some are decided."
    default_message = (
        f"{MOST_WAITING} proposals wait for the owner of this project, which is the maximum. "
        "Withdraw some of yours, or wait until some are decided."
    )


class ProposalDecided(ServiceError):
    status = 409
    meaning = "The proposal no longer waits: it was decided or withdrawn."
    remedy = "Read it to see what became of it."


class NotYours(ServiceError):
    status = 403
    meaning = "The proposal was made with another credential."
    remedy = "Leave it to whoever made it, or to the owner."
    default_message = "Only the proposal’s author can withdraw it."


def propose(
    caller: Caller,
    project: Project,
    kind: str,
    values: dict[str, Any],
    target_id: str | None = None,
    reason: str = "",
) -> Proposal:
    """Add a proposal to the locked project, from loaded values.

    If the same credential has proposed the same and it still waits, return that. Raises what
    accepting it would, and `TooManyProposals`. If people are asked by email, the account is locked
    before the project.
    """
    before = CHANGES[kind].read_before(project, target_id, values)
    if not values:
        raise ValidationFailed.of({"values": ["Name at least one field to change."]})
    stored = CHANGES[kind].schema.dump(values)
    if (same := _find_same(caller, project, kind, stored, target_id)) is not None:
        return same
    if count_waiting(project.id) >= MOST_WAITING:
        raise TooManyProposals
    _try_out(project, kind, values, target_id)
    actor = current_actor()
    proposal = Proposal(
        project_id=project.id,
        kind=kind,
        target_id=target_id,
        values=stored,
        before=before,
        reason=reason,
        actor_kind=str(actor.kind),
        actor_name=actor.name,
        token_id=caller.token_id,
    )
    db.session.add(proposal)
    db.session.flush()
    title = CHANGES[kind].title
    record(PROPOSAL_MADE, project, proposal=proposal.id, title=title)
    return proposal


def withdraw(caller: Caller, project: Project, proposal_id: str) -> Proposal:
    """Withdraw a waiting proposal of the locked project.

    Raises `NotFound`, `NotYours` and `ProposalDecided`.
    """
    proposal = find_proposal(caller, project, proposal_id)
    if proposal.token_id != caller.token_id:
        raise NotYours
    if proposal.status != "waiting":
        raise ProposalDecided(f"It is {proposal.status} already.")
    proposal.status, proposal.decided_at = "withdrawn", clock.now()
    title = CHANGES[proposal.kind].title
    record(PROPOSAL_WITHDRAWN, project, proposal=proposal.id, title=title)
    return proposal


def find_proposal(caller: Caller, project: Project, proposal_id: str) -> Proposal:
    is_own = Proposal.project_id == project.id
    proposal = find_row(Proposal, proposal_id, is_own, _is_seen_by(caller))
    return require_found(proposal, "There is no such proposal in this project.")


def list_proposals(
    caller: Caller, project: Project, status: str | None, limit: int, after: Cursor | None
) -> Page:
    """Return a page of the proposals that the caller may see, newest first."""
    query = _of_project(project, status).where(_is_seen_by(caller))
    return read_page(query, Proposal, limit, after)


def list_all(project: Project, status: str | None) -> Sequence[Proposal]:
    query = _of_project(project, status).order_by(Proposal.id.desc())
    return db.session.scalars(query).all()


def is_by(caller: Caller) -> ColumnElement[bool]:
    """Return the condition for proposals made with the caller's token, or with any key."""
    if caller.is_key:
        return Proposal.actor_kind == str(ActorKind.AGENT)
    return Proposal.token_id == caller.token_id


def find_waiting_picture(
    caller: Caller, project: Project, kind: str, target_id: str | None, content: bytes
) -> str | None:
    named = func.coalesce(*(Proposal.values[name].as_string() for name in PICTURES))
    query = select(Image.id).join(Proposal, Image.id == named)
    waiting = (Proposal.project_id == project.id, Proposal.status == "waiting", is_by(caller))
    same = (Proposal.kind == kind, Proposal.target_id == target_id, Image.content == content)
    return db.session.scalars(query.where(*waiting, *same)).first()


def list_held_pictures() -> set[str]:
    ids = set()
    for name in PICTURES:
        picture = Proposal.values[name].as_string()
        query = select(picture).where(Proposal.status == "waiting", picture.is_not(None))
        ids |= set(db.session.scalars(query))
    return ids


def _find_same(
    caller: Caller, project: Project, kind: str, stored: dict[str, Any], target_id: str | None
) -> Proposal | None:
    """Return the caller's waiting proposal of the same change.

    It reads only those with the same target, since under one write lock a setup may propose a
    hundred while hundreds wait.
    """
    query = _of_project(project, "waiting").where(
        is_by(caller), Proposal.kind == kind, Proposal.target_id == target_id
    )
    if "text" in stored:
        query = query.where(Proposal.values["text"].as_string() == stored["text"])
    return next((each for each in db.session.scalars(query) if each.values == stored), None)


def _try_out(project: Project, kind: str, values: dict[str, Any], target_id: str | None) -> None:
    """Make the change and roll it back; raise what accepting it now would."""
    trial = db.session.begin_nested()
    try:
        CHANGES[kind].apply(project, target_id, values, "")
        db.session.flush()
    finally:
        trial.rollback()


def _is_seen_by(caller: Caller) -> ColumnElement[bool]:
    if not caller.is_key and Scope.READ in caller.scopes:
        return Proposal.project_id.is_not(None)
    return is_by(caller)


def _of_project(project: Project, status: str | None = None) -> Select[Any]:
    query = select(Proposal).where(Proposal.project_id == project.id)
    return query if status is None else query.where(Proposal.status == status)


# Mail about waiting proposals goes to the owner and admins, as each chose for new testimonials: at
# once, daily or never. An email and the note of it are written in one transaction, under the
# project's lock.

# Agents often propose several changes in a row, which get one email.
GATHERED = timedelta(minutes=5)
LARGEST_BATCH = 200


def find_due(project_id: str | None = None) -> list[tuple[str, str]]:
    """Return project and account ids for which an email about proposals is due."""
    now, choice = clock.now(), NotificationChoice
    mode = func.coalesce(choice.mode, DEFAULT_MODE)
    is_due = or_(
        and_(mode == "at_once", Proposal.created_at <= now - GATHERED),
        and_(mode == "daily", Proposal.created_at < latest_digest_time(now)),
    )
    # Older ones were shown when the account was claimed.
    told_at = func.coalesce(choice.told_of_proposals_at, Account.claimed_at)
    rows = db.session.execute(
        select(Project.id, Account.id)
        .distinct()
        .select_from(Proposal)
        .join(Project, Project.id == Proposal.project_id)
        .join(Account, has_role(Account.id, Role.ADMIN))
        .outerjoin(choice, and_(choice.project_id == Project.id, choice.account_id == Account.id))
        .where(Proposal.status == "waiting", Project.deleted_at.is_(None), is_due)
        .where(may_act(), ~Project.is_suspended, Proposal.created_at > told_at)
        .where(Account.id.in_(_select_people()))
        .where(Project.id == project_id if project_id else true())
        .limit(LARGEST_BATCH)
    )
    return [(row[0], row[1]) for row in rows]


def _select_people() -> CompoundSelect[str]:
    """Select the people in projects with waiting proposals, a small part of all accounts."""
    waiting = select(Proposal.project_id).where(Proposal.status == "waiting")
    owners = select(Project.account_id).where(Project.id.in_(waiting))
    is_in = or_(Member.project_id.in_(waiting), Member.owner_id.in_(owners))
    return union(owners, select(Member.account_id).where(is_in))


@every("proposal-mail")
def send_proposal_mail() -> int:
    """Send the emails about proposals that are due; return how many."""
    return notify_each(find_due, notify_of_proposals)


def notify_of_proposals(project: Project, account_id: str) -> bool:
    """Email one person about what waits in the locked project.

    Returns False if it is no longer due, since another process may have sent it.
    """
    account = db.session.get(Account, account_id)
    if account is None or (project.id, account_id) not in find_due(project.id):
        return False
    count, name = count_waiting(project.id), cut(project.name, SUBJECT_NAME)
    title = f"{count} {'proposal waits' if count == 1 else 'proposals wait'} for {name}"
    url = make_unsubscribe_url(project.id, account_id)
    values = {
        "project_name": name,
        "is_daily": find_choice(account_id, project.id).mode == "daily",
        "url": project_url(project.id, "inbox#proposals"),
        "choose_url": project_url(project.id, "settings/mail"),
        "unsubscribe_url": url,
    }
    look = project_look(project)
    send_mail(account.email, PROPOSALS, title, "proposals", values, look=look, list_unsubscribe=url)
    note_proposals_mailed(project, account_id, clock.now())
    return True
