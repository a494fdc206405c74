"""Commands about mail, webhooks and recordings."""

from datetime import UTC, datetime
from typing import Any

import click
from flask import render_template
from sqlalchemy import select

from testimonials.auth.email_addresses import parse_email
from testimonials.cli.output import (
    database_command,
    json_option,
    print_json,
    print_record,
    print_rows,
)
from testimonials.core import clock
from testimonials.core.audit import record
from testimonials.core.clock import iso
from testimonials.core.db.identifiers import new_identifier
from testimonials.core.extensions import begin_write, db
from testimonials.core.http.urls import app_url
from testimonials.core.mail.outbox import (
    MAIL_DROPPED,
    MAIL_RETRIED,
    MailState,
    OutboxMail,
    drop_mail,
    list_mails,
    retry_mails,
)
from testimonials.core.mail.smtp import TIMEOUT_SECONDS, DeliveryFailed, SmtpTransport
from testimonials.core.settings.current import current_settings
from testimonials.core.text import make_printable
from testimonials.integrations.webhooks import endpoints, log
from testimonials.integrations.webhooks.schemas import DeliverySchema, WebhookSchema
from testimonials.projects.models import Project
from testimonials.projects.projects import get_project
from testimonials.testimonials.media.recordings import MEGABYTE, find_whole_share
from testimonials.testimonials.media.removal import find_missing, find_orphans
from testimonials.testimonials.media.removal import remove_orphans as remove
from testimonials.testimonials.models import Recording

# `testimonials mail`: look at the outbox, and test the mail settings.

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
def list_mail_command(limit: int, state: str | None, as_json: bool) -> None:
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
    record(MAIL_RETRIED, None, count=count)
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
    record(MAIL_DROPPED, None, count=count)
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


# `testimonials webhooks`: what an operator does with webhooks.

ENDPOINT = click.argument("webhook", metavar="ID")
SHOWN = ("_id", "state", "url", "events", "createdBy", "switchedOffBecause")


@click.group()
def webhooks() -> None:
    """List webhook endpoints and what they were sent, and send again."""


@webhooks.command("list")
@click.option("--project", metavar="ID_OR_SLUG", help="Only the endpoints of this project.")
@json_option
@database_command
def list_webhooks_command(project: str | None, as_json: bool) -> None:
    """List the webhook endpoints of all projects or of one, newest first."""
    found = endpoints.list_endpoints(get_project(project) if project else None)
    rows = WebhookSchema(many=True).dump(found)
    if not as_json:
        rows = [{name: row[name] for name in SHOWN} for row in rows]
    print_rows(rows, as_json=as_json, empty="There are no webhook endpoints.")


@webhooks.command("deliveries")
@ENDPOINT
@click.option("--limit", default=20, type=click.IntRange(1, 1000), show_default=True)
@json_option
@database_command
def deliveries_command(webhook: str, limit: int, as_json: bool) -> None:
    """List what was sent to a webhook endpoint, newest first, and what waits."""
    found = log.list_deliveries(endpoints.get_endpoint(webhook), limit).items
    rows = DeliverySchema(many=True).dump(found)
    if not as_json:
        rows = [
            {
                "_id": row.id,
                "type": row.event_type,
                "state": row.state,
                "tries": row.tries,
                "last": _tell_last(row.attempts),
                "createdAt": iso(row.created_at),
            }
            for row in found
        ]
    print_rows(rows, as_json=as_json, empty="Nothing was sent yet.")


@webhooks.command("redeliver")
@ENDPOINT
@click.option("--delivery", metavar="ID", help="Only this delivery.")
@click.option("--since", type=click.DateTime(), help="All events since this time, in UTC.")
@json_option
@database_command
def redeliver_command(
    webhook: str, delivery: str | None, since: datetime | None, as_json: bool
) -> None:
    """Send one delivery again, or everything that has happened since a time."""
    if (delivery is None) == (since is None):
        raise click.ClickException("Give either --delivery or --since.")
    begin_write()
    time = since and since.replace(tzinfo=UTC)
    count = log.redeliver(endpoints.get_endpoint(webhook), delivery, time)
    db.session.commit()
    print_record({"events": count}, as_json=as_json)


@webhooks.command("send-test")
@ENDPOINT
@json_option
@database_command
def send_test_command(webhook: str, as_json: bool) -> None:
    """Let the running service send a test to a webhook endpoint."""
    begin_write()
    row = log.send_test(endpoints.get_endpoint(webhook))
    db.session.commit()
    sent = {"delivery": row.id, "messageId": DeliverySchema().name_message(row)}
    print_record(sent, as_json=as_json)


def _tell_last(attempts: list[dict[str, object]]) -> object:
    last = attempts[-1] if attempts else {"error": None, "status": None}
    return last["error"] or last["status"]


# `testimonials recordings`: what recordings take, and files that belong to none.


@click.group()
def recordings() -> None:
    """Look at video and voice recordings, and at the room that they take."""


@recordings.command("list")
@click.option("--limit", default=50, type=click.IntRange(1, 10_000), show_default=True)
@json_option
@database_command
def list_recordings_command(limit: int, as_json: bool) -> None:
    """List recordings, the largest first."""
    query = select(Recording, Project.slug).join(Project, Recording.project_id == Project.id)
    found = db.session.execute(query.order_by(Recording.size.desc(), Recording.id).limit(limit))
    records = [
        {
            "_id": row.id,
            "project": slug,
            "testimonialId": row.testimonial_id,
            "kind": row.kind,
            "state": row.state,
            "bytes": row.size,
            "seconds": row.seconds,
            "mediaType": row.media_type,
            "codecs": row.codecs,
            "createdAt": iso(row.created_at),
        }
        for row, slug in found
    ]
    if as_json:
        print_json(records)
        return
    names = ("_id", "project", "kind", "state", "bytes", "seconds", "mediaType", "createdAt")
    short = [{name: each[name] for name in names} for each in records]
    print_rows(short, as_json=False, empty="There are no recordings.")
    share = find_whole_share()
    click.echo(f"All take {share.bytes / MEGABYTE:.1f} of {share.limit // MEGABYTE} MB.")


@recordings.command("orphans")
@click.option("--remove", "is_removing", is_flag=True, help="Remove the files that have no row.")
@json_option
@database_command
def orphans(is_removing: bool, as_json: bool) -> None:
    """List files that belong to no recording, and recordings whose file is missing.

    Files of the last hour are left alone. `serve` removes such files by itself.
    """
    files, missing = remove() if is_removing else find_orphans(), find_missing()
    if as_json:
        print_json({"files": files, "missing": missing, "isRemoved": is_removing})
        return
    done = "Removed" if is_removing else "Found"
    click.echo(f"{done} {len(files)} file(s) without a recording, {sum(files.values())} bytes.")
    for recording_id in missing:
        click.echo(f"The file of the recording {recording_id} is missing.")
