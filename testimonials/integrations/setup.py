"""A whole project set up in one call, and its summary."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from marshmallow import fields
from sqlalchemy import select

from testimonials.auth.models import Account
from testimonials.auth.tokens import Caller, Scope
from testimonials.collection.models import REQUEST_STATES
from testimonials.collection.requests import count_states
from testimonials.core.audit import record
from testimonials.core.extensions import db, limiter
from testimonials.core.http.answers import Answer
from testimonials.core.http.blueprints import agents
from testimonials.core.http.errors import ServiceError
from testimonials.core.http.fields import Choice, List, Number, String, Time, WholeSchema
from testimonials.core.http.rate_limits import Limit
from testimonials.core.http.urls import collection_page_url, project_url, wall_url, widget_page_url
from testimonials.integrations.setup_projects import find_or_create
from testimonials.integrations.setup_schema import MAX_BYTES, SetupResultSchema, SetupSchema
from testimonials.projects.changes import CHANGES
from testimonials.projects.models import Project, Proposal
from testimonials.projects.projects import complete_website, make_slug
from testimonials.projects.proposals import count_waiting, is_by, propose, withdraw
from testimonials.projects.website import read_later
from testimonials.testimonials.changes import TestimonialEditSchema
from testimonials.testimonials.events import SAMPLES_DELETED
from testimonials.testimonials.inbox import count_samples, count_tabs
from testimonials.testimonials.models import Testimonial
from testimonials.testimonials.testimonials import (
    count_by_status,
    delete_demos,
    find_by_external_ids,
    prepare_approved,
    write_added,
)
from testimonials.widget.embed import build_snippet
from testimonials.widget.settings import rate
from testimonials.widget.sightings import list_sightings

# What becomes of each thing that a setup asks for: done, so already, proposed, or refused.

Values = dict[str, Any]

# What the specification lets the account's key do; all else it proposes.
BY_KEY = {"widget", "testimonial.add"}
# Which values say what a proposal is about, for kinds without a target.
NAMED_BY = {"testimonial.add": ("externalId",), "form": ("name",)}


@dataclass
class Steps:
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
        change = CHANGES[kind]
        now = change.read_before(self.project, target, values)
        wanted = change.schema.dump(values)
        missing = {name: each for name, each in wanted.items() if now.get(name) != each}
        step: Values = {"section": section, **names}
        if not missing:
            self.already.append(step | {"says": "As it should be."})
            return
        if kind != "testimonial.add":
            step["fields"] = list(missing)
            values = _keep(kind, values, {*missing, *NAMED_BY.get(kind, ())})
        if self.may(kind):
            outcome = change.apply(self.project, target, values, self.caller.label)
            self.changed.append(step | outcome.result | {"says": f"{change.done}."})
        elif self.may_propose:
            self._propose(step, kind, values, target, wanted, missing)
        else:
            self.refuse(step, f"This needs the scope {change.scope}, or draft to propose it.")

    def may(self, kind: str) -> bool:
        if self.caller.is_key:
            return kind in BY_KEY
        return CHANGES[kind].scope in self.caller.scopes

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
    fields = CHANGES[kind].schema.fields
    wanted = {fields[name].attribute or name for name in missing}
    return {name: value for name, value in values.items() if name in wanted}


def _covers(proposed: Values, missing: Values) -> bool:
    return all(
        _covers(proposed.get(name) or {}, value)
        if isinstance(value, dict)
        else proposed.get(name) == value
        for name, value in missing.items()
    )


# What a setup answers.


def summarise(steps: Steps) -> str:
    """Return the answer's message."""
    counts = {
        "changed": steps.changed,
        "already so": steps.already,
        "waiting for the owner": steps.proposed,
        "refused": steps.refused,
    }
    return ", ".join(f"{len(each)} {name}" for name, each in counts.items() if each) + "."


def describe_setup(steps: Steps) -> dict[str, Any]:
    """Return what `SetupResultSchema` dumps."""
    project = steps.project
    account = db.session.get_one(Account, project.account_id)
    return {
        "project": project,
        "changed": steps.changed,
        "already": steps.already,
        "proposed": steps.proposed,
        "refused": steps.refused,
        "snippet": build_snippet(project),
        "links": {
            "collectionPage": collection_page_url(project.slug, project.own_host),
            "wall": wall_url(project.slug, project.own_host),
            "widgetPage": widget_page_url(project.id),
            "dashboard": project_url(project.id, "inbox"),
            "proposals": project_url(project.id, "proposals"),
        },
        "claim": {
            "isClaimed": account.is_claimed,
            "expiresAt": None if account.is_claimed else account.claim_expires_at,
        },
    }


# The rules of a setup: each part of it is settled by what its caller may do.

# The parts of a body that are settled as a whole, and by which kind of change.
_SECTIONS = (
    ("brand", "brand"),
    ("page", "page"),
    ("pageDesign", "page.design"),
    ("widget", "widget"),
    ("design", "design"),
)


class SameIdTwice(ServiceError):
    code = "EXTERNAL_ID_TWICE"
    meaning = "Two testimonials of one call have the same `externalId`."
    remedy = "Give each its own."


