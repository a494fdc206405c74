"""The part of `scripts/bench` about many webhooks and events: what they delay, and by how much."""

import json
import sqlite3
import statistics
import time
from contextlib import closing
from pathlib import Path

from testimonials.core.db.identifiers import new_identifier
from testimonials.integrations.webhooks.payloads import new_secret
from tests.integrations.webhooks.receiver import receiving
from tests.support.process import Service, start_service
from tests.support.servers import MailSink, wait_for

DUE = 10_000
EVENTS = 1_000_000
WRITES = 200
MAILS = 9

ENDPOINT = (
    "INSERT INTO webhook_endpoint (id, project_id, url, events, secret, read_to, is_active, "
    "created_by, created_at, updated_at) VALUES (?, ?, ?, '[]', ?, ?, 1, 'x', 1, 1)"
)
DELIVERY = (
    "INSERT INTO webhook_delivery (id, endpoint_id, event_id, event_type, body, state, tries, "
    "next_try_at, attempts, created_at) "
    "VALUES (?, ?, ?, 'project.updated', '', 'due', 0, 1, '[]', ?)"
)
MAIL = (
    "INSERT INTO outbox_mail (id, purpose, recipient, subject, text, html, state, attempts, "
    "next_attempt_at, created_at) "
    "VALUES (?, 'test', 'a@example.com', 'S', 'T', 'H', 'queued', 0, ?, ?)"
)
EVENT = (
    "INSERT INTO event (id, account_id, project_id, type, actor_kind, times, details, created_at) "
    "VALUES (?, ?, ?, 'testimonial.created', 'agent', 1, ?, ?)"
)


def measure_webhooks(folder: Path) -> None:
    """Print how fast deliveries are sent, how long mail waits, and what a million events cost."""
    sink = MailSink()
    sink.start()
    settings = {"webhook_addresses": "any", "smtp_url": sink.url, "log_level": "warning"}
    service = start_service(folder / "webhooks", (), settings | {"workers": "1"})
    try:
        headers = service.sign_up()
        project = service.call("POST", "/v1/projects", {}, headers).data["_id"]
        file = folder / "webhooks" / "testimonials.db"
        idle = measure_mail(sink, file)
        _measure_deliveries(sink, file, project, idle)
        _measure_writes(service, file, headers, project)
    finally:
        service.kill()
        sink.stop()


def _measure_deliveries(sink: MailSink, file: Path, project: str, idle: float) -> None:
    now = time.time_ns() // 1_000_000
    with receiving() as receiver:
        endpoint = new_identifier()
        with closing(sqlite3.connect(file, timeout=30)) as connection:
            row = (endpoint, project, receiver.url, new_secret(), "f" * 24)
            connection.execute(ENDPOINT, row)
            ids = [(new_identifier(), endpoint, new_identifier(), now) for _ in range(DUE)]
            connection.executemany(DELIVERY, ids)
            connection.commit()
        begun = time.monotonic()
        busy = measure_mail(sink, file)
        assert len(receiver.ids) < DUE, "the mails came too late to be measured"
        wait_for(lambda: len(receiver.ids) >= DUE, 600, "all deliveries")
        seconds = time.monotonic() - begun
        assert len(set(receiver.ids)) == DUE
    print(f"\n{DUE:,} due deliveries: {seconds:.0f} s, {DUE / seconds:.0f} a second")
    print(f"a mail until it is there: {idle:.2f} s idle, {busy:.2f} s meanwhile")
    with closing(sqlite3.connect(file, timeout=30)) as connection:
        connection.execute("DELETE FROM webhook_endpoint WHERE id = ?", (endpoint,))
        connection.execute("DELETE FROM webhook_delivery")
        connection.commit()


def measure_mail(sink: MailSink, file: Path) -> float:
    """Return how long a mail takes on average from the outbox to a server."""
    times = []
    for place in range(MAILS):
        # The outbox is read once a second, so the mails are spread over a second.
        time.sleep(place / MAILS)
        count, begun = len(sink.received), time.monotonic()
        with closing(sqlite3.connect(file, timeout=30)) as connection:
            now = time.time_ns() // 1_000_000
            connection.execute(MAIL, (new_identifier(), now, now))
            connection.commit()
        wait_for(lambda count=count: len(sink.received) > count, 30, "the mail")  # type: ignore[misc]
        times.append(time.monotonic() - begun)
    return statistics.mean(times)


def _measure_writes(service: Service, file: Path, headers: dict[str, str], project: str) -> None:
    before = _time_writes(service, headers, project)
    account = headers["x-service-account-id"]
    details, now = json.dumps({"testimonial": "0" * 24}), time.time_ns() // 1_000_000
    with closing(sqlite3.connect(file, timeout=30)) as connection:
        # With the ids of old events, as most of a million would be.
        rows = ((f"{place:024x}", account, project, details, now) for place in range(EVENTS))
        connection.executemany(EVENT, rows)
        connection.commit()
    after = _time_writes(service, headers, project)
    print(f"a durable POST: {before:.2f} ms, with {EVENTS:,} events {after:.2f} ms", end="")
    print(f" ({after / before:.2f} times)")


def _time_writes(service: Service, headers: dict[str, str], project: str) -> float:
    """Return the median milliseconds of adding a testimonial."""
    times = []
    for place in range(WRITES):
        body = {"authorName": "Maya", "text": f"{time.time_ns()} {place}"}
        begun = time.perf_counter()
        answer = service.call("POST", f"/v1/projects/{project}/testimonials", body, headers)
        times.append((time.perf_counter() - begun) * 1000)
        assert answer.status == 200, answer.body
    return statistics.median(times)
