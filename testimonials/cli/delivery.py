"""Commands about mail, webhooks and recordings."""

from datetime import UTC, datetime

import click
from sqlalchemy import select

from testimonials.auth.email_addresses import parse_email
from testimonials.cli.output import PROJECT, Group, Output, Record, Rows
from testimonials.core import clock
from testimonials.core.audit import record
from testimonials.core.clock import iso
from testimonials.core.db.identifiers import new_identifier
from testimonials.core.extensions import db
from testimonials.core.mail import outbox
from testimonials.core.mail.smtp import DeliveryFailed, SmtpTransport
from testimonials.core.settings.table import current_settings
from testimonials.core.text import make_printable
from testimonials.integrations.webhooks import endpoints, log
from testimonials.integrations.webhooks.schemas import DeliverySchema, WebhookSchema
from testimonials.projects.models import Project
from testimonials.testimonials.media.recordings import MEGABYTE, find_whole_share
from testimonials.testimonials.models import Recording

UNENCRYPTED = "The password travelled unencrypted: add ?starttls=1 to SMTP_URL."


@click.group(cls=Group)
def mail() -> None:
    """List, retry and delete mail, and test the mail settings."""


@mail.command("list")
@click.option("--limit", default=50, type=click.IntRange(1, 10_000), show_default=True)
@click.option(
    "--state",
    type=click.Choice([state.value for state in outbox.MailState]),
    help="Only emails in this state.",
)
def list_mail_command(limit: int, state: str | None) -> Output:
    """List the newest email."""
    query = outbox.select_mails().limit(limit)
    if state is not None:
        query = query.where(outbox.OutboxMail.state == state)
    rows = [_describe(*row) for row in db.session.execute(query)]
    empty = f"There is no email in the state {state}." if state else "The outbox is empty."
    return Output(rows, rows or empty)


@mail.command("show")
@click.argument("mail_id", metavar="ID")
def show_command(mail_id: str) -> Output:
    """Show an email, with its text unless it was sent (the text may contain a working link)."""
    row = db.session.execute(
        outbox.select_mails().where(outbox.OutboxMail.id == mail_id)
    ).one_or_none()
    if row is None:
        raise click.ClickException(f"There is no email with the id {mail_id}.")
    stored, described = row[0], _describe(*row)
    value = described | {"text": stored.text, "html": stored.html}
    lines = (stored.text or "The text of a sent email is not kept.").splitlines()
    return Output(value, described, notes=["", *map(make_printable, lines)])


@mail.command("retry", writes=True)
@click.argument("mail_id", metavar="[ID]", required=False)
def retry_command(mail_id: str | None) -> Output:
    """Retry all failed and waiting mail now, or the email with this ID; `serve` sends it."""
    count = outbox.retry_mails(db.session(), mail_id)
    record(outbox.MAIL_RETRIED, None, count=count)
    if mail_id is not None and not count:
        raise click.ClickException(f"There is no failed or waiting email with the id {mail_id}.")
    return Output(
        {"queued": count}, f"{count} email(s) queued; a running `testimonials serve` sends them."
    )


@mail.command("drop", writes=True)
@click.argument("mail_id", metavar="ID")
def drop_command(mail_id: str) -> Output:
    """Delete an email that failed or is waiting, so that it is never sent."""
    count = outbox.drop_mail(mail_id)
    record(outbox.MAIL_DROPPED, None, count=count)
    if not count:
        raise click.ClickException(f"There is no failed or waiting email with the id {mail_id}.")
    return Output({"dropped": count}, "Dropped.")


@mail.command("test")
@click.argument("recipient")
def test_command(recipient: str) -> Output:
    """Send a test email to RECIPIENT now, and show the SMTP dialogue."""
    settings = current_settings()
    if not settings.smtp_url:
        raise click.ClickException("TESTIMONIALS_SMTP_URL is not set, so no mail can be sent.")
    transport = SmtpTransport(settings.smtp_url, settings.mail_from)
    test = make_test_mail(parse_email(recipient))
    problem = warning = None
    try:
        transport.send(test)
    except DeliveryFailed as error:
        problem = make_printable(str(error))
    else:
        if transport.user and not transport.dialogue.is_encrypted:
            warning = UNENCRYPTED
    # A server may send anything, including control sequences for terminals.
    lines = [make_printable(line) for line in transport.dialogue.lines]
    outcome = {"recipient": test.recipient, "sent": problem is None, "problem": problem}
    notes = ["", f"The mail server accepted the email to {test.recipient}."]
    return Output(
        outcome | {"warning": warning, "dialogue": lines},
        "\n".join(lines),
        notes=[""] if problem else [*notes, warning] if warning else notes,
        problems=[f"Error: The email was not sent: {problem}"] if problem else (),
        is_failure=problem is not None,
    )