def set_up(caller: Caller, body: Values) -> Steps:
    """Bring about what `SetupSchema` loaded, in one transaction; return what became of it."""
    testimonials = body.get("testimonials", [])
    ids = [each["external_id"] for each in testimonials]
    if twice := {each for each in ids if ids.count(each) > 1}:
        message = f"These ids name more than one testimonial: {', '.join(sorted(twice))}."
        raise SameIdTwice(message, errors={"testimonials": [message]})
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
        read_later(project)
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
    write_added(steps.project, added, steps.caller.label)


_EDITABLE = {field.attribute or name for name, field in TestimonialEditSchema().fields.items()}


def _settle_samples(steps: Steps) -> None:
    step: Values = {"section": "samples"}
    count = count_by_status(steps.project.id).get("demo", 0)
    if not count:
        steps.already.append(step | {"says": "There are no samples."})
    elif steps.caller.is_key or Scope.PUBLISH in steps.caller.scopes:
        delete_demos(steps.project)
        record(SAMPLES_DELETED, steps.project, count=count)
        steps.changed.append(step | {"says": f"{count} samples removed."})
    else:
        steps.refuse(step, f"This needs the scope {Scope.PUBLISH}.")


# The API's door to a setup in one call.

_RESULT = SetupResultSchema()

# A hundred proposals keep SQLite from other writers for a second, also when they are only tried.
SETUPS_PER_ACCOUNT = Limit("setup", 60, "for one account", for_load=True)


@agents.resource(
    "PUT /v1/setup",
    scope=Scope.CONFIGURE,
    by_key=True,
    drafts=True,
    body=SetupSchema,
    max_bytes=MAX_BYTES,
    example={
        "externalId": "corner-bakery",
        "project": {
            "businessName": "Corner Bakery",
            "website": "cornerbakery.example",
            "headline": "How was your bread?",
        },
        "page": {
            "thankYouMessage": "Thank you! See you on Saturday.",
            "buttonColor": "#8A4B08",
            "collectFields": {"company": False, "role": False},
        },
        "widget": {"layout": "masonry", "palette": "amber"},
        "design": {"brandColor": "#8A4B08"},
        "testimonials": [
            {
                "externalId": "guestbook-12",
                "authorName": "Maya Kowalski",
                "text": "The rye is the best in town.",
                "rating": 5,
            }
        ],
        "reason": "The colours of your shop, and no questions about companies.",
    },
    prepare=lambda caller: limiter.count(SETUPS_PER_ACCOUNT, caller.id),
    data=SetupResultSchema,
    raises=(402, 404, 409, 429),
)
def set_up_project(caller: Caller, body: Values) -> Answer:
    """Set up a project.

    Everything in one call, which is safe to repeat: it says what should be so, under your own
    ``externalId`` of the project and of each testimonial, and what is left out stays as it is.
    The answer says in ``changed`` what was done, in ``already`` what was so before, in
    ``proposed`` what waits for the owner, and in ``refused`` what was not done and why.

    The account's key creates the project, changes the widget and adds testimonials at once; the
    page, the design and changes of testimonials wait for the owner as proposals. A token does at
    once what its scopes allow, and proposes the rest if it has the scope draft. A proposal that
    waits isn't made again, nor one that the owner declined. All of it is done or, after an error,
    nothing. A body may have 512 KiB. At most 60 calls an hour are taken for an account.
    """
    steps = set_up(caller, body)
    return Answer(summarise(steps), _RESULT.dump(describe_setup(steps)))


# How a project stands: what an agent needs to tell its owner.


def summarize(project: Project) -> dict[str, Any]:
    """Return what `SummarySchema` dumps."""
    average, count = rate(project)
    asked = count_states(project)
    return {
        "status": project.status,
        "testimonials": count_tabs(project.id)[project.id] | {"samples": count_samples(project.id)},
        "averageRating": average if count else None,
        "ratingCount": count,
        "proposalsWaiting": count_waiting(project.id),
        "requests": {state: asked[state] for state in REQUEST_STATES},
        "websites": list_sightings(project.id),
    }


# Shapes of what agents tell their owners.


class TestimonialCountsSchema(WholeSchema):
    """How many testimonials are in each state; `rejected` has those that authors withdrew."""

    pending = Number()
    approved = Number()
    rejected = Number()
    spam = Number()
    trash = Number()
    samples = Number()


class WebsiteSchema(WholeSchema):
    """A website that shows the widget."""

    origin = String()
    seenAt = Time(attribute="seen_at")


class SummarySchema(WholeSchema):
    """How a project stands."""

    status = Choice("active", "inactive")
    testimonials = fields.Nested(TestimonialCountsSchema)
    averageRating = fields.Float(
        allow_none=True,
        metadata={
            "description": "Of all genuine ratings, shown or not, to one decimal; null: none."
        },
    )
    ratingCount = Number()
    proposalsWaiting = Number()
    requests = fields.Dict(
        keys=String(),
        values=Number(),
        metadata={"description": "How many requests by mail are in each state."},
    )
    websites = List(
        fields.Nested(WebsiteSchema),
        description="Where the widget was seen within 90 days, last seen first.",
    )


@agents.resource("GET /v1/projects/<project_id>/summary", scope=Scope.READ, data=SummarySchema)
def get_summary(project: Project) -> Values:
    """Read how a project stands.

    What waits for the owner, how many testimonials and stars there are, what came of requests by
    mail, and which websites show the widget.
    """
    return summarize(project)
