"""The API's doors to the collection page's settings and the widget's design."""

import io
from typing import Any

from flask import Blueprint, Response

from testimonials.access.callers import Caller
from testimonials.access.guards import require_access
from testimonials.access.scopes import Scope
from testimonials.core.pictures.images import (
    LOGO,
    UPLOADED_TYPES,
    UPLOADS_PER_ACCOUNT,
    read_image,
)
from testimonials.core.web.endpoint import answer, endpoint
from testimonials.core.web.writes import begin_call, require_match
from testimonials.extensions import limiter
from testimonials.projects.models import Project
from testimonials.projects.reach import find_project
from testimonials.projects.schemas import PageConfigSchema, PageConfigUpdateSchema, ProjectSchema
from testimonials.proposals.calls import carry_out, keep_picture
from testimonials.proposals.schemas import ReasonQuerySchema
from testimonials.proposals.values import DesignUpdateSchema

configuration = Blueprint("configuration", __name__)

_PAGE = PageConfigSchema()
_PROJECT = ProjectSchema()


@configuration.get("/v1/projects/<project_id>/page-config")
@require_access(Scope.READ, by_key=True)
@endpoint(data=PageConfigSchema, raises=(404,))
def get_page_config(caller: Caller, project_id: str) -> Response:
    """Read the settings of the collection page."""
    return answer("OK", _describe(find_project(caller, project_id)))


@configuration.patch("/v1/projects/<project_id>/page-config")
@require_access(Scope.CONFIGURE, drafts=True)
@endpoint(
    data=PageConfigSchema,
    body=PageConfigUpdateSchema,
    query=ReasonQuerySchema,
    raises=(404,),
    example={
        "headline": "How was your visit?",
        "buttonColor": "#0F766E",
        "collectFields": {"company": False},
    },
)
def update_page_config(
    caller: Caller, project_id: str, body: dict[str, Any], query: dict[str, Any]
) -> Response:
    """Change the collection page.

    Only the fields sent are changed, also within ``collectFields``. The page always asks for the
    name. The logo is changed by ``PUT logo``.
    """
    begin_call(caller.id)
    project = find_project(caller, project_id, for_update=True)
    require_match(_describe(project))
    return carry_out(caller, project, "page", body, describe=lambda: _describe(project), **query)


@configuration.put("/v1/projects/<project_id>/logo")
@require_access(Scope.CONFIGURE, drafts=True)
@endpoint(
    data=PageConfigSchema,
    content_types=UPLOADED_TYPES,
    max_bytes=LOGO.max_bytes,
    query=ReasonQuerySchema,
    raises=(404, 429, 503),
)
def set_logo(caller: Caller, project_id: str, content: bytes, query: dict[str, Any]) -> Response:
    """Upload the logo.

    The body is the picture itself: PNG, JPEG or WebP of at most 2 MB. It is scaled down to 640 by
    320 pixels at most, and nothing else of the file is kept.
    """
    find_project(caller, project_id)
    limiter.count(UPLOADS_PER_ACCOUNT, caller.id)
    # Decoded before the lock is taken, so that no submission waits for it.
    image = read_image(io.BytesIO(content), LOGO)
    begin_call(caller.id)
    project = find_project(caller, project_id, for_update=True)
    require_match(_describe(project))
    values = {"image_id": keep_picture(caller, project, "logo", image)}
    return carry_out(caller, project, "logo", values, describe=lambda: _describe(project), **query)


@configuration.delete("/v1/projects/<project_id>/logo")
@require_access(Scope.CONFIGURE, drafts=True)
@endpoint(data=PageConfigSchema, query=ReasonQuerySchema, raises=(404,))
def remove_logo(caller: Caller, project_id: str, query: dict[str, Any]) -> Response:
    """Remove the logo."""
    begin_call(caller.id)
    project = find_project(caller, project_id, for_update=True)
    require_match(_describe(project))
    values = {"image_id": None}
    return carry_out(caller, project, "logo", values, describe=lambda: _describe(project), **query)


@configuration.patch("/v1/projects/<project_id>/widget-design")
@require_access(Scope.CONFIGURE, drafts=True)
@endpoint(
    data=ProjectSchema,
    body=DesignUpdateSchema,
    query=ReasonQuerySchema,
    raises=(404,),
    example={"brandColor": "#0F766E", "font": "serif", "order": "best", "minRating": 4},
)
def update_widget_design(
    caller: Caller, project_id: str, body: dict[str, Any], query: dict[str, Any]
) -> Response:
    """Change the widget’s design.

    What the specified settings of ``widget-config`` don’t say: colours, fonts, sizes, and which
    testimonials show in which order. Only the fields sent are changed; ``labels`` is replaced as a
    whole. Gives the full project.
    """
    begin_call(caller.id)
    project = find_project(caller, project_id, for_update=True)
    require_match(_PROJECT.dump(project))
    return carry_out(caller, project, "design", body, **query)


def _describe(project: Project) -> Any:
    return _PAGE.dump(project.whole_page_config)
