"""A project's team: the people in it, invitations, roles, and leaving."""

from flask import redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from testimonials.auth.email_addresses import Email
from testimonials.auth.sessions import SignedIn
from testimonials.core import clock
from testimonials.core.audit import EventType, record
from testimonials.core.db.identifiers import hash_secret
from testimonials.core.extensions import begin_write, db, limiter
from testimonials.core.http.blueprints import team
from testimonials.core.http.errors import RateLimited, ValidationFailed
from testimonials.core.http.fields import Choice
from testimonials.core.http.form_errors import Errors, to_form_errors
from testimonials.core.http.forms import FormSchema, add_notice, read_notice
from testimonials.core.http.i18n import gettext as _
from testimonials.core.http.i18n import gettext_noop
from testimonials.core.images.colors import colour_of
from testimonials.dashboard.framework import require_role
from testimonials.dashboard.shell import build_shell
from testimonials.projects.access import ROLES, Access, Role, find_access
from testimonials.projects.emails import send_invitation_mail
from testimonials.projects.events import (
    INVITATION_SENT,
    INVITATION_WITHDRAWN,
    MEMBER_CHANGED,
    MEMBER_LEFT,
    MEMBER_REMOVED,
)
from testimonials.projects.invitations import (
    INVITE_PER_ACCOUNT,
    INVITE_PER_EMAIL,
    MAX_TEAM,
    NewInvitation,
    list_invitations,
    resend_invitation,
    revoke_invitation,
)
from testimonials.projects.invitations import (
    invite as create_invitation,
)
from testimonials.projects.team import (
    TeamMember,
    change_role,
    count_places,
    find_member,
    leave_project,
    list_members,
    may_manage,
    remove_member,
)
from testimonials.transfer.ownership import find_offer


class RoleForm(FormSchema):
    role = Choice(
        *ROLES,
        required=True,
        error_messages=dict.fromkeys(
            ("required", "invalid"), gettext_noop("Choose reader, moderator or admin.")
        ),
    )


class InviteForm(RoleForm):
    email = Email(required=True)


@team.get("/dashboard/projects/<project_id>/team")
@require_role(Role.ADMIN)
def show_team(access: Access) -> ResponseReturnValue:
    return _page(access, {}, {})


@team.post("/dashboard/projects/<project_id>/team/invitations")
@require_role(Role.ADMIN)
def invite(access: Access) -> ResponseReturnValue:
    sent = InviteForm().read(request.form)
    try:
        if sent.errors:
            raise ValidationFailed.of(sent.errors)
        count_mail(access.user, sent.values["email"])
        begin_write()
        access = find_access(access.user, access.project.id, Role.ADMIN, for_update=True)
        new = create_invitation(access.project, access.user, access.role, **sent.values)
        _send_invitation(access, new)
    except (ValidationFailed, RateLimited) as error:
        db.session.rollback()
        status = 429 if isinstance(error, RateLimited) else 422
        return _page(access, to_form_errors(error, "email"), sent.typed), status, error.headers
    return _go_back(_("The invitation is on its way."))


@team.post("/dashboard/projects/<project_id>/team/invitations/resend")
@require_role(Role.ADMIN)
def resend(access: Access) -> ResponseReturnValue:
    """Mail an invitation again, with a new link."""
    email = request.form.get("email", "")
    count_mail(access.user, email)
    begin_write()
    access = find_access(access.user, access.project.id, Role.ADMIN, for_update=True)
    _send_invitation(access, resend_invitation(access.project, access.user, access.role, email))
    return _go_back(_("A new mail is on its way. The earlier link has stopped working."))


@team.post("/dashboard/projects/<project_id>/team/invitations/revoke")
@require_role(Role.ADMIN, for_update=True)
def revoke(access: Access) -> ResponseReturnValue:
    email = request.form.get("email", "")
    revoke_invitation(access.project, access.role, email)
    record(INVITATION_WITHDRAWN, access.project, email=email)
    db.session.commit()
    return _go_back(_("The invitation is withdrawn."))


@team.post("/dashboard/projects/<project_id>/team/members/<account_id>/role")
@require_role(Role.OWNER, for_update=True)
def give_role(access: Access, account_id: str) -> ResponseReturnValue:
    sent = RoleForm().read(request.form)
    if sent.errors:
        raise ValidationFailed.of(sent.errors)
    role = sent.values["role"]
    member = change_role(access, account_id, role)
    _record_member(MEMBER_CHANGED, access, member, role=role)
    db.session.commit()
    return _go_back(_("The role is changed."))


@team.get("/dashboard/projects/<project_id>/team/members/<account_id>/remove")
@require_role(Role.ADMIN)
def show_removal(access: Access, account_id: str) -> ResponseReturnValue:
    member = find_member(access.project, account_id)
    if not may_manage(access.role, member.role):
        return redirect(url_for(".show_team"), 303)
    return _confirmation(access, member.email)


@team.post("/dashboard/projects/<project_id>/team/members/<account_id>/remove")
@require_role(Role.ADMIN, for_update=True)
def remove(access: Access, account_id: str) -> ResponseReturnValue:
    member = remove_member(access, account_id)
    _record_member(MEMBER_REMOVED, access, member)
    db.session.commit()
    return _go_back(_("Removed from the project."))


@team.get("/dashboard/projects/<project_id>/leave")
@require_role(Role.READER)
def show_leaving(access: Access) -> ResponseReturnValue:
    if access.role == Role.OWNER:
        return redirect(url_for(".show_team"), 303)
    return _confirmation(access, access.user.email)


@team.post("/dashboard/projects/<project_id>/leave")
@require_role(Role.READER, for_update=True)
def leave(access: Access) -> ResponseReturnValue:
    leave_project(access)
    record(MEMBER_LEFT, access.project, email=access.user.email)
    db.session.commit()
    return redirect(url_for("dashboard.home.show_projects"), 303)


def _send_invitation(access: Access, new: NewInvitation) -> None:
    project, invitation = access.project, new.invitation
    send_invitation_mail(project, invitation, new.link, access.user.email)
    email, role = invitation.email, invitation.role
    record(INVITATION_SENT, project, email=email, role=role)
    db.session.commit()


def _record_member(type: EventType, access: Access, member: TeamMember, **details: str) -> None:
    details |= {"email": member.email, "member": member.account_id}
    record(type, access.project, **details)


def count_mail(owner: SignedIn, email: str) -> None:
    limiter.count(INVITE_PER_ACCOUNT, owner.account_id)
    limiter.count(INVITE_PER_EMAIL, hash_secret(email))


def _go_back(notice: str) -> ResponseReturnValue:
    return redirect(add_notice(url_for(".show_team"), notice), 303)


def _confirmation(access: Access, email: str) -> str:
    return render_template(
        "dashboard/project/team_confirm.html",
        shell=build_shell(access, "settings" if access.is_admin else "projects"),
        is_self=email == access.user.email,
        email=email,
        back_url=url_for(".show_team" if access.is_admin else "dashboard.home.show_projects"),
    )


def _page(access: Access, errors: Errors, values: dict[str, str]) -> str:
    members, invitations = list_members(access.project), list_invitations(access.project)
    return render_template(
        "dashboard/project/team.html",
        shell=build_shell(access, "settings"),
        notice=read_notice(),
        members=members,
        invitations=invitations,
        manageable=[name for name, role in ROLES.items() if may_manage(access.role, role)],
        colour_of=colour_of,
        now=clock.now(),
        errors=errors,
        values=values,
        offer=find_offer(access.project),
        limit={"used": count_places(members) + len(invitations), "allowed": MAX_TEAM},
    )
