"""The mails about projects: one typed function for each."""

from collections.abc import Sequence

from testimonials.auth.emails import send_plain_mail
from testimonials.core import clock
from testimonials.core.http.i18n import gettext_noop
from testimonials.core.http.urls import project_url
from testimonials.core.mail.look import Look, brand_look
from testimonials.core.text import cut
from testimonials.projects.brand import find_brand, page_color
from testimonials.projects.models import (
    OwnershipOffer,
    Project,
    TeamInvitation,
)

# Pages translate them; mails are in English.
ROLE_MAY = {
    "reader": gettext_noop("Your role is “Reads”: you see every testimonial and change nothing."),
    "moderator": gettext_noop(
        "Your role is “Decides”: you choose which testimonials are shown, and edit and tag them."
    ),
    "admin": gettext_noop(
        "Your role is “Manages”: you decide on testimonials, and set up the widget, the page and "
        "the project’s settings."
    ),
}
SUBJECT_NAME = 60


def project_look(project: Project) -> Look:
    """Return the look of mails in the name of a project: that of its brand."""
    brand = find_brand(project)
    return brand_look(brand.name, page_color(project), brand.logo_url, brand.typeface)


MAIL_NAMES = 5


def send_invitation_mail(project: Project, invitation: TeamInvitation, link: str, by: str) -> None:
    words = f"{by} invites you to the project {project.name}"
    _send(invitation, link, f"Join the project {cut(project.name, SUBJECT_NAME)}", words)


def send_offer_mail(project: Project, offer: OwnershipOffer, email: str, by: str) -> None:
    send_plain_mail(
        email,
        "ownership-offer",
        f"Become the owner of {cut(project.name, SUBJECT_NAME)}",
        [
            f"{by} offers you the project {project.name}, which you manage. If you say yes, "
            "it belongs to your account. Until then nothing changes."
        ],
        footnote=f"You can answer until {clock.day(offer.expires_at)}. If you don’t want it, say "
        "no on that page, or do nothing.",
        link=project_url(project.id, "people/offer"),
        button="Look at the offer",
    )


def send_handed_over_mail(project: Project, email: str, by: str, *, is_in: bool) -> None:
    stays = "Your role in it is “Manages”." if is_in else "You have no access to it any more."
    send_plain_mail(
        email,
        "ownership-taken",
        f"{cut(project.name, SUBJECT_NAME)} has a new owner",
        [f"The project {project.name} belongs to {by} now. {stays}"],
        footnote="You get this mail because the project was yours.",
        link=project_url(project.id, "inbox") if is_in else "",
        button="Open the project" if is_in else "",
    )


def send_workspace_invitation_mail(
    invitation: TeamInvitation, link: str, by: str, names: Sequence[str]
) -> None:
    """Invite somebody to these projects, or without any to all of the sender's."""
    to = "all of their projects, also those to come"
    if names:
        others = len(names) - MAIL_NAMES
        to = "the projects " if len(names) > 1 else "the project "
        to += ", ".join(names[:MAIL_NAMES]) + (f" and {others} more" if others > 0 else "")
    _send(invitation, link, f"Join the projects of {by}", f"{by} invites you to {to}")


def _send(invitation: TeamInvitation, link: str, subject: str, words: str) -> None:
    send_plain_mail(
        invitation.email,
        "invitation",
        subject,
        [f"{words}.", ROLE_MAY[invitation.role]],
        footnote=f"The link works until {clock.day(invitation.expires_at)} and only once. If you "
        "did not expect this mail, ignore it, or open the link and choose “I don’t know this”.",
        link=link,
        button="Look at the invitation",
        # Lets a mail program decline it for its reader.
        list_unsubscribe=f"{link}/decline",
    )
