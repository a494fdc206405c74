"""The API's doors to the page's design and its pictures, and to a project's forms."""

import io
from functools import partial
from typing import Any

from flask import Blueprint, Response

from testimonials.access.callers import Caller
from testimonials.access.guards import require_access
from testimonials.access.scopes import Scope
from testimonials.collection.forms import services
from testimonials.collection.forms.schemas import (
    FormCreateSchema,
    FormSchema,
    FormUpdateSchema,
    WholePageDesignSchema,
)
from testimonials.core.pictures.images import (
    COVER,
    PORTRAIT,
    UPLOADED_TYPES,
    UPLOADS_PER_ACCOUNT,
    read_image,
)
from testimonials.core.web.endpoint import answer, endpoint
from testimonials.core.web.writes import begin_call, require_match
from testimonials.extensions import limiter
from testimonials.projects.configuration.page_design import PageDesignSchema
from testimonials.projects.models import Project
from testimonials.projects.reach import find_project
from testimonials.proposals.calls import carry_out, keep_picture
from testimonials.proposals.schemas import ReasonQuerySchema

forms = Blueprint("forms", __name__)

# Five questions with long words in twelve languages.
MAX_BYTES = 256 * 1024

_DESIGN = WholePageDesignSchema()
_FORM = FormSchema()


@forms.get("/v1/projects/<project_id>/page-design")
@require_access(Scope.READ, by_key=True)
@endpoint(data=WholePageDesignSchema, raises=(404,))
def get_page_design(caller: Caller, project_id: str) -> Response:
    """Read what the collection page asks, and how it looks.

    What ``page-config`` doesn’t say: its language, prompts, the owner’s own questions, what is
    offered after sending, recordings, the cover and the face beside the signature.
    """
    return answer("OK", _describe(find_project(caller, project_id)))


@forms.patch("/v1/projects/<project_id>/page-design")
@require_access(Scope.CONFIGURE, drafts=True)
@endpoint(
    data=WholePageDesignSchema,
    body=PageDesignSchema,
    max_bytes=MAX_BYTES,
    query=ReasonQuerySchema,
    raises=(404,),
    example={
        "signature": "Mira, who bakes it",
        "prompts": ["What did you come for?", "Who would you send here?"],
        "questions": [
            {
                "kind": "choice",
                "text": "What do you usually take home?",
                "choices": ["Bread", "Buns", "Cake"],
                "isPublic": True,
            },
            {"kind": "scale", "text": "How likely are you to come back?"},
        ],
    },
)
def update_page_design(
    caller: Caller, project_id: str, body: dict[str, Any], query: dict[str, Any]
) -> Response:
    """Change what the collection page asks, and how it looks.

    Only the fields sent are changed; a list or ``translations`` is replaced as a whole. A question
    or a step that is sent with its ``id`` stays the same one. Once somebody has answered a
    question, its kind stays as it is; answers are kept when a question is changed or left out. A
    body may have 256 KiB.
    """
    begin_call(caller.id)
    project = find_project(caller, project_id, for_update=True)
    require_match(_describe(project))
    return carry_out(caller, project, "page.design", body, **query)


@forms.put("/v1/projects/<project_id>/cover")
@require_access(Scope.CONFIGURE, drafts=True)
@endpoint(
    data=WholePageDesignSchema,
    content_types=UPLOADED_TYPES,
    max_bytes=COVER.max_bytes,
    query=ReasonQuerySchema,
    raises=(404, 429, 503),
)
def set_cover(caller: Caller, project_id: str, content: bytes, query: dict[str, Any]) -> Response:
    """Upload the cover.

    The body is the picture itself: PNG, JPEG or WebP of at most 10 MB. It is scaled down to 2032 by
    1016 pixels at most. The page shows a strip of it around ``coverFocus``.
    """
    find_project(caller, project_id)
    limiter.count(UPLOADS_PER_ACCOUNT, caller.id)
    # Decoded before the lock is taken, so that no submission waits for it.
    image = read_image(io.BytesIO(content), COVER)
    begin_call(caller.id)
    project = find_project(caller, project_id, for_update=True)
    require_match(_describe(project))
    values, describe = _keep(caller, project, "cover", image), partial(_describe, project)
    return carry_out(caller, project, "cover", values, describe=describe, **query)


@forms.delete("/v1/projects/<project_id>/cover")
@require_access(Scope.CONFIGURE, drafts=True)
@endpoint(data=WholePageDesignSchema, query=ReasonQuerySchema, raises=(404,))
def remove_cover(caller: Caller, project_id: str, query: dict[str, Any]) -> Response:
    """Remove the cover."""
    begin_call(caller.id)
    project = find_project(caller, project_id, for_update=True)
    require_match(_describe(project))
    values, describe = {"image_id": None}, partial(_describe, project)
    return carry_out(caller, project, "cover", values, describe=describe, **query)


