"""`scripts/soak`: the service does what its model says, and loses nothing that it acknowledged.

The suite does the same a few times; this does it as often as you like. A write that was answered
with an error was not acknowledged.
"""

import random
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import hypothesis
import psycopg
from hypothesis.stateful import run_state_machine_as_test

from testimonials import create_app
from testimonials.auth import credentials
from testimonials.core import clock
from testimonials.core.db.migrate import upgrade
from testimonials.core.extensions import db
from testimonials.core.settings.table import load_settings
from tests.attacks import machines
from tests.auth.links import ORIGIN
from tests.conftest import QUICK_METHOD, MovableClock
from tests.support.load import Load
from tests.support.process import start_service
from tests.support.rows import fill_outbox
from tests.support.servers import MailSink, PostgresServer, wait_for

STREAMS = 4


def hit_under_load(load: Load, hit: Callable[[], object]) -> None:
    """Call `hit`, which kills something, at a random moment while others write."""
    time.sleep(random.uniform(0.05, 1.5))
    hit()
    load.end()


def soak_sqlite(folder: Path, times: int) -> tuple[int, int]:
    """Kill the service `times` times; return how many writes were acknowledged, and lost."""
    service = start_service(folder, (), {"workers": "2"})
    headers = service.sign_up()
    project = service.make_project(headers)
    acknowledged: list[str] = []
    lost: set[str] = set()
    for _ in range(times):
        load = Load(service, headers, STREAMS, project=project, may_be_refused=True)
        hit_under_load(load, service.kill)
        # What was there after earlier kills is checked again.
        load.acknowledged += acknowledged
        lost |= load.lost()
        acknowledged = load.acknowledged
        service = start_service(folder, (), {"workers": "2"})
    service.kill()
    return len(acknowledged), len(lost)


def soak_postgres(folder: Path, times: int) -> tuple[int, int, int]:
    """Restart PostgreSQL while others write; return also how many writes were refused."""
    server = PostgresServer()
    with psycopg.connect(f"{server.url}/postgres", autocommit=True) as connection:
        connection.execute("CREATE DATABASE soak")
    service = start_service(folder, (), {"database_url": f"{server.url}/soak", "workers": "2"})
    headers = service.sign_up()
    project, loads = service.make_project(headers), []
    for _ in range(times):
        loads.append(Load(service, headers, STREAMS, project=project, may_be_refused=True))
        hit_under_load(loads[-1], server.restart)
    path, body = f"/v1/projects/{project}/testimonials", {"authorName": "Maya", "text": "After all"}
    answer = service.call("POST", path, body, headers)
    assert answer.status == 200, answer.body
    with psycopg.connect(f"{server.url}/soak") as connection:
        found = {row[0] for row in connection.execute("SELECT id FROM testimonial")}
    service.kill()
    server.stop()
    acknowledged = {each for load in loads for each in load.acknowledged}
    refused = sum(load.refused for load in loads)
    return len(acknowledged), len(acknowledged - found), refused


def soak_mail(folder: Path, times: int) -> tuple[int, int, int]:
    """Kill the service while it sends; return the number of mails, of lost and of doubled ones."""
    sink = MailSink()
    sink.start()
    settings = {"workers": "2", "smtp_url": sink.url}
    service = start_service(folder, (), settings)
    count = times * 20
    fill_outbox(folder, count)
    for number in range(times):
        # Each time after a few more mails, so that each kill interrupts something.
        sink.wait(min(count - 1, number * 20 + 1))
        time.sleep(random.uniform(0, 0.1))
        service.kill()
        service = start_service(folder, (), settings)
    with sqlite3.connect(folder / "testimonials.db") as database:
        waiting = "SELECT count(*) FROM outbox_mail WHERE state != 'sent'"
        wait_for(lambda: database.execute(waiting).fetchone() == (0,), 300, "an empty outbox")
    service.kill()
    sink.stop()
    came = Counter(str(mail.message["Message-ID"]) for mail in sink.received)
    return count, count - len(came), sum(came.values()) - len(came)


def soak_machines(folder: Path, examples: int) -> None:
    """Run thousands of examples of each state machine; fail with the shortest that goes wrong."""
    own = {"instance_path": str(folder), "base_url": ORIGIN, "min_form_seconds": 0}
    app = create_app(load_settings({}, own))
    with app.app_context():
        upgrade(db.engine)
    credentials.METHOD = QUICK_METHOD
    machines.Machine.app, machines.Machine.clock = app, MovableClock()
    clock.now = machines.Machine.clock
    for machine in machines.MACHINES:
        many = hypothesis.settings(machines.SIZE, max_examples=examples)
        run_state_machine_as_test(machine, settings=many)  # type: ignore[no-untyped-call]
        print(f"{machine.__name__}: {examples} examples, each as its model says", flush=True)


def main(times: int, examples: int) -> int:
    with tempfile.TemporaryDirectory() as home:
        begun = time.monotonic()
        kept, lost = soak_sqlite(Path(home) / "sqlite", times)
        print(f"SQLite, kill -9 {times} times: {kept} acknowledged, {lost} lost")
        count, unsent, twice = soak_mail(Path(home) / "mail", times)
        print(f"Mail, kill -9 {times} times: {count} mails, {unsent} lost, {twice} twice")
        rounds = max(1, times // 5)
        stored, gone, refused = soak_postgres(Path(home) / "postgres", rounds)
        print(
            f"PostgreSQL, restarted {rounds} times: {stored} acknowledged, {gone} lost, "
            f"{refused} refused meanwhile; {time.monotonic() - begun:.0f} s in all"
        )
        # Last, because it takes over this process's clock.
        soak_machines(Path(home) / "machines", examples)
    return 1 if lost or gone or unsent or twice > times else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2])))
