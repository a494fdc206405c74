"""Handing a project over: the owner's offer, and the page on which an admin answers it."""

from flask import redirect, url_for
from marshmallow import fields
from werkzeug import Response

from testimonials.auth.accounts import get_account
from testimonials.auth.models import Account
from testimonials.core.audit import record
from testimonials.core.extensions import limiter
from testimonials.core.http.blueprints import people
from testimonials.core.http.fields import Switch
from testimonials.core.http.forms import FormSchema, add_notice
from testimonials.core.http.i18n import gettext as _
from testimonials.core.http.i18n import gettext_noop, translate
from testimonials.dashboard.framework import Done, ProjectPage, Values
from testimonials.integrations.webhooks.endpoints import list_endpoints
from testimonials.projects import events
from testimonials.projects.access import Access, Role
from testimonials.projects.invitations import INVITE_PER_ACCOUNT
from testimonials.projects.notifications import (
    send_declined_mail,
    send_handed_over_mail,
    send_offer_mail,
)
from testimonials.projects.projects import lock_account
from testimonials.projects.team import list_members
from testimonials.testimonials.testimonials import count_by_status
from testimonials.transfer import ownership

OVER = gettext_noop("This offer was answered or withdrawn, or its time is over.")


class OfferForm(FormSchema):
    receiver = fields.String(load_default="")
    keeps_team = Switch(load_default=False)


handing_over = ProjectPage(
    people, "people/hand-over", "settings/people/hand_over.html", role=Role.OWNER
)


@handing_over.show
def show_hand_over(access: Access) -> Values:
    members, offer = list_members(access.project), ownership.find_offer(access.project)
    names = {member.account_id: member.name for member in members}
    return {
        "admins": [(one.account_id, one.name) for one in members if one.role == Role.ADMIN],
        "offer": offer,
        "receiver": names.get(offer.receiver_id, "") if offer else "",
    }


@handing_over.save(
    OfferForm,
    step_up=gettext_noop("hand this project over"),
    prepare=lambda access, **_: limiter.count(INVITE_PER_ACCOUNT, access.user.account_id),
)
def offer_project_here(access: Access, receiver: str, keeps_team: bool, prepared: None) -> Done:
    made = ownership.offer_project(access, receiver, keeps_team=keeps_team)
    email = get_account(made.receiver_id).email
    send_offer_mail(access.project, made, email, access.user.name)
    record(events.OWNERSHIP_OFFERED, access.project, name=access.project.name, email=email)
    return Done(_("The offer is on its way."))


@handing_over.save(at="/withdraw")
def withdraw_offer_here(access: Access) -> Done:
    ownership.withdraw_offer(access.project)
    record(events.OWNERSHIP_WITHDRAWN, access.project, name=access.project.name)
    return Done(_("The offer is withdrawn."))


offered = ProjectPage(people, "people/offer", "settings/people/offer.html")


@offered.show
def show_offer(access: Access) -> Values | Response:
    """Show what the admin would get; without an offer to them, redirect to the team."""
    if (offer := ownership.find_own_offer(access)) is None:
        return redirect(add_notice(url_for(".show_people"), translate(OVER)), 303)
    project = access.project
    members = list_members(project)
    return {
        "owner_name": members[0].name,
        "testimonial_count": sum(count_by_status(project.id).values()),
        "people_count": len(members),
        "webhook_count": len(list_endpoints(project)),
        "has_purchase_secret": bool(project.purchase_secret),
        "keeps_team": offer.keeps_team,
        "expires_at": offer.expires_at,
        "obstacle": ownership.find_obstacle(project, get_account(access.user.account_id)),
    }


# The receiver's account is locked before the project, as wherever a project is added.
@offered.save(at="/accept", lock_first=lambda owner, _parts: lock_account(owner.account_id))
def accept_offer_here(access: Access) -> Done:
    if (offer := ownership.find_own_offer(access)) is None:
        return Done(translate(OVER), url_for(".show_people"))
    former = get_account(access.project.account_id)
    ownership.accept_offer(access, offer)
    _record_taken(access, former)
    return Done(_("The project is yours."), url_for(".show_people"))


@offered.save(at="/decline")
def decline_offer(access: Access) -> Done:
    if ownership.find_own_offer(access) is None:
        return Done(translate(OVER), url_for(".show_people"))
    project = access.project
    ownership.withdraw_offer(project)
    send_declined_mail(project, get_account(project.account_id).email, access.user.name)
    record(events.OWNERSHIP_DECLINED, project, name=project.name)
    return Done(_("You said no. The project stays with its owner."), url_for(".show_people"))


def _record_taken(access: Access, former: Account) -> None:
    """Mail the former owner, and record it for both accounts."""
    project, user = access.project, access.user
    is_in = any(each.account_id == former.id for each in list_members(project))
    send_handed_over_mail(project, former.email, user.name, is_in=is_in)
    details = {"name": project.name, "old": former.email, "email": user.email}
    record(events.OWNERSHIP_TAKEN, former.id, **details)
    record(events.OWNERSHIP_TAKEN, project, **details)
