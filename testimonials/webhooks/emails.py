"""The mail about webhooks."""

from collections.abc import Sequence
from datetime import datetime

from testimonials.auth.emails import send_plain_mail
from testimonials.auth.models import Account
from testimonials.core import clock
from testimonials.core.urls import project_url
from testimonials.extensions import db
from testimonials.projects.models import Project


def send_left_mail(
    project: Project, hosts: Sequence[str], secret_until: datetime | None = None
) -> None:
    """Tell the owner what waits for their word since somebody has left the project.

    `secret_until` is how long links that prove a purchase may be signed as before a hand-over.
    """
    lines = []
    if hosts:
        lines.append(
            f"Whoever added webhook endpoints of the project {project.name} is no admin of it any "
            f"more. They hear of nothing until you keep or remove each: {', '.join(hosts)}. One "
            "that is kept gets a new signing secret."
        )
    if secret_until:
        lines.append(
            f"Links that prove a purchase in the project {project.name} have a new signing secret. "
            f"The former owner’s works too until {clock.day(secret_until)}, so that a shop can "
            "change over. You can end it before, where these links are."
        )
    send_plain_mail(
        db.session.get_one(Account, project.account_id).email,
        "left-behind",
        "Decide what goes on after somebody has left",
        lines,
        footnote="You get this mail because you own the project.",
        link=project_url(project.id, "integrations" if hosts else "purchases"),
        button="Look at the integrations" if hosts else "Look at the links",
    )


def send_stopped_mail(project: Project, host: str, reason: str) -> None:
    """Tell the owner that a webhook endpoint was switched off."""
    account = db.session.get_one(Account, project.account_id)
    send_plain_mail(
        account.email,
        "webhook-stopped",
        "A webhook endpoint was switched off",
        [
            f"The webhook endpoint at {host} of the project {project.name} was switched off, so "
            "it no longer hears of new testimonials.",
            reason,
            "Once it works again, switch it on, and let it have what it has missed.",
        ],
        footnote="You get this mail because the endpoint belongs to a project of yours.",
        link=project_url(project.id, "integrations"),
        button="Look at the integrations",
    )
