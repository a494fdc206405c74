"""The account for a person who uses single sign-on: finding, linking or creating it."""

import secrets
from datetime import timedelta
from enum import StrEnum

from sqlalchemy import delete, select

from testimonials.auth.accounts import (
    DisplayNameForm,
    claim_account,
    find_claimable_account,
    lock_where,
    set_display_name,
    start_signup,
)
from testimonials.auth.credentials import lock_claimed
from testimonials.auth.emails import send_security_mail
from testimonials.auth.models import Account, CompanyAttempt, CompanyIdentity
from testimonials.auth.oidc.client import CompanyPerson
from testimonials.core import clock
from testimonials.core.db.identifiers import hash_secret
from testimonials.core.db.transactions import delete_rows
from testimonials.core.extensions import db
from testimonials.core.http.errors import ServiceError
from testimonials.core.http.i18n import gettext_noop
from testimonials.core.http.signing import TokenPurpose
from testimonials.core.late import Signal
from testimonials.core.settings.table import current_settings


class CompanyRefused(ServiceError):
    """The provider confirmed somebody who may not sign in here, or not this way."""

    status = 403
    code = "COMPANY_SIGN_IN_REFUSED"
    page = "auth.oidc.pages:show_problem"


class ProviderSilent(CompanyRefused):
    """The provider doesn't say when the person signed in there, so this is no fresh proof."""

    # For the audit log, which the doctor reads.
    reason = "its ID token has no auth_time"
    default_message = gettext_noop(
        "%(company)s didn’t say when you last signed in there. Go back, and confirm with a "
        "passkey or a link by email."
    )


class AccountMatch(StrEnum):
    """How a person's account was found."""

    KNOWN = "known"
    LINKED = "linked"
    CREATED = "created"
    # An agent started it, and the person has yet to claim it.
    UNCLAIMED = "unclaimed"


def check_domain(person: CompanyPerson) -> None:
    """Raise `CompanyRefused` unless the person has a verified address at an allowed domain."""
    domains = current_settings().oidc_domains
    if not domains:
        return
    domain = (person.email or "").rpartition("@")[2]
    if not person.is_verified or domain not in domains:
        raise CompanyRefused(
            gettext_noop("Only people at %(domains)s can sign in here."),
            values={"domains": ", ".join(domains)},
        )


# Sent with the id of an account whose owner signs in through the provider, with their name or
# address (`who`) and `groups` there.
signed_in = Signal()
# Sent with somebody who has no account yet; receivers return True if that person was invited.
awaited = Signal()


def receive_person(person: CompanyPerson) -> tuple[Account, AccountMatch]:
    """Find, link or create the account of somebody whom the provider confirmed, and lock it.

    The provider's subject identifies the person; only at the first sign-in does the address, which
    must then be verified. Raises `CompanyRefused`.
    """
    check_domain(person)
    if (known := _find_known(person)) is not None:
        account, identity = known
        identity.used_at, identity.email = clock.now(), person.email
        return account, AccountMatch.KNOWN
    if person.email is None or not person.is_verified:
        raise CompanyRefused(
            gettext_noop(
                "%(company)s hasn’t verified your email address, so we can’t tell which account "
                "is yours. If you can sign in another way, link the two in Account, Signing in."
            ),
            values={"company": current_settings().company_name},
        )
    is_theirs = Account.email == person.email
    if (claimed := lock_where(is_theirs, Account.claimed_at.is_not(None))) is not None:
        link_account(claimed, person)
        return claimed, AccountMatch.LINKED
    if (waiting := find_claimable_account(person.email)) is not None:
        return waiting, AccountMatch.UNCLAIMED
    return _create_account(person), AccountMatch.CREATED


def link_account(account: Account, person: CompanyPerson) -> None:
    """Link the person to the locked account as `_link` does, and notify its owner."""
    _link(account, person)
    name = current_settings().company_name
    who = f" ({person.email})" if person.email else ""
    send_security_mail(account.email, f"The {name} account{who} can now sign in to your account.")


def claim_for(account: Account, person: CompanyPerson) -> None:
    """Claim the locked account without a password, and link the person to it."""
    claim_account(account, None)
    _link(account, person)


def find_identity(account_id: str) -> CompanyIdentity | None:
    if not current_settings().oidc_issuer:
        return None
    row, issuer = CompanyIdentity, current_settings().oidc_issuer
    query = select(row).where(row.account_id == account_id, row.issuer == issuer)
    return db.session.scalars(query).one_or_none()


def unlink_account(account: Account) -> str | None:
    """Delete the identities linked to the locked account; return their address, if any."""
    own = delete(CompanyIdentity).where(CompanyIdentity.account_id == account.id)
    unlinked = db.session.scalars(own.returning(CompanyIdentity)).all()
    if not unlinked:
        return None
    name = current_settings().company_name or "company"
    send_security_mail(account.email, f"The {name} account can no longer sign in to your account.")
    return unlinked[0].email or unlinked[0].subject


