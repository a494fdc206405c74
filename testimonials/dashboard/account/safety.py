"""The one sentence on top of Account, Security: how safe an account is, or the one thing to do."""

from dataclasses import dataclass

from testimonials.auth.proofs.ways_in import WaysIn
from testimonials.core.web.languages import gettext as _
from testimonials.core.web.languages import ngettext

# Fewer recovery codes than this are soon gone.
FEW_CODES = 3


@dataclass(frozen=True)
class Safety:
    is_well: bool
    title: str
    text: str


def describe_safety(ways: WaysIn, *, is_asked: bool) -> Safety:
    """Return what to say; `is_asked` if a project needs more than a password."""
    if ways.strong == 0:
        return _describe_weak(ways, is_asked=is_asked)
    if ways.app and ways.recovery_codes < FEW_CODES:
        text = _("They are for the day on which phone and laptop are gone. Make new ones.")
        return Safety(False, _describe_codes(ways.recovery_codes), text)
    if ways.count == 1 and ways.passkeys == 1:
        text = _("If that device is lost, you get in by a link to your mail. Add a second passkey.")
        return Safety(False, _("One passkey is your only way in"), text)
    if ways.has_password and ways.app is None and ways.passkeys:
        text = ngettext(
            "You have a passkey, but the password alone lets in, too. Do without it, or connect an "
            "app that is asked after it.",
            "You have %(num)s passkeys, but the password alone lets in, too. Do without it, or "
            "connect an app that is asked after it.",
            ways.passkeys,
        )
        return Safety(False, _("The password is the weak way in"), text)
    text = _("%(ways)s. Nothing to do.", ways=" · ".join(_list(ways)))
    return Safety(True, _("Well protected"), text)


def _describe_weak(ways: WaysIn, *, is_asked: bool) -> Safety:
    if is_asked:
        text = _("A project you work on asks for more. Add a passkey, or connect an app.")
        return Safety(False, _("A password isn’t enough"), text)
    text = _("Whoever learns it is in. A passkey can’t be phished or forgotten: add one.")
    return Safety(False, _("Only a password protects this account"), text)


def _describe_codes(number: int) -> str:
    if number == 0:
        return _("No recovery codes left")
    return ngettext("One recovery code left", "%(num)s recovery codes left", number)


def _list(ways: WaysIn) -> list[str]:
    parts = []
    if ways.passkeys:
        parts.append(ngettext("One passkey", "%(num)s passkeys", ways.passkeys))
    if ways.app:
        parts.append(_("An authenticator app"))
        codes = ngettext("One recovery code", "%(num)s recovery codes", ways.recovery_codes)
        parts.append(codes)
    if ways.companies:
        parts.append(_("The company’s account"))
    return parts
