"""A project's team: the people in it, invitations, roles, and leaving."""

from typing import Any

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from testimonials.activity.event_types import EventType
from testimonials.activity.recording import record_project_event
from testimonials.auth.addresses import normalize_email
from testimonials.auth.sign_in.sessions import SignedIn
from testimonials.core import clock
from testimonials.core.data.identifiers import hash_secret
from testimonials.core.pictures.portraits import colour_of
from testimonials.core.web.errors import RateLimited, ServiceError
from testimonials.dashboard.forms import Errors, to_form_errors
from testimonials.dashboard.guards import build_shell, require_role
from testimonials.extensions import begin_write, db, limiter
from testimonials.projects.access import ROLES, Access, Role, find_access
from testimonials.projects.emails import send_invitation_mail
from testimonials.projects.models import MemberInvitation
from testimonials.projects.team.invitations import make_invitation_link
from testimonials.projects.team.limits import INVITE_PER_ACCOUNT, INVITE_PER_EMAIL
from testimonials.projects.team.services import (
    MAX_TEAM,
    NewInvitation,
    TeamMember,
    change_role,
    find_member,
    invite_member,
    leave_project,
    list_invitations,
    list_members,
    may_manage,
    read_role,
    remove_member,
    resend_invitation,
    revoke_invitation,
)

team = Blueprint("team", __name__)

ROLE_LABELS = {Role.OWNER: "Owner", Role.ADMIN: "Admin", Role.MODERATOR: "Moderator"}
NOTICES = {
    "invited": "The invitation is on its way",
    "sent-again": "A new mail is on its way; the earlier link has stopped working",
    "taken-back": "The invitation is taken back",
    "role-changed": "The role is changed",
    "removed": "Removed from the project",
}


@team.get("/dashboard/projects/<project_id>/team")
@require_role(Role.ADMIN)
def show_team(access: Access) -> ResponseReturnValue:
    """Show the people of the project, the open invitations, and the form that invites."""
    return _page(access, {}, {})


@team.post("/dashboard/projects/<project_id>/team/invitations")
@require_role(Role.ADMIN)
def invite(access: Access) -> ResponseReturnValue:
    """Invite an address by mail."""
    values = {name: request.form.get(name, "").strip() for name in ("email", "role")}
    try:
        role, email = read_role(values["role"]), normalize_email(values["email"])
        _count_mail(access.user, email)
        begin_write()
        access = find_access(access.user, access.project.id, Role.ADMIN, for_update=True)
        _send_invitation(access, invite_member(access, email, role))
    except ServiceError as error:
        if error.errors is None and not isinstance(error, RateLimited):
            raise
        db.session.rollback()
        status = 429 if isinstance(error, RateLimited) else 422
        return _page(access, to_form_errors(error, "email"), values), status, error.headers
    return _go_back("invited")


@team.post("/dashboard/projects/<project_id>/team/invitations/resend")
@require_role(Role.ADMIN)
def resend(access: Access) -> ResponseReturnValue:
    """Mail an invitation again, with a new link."""
    email = request.form.get("email", "")
    _count_mail(access.user, email)
    begin_write()
    access = find_access(access.user, access.project.id, Role.ADMIN, for_update=True)
    _send_invitation(access, resend_invitation(access, email))
    return _go_back("sent-again")


@team.post("/dashboard/projects/<project_id>/team/invitations/revoke")
@require_role(Role.ADMIN, for_update=True)
def revoke(access: Access) -> ResponseReturnValue:
    """Take an invitation back; its link stops working."""
    email = request.form.get("email", "")
    revoke_invitation(access, email)
    record_project_event(EventType.INVITATION_WITHDRAWN, access.project, email=email)
    db.session.commit()
    return _go_back("taken-back")


@team.post("/dashboard/projects/<project_id>/team/members/<account_id>/role")
@require_role(Role.OWNER, for_update=True)
def give_role(access: Access, account_id: str) -> ResponseReturnValue:
    """Make a moderator an admin, or an admin a moderator."""
    role = read_role(request.form.get("role", ""))
    member = change_role(access, account_id, role)
    _record_member(EventType.MEMBER_CHANGED, access, member, role=role)
    db.session.commit()
    return _go_back("role-changed")


@team.get("/dashboard/projects/<project_id>/team/members/<account_id>/remove")
@require_role(Role.ADMIN)
def show_removal(access: Access, account_id: str) -> ResponseReturnValue:
    """Show the one button that removes a colleague; changes nothing."""
    member = find_member(access.project, account_id)
    if not may_manage(access.role, member.role):
        return redirect(url_for(".show_team"), 303)
    return _confirmation(access, member, url_for(".remove", account_id=account_id))


