"""A project's settings: the list of rows, the pages behind them, and handing it over."""

from typing import Any

from flask import redirect, url_for
from marshmallow import fields
from werkzeug import Response

from testimonials.auth.accounts import get_account
from testimonials.auth.models import Account
from testimonials.core.audit import record
from testimonials.core.extensions import limiter
from testimonials.core.http.blueprints import people, settings
from testimonials.core.http.errors import NotFound, ValidationFailed
from testimonials.core.http.fields import Choice, OneLine, Switch
from testimonials.core.http.forms import FormSchema, add_notice
from testimonials.core.http.i18n import gettext as _
from testimonials.core.http.i18n import gettext_noop, ngettext, translate
from testimonials.core.http.urls import collection_page_url
from testimonials.core.images.colors import colour_of
from testimonials.dashboard.formatting import describe_modes
from testimonials.dashboard.framework import Done, ProjectPage, Values
from testimonials.integrations.webhooks.endpoints import list_endpoints
from testimonials.projects import domains, events, notifications
from testimonials.projects.access import Access, Right, Role
from testimonials.projects.defaults import RATED_NAME_LENGTH, SLUG_LENGTH
from testimonials.projects.invitations import INVITE_PER_ACCOUNT
from testimonials.projects.projects import SlugTaken, find_free_slug, lock_account
from testimonials.projects.settings import move_to_trash, rename_slug, set_active
from testimonials.projects.team import list_members
from testimonials.testimonials.testimonials import count_by_status
from testimonials.transfer import ownership
from testimonials.widget.drafts import change_rated, read_rated

# How many faces the row of people shows.
FACES = 2

# Those who aren't admins see only the rows that concern themselves: their email, and leaving.

overview = ProjectPage(settings, "settings", "settings/settings.html", role=Role.READER)


@overview.show
def show_settings(access: Access) -> Values:
    mode = notifications.find_choice(access.user.account_id, access.project.id).mode
    shown = {"mail": describe_modes()[mode][0]}
    return shown | _describe_rows(access) if access.is_admin else shown


def _describe_rows(access: Access) -> dict[str, Any]:
    project, domain = access.project, domains.find_domain(access.project)
    members = list_members(project)
    rated = read_rated(project)
    return {
        "slug": project.slug,
        "domain": domain.host if domain else _("None yet"),
        "is_domain_late": bool(domain and not domain.serving_since),
        "stars": rated["name"] if rated else _("Off"),
        "faces": [(one.name[:1].upper(), colour_of(one.email)) for one in members[:FACES]],
        "people": _name_people([one.name for one in members if one.email != access.user.email]),
        "is_active": project.is_active,
    }


def _name_people(others: list[str]) -> str:
    if not others:
        return _("Only you")
    if len(others) == 1:
        return _("You and %(name)s", name=others[0])
    return ngettext("%(num)s person", "%(num)s people", len(others) + 1)


@overview.save({"live": Switch(load_default=False)}, at="/live", role=Role.ADMIN)
def switch_live(access: Access, live: bool) -> Done:
    """Open or close the page and the widget."""
    set_active(access.project, is_active=live)
    record(events.PROJECT_RESUMED if live else events.PROJECT_PAUSED, access.project)
    return Done(
        _("Your page is open.") if live else _("Your page is closed, and the widget is empty.")
    )


address = ProjectPage(settings, "settings/address", "settings/address.html")


@address.show
def show_address(access: Access) -> Values:
    slug = access.project.slug
    return {
        "typed": {"slug": slug},
        "prefix": collection_page_url(""),
        # Not at the project's own host name, whose path doesn't change.
        "page_url": collection_page_url(slug),
    }


@address.save({"slug": OneLine(SLUG_LENGTH, required=True)})
def change_address(access: Access, slug: str) -> Done:
    project, old = access.project, access.project.slug
    try:
        rename_slug(project, slug)
    except SlugTaken as taken:
        free = _("This address is taken; %(address)s is free.", address=find_free_slug(slug))
        raise SlugTaken(free, errors={"slug": [free]}) from taken
    if project.slug != old:
        record(events.PROJECT_RENAMED, project, old=old, slug=project.slug)
    return Done(_("Saved"))


# A host name of the customer's own.

domain = ProjectPage(settings, "settings/domain", "settings/domain.html")


class HostForm(FormSchema):
    host = OneLine(domains.LONGEST, required=True)


@domain.show
def show_domain(access: Access) -> Values:
    project, domain = access.project, domains.find_domain(access.project)
    own = project.own_host
    return {
        "domain": domain,
        "typed": {"host": domain.host if domain else ""},
        "page_url": collection_page_url(project.slug),
        "own_url": collection_page_url(project.slug, own) if own else None,
    }


@domain.save(HostForm)
def set_domain(access: Access, host: str) -> Done:
    """Set the host name, for which the page then shows the DNS records."""
    domains.set_domain(access.project, host)
    return Done()


def _look_up_domain(access: Access) -> tuple[str, domains.Finding] | None:
    domain = domains.find_domain(access.project)
    return domains.look_up(access.project.id, domain.host) if domain else None


@domain.save(at="/check", prepare=_look_up_domain)
def check_domain(access: Access, prepared: tuple[str, domains.Finding] | None) -> Done:
    if prepared is not None:
        domains.store_finding(access.project, *prepared)
    return Done(anchor="state")


