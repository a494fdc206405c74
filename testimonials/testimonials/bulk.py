"""Adding up to a hundred testimonials in one call, each answered for itself."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from marshmallow import Schema, ValidationError, fields
from sqlalchemy import select

from testimonials.auth.callers import Caller
from testimonials.core.extensions import db
from testimonials.core.http.errors import ServiceError
from testimonials.core.http.fields import Choice
from testimonials.projects.models import Project, Proposal
from testimonials.projects.proposals import propose
from testimonials.projects.proposals_api import ProposalSchema
from testimonials.testimonials.models import Testimonial
from testimonials.testimonials.schemas import TestimonialAddSchema
from testimonials.testimonials.testimonials import (
    find_by_external_ids,
    prepare_approved,
    write_added,
)


class BulkResultSchema(Schema):
    """What became of one testimonial of a bulk."""

    index = fields.Integer(
        required=True, metadata={"description": "Its place in the list, from 0."}
    )
    status = Choice(
        "created",
        "exists",
        "proposed",
        "refused",
        required=True,
        description="`exists`: there is one with this `externalId`; it wasn't changed.",
    )
    testimonialId = fields.String(
        attribute="testimonial.id", metadata={"description": "The one that is there now."}
    )
    proposal = fields.Nested(ProposalSchema)
    errors = fields.Dict(
        keys=fields.String(),
        values=fields.List(fields.String()),
        metadata={"description": "Why it was refused: field name to the list of broken rules."},
    )


class BulkResultsSchema(Schema):
    """One answer for each testimonial, in order."""

    results = fields.List(fields.Nested(BulkResultSchema), required=True)


KIND = "testimonial.add"

SAID = {
    "created": "added",
    "exists": "there already",
    "proposed": "waiting for the owner",
    "refused": "refused",
}

Results = list[dict[str, Any]]

_ADD = TestimonialAddSchema()


def add_each(caller: Caller, project: Project, sent: Sequence[Any], reason: str = "") -> Results:
    """Add testimonials to the locked project, or propose them if the caller drafts.

    Returns what `BulkResultSchema` dumps. One that is refused stops no other; one whose external
    id is there, or waits, is left as it is.
    """
    checked = [_check(each) for each in sent]
    names = [each["external_id"] for each, _ in checked if each and "external_id" in each]
    known: dict[str, Any] = dict(find_by_external_ids(project, names)) if names else {}
    if caller.drafts_only:
        known = _find_waiting(project, names) | known
    results: Results = []
    for index, (values, errors) in enumerate(checked):
        result: dict[str, Any] | None = None
        name = values.get("external_id") if values else None
        if values is None:
            result = {"status": "refused", "errors": errors}
        if result is None and name in known:
            result = _name_kind("exists", known[name])
        if result is None and values is not None:
            result = (
                _propose(caller, project, values, reason)
                if caller.drafts_only
                else {"status": "created", "testimonial": prepare_approved(project, values)}
            )
            if name and "errors" not in result:
                known[name] = result.get("testimonial") or result.get("proposal")
        results.append({"index": index} | (result or {}))
    added = [each["testimonial"] for each in results if each["status"] == "created"]
    write_added(project, added, caller.label)
    return results


def say_added(results: Results) -> str:
    """Return in a few words what became of them."""
    counts = Counter(each["status"] for each in results)
    return ", ".join(f"{counts[name]} {said}" for name, said in SAID.items() if counts[name]) + "."


def _check(sent: Any) -> tuple[dict[str, Any] | None, dict[str, list[str]]]:
    """Return the loaded values, or None and what is wrong."""
    if not isinstance(sent, dict):
        return None, {"testimonial": ["Must be an object."]}
    try:
        return _ADD.check(sent), {}
    except ValidationError as error:
        return None, error.messages_dict


def _propose(
    caller: Caller, project: Project, values: dict[str, Any], reason: str
) -> dict[str, Any]:
    try:
        proposal = propose(caller, project, KIND, values, reason=reason)
        return {"status": "proposed", "proposal": proposal}
    except ServiceError as error:
        return {"status": "refused", "errors": {"testimonial": [error.message]}}


def _name_kind(status: str, found: Testimonial | Proposal) -> dict[str, Any]:
    if isinstance(found, Proposal):
        return {"status": "proposed", "proposal": found}
    return {"status": status, "testimonial": found}


def _find_waiting(project: Project, names: Sequence[str]) -> dict[str, Proposal]:
    """Return the proposals that wait to add testimonials with these external ids."""
    name = Proposal.values["externalId"].as_string()
    query = select(Proposal).where(
        Proposal.project_id == project.id,
        Proposal.status == "waiting",
        Proposal.kind == KIND,
        name.in_(names),
    )
    return {each.values["externalId"]: each for each in db.session.scalars(query)} if names else {}
