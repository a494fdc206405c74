"""The people of a project, or of all of an owner's: inviting, roles, removing, leaving."""

from collections.abc import Mapping

from flask import redirect, request, url_for
from marshmallow import fields
from sqlalchemy import select
from werkzeug import Response

from testimonials.auth.accounts import get_account
from testimonials.auth.email_addresses import Email
from testimonials.auth.sessions import SignedIn
from testimonials.core import clock
from testimonials.core.audit import Event, record
from testimonials.core.db.identifiers import hash_secret
from testimonials.core.event_lists import ROLE_LABELS
from testimonials.core.extensions import db, limiter
from testimonials.core.http.blueprints import people
from testimonials.core.http.errors import ValidationFailed
from testimonials.core.http.fields import Choice, Switch
from testimonials.core.http.forms import FormSchema, Identifiers, say_what
from testimonials.core.http.i18n import gettext as _
from testimonials.core.http.i18n import gettext_noop
from testimonials.core.images.colors import colour_of
from testimonials.dashboard.framework import UNDO, AccountPage, Done, ProjectPage, UndoForm, Values
from testimonials.integrations.webhooks.endpoints import list_endpoints
from testimonials.projects import events, team
from testimonials.projects.access import ROLES, Access, Role
from testimonials.projects.invitations import (
    INVITE_PER_ACCOUNT,
    INVITE_PER_EMAIL,
    MAX_TEAM,
    invite,
    list_invitations,
    list_invited_projects,
    revoke_invitation,
)
from testimonials.projects.models import Project, TeamInvitation
from testimonials.projects.notifications import send_invitation_mail, send_workspace_invitation_mail
from testimonials.projects.projects import list_projects, lock_account
from testimonials.transfer.ownership import find_offer


class RoleForm(FormSchema):
    role = Choice(*ROLES, missing=gettext_noop("Choose one of the options."))


class InviteForm(RoleForm):
    email = Email(required=True)


class InviteToAllForm(InviteForm):
    reach = Choice("all", "some", load_default="all")
    projects = Identifiers()


class AddressForm(FormSchema):
    # The address of an invitation, as it is listed.
    email = fields.String(load_default="")


# The people of a project.

project_people = ProjectPage(people, "people", "settings/people/people.html")


@project_people.show
def show_people(access: Access) -> Values:
    project, members = access.project, team.list_members(access.project)
    of_owner = team.list_colleagues(project.account_id) if access.role == Role.OWNER else []
    colleagues = {colleague.account_id: colleague for colleague in of_owner}
    offer = find_offer(project)
    return _describe_page(project, access.role, team.count_places(members)) | {
        "people": [
            _describe_member(access, member, colleagues.get(member.account_id))
            for member in members
        ],
        "places": _list_places(project, is_all=False) if access.role == Role.OWNER else [],
        "back_url": url_for("dashboard.settings.show_settings"),
        "is_offered_to_me": bool(offer and offer.receiver_id == access.user.account_id),
        "invite_url": url_for(".invite_here"),
        "withdraw_url": url_for(".withdraw"),
    }


def _count_mail(who: SignedIn | Access, email: str, **_values: object) -> None:
    user = who.user if isinstance(who, Access) else who
    limiter.count(INVITE_PER_ACCOUNT, user.account_id)
    limiter.count(INVITE_PER_EMAIL, hash_secret(email))


@project_people.save(InviteForm, prepare=_count_mail)
def invite_here(access: Access, email: str, role: str, prepared: None) -> Done:
    """Invite somebody, or email their invitation again, with a new link."""
    project, user = access.project, access.user
    new = invite(project, user, access.role, email, role)
    send_invitation_mail(project, new.invitation, new.link, user.email)
    record(events.INVITATION_SENT, project, email=email, role=role)
    return Done(say_what(_("Sent"), email))


@project_people.save(AddressForm, at="/invitations/withdraw")
def withdraw(access: Access, email: str) -> Done:
    revoke_invitation(access.project, access.role, email)
    record(events.INVITATION_WITHDRAWN, access.project, email=email)
    return Done(say_what(_("Withdrawn"), email))


@project_people.save(RoleForm, at="/<account_id>/role", role=Role.OWNER)
def give_role(access: Access, account_id: str, role: str) -> Done:
    member = team.change_role(access, account_id, role)
    details = {"email": member.email, "member": account_id, "role": role}
    record(events.MEMBER_CHANGED, access.project, **details)
    return Done(_("Saved"))


# Removing somebody asks first only if it can't be undone.

removal = ProjectPage(people, "people/<account_id>/remove", "settings/people/removal.html")


@removal.show
def show_removal(access: Access, account_id: str) -> Values | Response:
    member = team.find_member(access.project, account_id)
    if not team.may_manage(access.role, member.role):
        return redirect(url_for(".show_people"), 303)
    return {"email": member.email, "back_url": url_for(".show_people")}


