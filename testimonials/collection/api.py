"""The API of forms, requests, purchase links and share pictures."""

import io
from datetime import timedelta
from functools import partial
from typing import Any

from flask import Response

from testimonials.auth.api_auth import require_access
from testimonials.auth.callers import Caller
from testimonials.auth.scopes import Scope
from testimonials.collection import forms as services
from testimonials.collection.changes import RequestSchema, tell_nobody_left
from testimonials.collection.forms import find_form
from testimonials.collection.images.pictures import (
    OWN_DRAWINGS,
    describe_picture,
    draw_picture,
    find_picture,
    send_picture,
)
from testimonials.collection.images.pictures import keep_picture as pictures_keep_picture
from testimonials.collection.requests import find_asked, read_asked, remove_asked
from testimonials.collection.schemas import (
    AskedPersonSchema,
    AskedQuerySchema,
    AskedSchema,
    FormCreateSchema,
    FormSchema,
    FormUpdateSchema,
    PictureQuerySchema,
    PurchaseLinkCreateSchema,
    PurchaseLinkSchema,
    WholePageDesignSchema,
)
from testimonials.collection.verified_purchases import is_used, make_purchase_url
from testimonials.core import clock
from testimonials.core.extensions import begin_write, db, limiter
from testimonials.core.http.blueprints import collection
from testimonials.core.http.idempotency import begin_call, commit_answer, require_match
from testimonials.core.http.pagination import answer_page
from testimonials.core.http.resource import answer, endpoint
from testimonials.core.images.uploads import (
    COVER,
    PORTRAIT,
    UPLOADED_TYPES,
    UPLOADS_PER_ACCOUNT,
    read_image,
)
from testimonials.projects.access import find_project
from testimonials.projects.change_calls import carry_out, keep_picture
from testimonials.projects.models import Project
from testimonials.projects.page_design import PageDesignSchema
from testimonials.projects.projects import lock_account
from testimonials.projects.proposal_schemas import ReasonQuerySchema
from testimonials.testimonials.moderation import find_testimonial
from testimonials.testimonials.schemas import DeletedCountSchema

# The API's doors to the page's design and its pictures, and to a project's forms.


# Five questions with long words in twelve languages.
MAX_BYTES = 256 * 1024

_DESIGN = WholePageDesignSchema()
_FORM = FormSchema()


@collection.get("/v1/projects/<project_id>/page-design")
@require_access(Scope.READ, by_key=True)
@endpoint(data=WholePageDesignSchema, raises=(404,))
def get_page_design(caller: Caller, project_id: str) -> Response:
    """Read what the collection page asks, and how it looks.

    What ``page-config`` doesn’t say: its language, prompts, the owner’s own questions, what is
    offered after sending, recordings, the cover and the face beside the signature.
    """
    return answer("OK", _describe(find_project(caller, project_id)))


@collection.patch("/v1/projects/<project_id>/page-design")
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


@collection.put("/v1/projects/<project_id>/cover")
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


@collection.delete("/v1/projects/<project_id>/cover")
@require_access(Scope.CONFIGURE, drafts=True)
@endpoint(data=WholePageDesignSchema, query=ReasonQuerySchema, raises=(404,))
def remove_cover(caller: Caller, project_id: str, query: dict[str, Any]) -> Response:
    """Remove the cover."""
    begin_call(caller.id)
    project = find_project(caller, project_id, for_update=True)
    require_match(_describe(project))
    values, describe = {"image_id": None}, partial(_describe, project)
    return carry_out(caller, project, "cover", values, describe=describe, **query)


@collection.put("/v1/projects/<project_id>/portrait")
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


@collection.delete("/v1/projects/<project_id>/portrait")
@require_access(Scope.CONFIGURE, drafts=True)
@endpoint(data=WholePageDesignSchema, query=ReasonQuerySchema, raises=(404,))
def remove_portrait(caller: Caller, project_id: str, query: dict[str, Any]) -> Response:
    """Remove the face beside the signature."""
    begin_call(caller.id)
    project = find_project(caller, project_id, for_update=True)
    require_match(_describe(project))
    values, describe = {"image_id": None}, partial(_describe, project)
    return carry_out(caller, project, "portrait", values, describe=describe, **query)


@collection.get("/v1/projects/<project_id>/forms")
@require_access(Scope.READ, by_key=True)
@endpoint(data=FormSchema, many=True, raises=(404,))
def list_forms(caller: Caller, project_id: str) -> Response:
    """List the forms.

    Besides the collection page itself, by title, at most 20.
    """
    project = find_project(caller, project_id)
    described = [services.describe_form(project, each) for each in services.list_forms(project)]
    return answer("OK", _FORM.dump(described, many=True))


@collection.post("/v1/projects/<project_id>/forms")
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


@collection.get("/v1/projects/<project_id>/forms/<form>")
@require_access(Scope.READ, by_key=True)
@endpoint(data=FormSchema, raises=(404,))
def get_form(caller: Caller, project_id: str, form: str) -> Response:
    """Read a form."""
    project = find_project(caller, project_id)
    return answer("OK", _describe_form(project, form))


@collection.patch("/v1/projects/<project_id>/forms/<form>")
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


@collection.delete("/v1/projects/<project_id>/forms/<form>")
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


