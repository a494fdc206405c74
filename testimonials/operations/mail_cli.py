"""`testimonials mail`: look at the outbox, and test the mail settings."""

from typing import Any

import click
from flask import render_template

from testimonials.activity.event_types import EventType
from testimonials.activity.recording import record_event
from testimonials.auth.addresses import parse_email
from testimonials.core import clock
from testimonials.core.clock import iso
from testimonials.core.commands import (
    database_command,
    json_option,
    print_json,
    print_record,
    print_rows,
)
from testimonials.core.data.identifiers import new_identifier
from testimonials.core.mail.outbox import MailState, OutboxMail, drop_mail, list_mails, retry_mails
from testimonials.core.mail.transports import TIMEOUT_SECONDS, DeliveryFailed, SmtpTransport
from testimonials.core.terminal_text import make_printable
from testimonials.core.urls import app_url
from testimonials.extensions import begin_write, db
from testimonials.settings.current import current_settings

READABLE = "The password travelled unencrypted: add ?starttls=1 to SMTP_URL."


@click.group()
def mail() -> None:
    """Look at the outbox, and test the mail settings."""


@mail.command("list")
@click.option("--limit", default=50, type=click.IntRange(1, 10_000), show_default=True)
@click.option(
    "--state",
    type=click.Choice([state.value for state in MailState]),
    help="Only mail in this state.",
)
@json_option
@database_command
def list_command(limit: int, state: str | None, as_json: bool) -> None:
    """List the newest mail."""
    rows = [_describe(found) for found in list_mails(db.session(), limit, state)]
    empty = f"There is no mail in the state {state}." if state else "The outbox is empty."
    print_rows(rows, as_json=as_json, empty=empty)


@mail.command("show")
@click.argument("mail_id", metavar="ID")
@json_option
@database_command
def show_command(mail_id: str, as_json: bool) -> None:
    """Show one mail, with its text until it has been sent (it may hold a working link)."""
    found = db.session.get(OutboxMail, mail_id)
    if found is None:
        raise click.ClickException(f"There is no mail with the id {mail_id}.")
    if as_json:
        print_json(_describe(found) | {"text": found.text, "html": found.html})
    else:
        print_record(_describe(found), as_json=False)
        lines = (found.text or "The text of a sent mail is not kept.").splitlines()
        click.echo("\n".join(["", *map(make_printable, lines)]))


@mail.command("retry")
@click.argument("mail_id", metavar="[ID]", required=False)
@json_option
@database_command
def retry_command(mail_id: str | None, as_json: bool) -> None:
    """Send failed and waiting mail now, or one by its ID; `serve` does the sending."""
    begin_write()
    count = retry_mails(db.session(), mail_id)
    record_event(EventType.MAIL_RETRIED, None, count=count)
    db.session.commit()
    if mail_id is not None and not count:
        raise click.ClickException(f"There is no failed or waiting mail with the id {mail_id}.")
    if as_json:
        print_json({"queued": count})
    else:
        click.echo(f"{count} mail(s) queued; a running `testimonials serve` sends them.")


@mail.command("drop")
@click.argument("mail_id", metavar="ID")
@json_option
@database_command
def drop_command(mail_id: str, as_json: bool) -> None:
    """Delete one mail that waits or was given up; nobody gets it."""
    begin_write()
    count = drop_mail(db.session(), mail_id)
    record_event(EventType.MAIL_DROPPED, None, count=count)
    db.session.commit()
    if not count:
        raise click.ClickException(f"There is no failed or waiting mail with the id {mail_id}.")
    if as_json:
        print_json({"dropped": count})
    else:
        click.echo("Dropped.")


@mail.command("test")
@click.argument("recipient")
@click.option(
    "--timeout",
    default=float(TIMEOUT_SECONDS),
    type=click.FloatRange(0.1, 120),
    show_default=True,
    help="Seconds to wait for each answer of the server.",
)
@json_option
@database_command
def test_command(recipient: str, timeout: float, as_json: bool) -> None:
    """Send a test mail to RECIPIENT now, and show the conversation."""
    settings = current_settings()
    if not settings.smtp_url:
        raise click.ClickException("TESTIMONIALS_SMTP_URL is not set, so no mail can be sent.")
    transport = SmtpTransport(settings.smtp_url, settings.mail_from, timeout=timeout)
    test = make_test_mail(parse_email(recipient))
    problem = warning = None
    try:
        transport.send(test)
    except DeliveryFailed as error:
        problem = make_printable(str(error))
    else:
        if transport.user and not transport.dialogue.is_encrypted:
            warning = READABLE
    # A server may send anything, including sequences that control a terminal.
    lines = [make_printable(line) for line in transport.dialogue.lines]
    if as_json:
        outcome = {"recipient": test.recipient, "sent": problem is None, "problem": problem}
        print_json(outcome | {"warning": warning, "dialogue": lines})
    else:
        click.echo("\n".join([*lines, ""]))
        if problem is None:
            click.echo(f"The mail server accepted the mail to {test.recipient}.")
        else:
            click.echo(f"Error: The mail was not sent: {problem}", err=True)
        if warning is not None:
            click.echo(warning)
    if problem is not None:
        click.get_current_context().exit(1)


def make_test_mail(recipient: str) -> OutboxMail:
    """Return the mail of `mail test`, which never enters the outbox."""
    values = {"app_url": app_url()}
    return OutboxMail(
        purpose="test",
        recipient=recipient,
        subject="Test mail from Testimonials",
        text=render_template("email/test.txt", **values),
        html=render_template("email/test.html", **values),
        # The database fills these in for mail in the outbox.
        id=new_identifier(),
        created_at=clock.now(),
    )


def _describe(found: OutboxMail) -> dict[str, Any]:
    return {
        "id": found.id,
        "state": found.state,
        "purpose": found.purpose,
        "to": found.recipient,
        "subject": found.subject,
        "attempts": found.attempts,
        "createdAt": iso(found.created_at),
        "sentAt": iso(found.sent_at) if found.sent_at else None,
        "nextAttemptAt": iso(found.next_attempt_at) if found.state == MailState.QUEUED else None,
        "lastError": found.last_error,
    }
