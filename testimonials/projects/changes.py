"""`@change`: a change that agents make or propose, declared by each feature next to its rules.

The API's views and accepted proposals run the same function.
"""

from bisect import insort
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from marshmallow import fields

from testimonials.auth.tokens import Scope
from testimonials.core.audit import EventType, record
from testimonials.core.http.errors import ValidationFailed
from testimonials.core.http.fields import Choice, Identifier, StrictSchema, Text
from testimonials.core.http.resource import REASON_LENGTH
from testimonials.core.late import Declared
from testimonials.projects.models import Project

if TYPE_CHECKING:
    from testimonials.projects.access import Access

Values = dict[str, Any]


@dataclass(frozen=True)
class Outcome:
    # Stored with the proposal for the agent, such as the id of a new testimonial.
    result: Values = field(default_factory=dict)
    # The `data` of the API's answer, if no GET shows what was changed.
    data: Any = None
    # The batch that `undo_batch` takes, if the change can be undone.
    undo: str | None = None


# Takes the locked project, the target's id, the loaded values, and the actor's name for the
# history. If people are asked by email, the account is locked before the project.
Apply = Callable[[Project, str | None, Values, str], Outcome]
# Takes the same but for the actor, and returns the current values by their API names. Raises
# `NotFound` for a missing target or picture.
Before = Callable[[Project, str | None, Values], Values]


@dataclass(frozen=True)
class Change:
    # A few words to follow "would" or "proposed to".
    title: str
    # Checks the values. A proposal stores what it dumps, and loads that when it is accepted.
    schema: StrictSchema
    # The scope needed to make the change without a proposal.
    scope: Scope
    apply: Apply
    before: Before
    # The message of the API's answer.
    done: str
    needs_target: bool

    def read_before(self, project: Project, target_id: str | None, values: Values) -> Values:
        """Return the current values of the fields that `values` would change."""
        if (target_id is None) is self.needs_target:
            rule = "Name the testimonial." if self.needs_target else "This kind has no target."
            raise ValidationFailed.of({"targetId": [rule]})
        changed = self.schema.dump(values)
        now = self.before(project, target_id, values)
        return {name: value for name, value in now.items() if name in changed}


CHANGES: Declared[Change] = Declared()
# The body of a proposal by kind, and the sorted kinds, whatever the order of imports. The OpenAPI
# document is made from these once every feature has declared its changes.
PROPOSALS: Declared[StrictSchema] = Declared()
KINDS: list[str] = []


def change(
    kind: str,
    *,
    title: str,
    schema: type[StrictSchema],
    scope: Scope,
    done: str,
    before: Before = lambda _project, _target, _values: {},
    needs_target: bool = False,
) -> Callable[[Apply], Apply]:
    """Declare a kind of change, made by the decorated function."""

    def declare(apply: Apply) -> Apply:
        CHANGES[kind] = Change(title, schema(), scope, apply, before, done, needs_target)
        PROPOSALS[kind] = _describe_proposal(kind, schema, needs_target)
        insort(KINDS, kind)
        return apply

    return declare


def _describe_proposal(kind: str, schema: type[StrictSchema], needs_target: bool) -> StrictSchema:
    parts: dict[str, fields.Field[Any]] = {
        "kind": Choice(kind, required=True),
        "values": fields.Nested(schema, required=True),
        "reason": Text(REASON_LENGTH, load_default="", description="The reason, for the owner."),
    }
    if needs_target:
        parts["targetId"] = Identifier(
            attribute="target_id", required=True, description="The testimonial’s `_id`."
        )
    title = "".join(part.capitalize() for part in kind.split("."))
    variant: Any = StrictSchema.from_dict(parts, name=f"Propose{title}Schema")
    return variant()  # type: ignore[no-any-return]


def finish(project: Project, event: EventType, *, is_changed: bool) -> Outcome:
    """Record a change to the project, if there was one."""
    if is_changed:
        record(event, project)
    return Outcome()


def kinds_of(access: "Access") -> list[str]:
    """Return the kinds of proposals that somebody may decide; for moderators, on testimonials."""
    return [
        kind
        for kind, change in CHANGES.whole().items()
        if access.is_admin or change.scope is Scope.PUBLISH
    ]
