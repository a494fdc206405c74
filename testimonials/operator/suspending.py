"""Suspending accounts and restoring them; nothing is deleted."""

from sqlalchemy import case, update

from testimonials.activity.event_types import EventType
from testimonials.activity.recording import record_event
from testimonials.auth.models import Account
from testimonials.auth.services import get_account
from testimonials.auth.sign_in.sessions import end_sessions
from testimonials.core import clock
from testimonials.core.web.errors import ServiceError, ValidationFailed
from testimonials.extensions import db
from testimonials.operator.emails import send_restored_mail, send_suspended_mail
from testimonials.projects.models import Project
from testimonials.settings.current import current_settings

MAX_REASON = 500


class NotPossible(ServiceError):
    """The account is already as it should become, or an operator's."""

    status = 409
    code = "NOT_POSSIBLE"


def suspend_account(reference: str, reason: str, *, hides_widgets: bool) -> Account:
    """Suspend an account, tell its owner why, and sign it out; return it, locked.

    Raises `NotFound`, `ValidationFailed` without a reason, and `NotPossible`.
    """
    why = " ".join(reason.split())
    if not why or len(why) > MAX_REASON:
        problem = f"Give a reason of at most {MAX_REASON} characters: it is mailed to the owner."
        raise ValidationFailed.of({"reason": [problem]})
    account = get_account(reference)
    if account.email in current_settings().operators:
        raise NotPossible(f"{account.email} is an operator. Take it out of OPERATORS first.")
    if account.is_suspended:
        raise NotPossible(f"{account.email} is suspended already.")
    account.suspended_at, account.suspended_reason = clock.now(), why
    account.hides_widgets = hides_widgets
    end_sessions(account.id)
    _show_again(account)
    send_suspended_mail(account)
    record_event(EventType.ACCOUNT_SUSPENDED, account.id, reason=why, hidden=hides_widgets)
    return account


def restore_account(reference: str) -> Account:
    """End the suspension of an account, and tell its owner; return it, locked.

    Raises `NotFound` and `NotPossible`.
    """
    account = get_account(reference)
    if not account.is_suspended:
        raise NotPossible(f"{account.email} is not suspended.")
    account.suspended_at = account.suspended_reason = None
    account.hides_widgets = False
    _show_again(account)
    send_restored_mail(account)
    record_event(EventType.ACCOUNT_RESTORED, account.id)
    return account


def _show_again(account: Account) -> None:
    """Have everything that keeps what widgets and pages show ask again."""
    db.session.flush()
    now = clock.to_milliseconds(clock.now())
    version = case((Project.feed_version < now, now), else_=Project.feed_version + 1)
    values = {"feed_version": version}
    db.session.execute(
        update(Project).where(Project.account_id == account.id).values(values),
        execution_options={"synchronize_session": False},
    )
