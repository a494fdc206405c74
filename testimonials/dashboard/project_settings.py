"""A project's settings: address, host name, notifications, handing it over."""

from flask import redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from testimonials.auth.accounts import get_account
from testimonials.auth.models import Account
from testimonials.auth.sessions import SignedIn
from testimonials.core.audit import record
from testimonials.core.extensions import begin_write, db, limiter
from testimonials.core.http.blueprints import settings
from testimonials.core.http.errors import ServiceError, ValidationFailed
from testimonials.core.http.fields import Choice, Text
from testimonials.core.http.form_errors import Errors, to_form_errors
from testimonials.core.http.forms import FormSchema, add_notice, read_notice
from testimonials.core.http.i18n import gettext, gettext_noop
from testimonials.core.http.i18n import gettext as _
from testimonials.core.http.urls import collection_page_url, own_host_url, wall_url
from testimonials.dashboard.formatting import describe_modes, describe_plan
from testimonials.dashboard.framework import (
    require_proof,
    require_role,
    require_session,
)
from testimonials.dashboard.shell import build_shell
from testimonials.integrations.webhooks.endpoints import list_endpoints
from testimonials.projects.access import Access, Role, find_access
from testimonials.projects.defaults import RATED_KINDS, RATED_NAME_LENGTH, SLUG_LENGTH
from testimonials.projects.domains import find_domain
from testimonials.projects.emails import send_handed_over_mail, send_offer_mail
from testimonials.projects.events import (
    OWNERSHIP_DECLINED,
    OWNERSHIP_OFFERED,
    OWNERSHIP_TAKEN,
    OWNERSHIP_WITHDRAWN,
    PROJECT_CHANGED,
    PROJECT_DELETED,
    PROJECT_PAUSED,
    PROJECT_RENAMED,
    PROJECT_RESUMED,
)
from testimonials.projects.invitations import INVITE_PER_ACCOUNT, list_invitations
from testimonials.projects.models import OwnershipOffer
from testimonials.projects.notifications import find_choice, set_decides_by_mail, set_mode
from testimonials.projects.projects import lock_account
from testimonials.projects.settings import move_to_trash, rename_slug, set_active
from testimonials.projects.team import list_members
from testimonials.testimonials.testimonials import count_by_status
from testimonials.transfer.ownership import (
    accept_offer,
    find_obstacle,
    find_own_offer,
    offer_project,
    withdraw_offer,
)
from testimonials.widget.call_to_action import change_rated, read_rated
from testimonials.widget.settings import rate

# A project's settings: its address, pausing it, deleting it.


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
    return _settings_page(access)


@settings.post("/dashboard/projects/<project_id>/slug")
@require_role(Role.ADMIN, for_update=True)
def rename_project(access: Access) -> ResponseReturnValue:
    sent, project = RenameForm().read(request.form), access.project
    old = project.slug
    try:
        if sent.errors:
            raise ValidationFailed.of(sent.errors)
        rename_slug(project, sent.values["slug"])
    except ServiceError as error:
        db.session.rollback()
        return _settings_page(access, to_form_errors(error, "slug")), 422
    if project.slug != old:
        record(PROJECT_RENAMED, project, old=old, slug=project.slug)
    db.session.commit()
    return redirect(url_for(".show_settings"), 303)


@settings.post("/dashboard/projects/<project_id>/status")
@require_role(Role.ADMIN, for_update=True)
def change_status(access: Access) -> ResponseReturnValue:
    project = access.project
    is_active = request.form.get("status") == "active"
    set_active(project, is_active=is_active)
    became = PROJECT_RESUMED if is_active else PROJECT_PAUSED
    record(became, project)
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
        return _settings_page(access, sent.errors, sent.typed), 422
    change_rated(access.project, sent.values if is_on else None)
    record(PROJECT_CHANGED, access.project)
    db.session.commit()
    return redirect(
        add_notice(url_for(".show_settings"), _("Your choice is saved.")) + "#rated", 303
    )


@settings.post("/dashboard/projects/<project_id>/delete")
@require_session
@require_proof("delete this project", ".show_settings")
def delete_project(owner: SignedIn, project_id: str) -> ResponseReturnValue:
    """Delete the project if its slug was typed; the owner can restore it for 7 days."""
    begin_write()
    access = find_access(owner, project_id, Role.OWNER, for_update=True)
    project = access.project
    if request.form.get("confirm", "").strip() != project.slug:
        db.session.rollback()
        errors = {"confirm": [_("Type %(slug)s to delete this project.", slug=project.slug)]}
        return _settings_page(access, errors), 422
    move_to_trash(project)
    record(PROJECT_DELETED, project, name=project.name)
    db.session.commit()
    return redirect(url_for("dashboard.home.show_projects"), 303)


def _settings_page(
    access: Access, errors: Errors | None = None, rated: dict[str, str] | None = None
) -> str:
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
        rated=rated or read_rated(project) or {"kind": "", "name": ""},
        rated_kinds=RATED_LABELS,
        rated_count=rate(project)[1],
        wall_url=wall_url(project.slug, project.own_host),
        own_url=own_host_url(project.own_host) if project.own_host else None,
        domain=find_domain(project),
    )


# The page on which somebody chooses their notifications about a project.