@forms.put("/v1/projects/<project_id>/portrait")
@require_access(Scope.CONFIGURE, drafts=True)
@endpoint(
    data=WholePageDesignSchema,
    content_types=UPLOADED_TYPES,
    max_bytes=PORTRAIT.max_bytes,
    query=ReasonQuerySchema,
    raises=(404, 429, 503),
)
def set_portrait(
    caller: Caller, project_id: str, content: bytes, query: dict[str, Any]
) -> Response:
    """Upload the face beside the signature.

    The body is the picture itself: PNG, JPEG or WebP of at most 10 MB. It is cut square and scaled
    down to 256 pixels.
    """
    find_project(caller, project_id)
    limiter.count(UPLOADS_PER_ACCOUNT, caller.id)
    image = read_image(io.BytesIO(content), PORTRAIT)
    begin_call(caller.id)
    project = find_project(caller, project_id, for_update=True)
    require_match(_describe(project))
    values, describe = _keep(caller, project, "portrait", image), partial(_describe, project)
    return carry_out(caller, project, "portrait", values, describe=describe, **query)


@forms.delete("/v1/projects/<project_id>/portrait")
@require_access(Scope.CONFIGURE, drafts=True)
@endpoint(data=WholePageDesignSchema, query=ReasonQuerySchema, raises=(404,))
def remove_portrait(caller: Caller, project_id: str, query: dict[str, Any]) -> Response:
    """Remove the face beside the signature."""
    begin_call(caller.id)
    project = find_project(caller, project_id, for_update=True)
    require_match(_describe(project))
    values, describe = {"image_id": None}, partial(_describe, project)
    return carry_out(caller, project, "portrait", values, describe=describe, **query)


@forms.get("/v1/projects/<project_id>/forms")
@require_access(Scope.READ, by_key=True)
@endpoint(data=FormSchema, many=True, raises=(404,))
def list_forms(caller: Caller, project_id: str) -> Response:
    """List the forms.

    Besides the collection page itself, by title, at most 20.
    """
    project = find_project(caller, project_id)
    described = [services.describe_form(project, each) for each in services.list_forms(project)]
    return answer("OK", _FORM.dump(described, many=True))


@forms.post("/v1/projects/<project_id>/forms")
@require_access(Scope.CONFIGURE, drafts=True)
@endpoint(
    data=FormSchema,
    body=FormCreateSchema,
    max_bytes=MAX_BYTES,
    query=ReasonQuerySchema,
    raises=(404, 409),
    example={
        "title": "After a class",
        "headline": "How was the class?",
        "questions": [{"kind": "text", "text": "What did you bake?", "isPublic": True}],
        "tag": "class",
    },
)
def create_form(
    caller: Caller, project_id: str, body: dict[str, Any], query: dict[str, Any]
) -> Response:
    """Add a form.

    With an address, words, questions and a tag of its own; all else is the collection page’s. At
    most 20 (409 FORM_LIMIT_REACHED).
    """
    begin_call(caller.id)
    project = find_project(caller, project_id, for_update=True)
    name = services.choose_name(project, body.get("name") or body["title"])
    return carry_out(caller, project, "form", body | {"name": name}, **query)


@forms.get("/v1/projects/<project_id>/forms/<form>")
@require_access(Scope.READ, by_key=True)
@endpoint(data=FormSchema, raises=(404,))
def get_form(caller: Caller, project_id: str, form: str) -> Response:
    """Read a form."""
    project = find_project(caller, project_id)
    return answer("OK", _describe_form(project, form))


@forms.patch("/v1/projects/<project_id>/forms/<form>")
@require_access(Scope.CONFIGURE, drafts=True)
@endpoint(
    data=FormSchema,
    body=FormUpdateSchema,
    max_bytes=MAX_BYTES,
    query=ReasonQuerySchema,
    raises=(404,),
    example={"title": "After our classes", "isOpen": False},
)
def update_form(
    caller: Caller, project_id: str, form: str, body: dict[str, Any], query: dict[str, Any]
) -> Response:
    """Change a form.

    Only the fields sent are changed; a list or ``translations`` is replaced as a whole, with the
    rules of ``page-design``. With another ``name``, links with the former one no longer work.
    """
    begin_call(caller.id)
    project = find_project(caller, project_id, for_update=True)
    require_match(_describe_form(project, form))
    renamed = {"new_name": body["name"]} if "name" in body else {}
    return carry_out(caller, project, "form", body | {"name": form} | renamed, **query)


@forms.delete("/v1/projects/<project_id>/forms/<form>")
@require_access(Scope.CONFIGURE, drafts=True)
@endpoint(data=FormSchema, query=ReasonQuerySchema, raises=(404,))
def delete_form(caller: Caller, project_id: str, form: str, query: dict[str, Any]) -> Response:
    """Delete a form.

    What was sent by it stays, with its answers.
    """
    begin_call(caller.id)
    project = find_project(caller, project_id, for_update=True)
    require_match(_describe_form(project, form))
    return carry_out(caller, project, "form.delete", {"name": form}, **query)


def _keep(caller: Caller, project: Project, kind: str, image: Any) -> dict[str, Any]:
    return {"image_id": keep_picture(caller, project, kind, image)}


def _describe(project: Project) -> Any:
    return _DESIGN.dump(services.describe_page_design(project))


def _describe_form(project: Project, name: str) -> Any:
    return _FORM.dump(services.describe_form(project, services.find_form(project, name)))
