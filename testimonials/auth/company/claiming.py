"""The step between the company's sign-in and an account that an agent began.

The person is known by then; what is open is what becomes of the agent's key and projects. A signed
cookie carries who they are from one page to the next.
"""

from testimonials.auth.company.exchange import CompanyPerson
from testimonials.auth.company.services import CompanyRefused
from testimonials.auth.models import Account
from testimonials.auth.services import find_claimable_account
from testimonials.core.web.languages import gettext_noop
from testimonials.core.web.signing import TokenPurpose
from testimonials.settings.current import current_settings

SECONDS = 30 * 60
# It has to fit into a cookie.
LONGEST_TARGET = 500

claim_purpose = TokenPurpose("company-claim")


def make_claim_token(person: CompanyPerson, target: str) -> str:
    """Return a token by which a browser may claim the account of the person's address."""
    # Of thousands of groups, those that mean something here.
    groups = [pair.group for pair in current_settings().oidc_groups if pair.group in person.groups]
    return claim_purpose.sign(
        [person.issuer, person.subject, person.email, person.name, groups, target[:LONGEST_TARGET]]
    )


def read_claim_token(token: str) -> tuple[CompanyPerson, str]:
    """Return who may claim their account, and where they were going; raise `CompanyRefused`."""
    found = claim_purpose.find(token, 6, SECONDS)
    if found is None or found[0] != current_settings().oidc_issuer:
        raise CompanyRefused(
            gettext_noop("This page took too long, or was opened elsewhere. Sign in again.")
        )
    issuer, subject, email, name, groups, target = found
    return CompanyPerson(issuer, subject, email, True, name, frozenset(groups), None), target


def lock_waiting(person: CompanyPerson) -> Account:
    """Return the account to claim, locked; raise `CompanyRefused` if it isn't there any more."""
    account = find_claimable_account(person.email or "")
    if account is None:
        raise CompanyRefused(
            gettext_noop("This account was claimed or has expired. Sign in again.")
        )
    return account
