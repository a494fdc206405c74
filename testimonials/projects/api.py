"""The API of projects: projects, brands, collection pages, host names, and proposals."""

from collections.abc import Mapping
from typing import Any

from marshmallow import ValidationError, fields

from testimonials.auth.api_auth import require_all_projects
from testimonials.auth.models import Account
from testimonials.auth.tokens import Caller, Scope
from testimonials.core.extensions import db
from testimonials.core.http.answers import Answer, CursorQuerySchema, Page
from testimonials.core.http.blueprints import projects
from testimonials.core.http.fields import Choice, StrictSchema, String, Time, WholeSchema
from testimonials.core.http.resource import Operation
from testimonials.core.http.urls import project_url
from testimonials.core.images.uploads import LOGO, Image
from testimonials.projects import domains, schemas
from testimonials.projects import proposals as services
from testimonials.projects.brand import BrandUpdateSchema, find_brand
from testimonials.projects.changes import CHANGES, KINDS, PROPOSALS, Values
from testimonials.projects.models import CustomDomain, Project, Proposal
from testimonials.projects.projects import create_project as start_project
from testimonials.projects.projects import lock_account, read_projects
from testimonials.projects.proposals import STATUSES
from testimonials.projects.website import enqueue_reading


@projects.resource(
    "GET /v1/projects",
    scope=Scope.READ,
    by_key=True,
    query=schemas.ProjectsQuerySchema,
    data=schemas.ProjectSchema,
    many=True,
)
def list_projects(caller: Caller, query: Values) -> Page:
    """List projects.

    Most recent first, at most 50. While there are more, the ``Link`` header has the URL of the next
    page.
    """
    return read_projects(caller.id, caller.project_id, query["after"])


@projects.resource(
    "POST /v1/projects",
    scope=Scope.CONFIGURE,
    by_key=True,
    body=schemas.ProjectCreateSchema,
    example={
        "businessName": "Juniper Street Salon",
        "website": "juniper-street.example",
        "headline": "How was your visit?",
    },
    prepare=require_all_projects,
    data=schemas.ProjectSchema,
    done="Project created",
    raises=(402,),
)
def create_project(caller: Caller, body: Values) -> Project:
    """Create a project.

    The collection page is at ``/<slug>``, with ``data.publicPageConfig.slug``. The slug is
    normalized to lower case with dashes, derived from ``businessName`` when left out, and random
    when both are missing. The account's very first project starts with six demo testimonials
    unless ``skipDemoTestimonials`` is true. 402 with ``code`` PROJECT_LIMIT_REACHED at the limit.
    """
    project = start_project(caller.id, body)
    enqueue_reading(project)
    return project


@projects.resource(
    "GET /v1/projects/<project_id>", scope=Scope.READ, by_key=True, data=schemas.ProjectSchema
)
def get_project(project: Project) -> Project:
    """Read a project."""
    return project


@projects.resource(
    "GET /v1/projects/<project_id>/brand",
    scope=Scope.READ,
    by_key=True,
    data=schemas.BrandSettingsSchema,
)
def get_brand(project: Project) -> Any:
    """Read the brand.

    The fields that were set; the others are null. ``brand`` is the brand in effect, for every
    surface without a color, font or logo of its own. Reading the owner's website may change it
    without a new ETag.
    """
    unset = dict.fromkeys(BrandUpdateSchema().fields)
    return unset | project.brand | {"brand": find_brand(project)}


@projects.resource(
    "PATCH /v1/projects/<project_id>/brand",
    scope=Scope.CONFIGURE,
    change="brand",
    match=get_brand,
    body=BrandUpdateSchema,
    example={"color": "#C2410C", "font": "classic"},
)
def update_brand(body: Values) -> Values:
    """Change the brand.

    Only the fields sent are changed; null unsets one. Name and website are settings of the page.
    The page's and the widget's own colors are changed there.
    """
    return body


@projects.resource(
    "GET /v1/projects/<project_id>/page-config",
    scope=Scope.READ,
    by_key=True,
    data=schemas.PageConfigSchema,
)
def get_page_config(project: Project) -> Any:
    """Read the settings of the collection page."""
    return project.whole_page_config | {"brand": find_brand(project)}


