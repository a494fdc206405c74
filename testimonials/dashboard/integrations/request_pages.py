"""What an agent asks for, by the link that it gave the owner: granting it or not."""

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from testimonials.access.models import OPEN, AccessRequest
from testimonials.access.requests import (
    RequestDecided,
    decline,
    find_access_request,
    grant,
)
from testimonials.access.scopes import NEVER, Scope
from testimonials.access.tokens import find_token_names
from testimonials.auth.sign_in.sessions import SignedIn
from testimonials.core.web.errors import NotFound, ValidationFailed
from testimonials.core.web.response_headers import answer_privately
from testimonials.dashboard.guards import build_shell, require_proof, require_session
from testimonials.dashboard.integrations.token_form import (
    ALL,
    TokenForm,
    list_choices,
    read_token_form,
)
from testimonials.extensions import begin_write, db
from testimonials.projects.services import list_choosable

access_requests = Blueprint("access_requests", __name__)


@access_requests.get("/dashboard/access-requests/<request_id>")
@require_session
def show_request(owner: SignedIn, request_id: str) -> ResponseReturnValue:
    return _page(owner, request_id)


@access_requests.post("/dashboard/access-requests/<request_id>/grant")
@require_session
@require_proof("give an agent access", "dashboard.show_projects")
def grant_request(owner: SignedIn, request_id: str) -> ResponseReturnValue:
    """Grant what the owner left of it; the agent fetches its token by itself."""
    begin_write()
    form = read_token_form(_choices(owner), request.form)
    try:
        asked = find_access_request(owner.account_id, request_id)
        if form.errors:
            raise ValidationFailed.of(form.errors)
        grant(asked, person=owner.account_id, **form.terms)
    except (NotFound, RequestDecided, ValidationFailed):
        db.session.rollback()
        return _page(owner, request_id, form)
    db.session.commit()
    return redirect(url_for(".show_request", request_id=request_id), 303)


@access_requests.post("/dashboard/access-requests/<request_id>/decline")
@require_session
def decline_request(owner: SignedIn, request_id: str) -> ResponseReturnValue:
    begin_write()
    try:
        decline(find_access_request(owner.account_id, request_id))
    except (NotFound, RequestDecided):
        db.session.rollback()
        return _page(owner, request_id)
    db.session.commit()
    return redirect(url_for(".show_request", request_id=request_id), 303)


def _page(owner: SignedIn, request_id: str, form: TokenForm | None = None) -> ResponseReturnValue:
    """Return the page of a request, whatever became of it; the same for one of another account
    as for none."""
    shell = build_shell(owner, "integrations")
    try:
        asked = find_access_request(owner.account_id, request_id)
    except NotFound:
        page = render_template("dashboard/integrations/request_unknown.html", shell=shell)
        return answer_privately(page, 404)
    form = form or _suggest(owner, asked)
    page = render_template(
        "dashboard/integrations/request.html",
        shell=shell,
        asked=asked,
        asked_with=find_token_names(owner.account_id).get(asked.asked_by),
        days=OPEN.days,
        back=asked.project_id or next((each for each in form.projects if each != ALL), None),
        never=NEVER,
        **form.describe(),
    )
    return answer_privately(page, 422 if form.errors else 200)


def _suggest(owner: SignedIn, asked: AccessRequest) -> TokenForm:
    form = TokenForm(_choices(owner, asked), project=asked.project_id or ALL)
    form.scopes = [each for each in Scope if each in asked.scopes]
    return form


def _choices(owner: SignedIn, asked: AccessRequest | None = None) -> dict[str, str]:
    also = request.form.get("project", "") if asked is None else asked.project_id
    return list_choices(list_choosable(owner.account_id, also), with_all=True)
