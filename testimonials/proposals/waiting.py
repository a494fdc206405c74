"""What waits for a person's decision: how much, and from whom."""

from collections.abc import Iterable

from sqlalchemy import case, func, select

from testimonials.extensions import db
from testimonials.proposals.deciding import name_actors
from testimonials.proposals.kinds import KINDS
from testimonials.proposals.models import Proposal

# So many agents are named in one line.
SUMMED = 3


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
        parts = [_count(drafted, "drafted testimonial")] if drafted else []
        parts += [_count(count - drafted, "change")] if count > drafted else []
        lines.append(f"{names[kind, name]}: {', '.join(parts)}")
    return lines


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' if number > 1 else ''}"
