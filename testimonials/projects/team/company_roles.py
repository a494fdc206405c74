"""Roles by the groups that somebody has in the company, which are looked at when they sign in."""

import logging
from collections.abc import Set as AbstractSet

from sqlalchemy import select

from testimonials.activity.event_types import EventType
from testimonials.activity.recording import record_event
from testimonials.auth.sign_in.services import find_claimed_account
from testimonials.core import clock
from testimonials.extensions import db
from testimonials.projects.access import ROLES
from testimonials.projects.models import MemberInvitation, WorkspaceInvitation
from testimonials.projects.team.workspace import COMPANY, set_workspace_role
from testimonials.settings.current import current_settings

logger = logging.getLogger("testimonials.company")


def choose_role(groups: AbstractSet[str]) -> str | None:
    """Return the highest role that one of these groups has, if any has one."""
    roles = [pair.role for pair in current_settings().oidc_groups if pair.group in groups]
    return max(roles, key=lambda role: ROLES[role], default=None)


def is_awaited(email: str | None, groups: AbstractSet[str]) -> bool:
    """Return whether somebody was invited to a team, or one of their groups has a role."""
    if choose_role(groups) is not None:
        return True
    return email is not None and any(
        db.session.scalar(select(table.email).where(table.email == email, table.expires_at > now))
        for table in (MemberInvitation, WorkspaceInvitation)
        for now in [clock.now()]
    )


def follow_groups(account_id: str, who: str, groups: AbstractSet[str]) -> None:
    """Give the role of their groups to somebody who signs in, or take back what groups gave.

    What changes is recorded at the owner, with the person's address.
    """
    settings = current_settings()
    if not settings.oidc_groups:
        return
    owner = find_claimed_account(settings.oidc_workspace.lower())
    if owner is None:
        logger.warning("OIDC_WORKSPACE names no account, so groups have no roles.")
        return
    role = choose_role(groups)
    if set_workspace_role(owner.id, account_id, role, COMPANY):
        record_event(EventType.COMPANY_ROLE_CHANGED, owner.id, email=who, role=role or "none")
