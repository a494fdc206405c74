"""Passkeys: adding, using and removing them."""

import ipaddress
import json
import logging
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any
from urllib.parse import urlsplit

from sqlalchemy import func, select

from testimonials.auth.models import Account, Passkey
from testimonials.auth.sessions import SignedIn
from testimonials.auth.webauthn import (
    ALGORITHMS,
    LONGEST,
    Expected,
    PasskeyInvalid,
    check_new_passkey,
    check_use,
    from_base64,
    to_base64,
)
from testimonials.core import clock
from testimonials.core.db.identifiers import is_identifier
from testimonials.core.extensions import db
from testimonials.core.faults import refusing
from testimonials.core.http.errors import NotFound, ServiceError
from testimonials.core.http.i18n import gettext_noop
from testimonials.core.http.signing import TokenPurpose
from testimonials.core.http.urls import app_url

# Challenges that passkeys answer: signed, good for ten minutes, and kept by the page alone.
#
# That one counts only once needs no row of its own: a passkey accepts only challenges that are
# newer than the last that it answered.

CHALLENGE_SECONDS = 10 * 60
SERVICE = "Testimonials"
DEFAULT_PORTS = {"https": 443, "http": 80}

challenge_purpose = TokenPurpose("passkey-challenge")


class Reason(StrEnum):
    """What a challenge was made for; an answer to it counts for nothing else."""

    SIGN_IN = "sign in"
    PROVE = "prove"
    ADD = "add"


@dataclass(frozen=True)
class Challenge:
    """What an answer is compared with, and when it was asked for."""

    expected: Expected
    made_at: datetime


def has_passkeys() -> bool:
    """Return whether browsers can have passkeys for this service: they need a host's name."""
    host = _host()
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return True
    return False


def make_challenge(reason: Reason, subject: str = "") -> tuple[str, str]:
    """Return a challenge, and the token to send back with the answer.

    `subject` is the session that asks, empty where nobody is signed in.
    """
    challenge = secrets.token_urlsafe(32)
    made_at = clock.to_milliseconds(clock.now())
    return challenge, challenge_purpose.sign([reason, subject, challenge, made_at])


def read_challenge(token: str, reason: Reason, subject: str = "") -> Challenge:
    """Return the challenge of a token; raise `PasskeyInvalid` if it is old or another's."""
    found = challenge_purpose.find(token, 4, CHALLENGE_SECONDS)
    if found is None or found[:2] != (reason, subject):
        raise PasskeyInvalid("an old or foreign challenge")
    expected = Expected(_origin(), _host(), str(found[2]))
    return Challenge(expected, clock.from_milliseconds(int(found[3])))


def describe_use(reason: Reason, subject: str, allowed: list[str]) -> dict[str, Any]:
    """Return what a browser's script needs to ask for a passkey."""
    challenge, token = make_challenge(reason, subject)
    options = {
        "challenge": challenge,
        "rpId": _host(),
        "timeout": CHALLENGE_SECONDS * 1000,
        "userVerification": "required",
        "allowCredentials": [{"type": "public-key", "id": each} for each in allowed],
    }
    return {"ok": True, "options": options, "token": token}


def describe_addition(
    subject: str, account_id: str, email: str, name: str, known: list[str]
) -> dict[str, Any]:
    """Return what a browser's script needs to make a passkey, but not on a device that has one."""
    challenge, token = make_challenge(Reason.ADD, subject)
    options = {
        "challenge": challenge,
        "rp": {"id": _host(), "name": SERVICE},
        "user": {"id": to_base64(account_id.encode()), "name": email, "displayName": name},
        "pubKeyCredParams": [{"type": "public-key", "alg": each} for each in ALGORITHMS],
        "timeout": CHALLENGE_SECONDS * 1000,
        "attestation": "none",
        # It can be found without an address, where the authenticator has room for that.
        "authenticatorSelection": {
            "residentKey": "preferred",
            "requireResidentKey": False,
            "userVerification": "required",
        },
        "excludeCredentials": [{"type": "public-key", "id": each} for each in known],
    }
    return {"ok": True, "options": options, "token": token}


def _host() -> str:
    return urlsplit(app_url()).hostname or ""


def _origin() -> str:
    """Return our origin as browsers write it: without a path and without the usual port."""
    parts = urlsplit(app_url())
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    is_usual = parts.port in (None, DEFAULT_PORTS.get(parts.scheme))
    return f"{parts.scheme}://{host}" + ("" if is_usual else f":{parts.port}")


# An account's passkeys: adding, using, naming and removing them.

logger = logging.getLogger("testimonials.passkeys")

# More than anybody has devices.
MAX_PASSKEYS = 20


class PasskeyRefused(ServiceError):
    """A passkey's answer that doesn't count; why, only the log says."""

    status = 422
    code = "PASSKEY_REFUSED"
    default_message = gettext_noop("That didn’t work. Try again, or sign in another way.")


