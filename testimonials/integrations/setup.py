"""Setting up a whole project in one call, and its summary."""

from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import select

from testimonials.auth.api_auth import MissingScope, OneProjectOnly
from testimonials.auth.models import Account
from testimonials.auth.tokens import Caller, Scope
from testimonials.collection.models import REQUEST_STATES
from testimonials.collection.requests import count_states
from testimonials.core.audit import record
from testimonials.core.extensions import db, limiter
from testimonials.core.http.answers import Answer
from testimonials.core.http.blueprints import agents
from testimonials.core.http.errors import ServiceError
from testimonials.core.http.rate_limits import Limit
from testimonials.core.http.urls import collection_page_url, project_url, wall_url, widget_page_url
from testimonials.integrations.setup_schema import (
    MAX_BYTES,
    SetupResultSchema,
    SetupSchema,
    SummarySchema,
)
from testimonials.projects.access import find_project
from testimonials.projects.changes import CHANGES
from testimonials.projects.models import Project, Proposal
from testimonials.projects.projects import complete_website, create_project, lock_account, make_slug
from testimonials.projects.proposals import count_waiting, is_by, propose, withdraw
from testimonials.projects.website import enqueue_reading
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

# Each requested change is applied, already there, proposed, or refused.

Values = dict[str, Any]

# The kinds of change that the account's key makes at once; it proposes all others.
BY_KEY = {"widget", "testimonial.add"}
# The values that identify what a proposal is about, for kinds of change without a target.
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
    # The caller's waiting and declined proposals, by kind, newest first.
    earlier: dict[str, list[Proposal]] = field(default_factory=dict)

    def settle(
        self, section: str, kind: str, values: Values, target: str | None = None, **names: str
    ) -> None:
        """Apply or propose the loaded `values`; `names` are further fields of the answer."""
        change = CHANGES[kind]
        now = change.read_before(self.project, target, values)
        wanted = change.schema.dump(values)
        missing = {name: value for name, value in wanted.items() if now.get(name) != value}
        step: Values = {"section": section, **names}
        if not missing:
            self.already.append(step | {"says": "As it should be."})
            return
        if kind != "testimonial.add":
            step["fields"] = list(missing)
            fields = change.schema.fields
            kept = {fields[name].attribute or name for name in (*missing, *NAMED_BY.get(kind, ()))}
            values = {name: value for name, value in values.items() if name in kept}
        if self.may(kind):
            outcome = change.apply(self.project, target, values, self.caller.label)
            self.changed.append(step | outcome.result | {"says": f"{change.done}."})
        elif self.caller.is_key or Scope.DRAFT in self.caller.scopes:
            self._propose(step, kind, values, target, wanted, missing)
        else:
            self.refuse(step, f"This needs the scope {change.scope}, or draft to propose it.")

    def may(self, kind: str) -> bool:
        if self.caller.is_key:
            return kind in BY_KEY
        return CHANGES[kind].scope in self.caller.scopes

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
        """Propose it unless a proposal for it waits or was declined; replace narrower ones."""
        named = NAMED_BY.get(kind, ())
        same = [
            proposal
            for proposal in self._find_earlier(kind)
            if proposal.target_id == target
            and all(proposal.values.get(name) == wanted.get(name) for name in named)
        ]
        for proposal in same:
            if _covers(proposal.values, missing):
                step["proposalId"] = proposal.id
                if proposal.status == "waiting":
                    self.proposed.append(step | {"says": "Still waits for the owner."})
                else:
                    note = f" They say: {proposal.note}" if proposal.note else ""
                    self.refuse(step, f"The owner declined this.{note}")
                return
        for proposal in same:
            if proposal.status == "waiting" and proposal.values.keys() <= {*missing, *named}:
                withdraw(self.caller, self.project, proposal.id)
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


def _covers(proposed: Values, missing: Values) -> bool:
    return all(
        _covers(proposed.get(name) or {}, value)
        if isinstance(value, dict)
        else proposed.get(name) == value
        for name, value in missing.items()
    )


# The answer to a setup.


def describe_counts(steps: Steps) -> str:
    counts = {
        "changed": len(steps.changed),
        "already so": len(steps.already),
        "waiting for the owner": len(steps.proposed),
        "refused": len(steps.refused),
    }
    return ", ".join(f"{count} {name}" for name, count in counts.items() if count) + "."


def describe_setup(steps: Steps) -> Values:
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


# The project of a setup, which is found by the caller's external id, or created.


class ProjectInTrash(ServiceError):
    status = 409
    meaning = "The owner deleted the project with this `externalId`."
    remedy = "Ask them to restore it, or send another `externalId`."
    default_message = (
        "The project with this externalId is in the trash. The owner can restore it in the "
        "dashboard for 7 days after it was deleted. For another project, send another externalId."
    )


class ExternalIdTaken(ServiceError):
    status = 409
    meaning = "The project has another `externalId`, or another project has this one."
    remedy = "Send the one that `message` names, or another."


