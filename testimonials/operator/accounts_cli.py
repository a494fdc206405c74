"""`testimonials accounts suspend` and `restore`."""

import click

from testimonials.auth.models import Account
from testimonials.core.clock import iso
from testimonials.core.commands import database_command, json_option, print_record
from testimonials.extensions import begin_write, db
from testimonials.operator.suspending import restore_account, suspend_account


@click.command("suspend")
@click.argument("account", metavar="ID_OR_EMAIL")
@click.option("--reason", required=True, help="Why; it is mailed to the owner.")
@click.option("--hide-widgets", is_flag=True, help="Empty the widgets and walls too, as for spam.")
@json_option
@database_command
def suspend(account: str, reason: str, hide_widgets: bool, as_json: bool) -> None:
    """Suspend an account: nobody signs in, keys are refused, and its pages take nothing.

    Nothing is deleted, and the widgets stay unless --hide-widgets is given.
    """
    begin_write()
    found = suspend_account(account, reason, hides_widgets=hide_widgets)
    db.session.commit()
    _print(found, as_json)


@click.command("restore")
@click.argument("account", metavar="ID_OR_EMAIL")
@json_option
@database_command
def restore(account: str, as_json: bool) -> None:
    """End the suspension of an account, and tell its owner."""
    begin_write()
    found = restore_account(account)
    db.session.commit()
    _print(found, as_json)


def _print(account: Account, as_json: bool) -> None:
    record = {
        "accountId": account.id,
        "email": account.email,
        "suspendedAt": iso(account.suspended_at) if account.suspended_at else None,
        "reason": account.suspended_reason,
        "hidesWidgets": account.hides_widgets,
    }
    print_record(record, as_json=as_json)