@team.post("/dashboard/projects/<project_id>/team/members/<account_id>/remove")
@require_role(Role.ADMIN, for_update=True)
def remove(access: Access, account_id: str) -> ResponseReturnValue:
    """End a colleague's access at once."""
    member = remove_member(access, account_id)
    _record_member(EventType.MEMBER_REMOVED, access, member)
    db.session.commit()
    return _go_back("removed")


@team.get("/dashboard/projects/<project_id>/leave")
@require_role(Role.MODERATOR)
def show_leaving(access: Access) -> ResponseReturnValue:
    """Show the one button with which a colleague leaves; changes nothing."""
    project = access.project
    if access.role == Role.OWNER:
        return redirect(url_for(".show_team"), 303)
    member = find_member(project, access.user.account_id)
    return _confirmation(access, member, url_for(".leave"))


@team.post("/dashboard/projects/<project_id>/leave")
@require_role(Role.MODERATOR, for_update=True)
def leave(access: Access) -> ResponseReturnValue:
    """End one's own access."""
    leave_project(access)
    record_project_event(EventType.MEMBER_LEFT, access.project, email=access.user.email)
    db.session.commit()
    return redirect(url_for("dashboard.show_projects"), 303)


def _send_invitation(access: Access, new: NewInvitation) -> None:
    project, invitation = access.project, new.invitation
    send_invitation_mail(project, invitation, make_invitation_link(new))
    email, role = invitation.email, invitation.role
    record_project_event(EventType.INVITATION_SENT, project, email=email, role=role)
    db.session.commit()


def _record_member(type: EventType, access: Access, member: TeamMember, **details: str) -> None:
    details |= {"email": member.email, "member": member.account_id}
    record_project_event(type, access.project, **details)


def _count_mail(owner: SignedIn, email: str) -> None:
    limiter.count(INVITE_PER_ACCOUNT, owner.account_id)
    limiter.count(INVITE_PER_EMAIL, hash_secret(email))


def _go_back(notice: str) -> ResponseReturnValue:
    return redirect(url_for(".show_team", notice=notice), 303)


def _confirmation(access: Access, member: TeamMember, action: str) -> str:
    return render_template(
        "dashboard/project/team_confirm.html",
        shell=build_shell(access, "settings" if access.is_admin else "projects"),
        is_self=member.account_id == access.user.account_id,
        email=member.email,
        action=action,
        back_url=url_for(".show_team" if access.is_admin else "dashboard.show_projects"),
    )


def _page(access: Access, errors: Errors, values: dict[str, str]) -> str:
    project = access.project
    members, invitations = list_members(project), list_invitations(project)
    notice = NOTICES.get(request.args.get("notice", "")) if not errors else None
    return render_template(
        "dashboard/project/team.html",
        shell=build_shell(access, "settings"),
        notice=notice and {"text": notice, "undo_url": None, "undo_token": None},
        members=[_describe_member(access, each) for each in members],
        invitations=[_describe_invitation(access.role, each) for each in invitations],
        errors=errors,
        values=values,
        # The owner takes no place.
        limit={"used": len(members) - 1 + len(invitations), "allowed": MAX_TEAM},
    )


def _describe_member(access: Access, member: TeamMember) -> dict[str, Any]:
    is_manageable = may_manage(access.role, member.role)
    return {
        "email": member.email,
        "initial": member.email[:1].upper(),
        "colour": colour_of(member.email),
        "role_label": ROLE_LABELS[member.role],
        "since": clock.day(member.since) if member.role != Role.OWNER else None,
        "is_self": member.account_id == access.user.account_id,
        "account_id": member.account_id,
        "is_removable": is_manageable,
        "may_change_role": is_manageable and access.role == Role.OWNER,
        "other_role": "moderator" if member.role == Role.ADMIN else "admin",
    }


def _describe_invitation(actor: Role, invitation: MemberInvitation) -> dict[str, Any]:
    return {
        "email": invitation.email,
        "role_label": ROLE_LABELS[ROLES[invitation.role]],
        "invited_by": invitation.invited_by,
        "until": clock.day(invitation.expires_at),
        "is_expired": invitation.expires_at <= clock.now(),
        "is_manageable": may_manage(actor, ROLES[invitation.role]),
    }