@domain.save(at="/remove")
def remove_domain(access: Access) -> Done:
    if domains.find_domain(access.project) is None:
        raise NotFound("There is no host name to remove.")
    domains.remove_domain(access.project)
    return Done(_("Removed"))


# What the ratings are about, in structured data for search engines.

RATED_LABELS = {
    "Product": gettext_noop("A product"),
    "SoftwareApplication": gettext_noop("An app"),
    "Course": gettext_noop("A course"),
}
stars = ProjectPage(settings, "settings/stars", "settings/stars.html")


class StarsForm(FormSchema):
    kind = Choice(*RATED_LABELS)
    name = OneLine(RATED_NAME_LENGTH)


@stars.show
def show_stars(access: Access) -> Values:
    project = access.project
    return {
        "typed": read_rated(project) or {"kind": "", "name": ""},
        "kinds": [(kind, _(label)) for kind, label in RATED_LABELS.items()],
    }


@stars.save(StarsForm)
def save_stars(access: Access, kind: str | None, name: str | None) -> Done:
    """Set what the ratings are about; without a kind, turn them off."""
    if kind and not name:
        raise ValidationFailed.of({"name": [_("Fill in this field.")]})
    change_rated(access.project, {"kind": kind, "name": name} if kind and name else None)
    record(events.PROJECT_CHANGED, access.project)
    return Done(_("Saved"))


mail = ProjectPage(settings, "settings/mail", "settings/mail.html", role=Right.DECIDE)


class MailForm(FormSchema):
    mode = Choice(*notifications.MODES, missing=gettext_noop("Choose one of the options."))
    decides_by_mail = Switch(load_default=False)


@mail.show
def show_mail(access: Access) -> Values:
    choice = notifications.find_choice(access.user.account_id, access.project.id)
    typed = {"mode": choice.mode, "decides_by_mail": choice.decides_by_mail}
    return {"typed": typed, "modes": describe_modes()}


@mail.save(MailForm)
def save_mail(access: Access, mode: str, decides_by_mail: bool) -> Done:
    notifications.set_mode(access.project, access.user.account_id, mode)
    notifications.set_decides_by_mail(access.project, access.user.account_id, is_on=decides_by_mail)
    return Done(_("Saved"))


deletion = ProjectPage(settings, "settings/delete", "settings/delete.html", role=Role.OWNER)


@deletion.show
def show_deletion(access: Access) -> Values:
    return {"slug": access.project.slug, "counts": count_by_status(access.project.id)}


@deletion.save({"confirm": OneLine(SLUG_LENGTH, load_default="")}, step_up="Delete project")
def delete_project(access: Access, confirm: str) -> Done:
    """Delete the project if its slug was typed; the owner can restore it for 7 days."""
    project = access.project
    if confirm != project.slug:
        problem = _("Type %(slug)s to confirm.", slug=project.slug)
        raise ValidationFailed.of({"confirm": [problem]})
    move_to_trash(project)
    record(events.PROJECT_DELETED, project, name=project.name)
    return Done(to=url_for("dashboard.home.show_projects"))


# Handing the project over: the owner's offer, and the page on which an admin answers it.

OVER = gettext_noop("This offer was answered or withdrawn, or has expired.")


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
    step_up=gettext_noop("Transfer the project"),
    prepare=lambda access, **_: limiter.count(INVITE_PER_ACCOUNT, access.user.account_id),
)
def offer_project_here(access: Access, receiver: str, keeps_team: bool, prepared: None) -> Done:
    made = ownership.offer_project(access, receiver, keeps_team=keeps_team)
    email = get_account(made.receiver_id).email
    notifications.send_offer_mail(access.project, made, email, access.user.name)
    record(events.OWNERSHIP_OFFERED, access.project, name=access.project.name, email=email)
    return Done(_("Sent"))


@handing_over.save(at="/withdraw")
def withdraw_offer_here(access: Access) -> Done:
    ownership.withdraw_offer(access.project)
    record(events.OWNERSHIP_WITHDRAWN, access.project, name=access.project.name)
    return Done(_("Withdrawn"))


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


# The receiver's account is locked before the project, as in all places that add a project.
@offered.save(at="/accept", lock_first=lambda owner, _parts: lock_account(owner.account_id))
def accept_offer_here(access: Access) -> Done:
    if (offer := ownership.find_own_offer(access)) is None:
        return Done(translate(OVER), url_for(".show_people"))
    former = get_account(access.project.account_id)
    ownership.accept_offer(access, offer)
    _record_taken(access, former)
    return Done(_("The project is yours"), url_for(".show_people"))


@offered.save(at="/decline")
def decline_offer(access: Access) -> Done:
    if ownership.find_own_offer(access) is None:
        return Done(translate(OVER), url_for(".show_people"))
    project = access.project
    ownership.withdraw_offer(project)
    notifications.send_declined_mail(
        project, get_account(project.account_id).email, access.user.name
    )
    record(events.OWNERSHIP_DECLINED, project, name=project.name)
    return Done(_("Declined"), url_for(".show_people"))


def _record_taken(access: Access, former: Account) -> None:
    """Email the former owner, and record it for both accounts."""
    project, user = access.project, access.user
    is_in = any(member.account_id == former.id for member in list_members(project))
    notifications.send_handed_over_mail(project, former.email, user.name, is_in=is_in)
    details = {"name": project.name, "old": former.email, "email": user.email}
    record(events.OWNERSHIP_TAKEN, former.id, **details)
    record(events.OWNERSHIP_TAKEN, project, **details)
