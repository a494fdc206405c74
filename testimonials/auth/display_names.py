"""How people are called where others read of them: by their chosen name, else their address."""

from collections.abc import Iterable
from typing import ClassVar

from sqlalchemy import ColumnElement, func, select

from testimonials.auth.models import Account
from testimonials.core.web.fields import Text
from testimonials.core.web.forms import FormSchema
from testimonials.core.web.languages import gettext_noop
from testimonials.extensions import db

DISPLAY_NAME_LENGTH = 80


class DisplayName(Text):
    """A person's name; without an @, so that nobody passes for a colleague's address."""

    form_messages: ClassVar[dict[str, str]] = Text.form_messages | {
        "address": gettext_noop("Write a name, not an email address.")
    }

    def __init__(self) -> None:
        super().__init__(DISPLAY_NAME_LENGTH, one_line=True)

    def _deserialize(self, value: object, attr: object, data: object, **options: object) -> str:
        name: str = super()._deserialize(value, attr, data, **options)
        if "@" in name:
            raise self.make_error("address")
        return name


class DisplayNameForm(FormSchema):
    display_name = DisplayName()


def called() -> ColumnElement[str]:
    """Return the expression for how an account's person is called."""
    return func.coalesce(Account.display_name, Account.email)


def find_display_names(emails: Iterable[str]) -> dict[str, str]:
    """Return the names of those of these people who have one, by address."""
    if not (wanted := set(emails)):
        return {}
    query = select(Account.email, Account.display_name).where(
        Account.email.in_(wanted), Account.display_name.is_not(None)
    )
    return {email: name or "" for email, name in db.session.execute(query)}


def set_display_name(account: Account, name: str | None) -> bool:
    """Set the locked account's name, or remove it; tell whether it changed."""
    was, account.display_name = account.display_name, name or None
    return was != account.display_name
