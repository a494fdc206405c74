"""The events of projects, their teams, host names and proposals."""

from collections.abc import Mapping
from typing import Any

from testimonials.core.audit import EventType
from testimonials.core.http.i18n import gettext_noop

# The webhook event for every change of what a project shows.
PROJECT_UPDATED = "project.updated"


def _name_decision(details: Mapping[str, Any]) -> str:
    if details.get("status") == "declined":
        return gettext_noop("declined the proposal: %(title)s")
    return gettext_noop("accepted the proposal: %(title)s")


def _name_export(details: Mapping[str, Any]) -> str:
    if details.get("form") == "a table":
        return gettext_noop("exported the project as a table")
    if details.get("form") == "a case file":
        return gettext_noop("exported a case file")
    return gettext_noop("exported the project as an archive")


INVITATION_SENT = EventType("invitation.sent", "invited %(email)s: “%(role)s”")
INVITATION_ACCEPTED = EventType("invitation.accepted", "accepted the invitation to %(email)s")
INVITATION_DECLINED = EventType("invitation.declined", "declined the invitation to %(email)s")
INVITATION_WITHDRAWN = EventType("invitation.withdrawn", "withdrew the invitation to %(email)s")
MEMBER_CHANGED = EventType("member.changed", "changed the role of %(email)s to “%(role)s”")
MEMBER_REMOVED = EventType("member.removed", "ended the role of %(email)s (…%(member)s)")
MEMBER_LEFT = EventType("member.left", "gave up their role")
OWNERSHIP_OFFERED = EventType("ownership.offered", "offered %(name)s to %(email)s")
OWNERSHIP_WITHDRAWN = EventType("ownership.withdrawn", "withdrew the offer of %(name)s")
OWNERSHIP_DECLINED = EventType("ownership.declined", "declined the offer of %(name)s")
OWNERSHIP_TAKEN = EventType("ownership.taken", "handed %(name)s over from %(old)s to %(email)s")
PROJECT_CREATED = EventType("project.created", "created %(name)s")
PROJECT_CHANGED = EventType(
    "project.changed", "changed the settings", webhook=PROJECT_UPDATED, is_counted=True
)
PROJECT_RENAMED = EventType(
    "project.renamed",
    "changed the page’s address from %(old)s to %(slug)s",
    webhook=PROJECT_UPDATED,
)
DOMAIN_ADDED = EventType("domain.added", "chose the host name %(host)s")
DOMAIN_VERIFIED = EventType("domain.verified", "proved that the host name %(host)s is theirs")
DOMAIN_LOST = EventType("domain.lost", "lost the host name %(host)s: its TXT record is gone")
DOMAIN_REMOVED = EventType("domain.removed", "removed the host name %(host)s")
PROJECT_PAUSED = EventType("project.paused", "paused the project", webhook=PROJECT_UPDATED)
PROJECT_RESUMED = EventType("project.resumed", "resumed the project", webhook=PROJECT_UPDATED)
PROJECT_EXPORTED = EventType("project.exported", _name_export)
PROJECT_IMPORTED = EventType("project.imported", "imported %(name)s from an archive")
PROJECT_DELETED = EventType("project.deleted", "deleted %(name)s")
PROJECT_RESTORED = EventType("project.restored", "restored %(name)s")
STEPS_MAILED = EventType(
    "project.steps_mailed", "emailed the steps of “Add to your site” to %(email)s"
)
PAGE_CHANGED = EventType(
    "page.changed", "changed the collection page", webhook=PROJECT_UPDATED, is_counted=True
)
PROPOSAL_MADE = EventType("proposal.made", "proposed: %(title)s")
PROPOSAL_DECIDED = EventType("proposal.decided", _name_decision, webhook="proposal.decided")
PROPOSAL_WITHDRAWN = EventType("proposal.withdrawn", "withdrew the proposal: %(title)s")
