"""`testimonials webhooks`: what an operator does with webhooks."""

from datetime import UTC, datetime

import click

from testimonials.core.clock import iso
from testimonials.core.commands import database_command, json_option, print_record, print_rows
from testimonials.extensions import begin_write, db
from testimonials.projects.services import get_project
from testimonials.webhooks import deliveries, services
from testimonials.webhooks.schemas import DeliverySchema, WebhookSchema

ENDPOINT = click.argument("webhook", metavar="ID")
SHOWN = ("_id", "state", "url", "events", "createdBy", "switchedOffBecause")


@click.group()
def webhooks() -> None:
    """List webhook endpoints and what they were sent, and send again."""


@webhooks.command("list")
@click.option("--project", metavar="ID_OR_SLUG", help="Only the endpoints of this project.")
@json_option
@database_command
def list_command(project: str | None, as_json: bool) -> None:
    """List the webhook endpoints of all projects or of one, newest first."""
    found = services.list_endpoints(get_project(project) if project else None)
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
    found = deliveries.list_deliveries(services.get_endpoint(webhook), limit).items
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
    count = deliveries.redeliver(services.get_endpoint(webhook), delivery, time)
    db.session.commit()
    print_record({"events": count}, as_json=as_json)


@webhooks.command("send-test")
@ENDPOINT
@json_option
@database_command
def send_test_command(webhook: str, as_json: bool) -> None:
    """Let the running service send a test to a webhook endpoint."""
    begin_write()
    row = deliveries.send_test(services.get_endpoint(webhook))
    db.session.commit()
    sent = {"delivery": row.id, "messageId": DeliverySchema().name_message(row)}
    print_record(sent, as_json=as_json)


def _tell_last(attempts: list[dict[str, object]]) -> object:
    last = attempts[-1] if attempts else {"error": None, "status": None}
    return last["error"] or last["status"]