def make_test_mail(recipient: str) -> outbox.OutboxMail:
    """Return the email of `mail test`, which isn't stored in the outbox."""
    return outbox.OutboxMail(
        purpose="test",
        recipient=recipient,
        subject="Test email from Testimonials",
        **outbox.render_mail("test", {"title": "Test email from Testimonials"}),
        # The table's defaults, which a row gets only when it is stored.
        id=new_identifier(),
        created_at=clock.now(),
    )


def _describe(row: outbox.OutboxMail, next_at: datetime | None) -> Record:
    is_queued = row.state == outbox.MailState.QUEUED
    return {
        "id": row.id,
        "state": row.state,
        "purpose": row.purpose,
        "to": row.recipient,
        "subject": row.subject,
        "attempts": row.attempts,
        "createdAt": iso(row.created_at),
        "sentAt": iso(row.sent_at) if row.sent_at else None,
        "nextAttemptAt": iso(next_at) if next_at and is_queued else None,
        "lastError": row.last_error,
    }


ENDPOINT = click.argument("webhook", metavar="ID")


@click.group(cls=Group)
def webhooks() -> None:
    """List webhook endpoints and their deliveries, and redeliver."""


@webhooks.command(
    "list",
    columns=("_id", "state", "url", "events", "createdBy", "switchedOffBecause"),
    empty="There are no webhook endpoints.",
)
@click.option("--project", type=PROJECT, help="Only the endpoints of this project.")
def list_webhooks_command(project: Project | None) -> Rows:
    """List the webhook endpoints of all projects or of one, newest first."""
    return list(WebhookSchema(many=True).dump(endpoints.list_endpoints(project)))


@webhooks.command("deliveries", empty="Nothing was sent yet.")
@ENDPOINT
@click.option("--limit", default=20, type=click.IntRange(1, 1000), show_default=True)
def deliveries_command(webhook: str, limit: int) -> Output:
    """List the deliveries to a webhook endpoint, newest first, including waiting ones."""
    deliveries = log.list_deliveries(endpoints.get_endpoint(webhook), limit).items
    rows = [
        {
            "_id": row.id,
            "type": row.event_type,
            "state": row.state,
            "tries": row.tries,
            "last": last and (last["error"] or last["status"]),
            "createdAt": iso(row.created_at),
        }
        for row in deliveries
        for last in (row.attempts[-1:] or [None])
    ]
    return Output(DeliverySchema(many=True).dump(deliveries), rows)


@webhooks.command("redeliver", writes=True)
@ENDPOINT
@click.option("--delivery", metavar="ID", help="Only this delivery.")
@click.option("--since", type=click.DateTime(), help="All events since this time, in UTC.")
def redeliver_command(webhook: str, delivery: str | None, since: datetime | None) -> Record:
    """Redeliver one delivery, or all events since a given time."""
    if (delivery is None) == (since is None):
        raise click.ClickException("Give either --delivery or --since.")
    time = since and since.replace(tzinfo=UTC)
    count = log.redeliver(endpoints.get_endpoint(webhook), delivery, time)
    return {"events": count}


@webhooks.command("send-test", writes=True)
@ENDPOINT
def send_test_command(webhook: str) -> Record:
    """Queue a test for a webhook endpoint, which the running service sends."""
    row = log.send_test(endpoints.get_endpoint(webhook))
    return {"delivery": row.id, "messageId": row.message_id}


@click.group(cls=Group)
def recordings() -> None:
    """List video and voice recordings, and the space that they take."""


@recordings.command(
    "list",
    columns=("_id", "project", "kind", "state", "bytes", "seconds", "mediaType", "createdAt"),
    empty="There are no recordings.",
)
@click.option("--limit", default=50, type=click.IntRange(1, 10_000), show_default=True)
def list_recordings_command(limit: int) -> Output:
    """List recordings, largest first."""
    query = select(Recording, Project.slug).join(Project, Recording.project_id == Project.id)
    rows = db.session.execute(query.order_by(Recording.size.desc(), Recording.id).limit(limit))
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
        for row, slug in rows
    ]
    share = find_whole_share()
    note = f"All take {share.bytes / MEGABYTE:.1f} of {share.limit // MEGABYTE} MB."
    return Output(records, records, notes=[note])
