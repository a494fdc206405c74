"""Going to the issuer and coming back: once, by the same browser, within minutes."""

import base64
import hashlib
import secrets
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from sqlalchemy import delete

from testimonials.auth.models import CompanyAttempt
from testimonials.core import clock
from testimonials.core.db.identifiers import hash_secret
from testimonials.core.extensions import db

LIFETIME = timedelta(minutes=15)


class AttemptPurpose(StrEnum):
    SIGN_IN = "sign-in"
    # By somebody who is signed in.
    LINK = "link"
    PROVE = "prove"


@dataclass(frozen=True)
class NewAttempt:
    """What the issuer is told: only it and the browser know the state."""

    state: str
    nonce: str
    challenge: str


def start_attempt(
    browser: str,
    purpose: AttemptPurpose,
    account_id: str | None = None,
    *,
    target: str = "",
    draft: str = "",
) -> NewAttempt:
    """Store that the browser with this secret goes to the issuer."""
    state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
    db.session.add(
        CompanyAttempt(
            id=hash_secret(state),
            browser_hash=hash_secret(browser),
            purpose=purpose,
            account_id=account_id,
            verifier=verifier,
            nonce=nonce,
            target=target,
            draft=draft,
        )
    )
    digest = hashlib.sha256(verifier.encode()).digest()
    return NewAttempt(state, nonce, base64.urlsafe_b64encode(digest).rstrip(b"=").decode())


def take_attempt(state: str, browser: str) -> CompanyAttempt | None:
    """Return what the browser went for, which is used up; None if it isn't waiting for that."""
    row = db.session.scalars(
        delete(CompanyAttempt)
        .where(
            CompanyAttempt.id == hash_secret(state),
            CompanyAttempt.browser_hash == hash_secret(browser),
            CompanyAttempt.started_at > clock.now() - LIFETIME,
        )
        .returning(CompanyAttempt)
    ).one_or_none()
    if row is not None:
        db.session.expunge(row)
    return row


def delete_old_attempts() -> int:
    """Delete those that nobody came back from; return how many."""
    old = delete(CompanyAttempt).where(CompanyAttempt.started_at <= clock.now() - LIFETIME)
    return len(db.session.scalars(old.returning(CompanyAttempt.id)).all())
