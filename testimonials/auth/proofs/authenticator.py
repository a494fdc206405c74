"""The authenticator app of an account, and the recovery codes that stand in for it."""

import re
import secrets

from sqlalchemy import delete, func, select

from testimonials.auth.models import Account
from testimonials.auth.proofs.models import AuthenticatorApp, RecoveryCode
from testimonials.auth.proofs.totp import find_step
from testimonials.core import clock
from testimonials.core.data.identifiers import hash_secret
from testimonials.core.web.errors import ServiceError
from testimonials.core.web.languages import gettext_noop
from testimonials.extensions import db

RECOVERY_CODES = 10
# Without letters and digits that look alike.
LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"
HALF = 4


class CodeRefused(ServiceError):
    status = 422
    code = "CODE_REFUSED"
    default_message = gettext_noop(
        "This code isn’t right. Codes change every 30 seconds, and each works once: type the one "
        "that the app shows now."
    )


def find_app(account_id: str) -> AuthenticatorApp | None:
    return db.session.get(AuthenticatorApp, account_id)


def connect_app(account: Account, secret: str, code: str) -> list[str]:
    """Connect an app that shows `code` to the locked account; return its recovery codes.

    Another app, and the codes that were made before, stop working. Raises `CodeRefused`.
    """
    step = find_step(secret, read_code(code))
    if step is None:
        raise CodeRefused
    drop_app(account.id)
    db.session.add(AuthenticatorApp(account_id=account.id, secret=secret, last_step=step))
    db.session.flush()
    return make_recovery_codes(account)


def drop_app(account_id: str) -> None:
    """Disconnect the app; its recovery codes stop working."""
    for model in (RecoveryCode, AuthenticatorApp):
        db.session.execute(delete(model).where(model.account_id == account_id))
    db.session.expire_all()


def make_recovery_codes(account: Account) -> list[str]:
    """Give the locked account ten new codes and return them; the old ones stop working."""
    codes = [_new_recovery_code() for _ in range(RECOVERY_CODES)]
    db.session.execute(delete(RecoveryCode).where(RecoveryCode.account_id == account.id))
    for code in codes:
        db.session.add(RecoveryCode(account_id=account.id, code_hash=_hash(account.id, code)))
    db.session.get_one(AuthenticatorApp, account.id).codes_made_at = clock.now()
    return codes


def count_recovery_codes(account_id: str) -> int:
    query = select(func.count()).select_from(RecoveryCode)
    return db.session.scalar(query.where(RecoveryCode.account_id == account_id)) or 0


def take_code(account: Account, typed: str) -> bool:
    """Use up a code of the app or a recovery code; return whether it was a recovery code.

    The account is locked, so that a code can't be used twice at once. Raises `CodeRefused`.
    """
    code = read_code(typed)
    app = db.session.get(AuthenticatorApp, account.id, populate_existing=True)
    if app is None:
        raise CodeRefused
    step = find_step(app.secret, code, after=app.last_step)
    if step is not None:
        app.last_step = step
        return False
    used = delete(RecoveryCode).where(
        RecoveryCode.account_id == account.id, RecoveryCode.code_hash == _hash(account.id, code)
    )
    if db.session.scalar(used.returning(RecoveryCode.code_hash)) is None:
        raise CodeRefused
    return True


def read_code(typed: str) -> str:
    """Return a code as it is compared: in small letters, without spaces and hyphens."""
    return re.sub(r"[\s–-]", "", typed[:100]).lower()


def show_code(code: str) -> str:
    """Return a recovery code as it is shown, in two halves."""
    return f"{code[:HALF]}-{code[HALF:]}"


def _new_recovery_code() -> str:
    return "".join(secrets.choice(LETTERS) for _ in range(2 * HALF))


def _hash(account_id: str, code: str) -> str:
    # With the account, so that equal codes of two have different hashes.
    return hash_secret(f"{account_id} {code}")
