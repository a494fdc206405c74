"""How the page of people describes a project's, or those in all projects of an owner."""

from typing import Any

from flask import url_for

from testimonials.auth.accounts import get_account
from testimonials.auth.sessions import SignedIn
from testimonials.core import clock
from testimonials.core.http.i18n import gettext as _
from testimonials.core.images.colors import colour_of
from testimonials.projects.access import ROLE_LABELS, ROLES, Access, Role
from testimonials.projects.invitations import MAX_TEAM, list_invitations
from testimonials.projects.models import Project, TeamInvitation
from testimonials.projects.projects import list_projects
from testimonials.projects.team import (
    Colleague,
    Place,
    TeamMember,
    count_places,
    count_workspace_places,
    list_colleagues,
    list_members,
    list_workspaces,
    may_manage,
)
from testimonials.transfer.ownership import find_offer

Values = dict[str, Any]


def describe_project_people(access: Access) -> Values:
    project, members = access.project, list_members(access.project)
    of_owner = list_colleagues(project.account_id) if access.role == Role.OWNER else []
    colleagues = {each.account_id: each for each in of_owner}
    offer = find_offer(project)
    shown = _describe_page(project, access.role, count_places(members))
    return shown | {
        "people": [
            _describe_member(access, each, colleagues.get(each.account_id)) for each in members
        ],
        "places": _list_places(project, is_all=False) if access.role == Role.OWNER else [],
        "back_url": url_for("dashboard.settings.show_settings"),
        "is_offered_to_me": bool(offer and offer.receiver_id == access.user.account_id),
        "invite_url": url_for(".invite_here"),
        "resend_url": url_for(".resend"),
        "withdraw_url": url_for(".withdraw"),
    }


def describe_all_people(user: SignedIn, project: Project | None) -> Values:
    """Describe the people in all projects; `project` is where somebody came from."""
    account, colleagues = get_account(user.account_id), list_colleagues(user.account_id)
    you = _describe_person(account.id, user.name, user.email, role=_("Owner"), is_you=True)
    here = project.id if project else None
    shown = _describe_page(account, Role.OWNER, count_workspace_places(colleagues))
    return shown | {
        "people": [you, *map(_describe_colleague, colleagues)],
        "places": _list_places(project, is_all=True) if project else [],
        "back_url": url_for("dashboard.settings.show_settings")
        if project
        else url_for("dashboard.account.show_account"),
        "projects": list_projects(user.account_id),
        "workspaces": list_workspaces(user.account_id),
        "invite_url": url_for(".invite_to_all", project=here),
        "resend_url": url_for(".resend_to_all", project=here),
        "withdraw_url": url_for(".withdraw_from_all", project=here),
    }


def _list_places(project: Project, *, is_all: bool) -> list[tuple[str, str, bool]]:
    """Return where an invitation counts, and whom the list shows: here, or in all projects."""
    return [
        (project.name, url_for(".show_people"), not is_all),
        (_("All projects"), url_for(".show_all_from_here"), is_all),
    ]


def _describe_page(place: Place, actor: Role, taken: int) -> Values:
    """Return the parts that both pages have."""
    roles = [name for name, role in ROLES.items() if may_manage(actor, role)]
    invitations = list_invitations(place)
    return {
        "invitations": [_describe_invitation(each, each.role in roles) for each in invitations],
        "roles": roles,
        "labels": {name: _(ROLE_LABELS[role]) for name, role in ROLES.items()},
        "typed": {"role": "moderator"},
        "limit": {"used": taken + len(invitations), "allowed": MAX_TEAM},
    }


def _describe_invitation(row: TeamInvitation, is_manageable: bool) -> Values:
    return {
        "row": row,
        "is_manageable": is_manageable,
        "is_over": row.expires_at <= clock.now(),
        "role": _(ROLE_LABELS[ROLES[row.role]]),
    }


def _describe_person(account_id: str, name: str, email: str, **more: object) -> Values:
    shown = {"id": account_id, "name": name, "email": email, "initial": name[:1].upper()}
    return shown | {"colour": colour_of(email), "grants": [], "removals": []} | more


def _list_grants(colleague: Colleague) -> list[Values]:
    """Return somebody's roles, in all projects and in each, with where they are changed."""
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
        grants.append({"place": project.name, "role": role, "url": url})
    return grants


def _describe_member(access: Access, member: TeamMember, colleague: Colleague | None) -> Values:
    is_everywhere = member.everywhere is not None and member.everywhere >= member.role
    is_removable = member.here is not None and may_manage(access.role, member.role)
    is_you = member.account_id == access.user.account_id
    removals = []
    if is_removable:
        text = _("Remove from %(name)s", name=access.project.name)
        removals.append((text, url_for(".remove", account_id=member.account_id)))
    return _describe_person(
        member.account_id,
        member.name,
        member.email,
        role=_(member.role.label),
        is_you=is_you,
        is_everywhere=is_everywhere,
        since=None if member.role == Role.OWNER else member.since,
        grants=_list_grants(colleague) if colleague and access.role == Role.OWNER else [],
        removals=removals,
        leave_url=url_for(".show_leaving")
        if is_you and access.role != Role.OWNER and not member.everywhere
        else "",
    )


def _describe_colleague(colleague: Colleague) -> Values:
    url = url_for(".show_removal_from_all", account_id=colleague.account_id)
    return _describe_person(
        colleague.account_id,
        colleague.name,
        colleague.email,
        role=_(ROLE_LABELS[ROLES[colleague.role]]) if colleague.role else "",
        is_everywhere=colleague.role is not None,
        in_projects=[project.name for project, _role in colleague.projects],
        grants=_list_grants(colleague),
        asks_url=url,
    )
