"""The mails about accounts: one typed function for each."""

from collections.abc import Sequence
from dataclasses import dataclass

from flask import current_app, render_template

from testimonials.auth.models import Account
from testimonials.core import clock
from testimonials.core.outbox import OutboxMail
from testimonials.extensions import db


@dataclass(frozen=True)
class ProjectSummary:
    """What a person is told of one of their projects."""

    name: str
    slug: str
    page_url: str
    widget_url: str
    testimonial_count: int
    sample_count: int


def send_claim_mail(
    account: Account, link: str, projects: Sequence[ProjectSummary], *, is_resend: bool
) -> OutboxMail:
    """Put the mail with the magic link into the outbox, in the present transaction."""
    values = {
        "email": account.email,
        "link": link,
        "days_left": describe_days_left(account),
        "expires_at_label": f"{clock.day(account.claim_expires_at)}, "
        f"{account.claim_expires_at:%H:%M} UTC",
        "projects": projects,
        "app_url": current_app.config["APP_URL"],
        "is_resend": is_resend,
    }
    mail = OutboxMail(
        purpose="claim",
        recipient=account.email,
        subject="Claim your testimonials account",
        text=render_template("email/claim.txt", **values),
        html=render_template("email/claim.html", **values),
    )
    db.session.add(mail)
    return mail


def describe_days_left(account: Account) -> str:
    """Say how long an unclaimed account still has, in whole units a person would use."""
    seconds = max(0.0, (account.claim_expires_at - clock.now()).total_seconds())
    for unit, length in (("day", 86400), ("hour", 3600)):
        # Half a minute's grace: the time between writing and reading must not turn 7 days into 6.
        if (count := int((seconds + 30) // length)) >= 1:
            return f"{count} {unit}{'s' if count > 1 else ''}"
    count = max(1, int((seconds + 30) // 60))
    return f"{count} minute{'s' if count > 1 else ''}"
