"""The API's account resources."""

from typing import Any

from flask import request

from testimonials.auth.accounts import is_known_email, start_account
from testimonials.auth.credentials import AGENT_INIT_PER_ADDRESS, AGENT_INIT_PER_EMAIL
from testimonials.auth.email_addresses import hash_mailbox, normalize_email, require_open_signup
from testimonials.auth.emails import send_claim_mail
from testimonials.auth.events import KEY_ISSUED
from testimonials.auth.magic_links import make_claim_link
from testimonials.auth.schemas import AccountSchema, AgentInitSchema, SignUpSchema
from testimonials.auth.tokens import Caller
from testimonials.core.audit import ActorKind, act_as, current_network, record
from testimonials.core.event_lists import describe_program
from testimonials.core.extensions import limiter
from testimonials.core.http.answers import Answer
from testimonials.core.http.blueprints import auth
from testimonials.core.settings.table import current_settings

ACCOUNT_EXISTS = {
    "claimRequired": False,
    "accountExists": True,
    "message": "An account with this email address exists and is claimed. Ask its owner for the "
    "account id and API key from the dashboard settings; no new key is issued here.",
}


def _check_email(body: dict[str, Any]) -> str:
    email = normalize_email(body["email"])
    if not is_known_email(email):
        require_open_signup(email)
    limiter.count(AGENT_INIT_PER_EMAIL, hash_mailbox(email))
    return email


@auth.resource(
    "POST /v1/auth/agent-init",
    is_public=True,
    limit=limiter.per_address(AGENT_INIT_PER_ADDRESS, ipv6_bits=48),
    body=AgentInitSchema,
    example={"email": "owner@example.com"},
    prepare=_check_email,
    data=SignUpSchema,
    is_secret=True,
    done="Account ready to be claimed",
)
def agent_init(prepared: str) -> dict[str, Any] | Answer:
    """Sign up by email.

    For a new or unclaimed address, ``data`` holds ``accountId``, ``apiKey`` (shown only here),
    ``claimRequired: true`` and ``expiresInDays``: the owner must click the magic link in the email
    within those days, or the account and its projects are removed. Calling it again for a
    still-unclaimed address issues a new key and link and invalidates the earlier ones: overwrite
    what you stored. If there is a project already, the email names the program and the network that
    it came from, and lets its reader revoke the new key. For a claimed address, ``data`` holds
    ``claimRequired: false``, ``accountExists: true`` and ``message``; ask the owner for their key.
    At most 5 requests an hour from one IP address and 3 an hour for one email address. A call may
    be repeated without an Idempotency-Key: there is one account for an address, and the latest key
    works. With ``dryRun=true`` the answer has no ``accountId`` and ``apiKey``, and no mail is sent.
    """
    access = start_account(prepared)
    if access is None:
        return Answer("Account exists", ACCOUNT_EXISTS)
    account, link = access.account, make_claim_link(access.account, access.claim_nonce)
    program = describe_program(request.user_agent.string)
    by = f"{program}, from {current_network() or 'an unknown network'}"
    send_claim_mail(account, link, is_resend=False, issued_to=by)
    act_as(ActorKind.AGENT, account.key_last_four)
    record(KEY_ISSUED, account.id, browser=program)
    days = current_settings().claim_days
    data = {"accountId": account.id, "apiKey": access.api_key, "claimRequired": True}
    return data | {"expiresInDays": int(days) if days.is_integer() else days}


@auth.resource("GET /v1/me", by_key=True, data=AccountSchema)
def get_me(caller: Caller) -> Caller:
    """Check the credentials.

    Returns the account that they belong to and, for an access token, what it may do.
    """
    return caller
