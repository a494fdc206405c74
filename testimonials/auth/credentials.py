"""Passwords: rating, hashing, checking and replacing them, and the rate limits of accounts."""

import io
import json
import re
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

from sqlalchemy import select
from werkzeug.security import check_password_hash, generate_password_hash

from testimonials.auth.accounts import lock_where, require_passwords
from testimonials.auth.models import Account
from testimonials.auth.sessions import end_sessions
from testimonials.core import clock
from testimonials.core.db.identifiers import hash_secret, new_identifier
from testimonials.core.extensions import db, limiter
from testimonials.core.http.errors import RateLimited, ServiceError
from testimonials.core.http.i18n import gettext, gettext_noop
from testimonials.core.http.rate_limits import Limit
from testimonials.core.http.signing import TokenPurpose
from testimonials.core.http.urls import app_url, base_url, link_url
from testimonials.core.images.worker import DecoderBusy, LimitsExceeded, decoder
from testimonials.core.late import Signal
from testimonials.core.text import normalize

MIN_LENGTH = 10
# In UTF-8. Checked before anything else, since strangers send passwords and normalizing takes
# quadratic time.
MAX_BYTES = 1024
METHOD = "scrypt:32768:8:3"
# zxcvbn takes seconds for 72 unusual characters and a fraction of a second for 24. No common
# password is longer.
RATED_LENGTH = 24

# Of zxcvbn's scores from 0 to 4; 3 means more than a hundred million guesses.
MIN_SCORE = 3
# Guessers first try words with a suffix that satisfies a rule, such as 2024!!.
MAX_DECORATION = 8

# Computing a hash takes 32 MiB, so only this many are computed at once.
_slots = threading.BoundedSemaphore(2)
_rating = threading.Lock()


def find_password_problem(password: str, email: str, names: Iterable[str] = ()) -> str | None:
    """Return the problem with a new password, or None.

    `names` are what somebody who knows the owner would try, such as names of projects.
    """
    if _is_too_long(password):
        return gettext(
            "Use at most %(most)s characters, fewer with accents or emoji.", most=MAX_BYTES
        )
    if len(password) < MIN_LENGTH:
        return gettext(
            "Use at least %(least)s characters; this has %(count)s.",
            least=MIN_LENGTH,
            count=len(password),
        )
    lowered = password.casefold()
    if lowered in email.casefold() or email.casefold() in lowered:
        return gettext("Don’t use your email address.")
    rated = password, _list_words([email, *names])
    try:
        file = io.BytesIO(json.dumps(rated).encode())
        is_weak = decoder.run(rate, file, turns=_rating)[0]["is_guessable"]
    except (DecoderBusy, LimitsExceeded):
        # Such as killed for lack of memory, or unable to fork.
        is_weak = is_guessable(*rated)
    if is_weak:
        return gettext("This password is easy to guess. Use a few unrelated words.")
    return None


def rate(file: bytes) -> tuple[dict[str, Any], bytes]:
    """Rate a password in a separate process, whose end frees the 14 MB of word lists."""
    return {"is_guessable": is_guessable(*json.loads(file))}, b""


def is_guessable(password: str, words: list[str]) -> bool:
    from zxcvbn import zxcvbn

    core = re.sub(r"\A[\W\d_]+|(?<![\W\d_])[\W\d_]++\Z", "", password)
    is_decorated = 0 < len(core) >= len(password) - MAX_DECORATION
    if zxcvbn(password[:RATED_LENGTH], words)["score"] < MIN_SCORE:
        return True
    # Without punctuation, to recognize names that are joined with dashes.
    core = re.sub(r"[\W_]+", "", core)[:RATED_LENGTH]
    rating = zxcvbn(core, words) if core and is_decorated else None
    if rating is None or rating["score"] > 1:
        return False
    return all(part["pattern"] == "dictionary" for part in rating["sequence"])


def _list_words(names: Iterable[str]) -> list[str]:
    """Return the words in names and addresses, and each name as one word."""
    split = [re.findall(r"[^\W_]+", name.lower()) for name in names]
    return [word[:RATED_LENGTH] for words in split for word in (*words, "".join(words)) if word[2:]]


def hash_password(password: str) -> str:
    with _slots:
        return generate_password_hash(_normalize(password), method=METHOD)


def is_password(stored: str, password: str) -> bool:
    """Return whether a password matches the stored hash; one over `MAX_BYTES` never does."""
    if _is_too_long(password):
        return False
    with _slots:
        return check_password_hash(stored, _normalize(password))


def _is_too_long(password: str) -> bool:
    return len(password) > MAX_BYTES or len(password.encode(errors="replace")) > MAX_BYTES


def _normalize(password: str) -> str:
    # Some keyboards send composed characters, others decomposed ones.
    return normalize("NFKC", password)


LINK_SECONDS = 60 * 60

reset_purpose = TokenPurpose("reset")


class SignInRefused(ServiceError):
    status = 422
    default_message = gettext_noop(
        "The email address and password don’t match. Try again, or choose a new password."
    )


class ResetLinkInvalid(ServiceError):
    """The link has expired, was used, or isn't ours."""

    status = 404
    code = "LINK_INVALID"
    default_message = gettext_noop("This link no longer works.")


def check_password(email: str, password: str) -> Account:
    """Return the claimed account. Raises `SignInRefused` and `PasswordsOff`."""
    require_passwords()
    account = find_claimed_account(email)
    stored = account.password_hash if account is not None else None
    # A hash is computed for unknown addresses too, so that they take as long as known ones.
    is_match = is_password(stored or _unknown_hash(), password)
    if account is None or stored is None or not is_match:
        raise SignInRefused
    return account


