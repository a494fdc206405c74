"""What a suspended account is refused, and whom to ask.

A suspended account keeps everything that it has. Nobody signs in to it, its keys and tokens are
refused, its pages take nothing, and its mail and webhooks wait.
"""

from datetime import datetime
from email.utils import parseaddr

from testimonials.core import clock
from testimonials.core.web.errors import ServiceError
from testimonials.core.web.languages import gettext_noop
from testimonials.settings.current import current_settings


class AccountSuspended(ServiceError):
    """The operator has suspended the account."""

    status = 403
    code = "ACCOUNT_SUSPENDED"
    title = gettext_noop("This account is suspended")
    meaning = "The operator of the service has suspended the account. Nothing was deleted."
    remedy = "Ask whom `message` names; repeating the call doesn’t help."
    default_message = gettext_noop(
        "The account that this belongs to is suspended. Nothing was deleted, and nothing can be "
        "changed until the operator restores it."
    )


def operator_address() -> str:
    """Return whom people ask who can't sign in: the first operator, or who sends the mail."""
    settings = current_settings()
    return settings.operators[0] if settings.operators else parseaddr(settings.mail_from)[1]


def require_unsuspended(suspended_at: datetime | None, reason: str | None) -> None:
    """Raise `AccountSuspended` to the owner of a suspended account, with the reason."""
    if suspended_at is not None:
        raise AccountSuspended(
            gettext_noop(
                "This account was suspended on %(day)s: %(reason)s Nothing was deleted. Ask "
                "%(operator)s."
            ),
            values={
                "day": clock.day(suspended_at),
                "reason": reason,
                "operator": operator_address(),
            },
        )
