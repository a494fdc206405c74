"""The owner's team in all projects: the people, invitations, roles, and leaving others' teams."""

from typing import Any

from flask import redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from testimonials.auth.models import Account
from testimonials.auth.sessions import SignedIn
from testimonials.core import clock
from testimonials.core.audit import record
from testimonials.core.extensions import begin_write, db
from testimonials.core.http.blueprints import team
from testimonials.core.http.errors import RateLimited, ValidationFailed
from testimonials.core.http.fields import Choice
from testimonials.core.http.form_errors import Errors, to_form_errors
from testimonials.core.http.forms import add_notice, read_notice
from testimonials.core.http.i18n import gettext as _
from testimonials.core.images.colors import colour_of
from testimonials.dashboard.framework import require_proof, require_session
from testimonials.dashboard.shell import build_shell
from testimonials.dashboard.team import InviteForm, RoleForm, count_mail
from testimonials.projects.access import ROLES, Role
from testimonials.projects.emails import send_workspace_invitation_mail
from testimonials.projects.events import (
    INVITATION_SENT,
    INVITATION_WITHDRAWN,
    MEMBER_CHANGED,
    MEMBER_LEFT,
    MEMBER_REMOVED,
)
from testimonials.projects.invitations import (
    MAX_TEAM,
    NewInvitation,
    invite,
    list_invitations,
    name_invited,
    resend_invitation,
    revoke_invitation,
)
from testimonials.projects.projects import list_projects, lock_account
from testimonials.projects.team import (
    change_colleague,
    count_workspace_places,
    find_colleague,
    find_workspace,
    list_colleagues,
    list_workspaces,
    remove_colleague,
    set_role,
)

HERE = "dashboard.team.show_workspace"


class InviteColleagueForm(InviteForm):
    reach = Choice("all", "some", load_default="all")


@team.get("/dashboard/account/team")
@require_session
def show_workspace(owner: SignedIn) -> ResponseReturnValue:
    return _page(owner, {}, {})


@team.post("/dashboard/account/team/invitations")
@require_session
@require_proof("invite a colleague", HERE)
def invite_to_workspace(owner: SignedIn) -> ResponseReturnValue:
    sent, chosen = InviteColleagueForm().read(request.form), request.form.getlist("projects")
    try:
        if sent.errors:
            raise ValidationFailed.of(sent.errors)
        email, role = sent.values["email"], sent.values["role"]
        count_mail(owner, email)
        begin_write()
        ids = chosen if sent.values["reach"] == "some" else None
        place = lock_account(owner.account_id)
        _send(owner, invite(place, owner, Role.OWNER, email, role, ids))
    except (ValidationFailed, RateLimited) as error:
        return _refuse(owner, error, sent.typed)
    return _go_back(_("The invitation is on its way."))


@team.post("/dashboard/account/team/invitations/resend")
@require_session
def resend_workspace_invitation(owner: SignedIn) -> ResponseReturnValue:
    """Mail an invitation again, with a new link."""
    email = request.form.get("email", "")
    count_mail(owner, email)
    begin_write()
    place = lock_account(owner.account_id)
    _send(owner, resend_invitation(place, owner, Role.OWNER, email))
    return _go_back(_("A new mail is on its way. The earlier link has stopped working."))


@team.post("/dashboard/account/team/invitations/revoke")
@require_session
def revoke_workspace_invitation(owner: SignedIn) -> ResponseReturnValue:
    email = request.form.get("email", "")
    begin_write()
    revoke_invitation(lock_account(owner.account_id), Role.OWNER, email)
    record(INVITATION_WITHDRAWN, owner.account_id, email=email)
    db.session.commit()
    return _go_back(_("The invitation is withdrawn."))


@team.post("/dashboard/account/team/members/<account_id>/role")
@require_session
@require_proof("change what a colleague may do", HERE)
def give_workspace_role(owner: SignedIn, account_id: str) -> ResponseReturnValue:
    """Give somebody of the team a role in all projects."""
    sent = RoleForm().read(request.form)
    if sent.errors:
        find_colleague(owner.account_id, account_id)
        raise ValidationFailed.of(sent.errors)
    begin_write()
    member, role = change_colleague(owner.account_id, account_id, sent.values["role"]), "role"
    details = {"email": member.email, "member": account_id, role: sent.values["role"]}
    record(MEMBER_CHANGED, owner.account_id, **details)
    db.session.commit()
    return _go_back(_("The role is changed."))


@team.get("/dashboard/account/team/members/<account_id>/remove")
@require_session
def show_workspace_removal(owner: SignedIn, account_id: str) -> ResponseReturnValue:
    return _confirmation(owner, member=find_colleague(owner.account_id, account_id))


@team.post("/dashboard/account/team/members/<account_id>/remove")
@require_session
def remove_from_workspace(owner: SignedIn, account_id: str) -> ResponseReturnValue:
    """End somebody's roles in all of the owner's projects."""
    begin_write()
    email = remove_colleague(owner.account_id, account_id).email
    record(MEMBER_REMOVED, owner.account_id, email=email, member=account_id)
    db.session.commit()
    return _go_back(_("Removed from all of your projects."))


@team.get("/dashboard/account/team/of/<owner_id>/leave")
@require_session
def show_workspace_leaving(owner: SignedIn, owner_id: str) -> ResponseReturnValue:
    return _confirmation(owner, left=find_workspace(owner.account_id, owner_id))


@team.post("/dashboard/account/team/of/<owner_id>/leave")
@require_session
def leave_workspace(owner: SignedIn, owner_id: str) -> ResponseReturnValue:
    """Leave somebody else's team; roles in single projects stay."""
    begin_write()
    left = find_workspace(owner.account_id, owner_id)
    set_role(lock_account(left.owner_id), owner.account_id, None)
    record(MEMBER_LEFT, left.owner_id, email=owner.email)
    db.session.commit()
    return _go_back(_("You have left the team."))


def _send(owner: SignedIn, new: NewInvitation) -> None:
    invitation = new.invitation
    names = name_invited(invitation)
    send_workspace_invitation_mail(invitation, new.link, owner.email, names)
    record(INVITATION_SENT, owner.account_id, email=invitation.email, role=invitation.role)
    db.session.commit()


def _refuse(
    owner: SignedIn, error: ValidationFailed | RateLimited, typed: dict[str, Any]
) -> ResponseReturnValue:
    db.session.rollback()
    status = 429 if isinstance(error, RateLimited) else 422
    return _page(owner, to_form_errors(error, "email"), typed), status, error.headers


def _go_back(notice: str) -> ResponseReturnValue:
    return redirect(add_notice(url_for(".show_workspace"), notice), 303)


def _confirmation(owner: SignedIn, **about: object) -> str:
    return render_template(
        "dashboard/account/team_confirm.html", shell=build_shell(owner, "account"), **about
    )


def _page(owner: SignedIn, errors: Errors, values: dict[str, Any]) -> str:
    projects = list_projects(owner.account_id)
    colleagues = list_colleagues(owner.account_id)
    invitations = list_invitations(db.session.get_one(Account, owner.account_id))
    return render_template(
        "dashboard/account/team.html",
        shell=build_shell(owner, "account"),
        notice=read_notice(),
        colleagues=colleagues,
        invitations=invitations,
        workspaces=list_workspaces(owner.account_id),
        projects=projects,
        chosen=request.form.getlist("projects"),
        roles=tuple(ROLES),
        colour_of=colour_of,
        now=clock.now(),
        errors=errors,
        values=values,
        limit={"used": count_workspace_places(colleagues) + len(invitations), "allowed": MAX_TEAM},
    )
