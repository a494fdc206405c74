"""The API of forms, requests, purchase links and share pictures."""

from datetime import timedelta
from typing import Any

from flask import Response

from testimonials.auth.tokens import Caller, Scope
from testimonials.collection import forms as services
from testimonials.collection import schemas
from testimonials.collection.changes import RequestSchema, describe_if_nobody_left
from testimonials.collection.images import pictures as drawings
from testimonials.collection.models import CollectionForm
from testimonials.collection.requests import AskedPerson, find_asked, read_asked, remove_asked
from testimonials.collection.verified_purchases import is_used, make_purchase_url
from testimonials.core import clock
from testimonials.core.http.answers import Answer, Page
from testimonials.core.http.blueprints import collection
from testimonials.core.images.uploads import COVER, PORTRAIT, Image
from testimonials.projects.api import keep_picture
from testimonials.projects.changes import Values
from testimonials.projects.models import Project
from testimonials.projects.page_design import PageDesignSchema
from testimonials.testimonials.moderation import find_testimonial
from testimonials.testimonials.schemas import DeletedCountSchema

# Enough for five long questions in twelve languages.
MAX_BYTES = 256 * 1024


@collection.resource(
    "GET /v1/projects/<project_id>/page-design",
    scope=Scope.READ,
    by_key=True,
    data=schemas.WholePageDesignSchema,
)
def get_page_design(project: Project) -> Values:
    """Read what the collection page asks, and how it looks.

    In addition to ``page-config``: its language, prompts, the owner’s own questions, the steps
    after sending, recordings, the cover and the face next to the signature.
    """
    return services.describe_page_design(project)


_DESIGN: dict[str, Any] = {"scope": Scope.CONFIGURE, "match": get_page_design}


@collection.resource(
    "PATCH /v1/projects/<project_id>/page-design",
    change="page.design",
    body=PageDesignSchema,
    max_bytes=MAX_BYTES,
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
    **_DESIGN,
)
def update_page_design(body: Values) -> Values:
    """Change what the collection page asks, and how it looks.

    Only the fields that are sent change; a list or ``translations`` is replaced as a whole. A
    question or step keeps its identity if it is sent with its ``id``. The kind of a question can’t
    change once somebody has answered it; answers are kept if a question changes or is left out. The
    body may have up to 256 KiB.
    """
    return body


@collection.resource("PUT /v1/projects/<project_id>/cover", change="cover", upload=COVER, **_DESIGN)
def set_cover(caller: Caller, project: Project, image: Image) -> Values:
    """Upload the cover.

    The body is the picture itself: PNG, JPEG or WebP of at most 10 MB. It is scaled down to at most
    2032 by 1016 pixels. The page shows a strip of it around ``coverFocus``.
    """
    return {"image_id": keep_picture(caller, project, "cover", image)}


@collection.resource("DELETE /v1/projects/<project_id>/cover", change="cover", **_DESIGN)
def remove_cover() -> Values:
    """Remove the cover."""
    return {"image_id": None}


@collection.resource(
    "PUT /v1/projects/<project_id>/portrait", change="portrait", upload=PORTRAIT, **_DESIGN
)
def set_portrait(caller: Caller, project: Project, image: Image) -> Values:
    """Upload the face next to the signature.

    The body is the picture itself: PNG, JPEG or WebP of at most 10 MB. It is cropped to a square
    and scaled down to 256 pixels.
    """
    return {"image_id": keep_picture(caller, project, "portrait", image)}


@collection.resource("DELETE /v1/projects/<project_id>/portrait", change="portrait", **_DESIGN)
def remove_portrait() -> Values:
    """Remove the face next to the signature."""
    return {"image_id": None}


collection.find(row=lambda project, form: services.find_form(project, form))


@collection.resource(
    "GET /v1/projects/<project_id>/forms",
    scope=Scope.READ,
    by_key=True,
    data=schemas.FormSchema,
    many=True,
)
def list_forms(project: Project) -> list[Values]:
    """List the forms.

    The project’s additional forms, by title, at most 20.
    """
    return [services.describe_form(project, each) for each in services.list_forms(project)]


@collection.resource(
    "POST /v1/projects/<project_id>/forms",
    scope=Scope.CONFIGURE,
    change="form",
    body=schemas.FormCreateSchema,
    max_bytes=MAX_BYTES,
    example={
        "title": "After a class",
        "headline": "How was the class?",
        "questions": [{"kind": "text", "text": "What did you bake?", "isPublic": True}],
        "tag": "class",
    },
    data=schemas.FormSchema,
    raises=(409,),
)
def create_form(project: Project, body: Values) -> Values:
    """Add a form.

    It has its own URL, texts, questions and tag; all else comes from the collection page. A project
    has at most 20 (409 FORM_LIMIT_REACHED).
    """
    name = services.choose_name(project, body.get("name") or body["title"])
    return body | {"name": name}


@collection.resource(
    "GET /v1/projects/<project_id>/forms/<form>",
    scope=Scope.READ,
    by_key=True,
    data=schemas.FormSchema,
)
def get_form(project: Project, row: CollectionForm) -> Values:
    """Read a form."""
    return services.describe_form(project, row)


