"""The API's door to links that prove a purchase."""

from datetime import timedelta
from typing import Any

from flask import Blueprint, Response

from testimonials.access.callers import Caller
from testimonials.access.guards import require_access
from testimonials.access.scopes import Scope
from testimonials.collection.forms.services import find_form
from testimonials.collection.purchases.links import is_used, make_purchase_url
from testimonials.collection.purchases.schemas import (
    PurchaseLinkCreateSchema,
    PurchaseLinkSchema,
)
from testimonials.core import clock
from testimonials.core.web.endpoint import endpoint
from testimonials.core.web.writes import begin_call, commit_answer
from testimonials.projects.reach import find_project

purchases = Blueprint("purchases", __name__)

_LINK = PurchaseLinkSchema()


@purchases.post("/v1/projects/<project_id>/purchase-links")
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