@settings.get("/dashboard/projects/<project_id>/notifications")
@require_role(Role.MODERATOR)
def show_notifications(access: Access) -> ResponseReturnValue:
    return _notifications_page(access, {})


@settings.post("/dashboard/projects/<project_id>/notifications")
@require_role(Role.MODERATOR, for_update=True)
def choose_notifications(access: Access) -> ResponseReturnValue:
    try:
        set_mode(access.project, access.user.account_id, request.form.get("mode", ""))
        is_on = request.form.get("decides_by_mail") == "1"
        set_decides_by_mail(access.project, access.user.account_id, is_on=is_on)
    except ValidationFailed as error:
        db.session.rollback()
        return _notifications_page(access, to_form_errors(error)), 422
    db.session.commit()
    is_settings = request.form.get("from") == "settings"
    page = "dashboard.settings.show_settings" if is_settings else ".show_notifications"
    return redirect(add_notice(url_for(page), _("Your choice is saved.")), 303)


def _notifications_page(access: Access, errors: Errors) -> str:
    return render_template(
        "dashboard/project/notifications.html",
        shell=build_shell(access, "settings"),
        notice=read_notice(),
        choice=find_choice(access.user.account_id, access.project.id),
        modes=describe_modes(),
        errors=errors,
    )


# Handing a project over: the owner's offer, and the page on which an admin answers it.


TEAM = "dashboard.team.show_team"


@settings.post("/dashboard/projects/<project_id>/team/offer")
@require_session
@require_proof(gettext_noop("hand this project over"), TEAM)
def offer_project_here(owner: SignedIn, project_id: str) -> ResponseReturnValue:
    """Offer the project to one of its admins, and mail them."""
    limiter.count(INVITE_PER_ACCOUNT, owner.account_id)
    begin_write()
    access = find_access(owner, project_id, Role.OWNER, for_update=True)
    receiver, keeps_team = request.form.get("receiver", ""), "keeps_team" in request.form
    made = offer_project(access, receiver, keeps_team=keeps_team)
    email = get_account(made.receiver_id).email
    send_offer_mail(access.project, made, email, owner.email)
    name = access.project.name
    record(OWNERSHIP_OFFERED, access.project, name=name, email=email)
    db.session.commit()
    return redirect(add_notice(url_for(TEAM), gettext("The offer is on its way.")), 303)


@settings.post("/dashboard/projects/<project_id>/team/offer/withdraw")
@require_role(Role.OWNER, for_update=True)
def withdraw_offer_here(access: Access) -> ResponseReturnValue:
    withdraw_offer(access.project)
    name = access.project.name
    record(OWNERSHIP_WITHDRAWN, access.project, name=name)
    db.session.commit()
    return redirect(add_notice(url_for(TEAM), gettext("The offer is withdrawn.")), 303)


@settings.get("/dashboard/projects/<project_id>/offer")
@require_role(Role.ADMIN)
def show_offer(access: Access) -> ResponseReturnValue:
    """Say what the admin would get; without an offer to them, show the team."""
    found = find_own_offer(access)
    return redirect(url_for(TEAM), 303) if found is None else _ownership_page(access, found)


@settings.post("/dashboard/projects/<project_id>/offer/accept")
@require_session
def accept_offer_here(owner: SignedIn, project_id: str) -> ResponseReturnValue:
    """Take the project over; see `accept_offer`."""
    begin_write()
    # Before the project, as whatever needs room for one locks them.
    lock_account(owner.account_id)
    access = find_access(owner, project_id, Role.ADMIN, for_update=True)
    if find_own_offer(access) is None:
        db.session.rollback()
        return redirect(url_for(TEAM), 303)
    former = get_account(access.project.account_id)
    accept_offer(access)
    _record_taken(access, former)
    db.session.commit()
    return redirect(add_notice(url_for(TEAM), gettext("The project is yours.")), 303)


@settings.post("/dashboard/projects/<project_id>/offer/decline")
@require_role(Role.ADMIN, for_update=True)
def decline_offer(access: Access) -> ResponseReturnValue:
    if find_own_offer(access) is not None:
        withdraw_offer(access.project)
        name = access.project.name
        record(OWNERSHIP_DECLINED, access.project, name=name)
    db.session.commit()
    return redirect(url_for(TEAM), 303)


def _record_taken(access: Access, former: Account) -> None:
    """Tell the former owner, by mail too, and put it into the records of both."""
    project, user = access.project, access.user
    is_in = any(each.account_id == former.id for each in list_members(project))
    send_handed_over_mail(project, former.email, user.email, is_in=is_in)
    details = {"name": project.name, "old": former.email, "email": user.email}
    record(OWNERSHIP_TAKEN, former.id, **details)
    record(OWNERSHIP_TAKEN, project, **details)


def _ownership_page(access: Access, offer: OwnershipOffer) -> str:
    project = access.project
    members = list_members(project)
    return render_template(
        "dashboard/project/offer.html",
        shell=build_shell(access, "settings"),
        owner_name=members[0].name,
        testimonial_count=sum(count_by_status(project.id).values()),
        people_count=len(members),
        webhook_count=len(list_endpoints(project)),
        has_purchase_secret=bool(project.purchase_secret),
        keeps_team=offer.keeps_team,
        expires_at=offer.expires_at,
        obstacle=find_obstacle(project, get_account(access.user.account_id)),
    )