_PAGE: dict[str, Any] = {"scope": Scope.CONFIGURE, "match": get_page_config}


@projects.resource(
    "PATCH /v1/projects/<project_id>/page-config",
    change="page",
    body=schemas.PageConfigUpdateSchema,
    example={
        "headline": "How was your visit?",
        "buttonColor": "#0F766E",
        "collectFields": {"company": False},
    },
    **_PAGE,
)
def update_page_config(body: Values) -> Values:
    """Change the collection page.

    Only the fields sent are changed, also within ``collectFields``. The page always asks for the
    name. ``PUT logo`` changes the logo.
    """
    return body


@projects.resource("PUT /v1/projects/<project_id>/logo", change="logo", upload=LOGO, **_PAGE)
def set_logo(caller: Caller, project: Project, image: Image) -> Values:
    """Upload the logo.

    The body is the image itself: PNG, JPEG or WebP of at most 2 MB. It is scaled down to at most
    640 by 320 pixels, and its metadata is removed.
    """
    return {"image_id": keep_picture(caller, project, "logo", image)}


@projects.resource("DELETE /v1/projects/<project_id>/logo", change="logo", **_PAGE)
def remove_logo() -> Values:
    """Remove the logo."""
    return {"image_id": None}


# A project's own host name.

projects.find(domain=domains.get_domain)


@projects.resource(
    "GET /v1/projects/<project_id>/domain", scope=Scope.READ, data=schemas.DomainSchema
)
def get_domain(domain: CustomDomain) -> CustomDomain:
    """Read the project’s own host name.

    404 ``NO_DOMAIN`` if it has none.
    """
    return domain


@projects.resource(
    "PUT /v1/projects/<project_id>/domain",
    scope=Scope.CONFIGURE,
    match=domains.find_domain,
    body=schemas.DomainUpdateSchema,
    example={"host": "reviews.example.com"},
    data=schemas.DomainSchema,
    done="Host name set",
)
def set_domain(project: Project, body: Values) -> CustomDomain:
    """Set the project’s own host name.

    The response has the DNS ``records`` that the name needs. They are looked up every few minutes;
    once this service answers at the name, links to the collection page, the wall and testimonials
    use it. Another name replaces the previous one.
    """
    return domains.set_domain(project, body["host"])


@projects.resource(
    "POST /v1/projects/<project_id>/domain/check",
    scope=Scope.CONFIGURE,
    prepare=lambda domain: domains.look_up(domain.project_id, domain.host),
    data=schemas.DomainSchema,
    done="Looked up",
    raises=(429,),
)
def check_domain(project: Project, prepared: tuple[str, domains.Finding]) -> CustomDomain:
    """Look up the project’s own host name now.

    This takes some seconds, and works at most 60 times an hour.
    """
    domains.store_finding(project, *prepared)
    return domains.get_domain(project)


@projects.resource(
    "DELETE /v1/projects/<project_id>/domain",
    scope=Scope.CONFIGURE,
    match=get_domain,
    done="Host name removed",
)
def remove_domain(project: Project) -> None:
    """Remove the project’s own host name.

    Links use the service’s own address again, which never stopped working.
    """
    domains.remove_domain(project)


