"""Passkeys: adding, using and renaming them.

We ask authenticators for no attestation. They must verify the person (by fingerprint, face or PIN),
so a passkey counts as two factors.
"""

import ipaddress
import json
import logging
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from sqlalchemy import func, select

from testimonials.auth.events import PASSKEY_REFUSED
from testimonials.auth.models import Account, Passkey
from testimonials.auth.oidc.id_tokens import is_strong
from testimonials.auth.sessions import SignedIn
from testimonials.core import clock
from testimonials.core.audit import record
from testimonials.core.db.identifiers import is_identifier
from testimonials.core.extensions import db
from testimonials.core.faults import refusing
from testimonials.core.http.errors import NotFound, ServiceError
from testimonials.core.http.i18n import gettext_noop
from testimonials.core.http.signing import TokenPurpose
from testimonials.core.http.urls import app_url

if TYPE_CHECKING:
    from webauthn.authentication.verify_authentication_response import VerifiedAuthentication
    from webauthn.registration.verify_registration_response import VerifiedRegistration

# A challenge is a signed token, which only the page has. Each works once without being stored,
# since a passkey accepts only challenges newer than the last that it answered.

CHALLENGE_SECONDS = 10 * 60
SERVICE = "Testimonials"
DEFAULT_PORTS = {"https": 443, "http": 80}
ES256, RS256 = -7, -257
MAX_ID_LENGTH = 1023
# The longest answer accepted from a browser.
MAX_ANSWER_LENGTH = 64 * 1024
MAX_PASSKEYS = 20

logger = logging.getLogger("testimonials.passkeys")

challenge_purpose = TokenPurpose("passkey-challenge")


class Reason(StrEnum):
    """The purpose of a challenge; its answer is valid for no other."""

    SIGN_IN = "sign in"
    PROVE = "prove"
    ADD = "add"


class Challenge(NamedTuple):
    text: str
    made_at: datetime


class PasskeyInvalid(ValueError):
    """An answer isn't acceptable; the message is for the log."""


class PasskeyRefused(ServiceError):
    """An answer was refused; only the log has the reason."""

    status = 422
    default_message = gettext_noop("That didn’t work. Try again, or sign in another way.")


def has_passkeys() -> bool:
    """Return whether passkeys are possible: only for a host name, not an IP address."""
    host = _host()
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return True
    return False


def make_challenge(reason: Reason, subject: str = "") -> tuple[str, str]:
    """Return a challenge and its token, which the browser sends back with the answer.

    `subject` is the session's id, or "" if nobody is signed in.
    """
    challenge = secrets.token_urlsafe(32)
    made_at = clock.to_milliseconds(clock.now())
    return challenge, challenge_purpose.sign([reason, subject, challenge, made_at])


def read_challenge(token: str, reason: Reason, subject: str = "") -> Challenge:
    """Return a token's challenge. Raises `PasskeyInvalid` if it is old or for something else."""
    payload = challenge_purpose.find(token, 4, CHALLENGE_SECONDS)
    if payload is None or payload[:2] != (reason, subject):
        raise PasskeyInvalid("an expired or foreign challenge")
    return Challenge(str(payload[2]), clock.from_milliseconds(int(payload[3])))


def describe_use(reason: Reason, subject: str, allowed: list[str]) -> dict[str, Any]:
    """Return the options with which a page's script asks for a passkey."""
    challenge, token = make_challenge(reason, subject)
    options = {
        "challenge": challenge,
        "rpId": _host(),
        "timeout": CHALLENGE_SECONDS * 1000,
        "userVerification": "required",
        "allowCredentials": [{"type": "public-key", "id": each} for each in allowed],
    }
    return {"ok": True, "options": options, "token": token}


