"""The command about company accounts."""

import click

from testimonials.activity.event_types import EventType
from testimonials.activity.recording import record_event
from testimonials.auth.company.services import unlink_account
from testimonials.auth.services import get_account
from testimonials.auth.sign_in.sessions import end_sessions
from testimonials.core.commands import database_command, json_option, print_record
from testimonials.extensions import begin_write, db


@click.command("unlink-company")
@click.argument("account", metavar="ID_OR_EMAIL")
@json_option
@database_command
def unlink_company(account: str, as_json: bool) -> None:
    """Unlink an account from the company's, and sign it out of every browser.

    Whoever signs in with the company's account and the same verified address next is linked.
    """
    begin_write()
    found = get_account(account)
    who = unlink_account(found)
    if who is not None:
        end_sessions(found.id)
        record_event(EventType.COMPANY_UNLINKED, found.id, who=who)
    db.session.commit()
    record = {"accountId": found.id, "email": found.email, "unlinked": who}
    print_record(record, as_json=as_json)