@removal.save({"is_sure": Switch(load_default=False)})
def remove(access: Access, account_id: str, is_sure: bool) -> Done:
    project = access.project
    team.require_over(access.role, team.find_member(project, account_id).role)
    keeps = any(endpoint.keeper_id == account_id for endpoint in list_endpoints(project))
    if not is_sure and (keeps or team.has_granted_access(project, account_id)):
        return Done(page=removal)
    member = team.remove_member(access, account_id)
    role = member.here.name.lower() if member.here else ""
    record(events.MEMBER_REMOVED, project, email=member.email, member=account_id, role=role)
    people_url, text = url_for(".show_people"), say_what(_("Removed"), member.name)
    if is_sure or not role:
        return Done(text, people_url)
    return Done(text, people_url, undo=account_id, undo_url=url_for(".undo_removal"))


@project_people.save(UndoForm, at="/undo")
def undo_removal(access: Access, undo: str) -> Done:
    """Restore the role of somebody whom this person has just removed."""
    if (removal := _find_removal(access, undo)) is None:
        raise ValidationFailed.of({"form": [_("This can no longer be undone.")]})
    member = team.restore_member(access, undo, removal.details["role"])
    removal.undone_at = clock.now()
    record(events.MEMBER_CHANGED, access.project, **removal.details | {"email": member.email})
    return Done(_("Restored"))


def _find_removal(access: Access, account_id: str) -> Event | None:
    query = select(Event).where(
        Event.project_id == access.project.id,
        Event.type == events.MEMBER_REMOVED,
        Event.actor_name == access.user.account_id,
        Event.created_at > clock.now() - UNDO,
        Event.undone_at.is_(None),
    )
    removals = db.session.scalars(query.order_by(Event.id.desc()))
    return next((event for event in removals if event.details["member"] == account_id), None)


leaving = ProjectPage(people, "people/leave", "settings/people/leaving.html", role=Role.READER)


@leaving.show
def show_leaving(access: Access) -> Values | Response:
    if access.role == Role.OWNER:
        return redirect(url_for(".show_people"), 303)
    return {"back_url": url_for("dashboard.settings.show_settings")}


@leaving.save()
def leave(access: Access) -> Done:
    team.leave_project(access)
    record(events.MEMBER_LEFT, access.project, email=access.user.email)
    text = _("You left %(name)s.", name=access.project.called)
    return Done(text, url_for("dashboard.home.show_projects"))


# The people in all projects of an owner.


class AllPeoplePage(AccountPage):
    """The account's page of people; its buttons return to the project in ``?project=``."""

    def url(self, parts: Mapping[str, str]) -> str:
        here = request.args.get("project", "")
        return url_for(".show_all_from_here", project_id=here) if here else super().url(parts)


all_people = AllPeoplePage(
    people, "/dashboard/account/people", "settings/people/people.html", nav="account"
)
all_from_here = ProjectPage(people, "people/all", "settings/people/people.html", role=Role.OWNER)


@all_people.show
def show_all_people(owner: SignedIn) -> Values:
    return describe_all_people(owner, None)


@all_from_here.show
def show_all_from_here(access: Access) -> Values:
    return describe_all_people(access.user, access.project)


@all_people.save(InviteToAllForm, step_up="Invite", prepare=_count_mail)
def invite_to_all(
    owner: SignedIn, email: str, role: str, reach: str, projects: list[str], prepared: None
) -> Done:
    ids = projects if reach == "some" else None
    new = invite(lock_account(owner.account_id), owner, Role.OWNER, email, role, ids)
    names = list_invited_projects(new.invitation)
    send_workspace_invitation_mail(new.invitation, new.link, owner.email, names)
    record(events.INVITATION_SENT, owner.account_id, email=email, role=role)
    return Done(say_what(_("Sent"), email))


@all_people.save(AddressForm, at="/invitations/withdraw")
def withdraw_from_all(owner: SignedIn, email: str) -> Done:
    revoke_invitation(lock_account(owner.account_id), Role.OWNER, email)
    record(events.INVITATION_WITHDRAWN, owner.account_id, email=email)
    return Done(say_what(_("Withdrawn"), email))


@all_people.save(RoleForm, at="/<account_id>/role", step_up="Roles")
def give_role_in_all(owner: SignedIn, account_id: str, role: str) -> Done:
    member = team.change_colleague(owner.account_id, account_id, role)
    details = {"email": member.email, "member": account_id, "role": role}
    record(events.MEMBER_CHANGED, owner.account_id, **details)
    return Done(_("Saved"))


removal_from_all = AccountPage(
    people,
    "/dashboard/account/people/<account_id>/remove",
    "settings/people/removal.html",
    nav="account",
)


@removal_from_all.show
def show_removal_from_all(owner: SignedIn, account_id: str) -> Values:
    member = team.find_colleague(owner.account_id, account_id)
    return {"member": member, "email": member.email, "back_url": url_for(".show_all_people")}


@removal_from_all.save()
def remove_from_all(owner: SignedIn, account_id: str) -> Done:
    email = team.remove_colleague(owner.account_id, account_id).email
    record(events.MEMBER_REMOVED, owner.account_id, email=email, member=account_id)
    return Done(say_what(_("Removed"), email), url_for(".show_all_people"))


