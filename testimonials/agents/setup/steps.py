"""What becomes of each thing that a setup asks for: done, so already, proposed, or refused."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import select

from testimonials.access.callers import Caller
from testimonials.access.scopes import Scope
from testimonials.extensions import db
from testimonials.projects.models import Project
from testimonials.proposals.kinds import KINDS
from testimonials.proposals.models import Proposal
from testimonials.proposals.services import is_by, propose, withdraw

Values = dict[str, Any]

# What the specification lets the account's key do; all else it proposes.
BY_KEY = {"widget", "testimonial.add"}
# Which values say what a proposal is about, for kinds without a target.
NAMED_BY = {"testimonial.add": ("externalId",), "form": ("name",)}


@dataclass
class Steps:
    """The steps of one setup of a locked project."""

    caller: Caller
    project: Project
    reason: str
    changed: list[Values] = field(default_factory=list)
    already: list[Values] = field(default_factory=list)
    proposed: list[Values] = field(default_factory=list)
    refused: list[Values] = field(default_factory=list)
    # By kind; newest first, waiting and declined ones of the caller's.
    earlier: dict[str, list[Proposal]] = field(default_factory=dict)

    def settle(
        self, section: str, kind: str, values: Values, target: str | None = None, **names: str
    ) -> None:
        """Bring about loaded `values` of a kind; `names` are further fields of the answer."""
        now = KINDS[kind].read_before(self.project, target, values)
        wanted = KINDS[kind].schema.dump(values)
        missing = {name: each for name, each in wanted.items() if now.get(name) != each}
        step: Values = {"section": section, **names}
        if not missing:
            self.already.append(step | {"says": "As it should be."})
            return
        if kind != "testimonial.add":
            step["fields"] = list(missing)
            values = _keep(kind, values, {*missing, *NAMED_BY.get(kind, ())})
        if self.may(kind):
            outcome = KINDS[kind].apply(self.project, target, values, self.caller.label)
            self.changed.append(step | outcome.result | {"says": f"{KINDS[kind].done}."})
        elif self.may_propose:
            self._propose(step, kind, values, target, wanted, missing)
        else:
            self.refuse(step, f"This needs the scope {KINDS[kind].scope}, or draft to propose it.")

    def may(self, kind: str) -> bool:
        if self.caller.is_key:
            return kind in BY_KEY
        return KINDS[kind].scope in self.caller.scopes

    @property
    def may_propose(self) -> bool:
        return self.caller.is_key or Scope.DRAFT in self.caller.scopes

    def refuse(self, step: Values, why: str) -> None:
        self.refused.append(step | {"says": why})

    def _propose(
        self,
        step: Values,
        kind: str,
        values: Values,
        target: str | None,
        wanted: Values,
        missing: Values,
    ) -> None:
        """Propose it, unless that waits or was declined; it replaces what waits of the same."""
        same = [
            each
            for each in self._find_earlier(kind)
            if each.target_id == target
            and all(each.values.get(name) == wanted.get(name) for name in NAMED_BY.get(kind, ()))
        ]
        for each in same:
            if _covers(each.values, missing):
                step["proposalId"] = each.id
                if each.status == "waiting":
                    self.proposed.append(step | {"says": "Still waits for the owner."})
                else:
                    note = f" They say: {each.note}" if each.note else ""
                    self.refuse(step, f"The owner declined this.{note}")
                return
        for each in same:
            named = NAMED_BY.get(kind, ())
            if each.status == "waiting" and each.values.keys() <= {*missing, *named}:
                withdraw(self.caller, self.project, each.id)
        made = propose(self.caller, self.project, kind, values, target, self.reason)
        self.proposed.append(step | {"proposalId": made.id, "says": "Waits for the owner."})

    def _find_earlier(self, kind: str) -> list[Proposal]:
        if kind not in self.earlier:
            query = select(Proposal).where(
                Proposal.project_id == self.project.id,
                Proposal.status.in_(("waiting", "declined")),
                Proposal.kind == kind,
                is_by(self.caller),
            )
            self.earlier[kind] = list(db.session.scalars(query.order_by(Proposal.id.desc())))
        return self.earlier[kind]


def _keep(kind: str, values: Values, missing: Iterable[str]) -> Values:
    """Return those loaded values that are missing, by the schema's names for them."""
    fields = KINDS[kind].schema.fields
    wanted = {fields[name].attribute or name for name in missing}
    return {name: value for name, value in values.items() if name in wanted}


def _covers(proposed: Values, missing: Values) -> bool:
    return all(
        _covers(proposed.get(name) or {}, value)
        if isinstance(value, dict)
        else proposed.get(name) == value
        for name, value in missing.items()
    )
