"""Email addresses: validating and normalizing them, and who may sign up."""

import sys
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

from marshmallow import ValidationError

from testimonials.core.db.identifiers import hash_secret
from testimonials.core.http.errors import ServiceError
from testimonials.core.http.fields import OneLine
from testimonials.core.http.i18n import gettext, gettext_noop
from testimonials.core.mail.outbox import ENCODED
from testimonials.core.settings.table import current_settings

if TYPE_CHECKING:
    from email_validator import ValidatedEmail

EMAIL_LENGTH = 254
# No valid address is longer.
MAX_LENGTH = 1000


class EmailMalformed(ServiceError):
    code = "EMAIL_INVALID"
    meaning = "This isn't an email address."
    remedy = "Correct the address."


class EmailDisposable(ServiceError):
    meaning = "Disposable email addresses are not accepted."
    remedy = "Use the owner's permanent address."


class SignupClosed(ServiceError):
    meaning = "This service accepts no new account with this address."
    remedy = "Ask its operator."


def normalize_email(text: str) -> str:
    """Return the address as accounts store it: normalized and in lower case.

    Raises `EmailMalformed`, or `EmailDisposable` for domains on the public list or the operator's,
    and their subdomains (spec, "POST /v1/auth/agent-init").
    """
    valid = _validate(text)
    if _is_disposable(valid.ascii_domain.lower()):
        message = (
            f"Disposable email addresses such as those at {valid.domain} are not accepted. "
            "Use the owner's permanent address."
        )
        raise EmailDisposable(f"email: {message}", errors={"email": [message]})
    return valid.normalized.lower()


def parse_email(text: str) -> str:
    """Normalize an address, even a disposable one. Raises `EmailMalformed`.

    People keep their accounts if their domain is listed later.
    """
    return _validate(text).normalized.lower()


def read_email(text: str) -> str:
    """Normalize an address for a lookup; a malformed one is only converted to lower case."""
    try:
        return parse_email(text)
    except EmailMalformed:
        # PostgreSQL doesn't accept this character.
        return "" if "\0" in text else text.lower()


def hash_mailbox(email: str) -> str:
    """Return a key for a mailbox, the same for all its spellings.

    Like providers, it ignores a plus and what follows, and at Gmail dots.
    """
    name, _, domain = email.rpartition("@")
    name = name.partition("+")[0] or name
    if domain in ("gmail.com", "googlemail.com"):
        name, domain = name.replace(".", ""), "gmail.com"
    return hash_secret(f"{name}@{domain}")


class Email(OneLine):
    """A field for an address; with `is_lasting`, it must not be disposable."""

    messages: ClassVar[dict[str, str]] = OneLine.messages | {
        "malformed": gettext_noop("Enter an email address like name@example.com."),
        "disposable": gettext_noop(
            "Use a permanent email address. This domain provides disposable ones."
        ),
    }

    def __init__(self, *, is_lasting: bool = True, **options: Any) -> None:
        self.is_lasting = is_lasting
        super().__init__(EMAIL_LENGTH, metadata={"format": "email"}, **options)

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        try:
            text = super()._deserialize(value, attr, data, **kwargs)
            return normalize_email(text) if self.is_lasting else parse_email(text)
        except (ValidationError, EmailMalformed):
            raise self.make_error("malformed") from None
        except EmailDisposable:
            raise self.make_error("disposable") from None


def require_open_signup(email: str) -> None:
    """Raise `SignupClosed` if the settings don't allow `email` to sign up."""
    settings = current_settings()
    if settings.signup == "closed":
        message = gettext("Sign-up is closed. Ask the operator of this service for an account.")
        raise SignupClosed(f"email: {message}", errors={"email": [message]})
    if settings.signup == "domains":
        allowed = settings.signup_domains
        if _to_ascii(email.rpartition("@")[2]) not in map(_to_ascii, allowed):
            message = gettext(
                "Only addresses at %(domains)s can sign up.", domains=", ".join(allowed)
            )
            raise SignupClosed(f"email: {message}", errors={"email": [message]})


# Cached, since it takes up most of reading a table, which the preview reads repeatedly.
@lru_cache(maxsize=1024)
def _validate(text: str) -> "ValidatedEmail":
    from email_validator import EmailNotValidError, validate_email

    # The library checks all characters before the length.
    text = text[:MAX_LENGTH]
    try:
        if ENCODED in text:
            # Mail programs would decode it into another address.
            raise EmailNotValidError("It must not contain =?, which stands for an encoded word.")
        return validate_email(text, check_deliverability=False)
    except EmailNotValidError as error:
        message = f"email: This is not a valid email address. {error}"
        raise EmailMalformed(message, errors={"email": [str(error)]}) from None


@cache
def _list_disposable() -> str:
    """Return the domains of disposable addresses, each between newlines.

    A set, or the library's module, would take ten times the memory.
    """
    from disposable_email_domains import blocklist

    sys.modules.pop("disposable_email_domains", None)
    return "\n".join(["", *blocklist, ""])


def _is_disposable(domain: str) -> bool:
    settings = current_settings()
    denied = set(map(_to_ascii, settings.email_deny_domains))
    allowed = set(map(_to_ascii, settings.email_allow_domains))
    labels = domain.split(".")
    for start in range(len(labels) - 1):
        parent = ".".join(labels[start:])
        if parent in allowed:
            return False
        if parent in denied or f"\n{parent}\n" in _list_disposable():
            return True
    return False


@lru_cache(maxsize=1024)
def _to_ascii(domain: str) -> str:
    """Return the ASCII (xn--) form of a domain such as bücher.example."""
    try:
        return _validate(f"postmaster@{domain}").ascii_domain.lower()
    except EmailMalformed:
        return domain