class ProposeSchema(StrictSchema):
    """A change for the owner to accept: its kind, and the values for that kind."""

    # By kind; OpenAPI shows these instead of this schema.
    variants = PROPOSALS

    def check(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        kind = payload.get("kind")
        if not isinstance(kind, str) or kind not in PROPOSALS.whole():
            raise ValidationError({"kind": [f"Must be one of: {', '.join(KINDS)}."]})
        return PROPOSALS[kind].check(payload)


class ProposalQuerySchema(CursorQuerySchema):
    status = Choice(
        *STATUSES, load_default=None, allow_none=False, description="Only those in this state."
    )


class ProposalSchema(WholeSchema):
    """A change that waits for the owner, or what became of it."""

    _id = String(attribute="id")
    projectId = String(attribute="project_id")
    # Known once all kinds are declared.
    kind = String(metadata={"enum": KINDS})
    targetId = String(attribute="target_id", allow_none=True)
    values = fields.Dict()
    reason = String()
    status = Choice(*STATUSES)
    result = fields.Dict(
        allow_none=True,
        metadata={"description": "What accepting it created, such as `testimonialId`."},
    )
    note = String(allow_none=True, description="The owner’s answer to you.")
    createdAt = Time(attribute="created_at")
    decidedAt = Time(attribute="decided_at", allow_none=True)
    url = fields.Function(
        lambda proposal: project_url(proposal.project_id, "proposals"),
        metadata={"type": "string", "description": "The page on which the owner decides."},
    )


WAITS = "Waits for the owner"


def carry_out(
    operation: Operation,
    caller: Caller,
    project: Project,
    path: dict[str, str],
    values: Values,
    query: Values,
) -> Answer:
    """Change the locked project as the operation says, or propose that if the caller drafts (202).

    `values` are loaded by the kind's schema.
    """
    kind = operation.change or ""
    change = CHANGES[kind]
    target_id = path["testimonial_id"] if change.needs_target else None
    if caller.drafts_only:
        proposal = services.propose(caller, project, kind, values, target_id, query["reason"])
        return Answer(WAITS, ProposalSchema().dump(proposal), 202)
    outcome = change.apply(project, target_id, values, caller.label)
    return Answer(change.done, operation.dump(outcome.data))


def lock_callers_account(caller: Caller) -> Account:
    return lock_account(caller.id)


def keep_picture(
    caller: Caller, project: Project, kind: str, image: Image, target_id: str | None = None
) -> str:
    """Store an uploaded picture and return its id; if it is only proposed, it isn't public.

    If the same picture is part of a waiting proposal, return that.
    """
    if caller.drafts_only:
        same = services.find_waiting_picture(caller, project, kind, target_id, image.content)
        if same is not None:
            return same
    image.is_held = caller.drafts_only
    db.session.add(image)
    db.session.flush()
    return image.id


# Only people decide proposals, in the dashboard.

projects.find(proposal=services.find_proposal)


@projects.resource(
    "GET /v1/projects/<project_id>/proposals",
    by_key=True,
    query=ProposalQuerySchema,
    data=ProposalSchema,
    is_paged=True,
)
def list_proposals(caller: Caller, project: Project, query: Values) -> Page:
    """List proposals.

    Newest first, each with its ``status``, the owner’s ``note``, and the ``result``. The account’s
    key sees those made with a key; a token with the scope read sees all of its projects, any other
    token its own.
    """
    return services.list_proposals(caller, project, **query)


@projects.resource(
    "POST /v1/projects/<project_id>/proposals",
    scope=Scope.DRAFT,
    by_key=True,
    body=ProposeSchema,
    example={
        "kind": "page",
        "values": {"buttonColor": "#9A3412", "thankYouMessage": "Thank you! See you soon."},
        "reason": "The button has the orange of your website.",
    },
    locks_account=True,
    data=ProposalSchema,
    done=WAITS,
    raises=(409,),
)
def propose_change(caller: Caller, project: Project, body: Values) -> Proposal:
    """Propose a change.

    It waits until the owner accepts or declines it in the dashboard, or while claiming the account;
    nothing of it is public before. ``kind`` says what changes, and ``values`` are the fields of
    that kind; an impossible change is rejected at once, with the reason. Proposing the same again
    returns the existing proposal. At most 500 may wait in a project (409 TOO_MANY_PROPOSALS).
    """
    return services.propose(caller, project, **body)


@projects.resource(
    "GET /v1/projects/<project_id>/proposals/<proposal_id>", by_key=True, data=ProposalSchema
)
def get_proposal(proposal: Proposal) -> Proposal:
    """Read a proposal, and what became of it."""
    return proposal


@projects.resource(
    "DELETE /v1/projects/<project_id>/proposals/<proposal_id>",
    scope=Scope.DRAFT,
    by_key=True,
    match=get_proposal,
    done="Withdrawn",
    raises=(409,),
)
def withdraw_proposal(caller: Caller, project: Project, proposal_id: str) -> Proposal:
    """Withdraw a proposal.

    It must have been made with the same credential, and still be waiting, else 409
    PROPOSAL_DECIDED.
    """
    return services.withdraw(caller, project, proposal_id)
