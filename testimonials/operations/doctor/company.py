"""A check of the company's sign-in."""

from collections.abc import Iterator
from datetime import timedelta

from sqlalchemy import select

from testimonials.activity.event_types import EventType
from testimonials.activity.models import Event
from testimonials.auth.company.fetching import ProviderAway, ProviderRefused
from testimonials.auth.company.provider import current_provider
from testimonials.auth.company.services import ProviderSilent
from testimonials.auth.sign_in.services import find_claimed_account
from testimonials.core import clock
from testimonials.core.data.identifiers import first_identifier
from testimonials.core.urls import company_return_url
from testimonials.extensions import db
from testimonials.operations.doctor.findings import Finding
from testimonials.settings.current import current_settings
from testimonials.settings.table import PREFIX

# For how long after a confirmation without it the doctor says so.
TOLD_DAYS = timedelta(days=30)


def check_company() -> Iterator[Finding]:
    """Ask the provider what it is and for its keys."""
    settings = current_settings()
    if not settings.oidc_issuer:
        return
    provider = current_provider()
    try:
        if provider.metadata().hides_auth_time or _was_silent():
            yield Finding(
                f"{settings.oidc_issuer} doesn't say when it last asked somebody who they are "
                "(auth_time), so nobody can confirm with it who they are.",
                "They confirm with a passkey, or by a link in a mail. Some providers send it once "
                "that is turned on for this client; Google never does.",
                is_note=True,
            )
        if not provider.find_keys(None):
            yield Finding(
                f"{settings.oidc_issuer} has no keys, so nobody can sign in with it.",
                "Ask whoever runs it for signing keys (RS256 or ES256).",
            )
    except (ProviderAway, ProviderRefused) as error:
        yield Finding(
            f"The company's sign-in can't be used: {error.reason}",
            f"Check {PREFIX}OIDC_ISSUER, letter by letter, and that this machine reaches it. The "
            f"provider has to send browsers back to {company_return_url()}.",
        )
    if settings.oidc_groups and find_claimed_account(settings.oidc_workspace.lower()) is None:
        yield Finding(
            f"No account has the address {settings.oidc_workspace}, so groups give no roles.",
            f"Correct {PREFIX}OIDC_WORKSPACE, or sign in with that address once.",
        )


def _was_silent() -> bool:
    """Return whether somebody lately tried to confirm with the provider, and it didn't say when."""
    query = select(Event.id).where(
        Event.id >= first_identifier(clock.now() - TOLD_DAYS),
        Event.type == EventType.COMPANY_REFUSED,
        Event.details["reason"].as_string() == ProviderSilent.reason,
    )
    return db.session.scalar(query.limit(1)) is not None
