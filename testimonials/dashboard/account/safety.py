"""The one sentence on top of Account, Security: how safe an account is, or the one thing to do."""

from dataclasses import dataclass

from testimonials.auth.proofs.ways_in import WaysIn

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
        text = "They are for the day on which phone and laptop are gone. Make new ones."
        left = _count(ways.recovery_codes, "recovery code").capitalize()
        return Safety(False, f"{left} left", text)
    if ways.count == 1 and ways.passkeys == 1:
        text = "If that device is lost, you get in by a link to your mail. Add a second passkey."
        return Safety(False, "One passkey is your only way in", text)
    if ways.has_password and ways.app is None and ways.passkeys:
        text = f"You have {_count(ways.passkeys, 'passkey')}, but the password alone lets in, too. "
        return Safety(
            False,
            "The password is the weak way in",
            text + "Do without it, or connect an app that is asked after it.",
        )
    return Safety(True, "Well protected", f"{_list(ways)}. Nothing to do.")


def _describe_weak(ways: WaysIn, *, is_asked: bool) -> Safety:
    if is_asked:
        text = "A project you work on asks for more. Add a passkey, or connect an app."
        return Safety(False, "A password isn’t enough", text)
    text = "Whoever learns it is in. A passkey can’t be phished or forgotten: add one."
    return Safety(False, "Only a password protects this account", text)


def _list(ways: WaysIn) -> str:
    parts = []
    if ways.passkeys:
        parts.append(_count(ways.passkeys, "passkey"))
    if ways.app:
        parts += ["an authenticator app", _count(ways.recovery_codes, "recovery code")]
    if ways.companies:
        parts.append("the company’s account")
    said = " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
    return said[:1].upper() + said[1:]


def _count(number: int, noun: str) -> str:
    words = ("No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten")
    said = words[number] if number < len(words) else str(number)
    return f"{said.lower()} {noun}{'' if number == 1 else 's'}"
