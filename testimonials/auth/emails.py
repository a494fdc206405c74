"""The mails about accounts: one typed function for each."""

from collections.abc import Sequence
from dataclasses import dataclass

from flask import render_template

from testimonials.auth.models import Account, FormerAddress
from testimonials.auth.services import TAKE_BACK
from testimonials.core import clock
from testimonials.core.mail.outbox import OutboxMail
from testimonials.core.urls import app_url, forgot_url, login_url
from testimonials.core.web.languages import ENGLISH, speaking
from testimonials.extensions import db


@dataclass(frozen=True)
class ProjectSummary:
    """What a person is told of one of their projects."""

    name: str
    slug: str
    page_url: str
    widget_url: str
    testimonial_count: int
    sample_count: int


def send_claim_mail(
    account: Account, link: str, projects: Sequence[ProjectSummary], *, is_resend: bool
) -> OutboxMail:
    """Put the mail with the magic link into the outbox, in the present transaction."""
    values = {
        "email": account.email,
        "begun": _describe_beginning(account),
        "link": link,
        "days_left": describe_days_left(account),
        "expires_at_label": f"{clock.day(account.claim_expires_at)}, "
        f"{account.claim_expires_at:%H:%M} UTC",
        "projects": projects,
        "app_url": app_url(),
        "is_resend": is_resend,
    }
    mail = OutboxMail(
        purpose="claim",
        recipient=account.email,
        subject="Claim your testimonials account",
        text=render_template("email/claim.txt", **values),
        html=render_template("email/claim.html", **values),
    )
    db.session.add(mail)
    return mail


def send_signup_mail(account: Account, link: str) -> None:
    """Put the mail into the outbox that lets a person finish signing up."""
    lines = ["Open this link and choose a password. Then you can set up your first project."]
    if account.has_key:
        lines.append(
            f"An assistant has held a key to this account since {clock.day(account.key_created_at)}"
            ": somebody, perhaps you, gave it your address. The page behind the link shows what it "
            "put in, and you decide whether that and the key stay."
        )
    send_notice(
        account.email,
        "signup",
        "Finish signing up",
        lines,
        link,
        "Choose a password",
        f"The link works for {describe_days_left(account)} and only once. Ignore this mail if you "
        "did not ask for it: without a password the account goes away by itself.",
    )


def send_account_exists_mail(email: str) -> None:
    """Put the mail into the outbox that tells an owner who signs up again to sign in."""
    send_notice(
        email,
        "account-exists",
        "You have an account already",
        [
            "Somebody, perhaps you, asked to sign up with this address. It has an account, so "
            "nothing was changed. Sign in with your password, or choose a new one there."
        ],
        login_url(),
        "Sign in",
        "Ignore this mail if it wasn’t you.",
    )


def send_reset_mail(email: str, link: str) -> None:
    """Put the mail into the outbox with which an owner chooses a new password."""
    send_notice(
        email,
        "reset",
        "Choose a new password",
        ["Open this link to choose a new password. Every browser is signed out by it."],
        link,
        "Choose a new password",
        "The link works for one hour and only once. Ignore this mail if you did not ask for it: "
        "your password stays as it is.",
    )


def send_email_change_mail(new_email: str, old_email: str, link: str) -> None:
    """Put the mail into the outbox that confirms a new address, sent to that address."""
    send_notice(
        new_email,
        "email-change",
        "Confirm your new address",
        [
            f"Whoever is signed in to the account of {old_email} wants to use this address "
            "instead: to sign in with it, and to get mails here.",
            f"If that is you, open the link where you are signed in, or sign in as {old_email}.",
        ],
        link,
        "Use this address",
        "The link works for one hour and only once. If you know nothing of it, ignore this mail: "
        "without you nothing happens.",
    )


def send_address_changed_mail(former: FormerAddress, link: str) -> None:
    """Put the mail into the outbox with which the old address can take an account back."""
    until = clock.day(former.left_at + TAKE_BACK)
    send_notice(
        former.email,
        "address-changed",
        "Your account has another address now",
        [
            f"Your account has left this address on {clock.day(former.left_at)}. You sign in to it "
            f"as {former.account.email} now, and mails go there.",
            "Was it you? Then there is nothing to do.",
            "If it wasn’t you, somebody else is in your account. Take it back with this link: it "
            "gets this address again, every browser is signed out, and you choose a new password.",
        ],
        link,
        "It wasn’t me, take it back",
        f"The link works once, until {until}, also when address or password change again. Keep "
        "it to yourself.",
    )


def send_taken_back_mail(replaced: str, email: str) -> None:
    """Put the mail into the outbox that tells an address that the account has gone back."""
    send_notice(
        replaced,
        "security",
        "The account has its old address again",
        [
            f"The account that used this address has {email} again: somebody who reads the mail "
            "there took it back with the link from our mail, and every browser was signed out."
        ],
        "",
        "",
        f"If you changed the address yourself and {email} is not yours any more, write to whoever "
        f"runs {app_url()}.",
    )


def send_security_mail(email: str, what: str) -> None:
    """Put the mail into the outbox that tells an owner of a change to the account."""
    send_notice(
        email,
        "security",
        "Your account was changed",
        [what],
        forgot_url(),
        "It wasn’t me",
        "If it was you, there is nothing to do.",
    )


def send_password_changed_mail(email: str, *, with_key: bool) -> None:
    """Put the mail into the outbox that tells an owner of a new password, and perhaps a new key."""
    key = " Its API key was replaced too." if with_key else ""
    send_security_mail(email, f"The password of your account was changed.{key}")


def send_notice(
    recipient: str,
    purpose: str,
    title: str,
    lines: list[str],
    link: str,
    button: str,
    footnote: str,
    list_unsubscribe: str | None = None,
) -> None:
    """Put a mail of a few sentences and one button into the outbox, in the present transaction.

    `list_unsubscribe` is for what its reader did not ask for: the address that ends it.
    """
    values = {
        "title": title,
        "lines": lines,
        "link": link,
        "button": button,
        "footnote": footnote,
        "app_url": app_url(),
    }
    # A visitor of another language may have caused it, but it is an owner who reads it.
    with speaking(ENGLISH.code):
        text = render_template("email/notice.txt", **values)
        html = render_template("email/notice.html", **values)
    db.session.add(
        OutboxMail(
            purpose=purpose,
            recipient=recipient,
            subject=title,
            text=text,
            html=html,
            list_unsubscribe=list_unsubscribe,
        )
    )


def _describe_beginning(account: Account) -> str:
    """Say when an agent began the account, or since when one has had to do with it."""
    begun, key_since = clock.day(account.created_at), clock.day(account.key_created_at)
    if account.was_asked_for:
        return (
            f"The account was made on {begun}, and an agent has held a key to it since {key_since}."
        )
    key = "" if key_since == begun else f" Its present key is from {key_since}."
    return f"The agent made the account on {begun}.{key}"


def describe_days_left(account: Account) -> str:
    """Say how long an unclaimed account still has, in whole units a person would use."""
    seconds = max(0.0, (account.claim_expires_at - clock.now()).total_seconds())
    for unit, length in (("day", 86400), ("hour", 3600)):
        # Half a minute's grace: the time between writing and reading must not turn 7 days into 6.
        if (count := int((seconds + 30) // length)) >= 1:
            return f"{count} {unit}{'s' if count > 1 else ''}"
    count = max(1, int((seconds + 30) // 60))
    return f"{count} minute{'s' if count > 1 else ''}"