def list_passkeys(account_id: str) -> Sequence[Passkey]:
    """Return the account's passkeys in the order they were added."""
    return db.session.scalars(
        select(Passkey).where(Passkey.account_id == account_id).order_by(Passkey.id)
    ).all()


def count_passkeys(account_id: str) -> int:
    query = select(func.count()).select_from(Passkey).where(Passkey.account_id == account_id)
    return db.session.scalar(query) or 0


def list_credential_ids(account_id: str) -> list[str]:
    return [each.credential_id for each in list_passkeys(account_id)]


def offer_passkey(owner: SignedIn) -> dict[str, Any]:
    """Return what the browser needs to make a passkey for the person signed in."""
    known = list_credential_ids(owner.account_id)
    return describe_addition(owner.session_id, owner.account_id, owner.email, owner.name, known)


def add_passkey(account: Account, session_id: str, form: Mapping[str, str], name: str) -> Passkey:
    """Add what the form carries to the locked account; raise `PasskeyRefused`."""
    if count_passkeys(account.id) >= MAX_PASSKEYS:
        raise PasskeyRefused(
            gettext_noop("An account has at most %(most)s passkeys. Remove one first."),
            values={"most": MAX_PASSKEYS},
        )
    with refusing(_refuse):
        challenge = read_challenge(form.get("passkey_token", ""), Reason.ADD, session_id)
        made = check_new_passkey(_read_answer(form.get("passkey", "")), challenge.expected)
    credential_id = to_base64(made.credential_id)
    if db.session.scalar(select(Passkey.id).where(Passkey.credential_id == credential_id)):
        raise PasskeyRefused(gettext_noop("This passkey is here already."))
    passkey = Passkey(
        account_id=account.id,
        credential_id=credential_id,
        public_key=made.public_key,
        sign_count=made.sign_count,
        is_synced=made.is_synced,
        name=name,
        challenged_at=challenge.made_at,
    )
    db.session.add(passkey)
    db.session.flush()
    return passkey


def use_passkey(
    reason: Reason, token: str, answer: str, owner: SignedIn | None = None
) -> tuple[Account, Passkey]:
    """Return the account, locked, whose passkey answered, and the passkey; raise `PasskeyRefused`.

    For `owner`, only a passkey of their own counts. Call it within a writing transaction.
    """
    with refusing(_refuse):
        challenge = read_challenge(token, reason, owner.session_id if owner else "")
        said = _read_answer(answer)
        account, passkey = _find_passkey(said)
        if owner is not None and owner.account_id != account.id:
            raise PasskeyInvalid("another account's passkey")
        _take_use(passkey, said, challenge)
    return account, passkey


def rename_passkey(account_id: str, passkey_id: str, name: str) -> Passkey:
    passkey = get_passkey(account_id, passkey_id)
    passkey.name = name
    return passkey


def get_passkey(account_id: str, passkey_id: str) -> Passkey:
    """Return one of the account's passkeys; raise `NotFound`."""
    passkey = db.session.get(Passkey, passkey_id) if is_identifier(passkey_id) else None
    if passkey is None or passkey.account_id != account_id:
        raise NotFound
    return passkey


def _find_passkey(said: dict[str, Any]) -> tuple[Account, Passkey]:
    credential_id = to_base64(from_base64(said.get("id")))
    row = db.session.execute(
        select(Account, Passkey)
        .join(Passkey)
        .where(Passkey.credential_id == credential_id, Account.claimed_at.is_not(None))
        .with_for_update(of=Account)
    ).one_or_none()
    if row is None:
        raise PasskeyInvalid("an unknown passkey")
    account, passkey = row
    handle = said.get("userHandle")
    if handle and from_base64(handle) != account.id.encode():
        raise PasskeyInvalid("another account's passkey")
    # Read again under the account's lock, or two uses of one challenge could pass each other.
    db.session.refresh(passkey)
    return account, passkey


def _take_use(passkey: Passkey, said: dict[str, Any], challenge: Challenge) -> None:
    """Check the use of a passkey and note it."""
    if challenge.made_at <= passkey.challenged_at:
        raise PasskeyInvalid("a challenge that was answered, or is older than that")
    used = check_use(said, challenge.expected, passkey.public_key)
    # Synced passkeys count nothing. One that counts and stands still has a copy somewhere.
    if (used.sign_count or passkey.sign_count) and used.sign_count <= passkey.sign_count:
        raise PasskeyInvalid("its counter went back")
    passkey.sign_count, passkey.is_synced = used.sign_count, used.is_synced
    passkey.challenged_at, passkey.used_at = challenge.made_at, clock.now()


def _read_answer(text: str) -> dict[str, Any]:
    if len(text) > 4 * LONGEST:
        raise PasskeyInvalid("too long")
    said = json.loads(text)
    if not isinstance(said, dict):
        raise PasskeyInvalid("no JSON")
    return said


def _refuse(problem: Exception) -> PasskeyRefused:
    logger.info("A passkey was refused: %s", problem)
    return PasskeyRefused()
