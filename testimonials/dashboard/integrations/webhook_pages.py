"""Webhook endpoints: adding, changing, switching and removing them, and their secrets."""

from flask import Blueprint, redirect, request, url_for
from flask.typing import ResponseReturnValue

from testimonials.auth.sign_in.sessions import SignedIn
from testimonials.core.web.errors import ServiceError, ValidationFailed
from testimonials.core.web.languages import gettext as _
from testimonials.core.web.response_headers import answer_privately
from testimonials.dashboard.forms import to_form_errors
from testimonials.dashboard.guards import require_proof, require_role, require_session
from testimonials.dashboard.integrations.once import is_repeated
from testimonials.dashboard.integrations.overview import render_overview
from testimonials.dashboard.integrations.webhook_form import (
    EndpointForm,
    read_endpoint_form,
    to_form,
)
from testimonials.dashboard.integrations.webhook_view import (
    describe_endpoint,
    render_webhook_page,
)
from testimonials.dashboard.notices import add_notice
from testimonials.extensions import begin_write, db
from testimonials.projects.access import Access, Role, find_access
from testimonials.webhooks.services import (
    add_endpoint,
    change_endpoint,
    find_endpoint,
    remove_endpoint,
    rotate_secret,
)

endpoints = Blueprint("endpoints", __name__)

HERE = "integrations.show_integrations"


@endpoints.get("/dashboard/projects/<project_id>/integrations/webhooks/new")
@require_role(Role.ADMIN)
def show_form(access: Access) -> ResponseReturnValue:
    return _form(access, EndpointForm())


@endpoints.post("/dashboard/projects/<project_id>/integrations/webhooks")
@require_session
@require_proof("add a webhook endpoint", HERE)
def add(owner: SignedIn, project_id: str) -> ResponseReturnValue:
    """Add an endpoint and show its secret, once."""
    begin_write()
    access = find_access(owner, project_id, Role.ADMIN, for_update=True)
    form = _read_form()
    if not form.errors and is_repeated(owner.account_id):
        db.session.rollback()
        return _go_back(_("This endpoint was added already. Its secret was shown once."))
    try:
        _require_valid(form)
        by = {"created_by": owner.email, "keeper_id": owner.account_id}
        _endpoint, secret = add_endpoint(access.project, **by, **form.values)
    except ServiceError as error:
        return _refuse(access, form, error)
    db.session.commit()
    return _show_secret(access, form.url, secret)


@endpoints.get("/dashboard/projects/<project_id>/integrations/webhooks/<webhook_id>")
@require_role(Role.ADMIN)
def show_endpoint(access: Access, webhook_id: str) -> ResponseReturnValue:
    endpoint = find_endpoint(access.project, webhook_id)
    return _form(access, to_form(endpoint), webhook_id=webhook_id)


@endpoints.post("/dashboard/projects/<project_id>/integrations/webhooks/<webhook_id>")
@require_session
@require_proof("change a webhook endpoint", HERE)
def change(owner: SignedIn, project_id: str, webhook_id: str) -> ResponseReturnValue:
    begin_write()
    access = find_access(owner, project_id, Role.ADMIN, for_update=True)
    endpoint, form = find_endpoint(access.project, webhook_id), _read_form()
    try:
        _require_valid(form)
        change_endpoint(access.project, endpoint, **form.values)
    except ServiceError as error:
        return _refuse(access, form, error, webhook_id=webhook_id)
    db.session.commit()
    return _go_back(_("The endpoint is changed."))


@endpoints.post("/dashboard/projects/<project_id>/integrations/webhooks/<webhook_id>/switch")
@require_role(Role.ADMIN, for_update=True)
def switch(access: Access, webhook_id: str) -> ResponseReturnValue:
    """Switch an endpoint off, or on again."""
    is_active = request.form.get("status") == "active"
    change_endpoint(access.project, find_endpoint(access.project, webhook_id), is_active=is_active)
    db.session.commit()
    return _go_back(_("It hears of what happens from now on.") if is_active else _("It is off."))


@endpoints.get("/dashboard/projects/<project_id>/integrations/webhooks/<webhook_id>/secret")
@require_role(Role.ADMIN)
def show_secret_form(access: Access, webhook_id: str) -> ResponseReturnValue:
    endpoint = find_endpoint(access.project, webhook_id)
    return render_webhook_page(access, "webhook_secret", **describe_endpoint(endpoint))


@endpoints.post("/dashboard/projects/<project_id>/integrations/webhooks/<webhook_id>/secret")
@require_session
@require_proof("replace a signing secret", HERE)
def replace_secret(owner: SignedIn, project_id: str, webhook_id: str) -> ResponseReturnValue:
    """Replace the secret that the form was about, and show the new one, once."""
    begin_write()
    access = find_access(owner, project_id, Role.ADMIN, for_update=True)
    endpoint = find_endpoint(access.project, webhook_id)
    if request.form.get("last_four") != endpoint.secret[-4:]:
        db.session.rollback()
        return _go_back(_("This secret was replaced already. The new one was shown once."))
    url, secret = endpoint.url, rotate_secret(access.project, endpoint, owner.account_id)
    db.session.commit()
    return _show_secret(access, url, secret)


@endpoints.get("/dashboard/projects/<project_id>/integrations/webhooks/<webhook_id>/remove")
@require_role(Role.ADMIN)
def show_removal(access: Access, webhook_id: str) -> ResponseReturnValue:
    endpoint = find_endpoint(access.project, webhook_id)
    return render_webhook_page(access, "webhook_remove", endpoint=endpoint)


@endpoints.post("/dashboard/projects/<project_id>/integrations/webhooks/<webhook_id>/remove")
@require_role(Role.ADMIN, for_update=True)
def remove(access: Access, webhook_id: str) -> ResponseReturnValue:
    remove_endpoint(access.project, find_endpoint(access.project, webhook_id))
    db.session.commit()
    return _go_back(_("The endpoint is removed, with its log."))


def _read_form() -> EndpointForm:
    return read_endpoint_form(request.form)


def _require_valid(form: EndpointForm) -> None:
    if form.errors:
        raise ValidationFailed.of(form.errors)


def _refuse(
    access: Access, form: EndpointForm, error: ServiceError, webhook_id: str | None = None
) -> ResponseReturnValue:
    db.session.rollback()
    form.errors = to_form_errors(error, "url")
    return _form(access, form, webhook_id=webhook_id)


def _form(access: Access, form: EndpointForm, webhook_id: str | None = None) -> ResponseReturnValue:
    values = form.describe() | {"webhook_id": webhook_id}
    return render_webhook_page(access, "webhook_form", 422 if form.errors else 200, **values)


def _show_secret(access: Access, url: str, secret: str) -> ResponseReturnValue:
    return answer_privately(render_overview(access, new_secret={"url": url, "plain": secret}))


def _go_back(notice: str) -> ResponseReturnValue:
    return redirect(add_notice(url_for(HERE), notice) + "#webhooks", 303)
