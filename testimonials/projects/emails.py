"""The mails about projects: one typed function for each."""

from testimonials.auth.emails import send_plain_mail
from testimonials.core import clock
from testimonials.projects.models import MemberInvitation, Project

ROLE_WITH_ARTICLE = {"moderator": "a moderator", "admin": "an admin"}
ROLE_MAY = {
    "moderator": "As a moderator you decide which testimonials are shown, and edit and tag them.",
    "admin": "As an admin you decide on testimonials and set up the widget, the page and the "
    "project’s settings.",
}
SUBJECT_NAME = 60


def send_invitation_mail(project: Project, invitation: MemberInvitation, link: str) -> None:
    name = project.name
    short = name if len(name) <= SUBJECT_NAME else f"{name[: SUBJECT_NAME - 1].rstrip()}…"
    send_plain_mail(
        invitation.email,
        "invitation",
        f"Join the project {short}",
        [
            f"{invitation.invited_by} invites you to the project {name} as "
            f"{ROLE_WITH_ARTICLE[invitation.role]}.",
            ROLE_MAY[invitation.role],
        ],
        footnote=f"The link works until {clock.day(invitation.expires_at)} and only once. If you "
        "did not expect this mail, ignore it, or open the link and choose “I don’t know this”.",
        link=link,
        button="Look at the invitation",
        # Lets a mail program decline it for its reader.
        list_unsubscribe=f"{link}/decline",
    )
