"""The rules of a setup: each part of it is settled by what its caller may do."""

from typing import Any

from testimonials.access.callers import Caller
from testimonials.access.scopes import Scope
from testimonials.activity.event_types import EventType
from testimonials.activity.recording import record_project_event
from testimonials.agents.bulk import write_added
from testimonials.agents.setup.projects import find_or_create
from testimonials.agents.setup.steps import Steps
from testimonials.core.urls import collection_page_url
from testimonials.core.web.errors import ServiceError
from testimonials.projects.services import complete_website
from testimonials.projects.slugs import make_slug
from testimonials.proposals.kinds import KINDS
from testimonials.testimonials.models import Testimonial
from testimonials.testimonials.services import (
    count_by_status,
    delete_demos,
    find_by_external_ids,
    prepare_approved,
)

Values = dict[str, Any]

# The parts of a body that are settled as a whole, and by which kind of change.
_SECTIONS = (
    ("page", "page"),
    ("pageDesign", "page.design"),
    ("widget", "widget"),
    ("design", "design"),
)


class SameIdTwice(ServiceError):
    """Two testimonials of one call have the same id."""

    code = "EXTERNAL_ID_TWICE"
    meaning = "Two testimonials of one call have the same `externalId`."
    remedy = "Give each its own."


def set_up(caller: Caller, body: Values) -> Steps:
    """Bring about what `SetupSchema` loaded, in one transaction; return what became of it."""
    testimonials = body.get("testimonials", [])
    _require_different(testimonials)
    words = dict(body.get("project", {}))
    if "website" in words:
        words["website"] = complete_website(words["website"])
    project, is_new = find_or_create(
        caller,
        body["externalId"],
        body.get("projectId"),
        words,
        has_words=bool(testimonials),
    )
    steps = Steps(caller, project, body.get("reason", ""))
    slug = words.pop("slug", None)
    words.pop("skipDemoTestimonials", None)
    if is_new:
        says = f"Created: {collection_page_url(project.slug, project.own_host)}"
        steps.changed.append({"section": "project", "says": says})
    elif slug is not None:
        _settle_slug(steps, slug)
    if words and not is_new:
        steps.settle("project", "page", words)
    for section, kind in _SECTIONS:
        values = dict(body.get(section, {}))
        if section == "page" and "language" in values:
            steps.settle(section, "page.design", {"language": values.pop("language")})
        if values:
            steps.settle(section, kind, values)
    for form in body.get("forms", []):
        steps.settle("forms", "form", form, form=form["name"])
    _settle_testimonials(steps, testimonials)
    if body.get("removeDemo"):
        _settle_samples(steps)
    return steps


def _require_different(testimonials: list[Values]) -> None:
    ids = [each["external_id"] for each in testimonials]
    if twice := {each for each in ids if ids.count(each) > 1}:
        message = f"These ids name more than one testimonial: {', '.join(sorted(twice))}."
        raise SameIdTwice(message, errors={"testimonials": [message]})


def _settle_slug(steps: Steps, wanted: str) -> None:
    step = {"section": "project", "fields": ["slug"]}
    if make_slug(wanted) == steps.project.slug:
        steps.already.append(step | {"says": "As it should be."})
    else:
        steps.refuse(
            step,
            f"The page’s address is {collection_page_url(steps.project.slug)}. Only the owner "
            "changes it, in the dashboard.",
        )


def _settle_testimonials(steps: Steps, wanted: list[Values]) -> None:
    """Add those that aren't there, and change the others."""
    if not wanted:
        return
    added: list[Testimonial] = []
    rows = find_by_external_ids(steps.project, [each["external_id"] for each in wanted])
    for values in wanted:
        name = values["external_id"]
        step = {"section": "testimonials", "externalId": name}
        row = rows.get(name)
        if row is None and steps.may("testimonial.add"):
            added.append(prepare_approved(steps.project, values))
            says = "Testimonial created."
            steps.changed.append(step | {"testimonialId": added[-1].id, "says": says})
        elif row is None:
            steps.settle("testimonials", "testimonial.add", values, externalId=name)
        elif row.deleted_at is not None:
            says = "It is in the trash, and not added again."
            steps.already.append(step | {"testimonialId": row.id, "says": says})
        else:
            edit = {key: value for key, value in values.items() if key in _EDITABLE}
            names = {"externalId": name, "testimonialId": row.id}
            steps.settle("testimonials", "testimonial.edit", edit, row.id, **names)
    write_added(steps.project, added, steps.caller)


_FIELDS = KINDS["testimonial.edit"].schema.fields
_EDITABLE = {field.attribute or name for name, field in _FIELDS.items()}


def _settle_samples(steps: Steps) -> None:
    step: Values = {"section": "samples"}
    count = count_by_status(steps.project.id).get("demo", 0)
    if not count:
        steps.already.append(step | {"says": "There are no samples."})
    elif steps.caller.is_key or Scope.PUBLISH in steps.caller.scopes:
        delete_demos(steps.project)
        record_project_event(EventType.SAMPLES_DELETED, steps.project, count=count)
        steps.changed.append(step | {"says": f"{count} samples removed."})
    else:
        steps.refuse(step, f"This needs the scope {Scope.PUBLISH}.")