# The API's doors to requests by mail.


_PERSON = AskedPersonSchema()
_PEOPLE = AskedPersonSchema(many=True)


@collection.get("/v1/projects/<project_id>/requests")
@require_access(Scope.CONFIGURE)
@endpoint(data=AskedPersonSchema, is_paged=True, query=AskedQuerySchema, raises=(404,))
def list_requests(caller: Caller, project_id: str, query: dict[str, Any]) -> Response:
    """List who was asked by mail.

    Newest first, each with what came of it. An unanswered request is kept for a year.
    """
    project = find_project(caller, project_id)
    page = read_asked(project, query["state"], query["limit"], query["after"])
    return answer_page(_PEOPLE, page)


@collection.post("/v1/projects/<project_id>/requests")
@require_access(Scope.CONFIGURE, drafts=True)
@endpoint(
    data=AskedSchema,
    body=RequestSchema,
    query=ReasonQuerySchema,
    raises=(404,),
    example={
        "people": [{"email": "maya@example.com", "name": "Maya"}],
        "language": "en",
        "remindAfterDays": 5,
    },
)
def ask_by_mail(
    caller: Caller, project_id: str, body: dict[str, Any], query: dict[str, Any]
) -> Response:
    """Ask people for a testimonial by mail.

    Up to 100 in one call, in the owner’s name. ``subject`` and ``message`` have suggested words
    when they are left out, and fields such as ``{first_name}``. Nobody is asked
    twice in a project, so the call can be repeated. The account’s limit for 24 hours is that of the
    dashboard: 422 past it.
    """
    begin_call(caller.id)
    # The account first: its daily limit covers all of its projects.
    lock_account(caller.id)
    project = find_project(caller, project_id, for_update=True)
    if not caller.drafts_only and (told := tell_nobody_left(project, body)):
        return commit_answer("Nobody is left to ask", told)
    return carry_out(caller, project, "request", body, **query)


@collection.get("/v1/projects/<project_id>/requests/<asked_id>")
@require_access(Scope.CONFIGURE)
@endpoint(data=AskedPersonSchema, raises=(404,))
def get_request(caller: Caller, project_id: str, asked_id: str) -> Response:
    """Read what came of a request."""
    return answer("OK", _PERSON.dump(find_asked(find_project(caller, project_id), asked_id)))


@collection.delete("/v1/projects/<project_id>/requests/<asked_id>")
@require_access(Scope.CONFIGURE)
@endpoint(data=DeletedCountSchema, raises=(404,))
def delete_request(caller: Caller, project_id: str, asked_id: str) -> Response:
    """Delete a request.

    With its mail, if that has not left; a link that was mailed opens the plain form. The person can
    be asked again.
    """
    begin_call(caller.id)
    project = find_project(caller, project_id, for_update=True)
    require_match(_PERSON.dump(find_asked(project, asked_id)))
    remove_asked(project, asked_id)
    return commit_answer("Request deleted", {"deletedCount": 1})


# The API's door to links that prove a purchase.


_LINK = PurchaseLinkSchema()


@collection.post("/v1/projects/<project_id>/purchase-links")
@require_access(Scope.CONFIGURE)
@endpoint(
    data=PurchaseLinkSchema,
    body=PurchaseLinkCreateSchema,
    raises=(404,),
    example={"order": "A-1042", "name": "Maya Chen", "email": "maya@example.com"},
)
def create_purchase_link(caller: Caller, project_id: str, body: dict[str, Any]) -> Response:
    """Make a link that proves a purchase.

    What the customer writes by it is marked “Verified customer”, in public too, once for each
    ``order``. Give it to them after the purchase, in your own mail or on your own page; nothing is
    sent. A shop can sign such links itself, without a call: see docs/verified-customers.md.
    """
    begin_call(caller.id)
    project = find_project(caller, project_id, for_update=True)
    form, language, days = body.pop("form"), body.pop("language", None), body.pop("days")
    if form:
        find_form(project, form)
    made = {
        "url": make_purchase_url(project, body, days, form, language),
        "order": body["order"],
        "isUsed": is_used(project, body["order"]),
        "expiresAt": clock.now() + timedelta(days=days),
    }
    return commit_answer("Link made", _LINK.dump(made))


# The API's door to pictures of testimonials.


@collection.get("/v1/projects/<project_id>/testimonials/<testimonial_id>/picture")
@require_access(Scope.READ, by_key=True)
@endpoint(content_type="image/png", query=PictureQuerySchema, raises=(400, 404, 422, 429, 503))
def get_testimonial_picture(
    caller: Caller, project_id: str, testimonial_id: str, query: dict[str, Any]
) -> Response:
    """Draw a testimonial as a PNG picture to share.

    Only approved and demo testimonials have one. A long text ends with “…”. 422 says which letters
    no font of the server has.
    """
    project = find_project(caller, project_id)
    row = find_testimonial(project, testimonial_id)
    wanted = describe_picture(project, row, **query)
    if (content := find_picture(wanted)) is None:
        limiter.count(OWN_DRAWINGS, project_id)
        content = draw_picture(wanted)
        begin_write()
        pictures_keep_picture(wanted, content)
        db.session.commit()
    return send_picture(wanted, content)
