"""The mails to people whose account an operator suspends or restores."""

from testimonials.auth.emails import send_plain_mail
from testimonials.auth.models import Account
from testimonials.auth.suspension.refusal import operator_address
from testimonials.core.urls import login_url


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
    """Say that everything works again."""
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