def lock_checked(account: Account) -> Account:
    """Lock and return the account. Raises `SignInRefused` if its password has changed.

    While a password is being checked, the owner may replace it because it was stolen.
    """
    locked = lock_claimed(account.id)
    if locked is None or locked.password_hash != account.password_hash:
        raise SignInRefused
    return locked


def find_claimed_account(email: str) -> Account | None:
    return db.session.scalars(
        select(Account).where(Account.email == email, Account.claimed_at.is_not(None))
    ).one_or_none()


def make_reset_link(account: Account) -> str:
    return link_url("reset", reset_purpose.sign([account.id, fingerprint(account)]))


def find_account_to_reset(token: str) -> Account:
    """Lock and return the account whose password a link may change. Raises `ResetLinkInvalid`."""
    require_passwords()
    if (opened := open_link(reset_purpose, token, 2)) is None:
        raise ResetLinkInvalid
    return opened[0]


def change_password(account: Account, password_hash: str, *, but: str | None = None) -> None:
    """Set the password; sign out all browsers but the session `but`. Raises `PasswordsOff`."""
    require_passwords()
    account.password_hash = password_hash
    account.password_set_at = clock.now()
    end_sessions(account.id, but=but)


def open_link(purpose: TokenPurpose, token: str, length: int) -> tuple[Account, str] | None:
    """Return the locked account of a link that works for an hour, and the last value in its token.

    The link contains the account's fingerprint, so a new password or address invalidates it.
    """
    account_id, mark, *rest = purpose.find(token, length, LINK_SECONDS) or ("", "")
    account = lock_claimed(account_id)
    if account is None or fingerprint(account) != mark:
        return None
    return account, str(rest[-1] if rest else "")


def lock_claimed(account_id: str) -> Account | None:
    return lock_where(Account.id == account_id, Account.claimed_at.is_not(None))


# Sent with an address; receivers return names that guessers would try for its owner.
known_names = Signal()


def judge_password(password: str, email: str) -> str | None:
    names = ["testimonials", app_url(), base_url()]
    for _, more in known_names.send(email):
        names += more
    return find_password_problem(password, email, names)


def fingerprint(account: Account) -> str:
    """Return a hash for links, which changes with the address and the password."""
    return hash_secret(f"{account.email} {account.password_hash}")[:16]


@cache
def _unknown_hash() -> str:
    return hash_password("no account has this password")


# From the spec ("Limits") and the decisions ("Accounts, keys, claiming").
AGENT_INIT_PER_ADDRESS = Limit("agent-init-ip", 5, "from one IP address")
AGENT_INIT_PER_EMAIL = Limit("agent-init-email", 3, "for one email address")
LINK_PER_ADDRESS = Limit("claim-link-ip", 10, "from one IP address")
LINK_PER_EMAIL = Limit("claim-link-email", 3, "for one email address")
# Beyond these no mail is sent, but the answer is the same: the mailbox already has valid links.
LINK_PER_NETWORK = Limit("link-network", 3, "for one mailbox from one network")
LINK_PER_MAILBOX = Limit("link-mailbox", 6, "for one mailbox")
LINK_PER_BROWSER = Limit("link-browser", 3, "from one browser")
CLAIM_PER_ADDRESS = Limit("claim-ip", 60, "from one IP address")
COMPANY_PER_ADDRESS = Limit("company-ip", 120, "from one IP address")
SIGN_IN_PER_ADDRESS = Limit("sign-in-ip", 60, "from one IP address")

# Wrong passwords. A known browser has its own limit, so strangers can't lock it out; an unknown one
# shares a limit with its network. Once that is reached, each address that made no wrong guess
# within a day still has one attempt, enough for a person who knows the password.
SIGN_IN_PER_BROWSER = Limit("sign-in-browser", 20, "from one browser")
SIGN_IN_PER_NETWORK = Limit("sign-in-network", 20, "for one account from one network")
SIGN_IN_UNGUESSED = Limit("sign-in-unguessed", 1, "for one account from one address", hours=24)
# More than this in a day means that somebody is guessing from many networks. Then each network gets
# only a few attempts a day, which still lets the owner in.
SIGN_IN_PER_ACCOUNT = Limit("sign-in-account", 100, "for one account", hours=24)
SIGN_IN_GUESSED_AT = Limit("sign-in-guessed-at", 3, "for one account from one network", hours=24)
# Wrong codes, entered by somebody who knows the password: at any time, three in a million codes are
# valid.
CODES_PER_BROWSER = Limit("codes-browser", 10, "from one browser")
CODES_PER_ACCOUNT = Limit("codes-account", 10, "for one account")
CONFIRM_PER_SESSION = Limit("confirm-session", 20, "from one browser")

KNOWN_SECONDS = 365 * 86_400

known_purpose = TokenPurpose("known-browser")


@dataclass(frozen=True)
class Visitor:
    """Where a request comes from; `browser` is the id of one that has signed in to the account."""

    address: str
    network: str
    browser: str | None


def make_known_token(account: Account) -> str:
    return known_purpose.sign([account.id, account.browser_generation, new_identifier()])


def find_known_browser(tokens: Iterable[str], email: str) -> str | None:
    """Return the browser's id if one of its tokens shows that it has signed in to this account."""
    for token in tokens:
        if (payload := known_purpose.find(token, 3, KNOWN_SECONDS)) is None:
            continue
        account_id, generation, browser = payload
        row = Account
        is_known = select(row.id).where(row.id == account_id, row.email == email)
        is_known = is_known.where(row.browser_generation == generation)
        if db.session.scalar(is_known) is not None:
            return str(browser)
    return None


def try_password(email: str, password: str, visitor: Visitor) -> Account:
    """Call `check_password`, and count the attempts. Also raises `RateLimited`."""
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