def find_or_create(
    caller: Caller, external_id: str, project_id: str | None, values: Values, *, has_words: bool
) -> tuple[Project, bool]:
    """Return the locked project with this `external_id`, and whether it was created.

    `values` are those of a new project. The account's first project gets samples, unless `values`
    prevent that or it `has_words` of its own. Raises what `create_project` does, `MissingScope`,
    `OneProjectOnly`, `ProjectInTrash`, `ExternalIdTaken`, and `NotFound` for `project_id`.
    """
    if project_id is not None:
        return _adopt(caller, external_id, project_id), False
    lock_account(caller.id)
    if (project := _find(caller, external_id)) is not None:
        return project, False
    return _create(caller, external_id, values, has_words=has_words), True


def _find(caller: Caller, external_id: str) -> Project | None:
    query = select(Project).where(
        Project.account_id == caller.id, Project.external_id == external_id
    )
    locked = query.with_for_update().execution_options(populate_existing=True)
    project = db.session.scalars(locked).one_or_none()
    if project is None:
        return None
    if caller.project_id not in (None, project.id):
        raise OneProjectOnly
    if project.deleted_at is not None:
        raise ProjectInTrash
    return project


def _adopt(caller: Caller, external_id: str, project_id: str) -> Project:
    """Give the project with this id the `external_id`, and return the locked project."""
    project = find_project(caller, project_id, is_locked=True)
    if project.external_id == external_id:
        return project
    if project.external_id is not None:
        raise ExternalIdTaken(
            f"This project has the externalId {project.external_id} already. Send that one."
        )
    other = select(Project.id).where(
        Project.account_id == caller.id, Project.external_id == external_id
    )
    if db.session.scalar(other) is not None:
        raise ExternalIdTaken("Another project of the account has this externalId.")
    project.external_id = external_id
    db.session.flush()
    return project


def _create(caller: Caller, external_id: str, values: Values, *, has_words: bool) -> Project:
    if caller.project_id is not None:
        raise OneProjectOnly
    if not caller.is_key and Scope.CONFIGURE not in caller.scopes:
        raise MissingScope(
            "There is no project with this externalId, and creating one needs the scope configure. "
            f"The token “{caller.name}” can only suggest changes to an existing project: send "
            "its projectId, or ask the owner for another token."
        )
    project = create_project(caller.id, values, skips_samples=has_words)
    project.external_id = external_id
    return project


# The steps of a setup.

# The sections of a body that are settled as a whole, each with its kind of change.
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
    """Apply or propose what `SetupSchema` has loaded, in one transaction; return the outcome."""
    testimonials = body.get("testimonials", [])
    ids = [values["external_id"] for values in testimonials]
    if twice := {name for name in ids if ids.count(name) > 1}:
        message = f"These ids name more than one testimonial: {', '.join(sorted(twice))}."
        raise SameIdTwice(message, errors={"testimonials": [message]})
    words = dict(body.get("project", {}))
    if "website" in words:
        words["website"] = complete_website(words["website"])
    project, is_new = find_or_create(
        caller, body["externalId"], body.get("projectId"), words, has_words=bool(testimonials)
    )
    steps = Steps(caller, project, body.get("reason", ""))
    slug = words.pop("slug", None)
    words.pop("skipDemoTestimonials", None)
    if is_new:
        says = f"Created: {collection_page_url(project.slug, project.own_host)}"
        steps.changed.append({"section": "project", "says": says})
        enqueue_reading(project)
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
    """Add missing testimonials, and change the others."""
    if not wanted:
        return
    added: list[Testimonial] = []
    rows = find_by_external_ids(steps.project, [values["external_id"] for values in wanted])
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
            says = "It is in the trash, so it isn’t added again."
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


# A hundred proposals hold SQLite's write lock for a second, even in a dry run.
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

    One call, safe to repeat, describes the desired state, with your own ``externalId`` for the
    project and each testimonial; what is left out stays as it is. The answer lists what was done
    in ``changed``, what needed no change in ``already``, what waits for the owner in ``proposed``,
    and what was not done, and why, in ``refused``.

    The account's key creates the project, changes the widget and adds testimonials at once; the
    page, the design and changes of testimonials wait for the owner as proposals. A token does at
    once what its scopes allow, and proposes the rest if it has the scope draft. A proposal that is
    still waiting, or that the owner declined, isn't made again. After an error nothing is changed.
    The body may have up to 512 KiB. The limit is 60 calls an hour for each account.
    """
    steps = set_up(caller, body)
    return Answer(describe_counts(steps), SetupResultSchema().dump(describe_setup(steps)))


@agents.resource("GET /v1/projects/<project_id>/summary", scope=Scope.READ, data=SummarySchema)
def get_summary(project: Project) -> Values:
    """Read a project's summary.

    How many testimonials and proposals are waiting, the rating, the states of requests by email,
    and the websites that show the widget.
    """
    average, count = rate(project)
    requests = count_states(project)
    return {
        "status": project.status,
        "testimonials": count_tabs(project.id)[project.id] | {"samples": count_samples(project.id)},
        "averageRating": average if count else None,
        "ratingCount": count,
        "proposalsWaiting": count_waiting(project.id),
        "requests": {state: requests[state] for state in REQUEST_STATES},
        "websites": list_sightings(project.id),
    }
