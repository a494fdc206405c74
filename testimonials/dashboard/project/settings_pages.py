"""A project's settings: its address, pausing it, deleting it."""

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from testimonials.activity.event_types import EventType
from testimonials.activity.recording import record_project_event
from testimonials.auth.services import get_account
from testimonials.auth.sign_in.sessions import SignedIn
from testimonials.core.urls import collection_page_url, own_host_url, wall_url
from testimonials.core.web.errors import ServiceError, ValidationFailed
from testimonials.core.web.fields import Choice, Text
from testimonials.core.web.forms import FormSchema
from testimonials.core.web.languages import gettext as _
from testimonials.core.web.languages import gettext_noop
from testimonials.dashboard.describe import describe_modes, describe_plan
from testimonials.dashboard.forms import Errors, to_form_errors
from testimonials.dashboard.guards import build_shell, require_proof, require_role, require_session
from testimonials.dashboard.notices import add_notice, read_notice
from testimonials.domains.services import find_domain
from testimonials.extensions import begin_write, db
from testimonials.projects.access import Access, Role, find_access
from testimonials.projects.changes import move_to_trash, rename_slug, set_active
from testimonials.projects.configuration.dashboard_config import (
    IS_HIDDEN,
    RATED_KINDS,
    RATED_NAME_LENGTH,
)
from testimonials.projects.configuration.defaults import SLUG_LENGTH
from testimonials.projects.notifications.services import find_choice
from testimonials.projects.team.invitations import list_invitations
from testimonials.projects.team.services import list_members
from testimonials.testimonials.services import count_by_status
from testimonials.widget.services import rate
from testimonials.widget.settings import change_rated, read_rated

settings = Blueprint("settings", __name__)

RATED_LABELS = dict(
    zip(
        RATED_KINDS,
        (gettext_noop("A product"), gettext_noop("An application"), gettext_noop("A course")),
        strict=True,
    )
)


class RenameForm(FormSchema):
    slug = Text(
        SLUG_LENGTH,
        one_line=True,
        required=True,
        error_messages={"required": gettext_noop("Write the new address.")},
    )


class RatedForm(FormSchema):
    """What the ratings are about, for search engines; no kind switches that off."""

    kind = Choice(*RATED_KINDS, required=True)
    name = Text(
        RATED_NAME_LENGTH,
        one_line=True,
        required=True,
        error_messages={"required": gettext_noop("Write the name of what is rated.")},
    )


@settings.get("/dashboard/projects/<project_id>/settings")
@require_role(Role.ADMIN)
def show_settings(access: Access) -> ResponseReturnValue:
    return _page(access)


@settings.post("/dashboard/projects/<project_id>/slug")
@require_role(Role.ADMIN, for_update=True)
def rename(access: Access) -> ResponseReturnValue:
    sent, project = RenameForm().read(request.form), access.project
    old = project.slug
    try:
        if sent.errors:
            raise ValidationFailed.of(sent.errors)
        rename_slug(project, sent.values["slug"])
    except ServiceError as error:
        db.session.rollback()
        return _page(access, to_form_errors(error, "slug")), 422
    if project.slug != old:
        record_project_event(EventType.PROJECT_RENAMED, project, old=old, slug=project.slug)
    db.session.commit()
    return redirect(url_for(".show_settings"), 303)


@settings.post("/dashboard/projects/<project_id>/status")
@require_role(Role.ADMIN, for_update=True)
def change_status(access: Access) -> ResponseReturnValue:
    project = access.project
    is_active = request.form.get("status") == "active"
    set_active(project, is_active=is_active)
    became = EventType.PROJECT_RESUMED if is_active else EventType.PROJECT_PAUSED
    record_project_event(became, project)
    db.session.commit()
    return redirect(url_for(".show_settings"), 303)


@settings.post("/dashboard/projects/<project_id>/rated")
@require_role(Role.ADMIN, for_update=True)
def save_rated(access: Access) -> ResponseReturnValue:
    """Set what the ratings are about in structured data, or turn that off."""
    sent = RatedForm().read(request.form)
    is_on = bool(sent.typed["kind"])
    if is_on and sent.errors:
        db.session.rollback()
        return _page(access, sent.errors, sent.typed), 422
    change_rated(access.project, sent.values if is_on else None)
    record_project_event(EventType.PROJECT_CHANGED, access.project)
    db.session.commit()
    return redirect(
        add_notice(url_for(".show_settings"), _("Your choice is saved.")) + "#rated", 303
    )


@settings.post("/dashboard/projects/<project_id>/delete")
@require_session
@require_proof("delete this project", ".show_settings")
def delete(owner: SignedIn, project_id: str) -> ResponseReturnValue:
    """Delete the project if its slug was typed; the owner can restore it for 7 days."""
    begin_write()
    access = find_access(owner, project_id, Role.OWNER, for_update=True)
    project = access.project
    if request.form.get("confirm", "").strip() != project.slug:
        db.session.rollback()
        errors = {"confirm": [_("Type %(slug)s to delete this project.", slug=project.slug)]}
        return _page(access, errors), 422
    move_to_trash(project)
    record_project_event(EventType.PROJECT_DELETED, project, name=project.name)
    db.session.commit()
    return redirect(url_for("dashboard.show_projects"), 303)


def _page(access: Access, errors: Errors | None = None, rated: dict[str, str] | None = None) -> str:
    project, user = access.project, access.user
    account = get_account(user.account_id)
    return render_template(
        "dashboard/project/settings.html",
        shell=build_shell(access, "settings"),
        notice=read_notice(),
        errors=errors or {},
        # The address that can be renamed, also where the project has its own host name.
        page_url=collection_page_url(project.slug),
        choice=find_choice(user.account_id, project.id),
        modes=describe_modes(),
        # Colleagues don't see the owner's plan.
        limit=describe_plan(account) if access.role == Role.OWNER else None,
        key_last_four=account.key_last_four,
        project=project,
        people_count=len(list_members(project)),
        invited_count=len(list_invitations(project)),
        counts=count_by_status(project.id),
        is_checklist_hidden=project.dashboard_config.get(IS_HIDDEN),
        rated=rated or read_rated(project) or {"kind": "", "name": ""},
        rated_kinds=RATED_LABELS,
        rated_count=rate(project)[1],
        wall_url=wall_url(project.slug, project.own_host),
        own_url=own_host_url(project.own_host) if project.own_host else None,
        domain=find_domain(project),
    )
