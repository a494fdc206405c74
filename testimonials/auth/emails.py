"""Emails about accounts."""

import json
from collections.abc import Sequence
from pathlib import Path

from testimonials.auth.accounts import operator_address
from testimonials.auth.magic_links import make_not_me_link
from testimonials.auth.models import Account
from testimonials.core import clock
from testimonials.core.http.urls import app_url, forgot_url, login_url
from testimonials.core.late import Signal
from testimonials.core.mail.outbox import send_mail

# The English texts of the emails, by purpose.
MAILS = json.loads(Path(__file__).with_name("emails.json").read_text(encoding="utf-8"))
# Sent with the id of an account; receivers return what emails say about its projects.
summarizing = Signal()


def send_claim_mail(account: Account, link: str, *, is_resend: bool, issued_to: str = "") -> None:
    """Email a magic link. If there are projects, name the program that a key was `issued_to`."""
    projects = [each for _, answer in summarizing.send(account.id) for each in answer]
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
    agent = (
        f"An agent has had a key to this account since {clock.day(account.key_created_at)}"
        ": somebody, perhaps you, gave it your address. The page behind the link shows what it "
        "added, and you decide whether to keep that and the key."
    )
    left, text = describe_days_left(account), agent if account.has_key else ""
    _send_written(account.email, "signup", link, agent=text, left=left)


def send_account_exists_mail(email: str) -> None:
    _send_written(email, "account-exists", login_url())


def send_reset_mail(email: str, link: str) -> None:
    _send_written(email, "reset", link)


def send_proof_mail(email: str, link: str, minutes: int) -> None:
    _send_written(email, "proof", link, minutes=minutes)


def send_email_change_mail(new_email: str, old_email: str, link: str) -> None:
    _send_written(new_email, "email-change", link, old=old_email)


def send_address_changed_mail(old_email: str, new_email: str) -> None:
    values = {"service": app_url(), "operator": operator_address(), "day": clock.day(clock.now())}
    _send_written(old_email, "address-changed", email=new_email, **values)


def send_security_mail(email: str, what: str) -> None:
    _send_written(email, "security", forgot_url(), what=what)


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
    """Queue an English email with a few sentences and an optional button.

    `list_unsubscribe` is the URL for unsubscribing from mail that wasn't requested.
    """
    values = {"lines": lines, "link_url": link, "button_label": button, "footnote": footnote}
    send_mail(recipient, purpose, title, "notice", values, list_unsubscribe=list_unsubscribe)


def _describe_beginning(account: Account) -> str:
    """Say when the account was created, and since when an agent has had its key."""
    created, key_since = clock.day(account.created_at), clock.day(account.key_created_at)
    if account.was_asked_for:
        return f"The account was created on {created}. An agent has had a key since {key_since}."
    key = "" if key_since == created else f" Its current key is from {key_since}."
    return f"The agent created the account on {created}.{key}"


def describe_days_left(account: Account) -> str:
    """Return how long an unclaimed account still has, such as "7 days"."""
    # Half a minute more, so that 7 days don't become 6 as soon as the deadline is set.
    seconds = (account.claim_expires_at - clock.now()).total_seconds() + 30
    units = (("day", 86400), ("hour", 3600))
    unit, length = next((each for each in units if seconds >= each[1]), ("minute", 60))
    count = max(1, int(seconds // length))
    return f"{count} {unit}{'s' if count > 1 else ''}"


def send_suspended_mail(account: Account) -> None:
    widgets = (
        "Your widgets and walls are empty meanwhile."
        if account.hides_widgets
        else "What your widgets and walls show stays there."
    )
    values = {"reason": account.suspended_reason or "", "operator": operator_address()}
    _send_written(account.email, "suspended", widgets=widgets, **values)


def send_restored_mail(account: Account) -> None:
    _send_written(account.email, "restored", login_url())


def _send_written(recipient: str, purpose: str, link: str = "", /, **values: object) -> None:
    """Queue an email of MAILS, with `values` in its %(name)s placeholders."""
    mail = MAILS[purpose]
    lines = [text for line in mail["lines"] if (text := line % values)]
    footnote, button = mail["footnote"] % values, mail["button"]
    send_plain_mail(
        recipient, purpose, mail["title"], lines, footnote=footnote, link=link, button=button
    )