def offer_passkey(account_id: str, email: str, name: str, subject: str) -> dict[str, Any]:
    """Return the options with which a browser creates a passkey, unless the device has one.

    `subject` is the id of the session, or of an account that is being claimed.
    """
    challenge, token = make_challenge(Reason.ADD, subject)
    options = {
        "challenge": challenge,
        "rp": {"id": _host(), "name": SERVICE},
        "user": {"id": to_base64(account_id.encode()), "name": email, "displayName": name},
        "pubKeyCredParams": [{"type": "public-key", "alg": each} for each in (ES256, RS256)],
        "timeout": CHALLENGE_SECONDS * 1000,
        "attestation": "none",
        # If possible, the passkey can be used without typing an address.
        "authenticatorSelection": {
            "residentKey": "preferred",
            "requireResidentKey": False,
            "userVerification": "required",
        },
        "excludeCredentials": [
            {"type": "public-key", "id": each} for each in list_credential_ids(account_id)
        ],
    }
    return {"ok": True, "options": options, "token": token}


def _host() -> str:
    return urlsplit(app_url()).hostname or ""


def _origin() -> str:
    """Return our origin as browsers write it, without a default port."""
    parts = urlsplit(app_url())
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    is_default = parts.port in (None, DEFAULT_PORTS.get(parts.scheme))
    return f"{parts.scheme}://{host}" + ("" if is_default else f":{parts.port}")