@collection.resource(
    "PATCH /v1/projects/<project_id>/forms/<form>",
    scope=Scope.CONFIGURE,
    change="form",
    match=get_form,
    body=schemas.FormUpdateSchema,
    max_bytes=MAX_BYTES,
    example={"title": "After our classes", "isOpen": False},
)
def update_form(form: str, body: Values) -> Values:
    """Change a form.

    Only the fields that are sent change; a list or ``translations`` is replaced as a whole, by the
    rules of ``page-design``. After a change of ``name``, links with the old one no longer work.
    """
    renamed = {"new_name": body["name"]} if "name" in body else {}
    return body | {"name": form} | renamed


@collection.resource(
    "DELETE /v1/projects/<project_id>/forms/<form>",
    scope=Scope.CONFIGURE,
    change="form.delete",
    match=get_form,
)
def delete_form(form: str) -> Values:
    """Delete a form.

    The testimonials that were sent from it stay, with their answers.
    """
    return {"name": form}


collection.find(person=lambda project, asked_id: find_asked(project, asked_id))


@collection.resource(
    "GET /v1/projects/<project_id>/requests",
    scope=Scope.CONFIGURE,
    query=schemas.AskedQuerySchema,
    data=schemas.AskedPersonSchema,
    is_paged=True,
)
def list_requests(project: Project, query: Values) -> Page:
    """List requests by email.

    Newest first, each with its state. An unanswered request is kept for a year.
    """
    return read_asked(project, **query)


@collection.resource(
    "POST /v1/projects/<project_id>/requests",
    scope=Scope.CONFIGURE,
    change="request",
    body=RequestSchema,
    example={
        "people": [{"email": "maya@example.com", "name": "Maya"}],
        "language": "en",
        "remindAfterDays": 5,
    },
    locks_account=True,
    data=schemas.AskedSchema,
)
def ask_by_mail(caller: Caller, project: Project, body: Values) -> Values | Answer:
    """Ask people for a testimonial by email.

    Up to 100 in one call, in the owner’s name. ``subject`` and ``message`` default to suggested
    texts, and may contain fields such as ``{first_name}``. Nobody is asked twice in a project, so
    the call can be repeated. Above the account’s limit for 24 hours, the answer is 422.
    """
    if not caller.drafts_only and (data := describe_if_nobody_left(project, body)):
        return Answer("Nobody is left to ask", data)
    return body


@collection.resource(
    "GET /v1/projects/<project_id>/requests/<asked_id>",
    scope=Scope.CONFIGURE,
    data=schemas.AskedPersonSchema,
)
def get_request(person: AskedPerson) -> AskedPerson:
    """Read a request."""
    return person


@collection.resource(
    "DELETE /v1/projects/<project_id>/requests/<asked_id>",
    scope=Scope.CONFIGURE,
    match=get_request,
    data=DeletedCountSchema,
    done="Request deleted",
)
def delete_request(project: Project, asked_id: str) -> Values:
    """Delete a request.

    An email that hasn’t been sent yet is deleted too; the link in one that was sent opens the plain
    form. The person can be asked again.
    """
    remove_asked(project, asked_id)
    return {"deletedCount": 1}


@collection.resource(
    "POST /v1/projects/<project_id>/purchase-links",
    scope=Scope.CONFIGURE,
    body=schemas.PurchaseLinkCreateSchema,
    example={"order": "A-1042", "name": "Maya Chen", "email": "maya@example.com"},
    data=schemas.PurchaseLinkSchema,
    done="Link made",
)
def create_purchase_link(project: Project, body: Values) -> Values:
    """Create a link that proves a purchase.

    What the customer writes with it is publicly marked “Verified customer”, once for each
    ``order``. Give it to them after the purchase, in your own email or on your own page; nothing is
    sent. A shop can also sign such links itself: see docs/verified-customers.md.
    """
    form, language, days = body.pop("form"), body.pop("language", None), body.pop("days")
    if form:
        services.find_form(project, form)
    return {
        "url": make_purchase_url(project, body, days, form, language),
        "order": body["order"],
        "isUsed": is_used(project, body["order"]),
        "expiresAt": clock.now() + timedelta(days=days),
    }


@collection.resource(
    "GET /v1/projects/<project_id>/testimonials/<testimonial_id>/picture",
    scope=Scope.READ,
    by_key=True,
    query=schemas.PictureQuerySchema,
    content_type="image/png",
    raises=(422, 429, 503),
)
def get_testimonial_picture(project: Project, testimonial_id: str, query: Values) -> Response:
    """Draw a testimonial as a PNG picture to share.

    Only approved and demo testimonials have one. A long text is shortened with “…”. The answer is
    422 with the letters if the server has no font for some of them.
    """
    row = find_testimonial(project, testimonial_id)
    picture = drawings.describe_picture(project, row, **query)
    return drawings.send_picture(picture.fingerprint, drawings.fetch_picture(picture))
