"""A project's team: the people in it, invitations, roles, and leaving."""

from typing import Any

from flask import Blueprint, redirect, render_template, request
from flask.typing import ResponseReturnValue

from testimonials.activity.event_types import EventType
from testimonials.activity.recording import record_project_event
from testimonials.auth.addresses import normalize_email
from testimonials.auth.sign_in.sessions import SignedIn
from testimonials.core import clock
from testimonials.core.data.identifiers import hash_secret
from testimonials.core.web.errors import RateLimited, ServiceError
from testimonials.dashboard.describe import choose_colour
from testimonials.dashboard.guards import build_shell, require_session
from testimonials.extensions import begin_write, db, limiter
from testimonials.projects.access import ROLES, Role, find_shared_project, role_in
from testimonials.projects.emails import send_invitation_mail
from testimonials.projects.models import MemberInvitation, Project
from testimonials.projects.team.invitations import make_invitation_link
from testimonials.projects.team.limits import INVITE_PER_ACCOUNT, INVITE_PER_EMAIL
from testimonials.projects.team.services import (
    MAX_TEAM,
    TeamMember,
    change_role,
    count_team,
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

Errors = dict[str, list[str]]

ROLE_LABELS = {Role.OWNER: "Owner", Role.ADMIN: "Admin", Role.MODERATOR: "Moderator"}
NOTICES = {
    "invited": "The invitation is on its way",
    "sent-again": "A new mail is on its way; the earlier link has stopped working",
    "taken-back": "The invitation is taken back",
    "role-changed": "The role is changed",
    "removed": "Removed from the project",
}


@team.get("/dashboard/projects/<project_id>/team")
@require_session
def show_team(owner: SignedIn, project_id: str) -> ResponseReturnValue:
    """Show the people of the project, the open invitations, and the form that invites."""
    return _page(owner, find_shared_project(owner.account_id, project_id, Role.ADMIN), {}, {})


@team.post("/dashboard/projects/<project_id>/team/invitations")
@require_session
def invite(owner: SignedIn, project_id: str) -> ResponseReturnValue:
    """Invite an address by mail."""
    find_shared_project(owner.account_id, project_id, Role.ADMIN)
    text = request.form.get("email", "").strip()
    role_text = request.form.get("role", "")
    try:
        role, email = read_role(role_text), normalize_email(text)
        _count_mail(owner, email)
        begin_write()
        project, actor = _find_locked(owner, project_id)
        new = invite_member(project, actor, owner, email, role)
    except ServiceError as error:
        if error.errors is None and not isinstance(error, RateLimited):
            raise
        db.session.rollback()
        project = find_shared_project(owner.account_id, project_id, Role.ADMIN)
        errors = dict(error.errors or {"email": [error.message]})
        page = _page(owner, project, errors, {"email": text, "role": role_text})
        return page, 429 if isinstance(error, RateLimited) else 422, error.headers
    send_invitation_mail(project, new.invitation, make_invitation_link(new))
    record_project_event(EventType.INVITATION_SENT, project, email=email, role=role)
    db.session.commit()
    return _go_back(project, "invited")


@team.post("/dashboard/projects/<project_id>/team/invitations/resend")
@require_session
def resend(owner: SignedIn, project_id: str) -> ResponseReturnValue:
    """Mail an invitation again, with a new link."""
    find_shared_project(owner.account_id, project_id, Role.ADMIN)
    email = request.form.get("email", "")
    _count_mail(owner, email)
    begin_write()
    project, actor = _find_locked(owner, project_id)
    new = resend_invitation(project, actor, owner, email)
    send_invitation_mail(project, new.invitation, make_invitation_link(new))
    role = new.invitation.role
    record_project_event(EventType.INVITATION_SENT, project, email=email, role=role)
    db.session.commit()
    return _go_back(project, "sent-again")


@team.post("/dashboard/projects/<project_id>/team/invitations/revoke")
@require_session
def revoke(owner: SignedIn, project_id: str) -> ResponseReturnValue:
    """Take an invitation back; its link stops working."""
    begin_write()
    project, actor = _find_locked(owner, project_id)
    email = request.form.get("email", "")
    revoke_invitation(project, actor, email)
    record_project_event(EventType.INVITATION_WITHDRAWN, project, email=email)
    db.session.commit()
    return _go_back(project, "taken-back")


@team.post("/dashboard/projects/<project_id>/team/members/<account_id>/role")
@require_session
def give_role(owner: SignedIn, project_id: str, account_id: str) -> ResponseReturnValue:
    """Make a moderator an admin, or the other way round."""
    begin_write()
    project, actor = _find_locked(owner, project_id, Role.OWNER)
    role = read_role(request.form.get("role", ""))
    change_role(project, actor, account_id, role)
    _record_member(EventType.MEMBER_CHANGED, project, find_member(project, account_id), role=role)
    db.session.commit()
    return _go_back(project, "role-changed")


@team.get("/dashboard/projects/<project_id>/team/members/<account_id>/remove")
@require_session
def show_removal(owner: SignedIn, project_id: str, account_id: str) -> ResponseReturnValue:
    """Show the one button that removes a colleague; changes nothing."""
    project = find_shared_project(owner.account_id, project_id, Role.ADMIN)
    member = find_member(project, account_id)
    if not may_manage(role_in(owner.account_id, project), member.role):
        return redirect(_address(project), 303)
    return _confirmation(owner, project, member, f"{_address(project)}/members/{account_id}/remove")


@team.post("/dashboard/projects/<project_id>/team/members/<account_id>/remove")
@require_session
def remove(owner: SignedIn, project_id: str, account_id: str) -> ResponseReturnValue:
    """End a colleague's access at once."""
    begin_write()
    project, actor = _find_locked(owner, project_id)
    member = find_member(project, account_id)
    remove_member(project, actor, account_id)
    _record_member(EventType.MEMBER_REMOVED, project, member)
    db.session.commit()
    return _go_back(project, "removed")


@team.get("/dashboard/projects/<project_id>/leave")
@require_session
def show_leaving(owner: SignedIn, project_id: str) -> ResponseReturnValue:
    """Show the one button with which a colleague leaves; changes nothing."""
    project = find_shared_project(owner.account_id, project_id, Role.MODERATOR)
    member = find_member(project, owner.account_id)
    if member.role == Role.OWNER:
        return redirect(_address(project), 303)
    return _confirmation(owner, project, member, f"/dashboard/projects/{project.id}/leave")


@team.post("/dashboard/projects/<project_id>/leave")
@require_session
def leave(owner: SignedIn, project_id: str) -> ResponseReturnValue:
    """End one's own access."""
    begin_write()
    project, _ = _find_locked(owner, project_id, Role.MODERATOR)
    leave_project(project, owner.account_id)
    record_project_event(EventType.MEMBER_LEFT, project, email=owner.email)
    db.session.commit()
    return redirect("/dashboard/projects", 303)


def _find_locked(
    owner: SignedIn, project_id: str, needed: Role = Role.ADMIN
) -> tuple[Project, Role]:
    project = find_shared_project(owner.account_id, project_id, needed, for_update=True)
    return project, role_in(owner.account_id, project)


def _record_member(type: EventType, project: Project, member: TeamMember, **details: str) -> None:
    record_project_event(type, project, email=member.email, member=member.account_id, **details)


def _count_mail(owner: SignedIn, email: str) -> None:
    limiter.count(INVITE_PER_ACCOUNT, owner.account_id)
    limiter.count(INVITE_PER_EMAIL, hash_secret(email))


def _address(project: Project) -> str:
    return f"/dashboard/projects/{project.id}/team"


def _go_back(project: Project, notice: str) -> ResponseReturnValue:
    return redirect(f"{_address(project)}?notice={notice}", 303)


def _confirmation(owner: SignedIn, project: Project, member: TeamMember, action: str) -> str:
    is_self = member.account_id == owner.account_id
    may_see_team = role_in(owner.account_id, project) >= Role.ADMIN
    return render_template(
        "dashboard/project/team_confirm.html",
        shell=build_shell(owner, "settings" if may_see_team else "projects", project),
        is_self=is_self,
        email=member.email,
        action=action,
        back_url=_address(project) if may_see_team else "/dashboard/projects",
    )


def _page(owner: SignedIn, project: Project, errors: Errors, values: dict[str, str]) -> str:
    actor, base = role_in(owner.account_id, project), _address(project)
    notice = NOTICES.get(request.args.get("notice", "")) if not errors else None
    return render_template(
        "dashboard/project/team.html",
        shell=build_shell(owner, "settings", project),
        notice=notice and {"text": notice, "undo_url": None, "undo_token": None},
        members=[_describe_member(owner, base, actor, each) for each in list_members(project)],
        invitations=[_describe_invitation(actor, each) for each in list_invitations(project)],
        resend_action=f"{base}/invitations/resend",
        revoke_action=f"{base}/invitations/revoke",
        invite_action=f"{base}/invitations",
        leave_url=f"/dashboard/projects/{project.id}/leave",
        errors=errors,
        values=values,
        limit={"used": count_team(project.id), "allowed": MAX_TEAM},
    )


def _describe_member(owner: SignedIn, base: str, actor: Role, member: TeamMember) -> dict[str, Any]:
    here = f"{base}/members/{member.account_id}"
    is_manageable = may_manage(actor, member.role)
    return {
        "email": member.email,
        "initial": member.email[:1].upper(),
        "colour": choose_colour(member.email),
        "role_label": ROLE_LABELS[member.role],
        "since": clock.day(member.since) if member.role != Role.OWNER else None,
        "is_self": member.account_id == owner.account_id,
        "remove_url": f"{here}/remove" if is_manageable else None,
        "role_action": f"{here}/role" if is_manageable and actor == Role.OWNER else None,
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
