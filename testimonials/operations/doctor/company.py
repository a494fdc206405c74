"""A check of the company's sign-in."""

from collections.abc import Iterator

from testimonials.auth.company.fetching import ProviderAway, ProviderRefused
from testimonials.auth.company.provider import current_provider
from testimonials.auth.sign_in.services import find_claimed_account
from testimonials.core.urls import company_return_url
from testimonials.operations.doctor.findings import Finding
from testimonials.settings.current import current_settings
from testimonials.settings.table import PREFIX


def check_company() -> Iterator[Finding]:
    """Ask the provider what it is and for its keys."""
    settings = current_settings()
    if not settings.oidc_issuer:
        return
    provider = current_provider()
    try:
        provider.metadata()
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