leaving_workspace = AccountPage(
    people,
    "/dashboard/account/people/of/<owner_id>/leave",
    "settings/people/leaving.html",
    nav="account",
)


@leaving_workspace.show
def show_workspace_leaving(owner: SignedIn, owner_id: str) -> Values:
    left = team.find_workspace(owner.account_id, owner_id)
    return {"left": left, "back_url": url_for(".show_all_people")}


@leaving_workspace.save()
def leave_workspace(owner: SignedIn, owner_id: str) -> Done:
    """Leave the workspace; roles in single projects stay."""
    left = team.find_workspace(owner.account_id, owner_id)
    team.set_role(lock_account(left.owner_id), owner.account_id, None)
    record(events.MEMBER_LEFT, left.owner_id, email=owner.email)
    return Done(_("You left %(name)s.", name=left.owner), url_for(".show_all_people"))


def describe_all_people(user: SignedIn, project: Project | None) -> Values:
    """Describe the people in all projects; `project` is the one that the user came from."""
    account, colleagues = get_account(user.account_id), team.list_colleagues(user.account_id)
    you = _describe_person(account.id, user.name, user.email, role=_("Owner"), is_you=True)
    here = project.id if project else None
    shown = _describe_page(account, Role.OWNER, team.count_workspace_places(colleagues))
    return shown | {
        "people": [you, *map(_describe_colleague, colleagues)],
        "places": _list_places(project, is_all=True) if project else [],
        "back_url": url_for("dashboard.settings.show_settings")
        if project
        else url_for("dashboard.account.show_account"),
        "projects": list_projects(user.account_id),
        "workspaces": team.list_workspaces(user.account_id),
        "invite_url": url_for(".invite_to_all", project=here),
        "withdraw_url": url_for(".withdraw_from_all", project=here),
    }


def _list_places(project: Project, *, is_all: bool) -> list[tuple[str, str, bool]]:
    """Return the choice between this project's people and those of all projects."""
    return [
        (project.called, url_for(".show_people"), not is_all),
        (_("All projects"), url_for(".show_all_from_here"), is_all),
    ]


def _describe_page(place: team.Place, actor: Role, taken: int) -> Values:
    """Return what both pages of people show."""
    roles = [name for name, role in ROLES.items() if team.may_manage(actor, role)]
    invitations = list_invitations(place)
    return {
        "invitations": [_describe_invitation(row, row.role in roles) for row in invitations],
        "roles": roles,
        "labels": {name: _(ROLE_LABELS[name]) for name in ROLES},
        "typed": {"role": "moderator"},
        "limit": {"used": taken + len(invitations), "allowed": MAX_TEAM},
    }


def _describe_invitation(row: TeamInvitation, is_manageable: bool) -> Values:
    return {
        "row": row,
        "is_manageable": is_manageable,
        "is_over": row.expires_at <= clock.now(),
        "role": _(ROLE_LABELS[row.role]),
    }


def _describe_person(account_id: str, name: str, email: str, **more: object) -> Values:
    shown = {"id": account_id, "name": name, "email": email, "initial": name[:1].upper()}
    return shown | {"colour": colour_of(email), "grants": [], "removals": []} | more


def _list_grants(colleague: team.Colleague) -> list[Values]:
    """Return somebody's roles, in all projects and in each, with the URLs to change them."""
    account_id = colleague.account_id
    grants: list[Values] = []
    if colleague.role:
        is_by_groups = colleague.source == "company"
        url = url_for(".give_role_in_all", account_id=account_id)
        place = _("All projects")
        grants.append(
            {"place": place, "role": colleague.role, "url": url, "is_by_groups": is_by_groups}
        )
    for project, role in colleague.projects:
        url = url_for(".give_role", project_id=project.id, account_id=account_id)
        grants.append({"place": project.called, "role": role, "url": url})
    return grants


def _describe_member(
    access: Access, member: team.TeamMember, colleague: team.Colleague | None
) -> Values:
    is_everywhere = member.everywhere is not None and member.everywhere >= member.role
    is_removable = member.here is not None and team.may_manage(access.role, member.role)
    is_you = member.account_id == access.user.account_id
    removals = []
    if is_removable:
        text = _("Remove from %(name)s", name=access.project.called)
        removals.append((text, url_for(".remove", account_id=member.account_id)))
    return _describe_person(
        member.account_id,
        member.name,
        member.email,
        role=_(member.role.label),
        is_you=is_you,
        is_everywhere=is_everywhere,
        grants=_list_grants(colleague) if colleague and access.role == Role.OWNER else [],
        removals=removals,
        leave_url=url_for(".show_leaving")
        if is_you and access.role != Role.OWNER and not member.everywhere
        else "",
    )


def _describe_colleague(colleague: team.Colleague) -> Values:
    url = url_for(".show_removal_from_all", account_id=colleague.account_id)
    return _describe_person(
        colleague.account_id,
        colleague.name,
        colleague.email,
        role=_(ROLE_LABELS[colleague.role]) if colleague.role else "",
        is_everywhere=colleague.role is not None,
        in_projects=[project.called for project, _role in colleague.projects],
        grants=_list_grants(colleague),
        asks_url=url,
    )
