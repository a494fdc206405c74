"""Handing a project over: the owner's offer, and the page on which an admin answers it."""

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from testimonials.activity.event_types import EventType
from testimonials.activity.recording import record_event, record_project_event
from testimonials.auth.models import Account
from testimonials.auth.services import get_account
from testimonials.auth.sign_in.sessions import SignedIn
from testimonials.core.web.languages import gettext, gettext_noop
from testimonials.dashboard.guards import (
    build_shell,
    require_proof,
    require_role,
    require_session,
)
from testimonials.dashboard.notices import add_notice
from testimonials.extensions import begin_write, db, limiter
from testimonials.projects.access import Access, Role, find_access
from testimonials.projects.emails import send_handed_over_mail, send_offer_mail
from testimonials.projects.models import OwnershipOffer
from testimonials.projects.services import lock_account
from testimonials.projects.team.invitations import INVITE_PER_ACCOUNT
from testimonials.projects.team.services import list_members
from testimonials.testimonials.services import count_by_status
from testimonials.transfer.ownership import (
    accept_offer,
    find_obstacle,
    find_own_offer,
    offer_project,
    withdraw_offer,
)
from testimonials.webhooks.services import list_endpoints

ownership = Blueprint("ownership", __name__)

TEAM = "team.show_team"


@ownership.post("/dashboard/projects/<project_id>/team/offer")
@require_session
@require_proof(gettext_noop("hand this project over"), TEAM)
def offer(owner: SignedIn, project_id: str) -> ResponseReturnValue:
    """Offer the project to one of its admins, and mail them."""
    limiter.count(INVITE_PER_ACCOUNT, owner.account_id)
    begin_write()
    access = find_access(owner, project_id, Role.OWNER, for_update=True)
    receiver, keeps_team = request.form.get("receiver", ""), "keeps_team" in request.form
    made = offer_project(access, receiver, keeps_team=keeps_team)
    email = get_account(made.receiver_id).email
    send_offer_mail(access.project, made, email, owner.email)
    name = access.project.name
    record_project_event(EventType.OWNERSHIP_OFFERED, access.project, name=name, email=email)
    db.session.commit()
    return redirect(add_notice(url_for(TEAM), gettext("The offer is on its way.")), 303)


@ownership.post("/dashboard/projects/<project_id>/team/offer/withdraw")
@require_role(Role.OWNER, for_update=True)
def withdraw(access: Access) -> ResponseReturnValue:
    withdraw_offer(access.project)
    name = access.project.name
    record_project_event(EventType.OWNERSHIP_WITHDRAWN, access.project, name=name)
    db.session.commit()
    return redirect(add_notice(url_for(TEAM), gettext("The offer is withdrawn.")), 303)


@ownership.get("/dashboard/projects/<project_id>/offer")
@require_role(Role.ADMIN)
def show_offer(access: Access) -> ResponseReturnValue:
    """Say what the admin would get; without an offer to them, show the team."""
    found = find_own_offer(access)
    return redirect(url_for(TEAM), 303) if found is None else _page(access, found)


@ownership.post("/dashboard/projects/<project_id>/offer/accept")
@require_session
def accept(owner: SignedIn, project_id: str) -> ResponseReturnValue:
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


@ownership.post("/dashboard/projects/<project_id>/offer/decline")
@require_role(Role.ADMIN, for_update=True)
def decline(access: Access) -> ResponseReturnValue:
    if find_own_offer(access) is not None:
        withdraw_offer(access.project)
        name = access.project.name
        record_project_event(EventType.OWNERSHIP_DECLINED, access.project, name=name)
    db.session.commit()
    return redirect(url_for(TEAM), 303)


def _record_taken(access: Access, former: Account) -> None:
    """Tell the former owner, by mail too, and put it into the records of both."""
    project, user = access.project, access.user
    is_in = any(each.account_id == former.id for each in list_members(project))
    send_handed_over_mail(project, former.email, user.email, is_in=is_in)
    details = {"name": project.name, "old": former.email, "email": user.email}
    record_event(EventType.OWNERSHIP_TAKEN, former.id, **details)
    record_project_event(EventType.OWNERSHIP_TAKEN, project, **details)


def _page(access: Access, offer: OwnershipOffer) -> str:
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
