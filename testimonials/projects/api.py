"""The API of projects: projects, brands, collection pages, and host names."""

from typing import Any

from testimonials.auth.api_auth import require_all_projects
from testimonials.auth.tokens import Caller, Scope
from testimonials.core.http.answers import Page
from testimonials.core.http.blueprints import projects
from testimonials.core.images.uploads import LOGO, Image
from testimonials.projects import domains, schemas
from testimonials.projects.brand import BrandUpdateSchema, find_brand
from testimonials.projects.changes import Values
from testimonials.projects.models import CustomDomain, Project
from testimonials.projects.projects import create_project as start_project
from testimonials.projects.projects import read_projects
from testimonials.projects.proposals_api import keep_picture
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