def _link(account: Account, person: CompanyPerson) -> None:
    """Let the person sign in to the locked account.

    Raises `CompanyRefused` if either is linked already: an address may have a new owner, who
    must not get the old owner's account.
    """
    name = current_settings().company_name
    linked = select(CompanyIdentity.account_id).where(
        CompanyIdentity.issuer == person.issuer, CompanyIdentity.subject == person.subject
    )
    if (other := db.session.scalar(linked)) is not None:
        if other == account.id:
            return
        raise CompanyRefused(
            gettext_noop("This %(company)s account is linked to another account here."),
            values={"company": name},
        )
    if find_identity(account.id) is not None:
        raise CompanyRefused(
            gettext_noop(
                "Another %(company)s account is linked to %(email)s. Unlink it in Account, "
                "Signing in, or ask the operator of this service."
            ),
            values={"company": name, "email": account.email},
        )
    values = {"issuer": person.issuer, "subject": person.subject, "email": person.email}
    db.session.add(CompanyIdentity(account_id=account.id, **values))
    db.session.flush()


def _find_known(person: CompanyPerson) -> tuple[Account, CompanyIdentity] | None:
    query = select(CompanyIdentity).where(
        CompanyIdentity.issuer == person.issuer, CompanyIdentity.subject == person.subject
    )
    identity = db.session.scalars(query).one_or_none()
    account = lock_claimed(identity.account_id) if identity is not None else None
    # Read again, since it may have been unlinked before the account was locked.
    identity = db.session.scalars(query.execution_options(populate_existing=True)).one_or_none()
    return (account, identity) if account is not None and identity is not None else None


def _create_account(person: CompanyPerson) -> Account:
    email = person.email or ""
    is_awaited = any(answer for _, answer in awaited.send(person))
    if current_settings().oidc_accounts == "invited" and not is_awaited:
        raise CompanyRefused(
            gettext_noop("%(email)s was not invited. Ask a colleague for an invitation."),
            values={"email": email},
        )
    started = start_signup(email)
    if started is None:
        # Another request claimed it just now.
        raise CompanyRefused(gettext_noop("Sign in to continue."))
    account, _ = started
    claim_for(account, person)
    form = DisplayNameForm().read({"display_name": person.name})
    if not form.errors and form.values.get("display_name"):
        set_display_name(account, form.values["display_name"])
    return account


# If an agent started the account, the person decides about its key and projects on another page,
# which learns from a signed cookie whom the provider confirmed.

CLAIM_SECONDS = 30 * 60
# Limited, since the token must fit into a cookie.
MAX_TARGET = 500

claim_purpose = TokenPurpose("company-claim")


def make_claim_token(person: CompanyPerson, target: str) -> str:
    """Return a token with which a browser may claim the account of the person's address."""
    # There may be thousands of groups, of which only these have a role here.
    groups = [pair.group for pair in current_settings().oidc_groups if pair.group in person.groups]
    return claim_purpose.sign(
        [person.issuer, person.subject, person.email, person.name, groups, target[:MAX_TARGET]]
    )


def read_claim_token(token: str) -> tuple[CompanyPerson, str]:
    """Return the person of a claim token, and where to go next. Raises `CompanyRefused`."""
    payload = claim_purpose.find(token, 6, CLAIM_SECONDS)
    if payload is None or payload[0] != current_settings().oidc_issuer:
        raise CompanyRefused(gettext_noop("This page has expired. Sign in again."))
    issuer, subject, email, name, groups, target = payload
    return CompanyPerson(issuer, subject, email, True, name, frozenset(groups), None), target


def lock_waiting(person: CompanyPerson) -> Account:
    """Lock and return the account to claim. Raises `CompanyRefused` if there is none any more."""
    account = find_claimable_account(person.email or "")
    if account is None:
        raise CompanyRefused(
            gettext_noop("This account was claimed or has expired. Sign in again.")
        )
    return account


LIFETIME = timedelta(minutes=15)


class AttemptPurpose(StrEnum):
    SIGN_IN = "sign-in"
    # These two require a session.
    LINK = "link"
    PROVE = "prove"


def start_attempt(
    browser: str, purpose: AttemptPurpose, account_id: str | None, *, target: str, draft: str
) -> tuple[str, CompanyAttempt]:
    """Store an attempt by the browser with this secret; return its OAuth state and the row."""
    state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
    attempt = CompanyAttempt(
        id=hash_secret(state),
        browser_hash=hash_secret(browser),
        purpose=purpose,
        account_id=account_id,
        verifier=verifier,
        nonce=nonce,
        target=target,
        draft=draft,
    )
    db.session.add(attempt)
    return state, attempt


def take_attempt(state: str, browser: str) -> CompanyAttempt | None:
    """Take and delete the attempt of this browser with this state, if there is one."""
    row, since = CompanyAttempt, clock.now() - LIFETIME
    own = delete(row).where(row.id == hash_secret(state), row.browser_hash == hash_secret(browser))
    attempt = db.session.scalars(own.where(row.started_at > since).returning(row)).one_or_none()
    if attempt is not None:
        db.session.expunge(attempt)
    return attempt


def delete_old_attempts() -> int:
    return delete_rows(CompanyAttempt, CompanyAttempt.started_at <= clock.now() - LIFETIME)
