"""Rate limits for accounts and for wrong passwords, which never lock an owner out."""

from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import select

from testimonials.auth.accounts import require_passwords
from testimonials.auth.credentials import SignInRefused, check_password
from testimonials.auth.models import Account
from testimonials.core.db.identifiers import hash_secret, new_identifier
from testimonials.core.extensions import db, limiter
from testimonials.core.http.errors import RateLimited
from testimonials.core.http.rate_limits import Limit
from testimonials.core.http.signing import TokenPurpose

# From the spec ("Limits") and the decisions ("Accounts, keys, claiming").
AGENT_INIT_PER_ADDRESS = Limit("agent-init-ip", 5, "from one IP address")
AGENT_INIT_PER_EMAIL = Limit("agent-init-email", 3, "for one e-mail address")
LINK_PER_ADDRESS = Limit("claim-link-ip", 10, "from one IP address")
LINK_PER_EMAIL = Limit("claim-link-email", 3, "for one e-mail address")
# Beyond these no mail is sent, but the answer is the same: the mailbox has links that work.
LINK_PER_NETWORK = Limit("link-network", 3, "for one mailbox from one network")
LINK_PER_MAILBOX = Limit("link-mailbox", 6, "for one mailbox")
LINK_PER_BROWSER = Limit("link-browser", 3, "from one browser")
CLAIM_PER_ADDRESS = Limit("claim-ip", 60, "from one IP address")
COMPANY_PER_ADDRESS = Limit("company-ip", 120, "from one IP address")
SIGN_IN_PER_ADDRESS = Limit("sign-in-ip", 60, "from one IP address")

# Wrong passwords. A known browser has its own limit, so strangers can't lock it out; an unknown one
# shares a limit with its network. Once that is reached, each address without a wrong guess within a
# day still has one attempt, which is enough for a person who knows the password.
SIGN_IN_PER_BROWSER = Limit("sign-in-browser", 20, "from one browser")
SIGN_IN_PER_NETWORK = Limit("sign-in-network", 20, "for one account from one network")
SIGN_IN_UNGUESSED = Limit("sign-in-unguessed", 1, "for one account from one address", hours=24)
# More than this within a day means that somebody is guessing from many networks. Then each network
# only gets a few attempts a day, which stops thousands of them and still lets the owner in.
SIGN_IN_PER_ACCOUNT = Limit("sign-in-account", 100, "for one account", hours=24)
SIGN_IN_GUESSED_AT = Limit("sign-in-guessed-at", 3, "for one account from one network", hours=24)
# Wrong codes of the authenticator app, by somebody who knows the password: three of a million codes
# are right at any time.
CODES_PER_BROWSER = Limit("codes-browser", 10, "from one browser")
CODES_PER_ACCOUNT = Limit("codes-account", 10, "for one account")
CONFIRM_PER_SESSION = Limit("confirm-session", 20, "from one browser")

KNOWN_SECONDS = 365 * 86_400

known_purpose = TokenPurpose("known-browser")


@dataclass(frozen=True)
class Visitor:
    """The origin of a request; `browser` is the id of one that has signed in to the account."""

    address: str
    network: str
    browser: str | None


def make_known_token(account: Account) -> str:
    return known_purpose.sign([account.id, account.browser_generation, new_identifier()])


def find_known_browser(tokens: Iterable[str], email: str) -> str | None:
    """Return the browser's id if one of its tokens says that it has signed in to this account."""
    for token in tokens:
        if (payload := known_purpose.find(token, 3, KNOWN_SECONDS)) is None:
            continue
        account_id, generation, browser = payload
        is_known = select(Account.id).where(
            Account.id == account_id,
            Account.email == email,
            Account.browser_generation == generation,
        )
        if db.session.scalar(is_known) is not None:
            return str(browser)
    return None


def try_password(email: str, password: str, visitor: Visitor) -> Account:
    """Return the account with this address and password.

    Raises `SignInRefused`, `RateLimited` and `PasswordsOff`.
    """
    require_passwords()
    account_key = hash_secret(email)
    address_key = f"{account_key} {visitor.address}"
    if visitor.browser is not None:
        limit, key = SIGN_IN_PER_BROWSER, visitor.browser
    else:
        limiter.count(SIGN_IN_PER_ADDRESS, visitor.address)
        is_quiet = limiter.has_room(SIGN_IN_PER_ACCOUNT, account_key)
        limit = SIGN_IN_PER_NETWORK if is_quiet else SIGN_IN_GUESSED_AT
        key = f"{account_key} {visitor.network}"
    # Counted before the check, so that simultaneous attempts can't exceed the limit.
    try:
        limiter.count(limit, key)
    except RateLimited:
        limit, key = SIGN_IN_UNGUESSED, address_key
        if visitor.browser is not None or not limiter.allows(limit, key):
            raise
    try:
        account = check_password(email, password)
    except SignInRefused:
        if visitor.browser is None:
            limiter.allows(SIGN_IN_PER_ACCOUNT, account_key)
            limiter.allows(SIGN_IN_UNGUESSED, address_key)
        raise
    limiter.forget(limit, key)
    limiter.forget(SIGN_IN_UNGUESSED, address_key)
    return account
