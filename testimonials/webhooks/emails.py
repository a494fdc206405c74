"""The mail about webhooks."""

from testimonials.auth.emails import send_plain_mail
from testimonials.auth.models import Account
from testimonials.core.urls import project_url
from testimonials.extensions import db
from testimonials.projects.models import Project


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