def to_base64(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def from_base64(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


def check_new_passkey(answer: dict[str, Any], challenge: Challenge) -> "VerifiedRegistration":
    """Verify a new passkey. Raises `PasskeyInvalid`."""
    from webauthn import verify_registration_response
    from webauthn.helpers import (
        decode_credential_public_key,
        decoded_public_key_to_cryptography,
        encode_cbor,
        parse_cbor,
    )
    from webauthn.helpers.cose import COSEAlgorithmIdentifier
    from webauthn.helpers.exceptions import WebAuthnException

    with refusing(PasskeyInvalid, WebAuthnException):
        # Drop the attestation, whose certificates we don't want to parse.
        data = parse_cbor(from_base64(answer["attestationObject"]))["authData"]
        plain = encode_cbor({"fmt": "none", "attStmt": {}, "authData": data})
        passkey = verify_registration_response(
            **_frame(answer | {"attestationObject": to_base64(plain)}, challenge),
            supported_pub_key_algs=[COSEAlgorithmIdentifier(each) for each in (ES256, RS256)],
        )
        # A key that can't be read now couldn't be used later.
        key = decode_credential_public_key(passkey.credential_public_key)
        if not is_strong(decoded_public_key_to_cryptography(key)):
            raise PasskeyInvalid("a key that is too short or too long, or of another kind")
        if len(passkey.credential_id) > MAX_ID_LENGTH:
            raise PasskeyInvalid("a credential id that is too long")
    return passkey


def check_use(
    answer: dict[str, Any], challenge: Challenge, public_key: bytes, sign_count: int
) -> "VerifiedAuthentication":
    """Verify the use of a passkey. Raises `PasskeyInvalid`.

    A synced passkey always has the sign count 0. If any other count doesn't grow, the passkey was
    copied.
    """
    from webauthn import verify_authentication_response
    from webauthn.helpers.exceptions import WebAuthnException

    with refusing(PasskeyInvalid, WebAuthnException):
        return verify_authentication_response(
            **_frame(answer, challenge),
            credential_public_key=public_key,
            credential_current_sign_count=sign_count,
        )


def _frame(answer: dict[str, Any], challenge: Challenge) -> dict[str, Any]:
    """Return the arguments that both of the library's functions take."""
    # The library leaves it to callers to refuse frames on other sites.
    if json.loads(from_base64(answer["clientDataJSON"])).get("crossOrigin", False) is not False:
        raise PasskeyInvalid("another origin")
    names = {"id": answer["id"], "rawId": answer["id"], "type": "public-key"}
    return {
        "credential": names | {"response": answer},
        "expected_challenge": from_base64(challenge.text),
        "expected_rp_id": _host(),
        "expected_origin": _origin(),
        "require_user_verification": True,
    }


def list_passkeys(account_id: str) -> Sequence[Passkey]:
    return db.session.scalars(
        select(Passkey).where(Passkey.account_id == account_id).order_by(Passkey.id)
    ).all()


def count_passkeys(account_id: str) -> int:
    query = select(func.count()).select_from(Passkey).where(Passkey.account_id == account_id)
    return db.session.scalar(query) or 0


def list_credential_ids(account_id: str) -> list[str]:
    return [each.credential_id for each in list_passkeys(account_id)]


def add_passkey(account: Account, subject: str, form: Mapping[str, str], name: str) -> Passkey:
    """Add the form's passkey to the locked account. Raises `PasskeyRefused`."""
    if count_passkeys(account.id) >= MAX_PASSKEYS:
        raise PasskeyRefused(
            gettext_noop("An account has at most %(most)s passkeys. Remove one first."),
            values={"most": MAX_PASSKEYS},
        )
    with refusing(_refuse):
        challenge = read_challenge(form.get("passkey_token", ""), Reason.ADD, subject)
        verified = check_new_passkey(_read_answer(form.get("passkey", "")), challenge)
    credential_id = to_base64(verified.credential_id)
    if db.session.scalar(select(Passkey.id).where(Passkey.credential_id == credential_id)):
        raise PasskeyRefused(gettext_noop("This device already has a passkey for this account."))
    passkey = Passkey(
        account_id=account.id,
        credential_id=credential_id,
        public_key=verified.credential_public_key,
        sign_count=verified.sign_count,
        is_synced=verified.credential_backed_up,
        name=name,
        challenged_at=challenge.made_at,
    )
    db.session.add(passkey)
    db.session.flush()
    return passkey


def use_passkey(
    reason: Reason, token: str, answer: str, owner: SignedIn | None = None
) -> tuple[Account, Passkey]:
    """Verify a passkey's answer; return the locked account and the passkey.

    If there is an `owner`, only their own passkeys count. Raises `PasskeyRefused` after recording
    an event, so the caller must commit even then.
    """
    with refusing(partial(_refuse_use, owner)):
        challenge = read_challenge(token, reason, owner.session_id if owner else "")
        parsed = _read_answer(answer)
        account, passkey = _find_passkey(parsed)
        if owner is not None and owner.account_id != account.id:
            raise PasskeyInvalid("another account's passkey")
        _update_passkey(passkey, parsed, challenge)
    return account, passkey


def rename_passkey(account_id: str, passkey_id: str, name: str) -> Passkey:
    passkey = get_passkey(account_id, passkey_id)
    passkey.name = name
    return passkey


def get_passkey(account_id: str, passkey_id: str) -> Passkey:
    passkey = db.session.get(Passkey, passkey_id) if is_identifier(passkey_id) else None
    if passkey is None or passkey.account_id != account_id:
        raise NotFound
    return passkey


def _find_passkey(answer: dict[str, Any]) -> tuple[Account, Passkey]:
    credential_id = to_base64(from_base64(answer["id"]))
    row = db.session.execute(
        select(Account, Passkey)
        .join(Passkey)
        .where(Passkey.credential_id == credential_id, Account.claimed_at.is_not(None))
        .with_for_update(of=Account, key_share=True)
    ).one_or_none()
    if row is None:
        raise PasskeyInvalid("an unknown passkey")
    account, passkey = row
    handle = answer.get("userHandle")
    if handle and from_base64(handle) != account.id.encode():
        raise PasskeyInvalid("another account's passkey")
    # Read again under the account's lock, so that a challenge can't be used twice at once.
    db.session.refresh(passkey)
    return account, passkey


def _update_passkey(passkey: Passkey, answer: dict[str, Any], challenge: Challenge) -> None:
    if challenge.made_at <= passkey.challenged_at:
        raise PasskeyInvalid("a challenge that was answered already, or an older one")
    verified = check_use(answer, challenge, passkey.public_key, passkey.sign_count)
    passkey.sign_count, passkey.is_synced = verified.new_sign_count, verified.credential_backed_up
    passkey.challenged_at, passkey.used_at = challenge.made_at, clock.now()


def _read_answer(text: str) -> dict[str, Any]:
    if len(text) > MAX_ANSWER_LENGTH:
        raise PasskeyInvalid("too long")
    answer = json.loads(text)
    if not isinstance(answer, dict):
        raise PasskeyInvalid("not a JSON object")
    return answer


def _refuse_use(owner: SignedIn | None, problem: Exception) -> PasskeyRefused:
    record(PASSKEY_REFUSED, owner.account_id if owner else None)
    return _refuse(problem)


def _refuse(problem: Exception) -> PasskeyRefused:
    logger.info("A passkey was refused: %s", problem)
    return PasskeyRefused()
