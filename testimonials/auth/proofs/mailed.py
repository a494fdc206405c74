"""A link by mail that proves who somebody is, for who has nothing else here to prove it with.

It counts in the browser that asked for it: whoever has only somebody's session can't read it, and
whoever has only their mailbox can't use it. Any proof since it was mailed ends it.
"""

from testimonials.auth.emails import send_proof_mail
from testimonials.auth.limits import LINK_PER_MAILBOX
from testimonials.auth.sign_in.sessions import SignedIn, lock_owner
from testimonials.core import clock
from testimonials.core.urls import proof_url
from testimonials.core.web.errors import ServiceError
from testimonials.core.web.languages import gettext_noop
from testimonials.core.web.signing import TokenPurpose
from testimonials.extensions import begin_write, limiter

MINUTES = 15

proof_purpose = TokenPurpose("proof")


class ProofLinkInvalid(ServiceError):
    """The link is incomplete, too old, was used, or was opened in another browser."""

    status = 404
    code = "LINK_INVALID"
    title = gettext_noop("This link doesn’t work")
    default_message = gettext_noop(
        "Open it in the browser in which you asked for it, within 15 minutes. It works once; you "
        "get another where you were asked to confirm that it’s you."
    )


def mail_proof(owner: SignedIn) -> None:
    """Begin the write, and mail a link to the person signed in; raise `SessionEnded`.

    Past the limit nothing is sent and nothing said: links that work are in the mailbox.
    """
    is_within = limiter.allows(LINK_PER_MAILBOX, f"proof {owner.account_id}")
    begin_write()
    account = lock_owner(owner)
    if is_within:
        send_proof_mail(account.email, proof_url(proof_purpose.sign(_describe(owner))), MINUTES)


def check_proof(owner: SignedIn, token: str) -> None:
    """Raise `ProofLinkInvalid` unless the link proves that it is the person signed in."""
    found = proof_purpose.find(token, 2, MINUTES * 60)
    if found is None or list(found) != _describe(owner):
        raise ProofLinkInvalid


def _describe(owner: SignedIn) -> list[str | int]:
    proved_at = owner.proved_at
    return [owner.session_id, clock.to_milliseconds(proved_at) if proved_at else 0]
