"""The mails about accounts."""

from collections.abc import Sequence

from testimonials.auth.accounts import operator_address
from testimonials.auth.magic_links import make_not_me_link
from testimonials.auth.models import Account
from testimonials.core import clock
from testimonials.core.http.urls import app_url, forgot_url, login_url
from testimonials.core.late import Signal
from testimonials.core.mail.outbox import send_mail

# Sent with the id of an account: who knows its projects answers with what mails show of each.
summarizing = Signal()


def send_claim_mail(account: Account, link: str, *, is_resend: bool, issued_to: str = "") -> None:
    """Mail a magic link; of a key that was `issued_to` somebody, say so where there is data."""
    projects = [each for _, found in summarizing.send(account.id) for each in found]
    deadline = account.claim_expires_at
    send_mail(
        account.email,
        "claim",
        "Claim your testimonials account",
        "claim",
        {
            "email": account.email,
            "begun": _describe_beginning(account),
            "link_url": link,
            "days_left": describe_days_left(account),
            "expires_at_label": f"{clock.day(deadline)}, {deadline:%H:%M} UTC",
            "projects": projects,
            "is_resend": is_resend,
            "issued_to": issued_to,
            "not_me": make_not_me_link(account) if issued_to and projects else "",
        },
    )


def send_signup_mail(account: Account, link: str) -> None:
    lines = ["This link opens your page. See what it looks like, and make it yours."]
    if account.has_key:
        lines.append(
            f"An agent has held a key to this account since {clock.day(account.key_created_at)}"
            ": somebody, perhaps you, gave it your address. The page behind the link shows what it "
            "added, and you decide whether to keep that and the key."
        )
    send_plain_mail(
        account.email,
        "signup",
        "Your page is one step away",
        lines,
        footnote=f"The link works for {describe_days_left(account)} and only once. If you did not "
        "ask for it, ignore this mail: without a password the account is deleted automatically.",
        link=link,
        button="Open my page",
    )


def send_account_exists_mail(email: str) -> None:
    send_plain_mail(
        email,
        "account-exists",
        "You already have an account",
        [
            "Somebody, perhaps you, asked to sign up with this address. It already has an account, "
            "so nothing has changed. Sign in with your password, or choose a new one there."
        ],
        footnote="If it wasn’t you, ignore this mail.",
        link=login_url(),
        button="Sign in",
    )


def send_reset_mail(email: str, link: str) -> None:
    send_plain_mail(
        email,
        "reset",
        "Choose a new password",
        ["Open this link to choose a new password. That signs you out of every browser."],
        footnote="The link works for one hour and only once. If you did not ask for it, ignore "
        "this mail: your password stays as it is.",
        link=link,
        button="Choose a new password",
    )


def send_proof_mail(email: str, link: str, minutes: int) -> None:
    send_plain_mail(
        email,
        "proof",
        "Confirm that it’s you",
        [
            "Somebody who is signed in to your account is about to do what needs a confirmation. "
            "If that is you, open this link in the same browser."
        ],
        footnote=f"The link works for {minutes} minutes and only once. If it isn’t you, don’t open "
        "it; sign out everywhere under Account, Where you’re signed in.",
        link=link,
        button="It’s me",
    )


def send_email_change_mail(new_email: str, old_email: str, link: str) -> None:
    send_plain_mail(
        new_email,
        "email-change",
        "Confirm your new address",
        [
            f"Somebody who is signed in to the account of {old_email} wants to use this address "
            "instead, to sign in and to receive mail.",
            f"If that is you, open the link where you are signed in, or sign in as {old_email}.",
        ],
        footnote="The link works for one hour and only once. If you did not ask for it, ignore "
        "this mail: nothing will change.",
        link=link,
        button="Use this address",
    )


def send_address_changed_mail(old_email: str, new_email: str) -> None:
    send_plain_mail(
        old_email,
        "address-changed",
        "Your account has a new address",
        [
            f"On {clock.day(clock.now())} your account left this address. You now sign in as "
            f"{new_email}, and mail goes there.",
            "If it wasn’t you, somebody else is in your account. Write to the operator of "
            f"{app_url()} at once, from this address: {operator_address()}.",
        ],
        footnote="If it was you, you don’t need to do anything.",
    )


def send_security_mail(email: str, what: str) -> None:
    send_plain_mail(
        email,
        "security",
        "Your account was changed",
        [what],
        footnote="If it was you, you don’t need to do anything.",
        link=forgot_url(),
        button="It wasn’t me",
    )


def send_password_changed_mail(email: str, *, with_key: bool) -> None:
    key = " Its API key was replaced too, and its access tokens were revoked." if with_key else ""
    send_security_mail(email, f"The password of your account was changed.{key}")


def send_plain_mail(
    recipient: str,
    purpose: str,
    title: str,
    lines: Sequence[str],
    *,
    footnote: str,
    link: str = "",
    button: str = "",
    list_unsubscribe: str | None = None,
) -> None:
    """Put a mail of a few sentences and an optional button into the outbox, in English.

    `list_unsubscribe` is the URL that ends mails which the reader did not ask for.
    """
    values = {"lines": lines, "link_url": link, "button_label": button, "footnote": footnote}
    send_mail(recipient, purpose, title, "notice", values, list_unsubscribe=list_unsubscribe)


def _describe_beginning(account: Account) -> str:
    """Say when the account was created, and since when an agent has held its key."""
    begun, key_since = clock.day(account.created_at), clock.day(account.key_created_at)
    if account.was_asked_for:
        return f"The account was created on {begun}. An agent has held a key since {key_since}."
    key = "" if key_since == begun else f" Its current key is from {key_since}."
    return f"The agent created the account on {begun}.{key}"


def describe_days_left(account: Account) -> str:
    """Return how long an unclaimed account has left, such as "7 days"."""
    # Half a minute's grace: the time since the deadline was set must not turn 7 days into 6.
    seconds = (account.claim_expires_at - clock.now()).total_seconds() + 30
    units = (("day", 86400), ("hour", 3600))
    unit, length = next((each for each in units if seconds >= each[1]), ("minute", 60))
    count = max(1, int(seconds // length))
    return f"{count} {unit}{'s' if count > 1 else ''}"


def send_suspended_mail(account: Account) -> None:
    """Say why, what stopped, and whom to ask."""
    widgets = (
        "Your widgets and walls are empty meanwhile."
        if account.hides_widgets
        else "What your widgets and walls show stays there."
    )
    send_plain_mail(
        account.email,
        "suspended",
        "Your account is suspended",
        [
            "The operator has suspended your account. The reason:",
            account.suspended_reason or "",
            "Nobody can sign in to it, its keys and tokens are refused, and its pages take no "
            f"testimonials. {widgets} Nothing was deleted.",
        ],
        footnote=f"If you think that this is wrong, write to {operator_address()}.",
    )


def send_restored_mail(account: Account) -> None:
    send_plain_mail(
        account.email,
        "restored",
        "Your account works again",
        [
            "The operator has restored your account. Your pages take testimonials again, keys and "
            "tokens work as before, and what waited is being sent. Sign in again to go on."
        ],
        footnote="You get this mail because this address has an account.",
        link=login_url(),
        button="Sign in",
    )
