"""`/healthz` answers that the process is alive, `/readyz` whether it can serve pages."""

import contextlib
import re
import socket
import sqlite3
import threading
from datetime import timedelta
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import text

from testimonials.core import clock
from testimonials.core.clock import iso
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db, lock_for_writing
from testimonials.core.jobs import Job
from testimonials.core.mail.outbox import MailState
from testimonials.core.settings.table import current_settings
from tests.operations.disks import fill, mount, small_disk
from tests.operations.test_metrics import put_jobs
from tests.support.mail_servers import HANG, OddServer
from tests.support.rows import deliver_mail, put_mail
from tests.support.servers import free_port, wait_for

pytestmark = pytest.mark.postgres

LATE = "has not answered within 1 s"


def look(client: FlaskClient) -> tuple[int, dict[str, Any]]:
    answer = client.get("/readyz")
    assert (answer.mimetype, answer.headers["Cache-Control"]) == ("application/json", "no-store")
    return answer.status_code, answer.get_json()


def test_all_is_well(make_app):
    app = make_app(smtp_url="smtp://mail.example.com")
    client = app.test_client()
    status, body = look(client)
    assert (status, body["status"], body["warnings"]) == (200, "ready", {})
    assert list(body["checks"]) == ["database", "disk"]
    assert all(check["ok"] for check in body["checks"].values())
    health = client.get("/healthz").get_json()
    assert health["status"] == "ok"
    assert current_settings(app).secret_key not in str(health)


def test_a_database_that_is_away_is_no_end_of_the_process(make_app, backend):
    url = f"postgresql://shop:secret@127.0.0.1:{free_port()}/shop"
    if backend == "sqlite":
        url = "sqlite:////nowhere/at/all.db"
    make_app()
    client = make_app(database_url=url).test_client()
    assert client.get("/healthz").status_code == 200
    status, body = look(client)
    assert (status, body["status"]) == (503, "not ready")
    assert not body["checks"]["database"]["ok"]
    assert "secret" not in str(body)
    assert "nowhere" not in str(body)


@pytest.mark.parametrize("kind", ["database", "redis"])
def test_what_is_silent_is_waited_for_no_longer_than_a_second(make_app, kind):
    """`/healthz` waits for none of it, nor for any lock."""
    make_app()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        url = f"redis://127.0.0.1:{port}/0?socket_timeout=60"
        settings = {"ratelimit_storage_url": url}
        if kind == "database":
            settings = {
                "database_url": f"postgresql://shop@127.0.0.1:{port}/shop?connect_timeout=60"
            }
        client = make_app(**settings).test_client()
        for _ in range(2):
            status, body = look(client)
            found = body["checks"].get(kind, {}).get("detail") or body["warnings"][kind]
            assert (status, found) == (503 if kind == "database" else 200, LATE)
        assert client.get("/healthz").status_code == 200
        # The second check joined the first one.
        assert [thread.name for thread in threading.enumerate()].count(kind) == 1


def test_a_database_that_is_locked_is_not_waited_for(app, backend):
    if backend == "postgresql":
        pytest.skip("PostgreSQL has no such lock for all")
    file = current_settings(app).database_file
    with app.app_context():
        db.engine.dispose()
    with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as holder:
        holder.execute("PRAGMA locking_mode=EXCLUSIVE")
        holder.execute("BEGIN EXCLUSIVE")
        client = app.test_client()
        assert (client.get("/healthz").status_code, look(client)[0]) == (200, 503)
    wait_for(lambda: look(client)[0] == 200, what="readiness")


def test_another_schema_is_not_ready(app, client):
    with app.app_context():
        before = db.session.scalar(text("SELECT version_num FROM alembic_version"))
        set_revision(app, "0001")
        status, body = look(client)
        set_revision(app, str(before))
    assert (status, body["checks"]["database"]["ok"]) == (503, False)
    assert "at revision 0001, needs " in body["checks"]["database"]["detail"]


def set_revision(app: Flask, revision: str) -> None:
    lock_for_writing()
    db.session.execute(text("UPDATE alembic_version SET version_num = :to"), {"to": revision})
    db.session.commit()


def test_mail_that_does_not_leave_is_a_warning_also_between_its_attempts(app, client, moved_clock):
    put_mail(app, state=MailState.FAILED, recipient="private@example.com")
    put_mail(app, attempts=5)
    put_mail(app)
    moved_clock.move(minutes=14)
    assert "mail" not in look(client)[1]["warnings"]
    moved_clock.move(minutes=2)
    status, body = look(client)
    assert (status, body["status"]) == (200, "ready")
    assert body["warnings"]["mail"] == "2 email(s) not sent, the oldest for 960 s"
    assert "private@" not in str(body)


DEAD: dict[str, dict[str, str]] = {
    "greylisting": {"RCPT": "450 4.2.0 Try again later"},
    "silent": {"GREETING": HANG},
    "nobody": {},
}


@pytest.mark.parametrize("kind", DEAD)
def test_a_mail_server_that_is_dead_is_a_warning_at_once(make_app, moved_clock, kind):
    """Unless other mail leaves: then it is about one recipient."""
    server = OddServer(**DEAD[kind])
    url = server.url if kind != "nobody" else f"smtp://127.0.0.1:{free_port()}"
    app = make_app(smtp_url=url, metrics_token="m" * 16)
    client = app.test_client()
    put_mail(app)

    def send() -> None:
        deliver_mail(app, url)

    sending = threading.Thread(target=send)
    sending.start()
    if kind.startswith("silent"):
        wait_for(lambda: server.connections, what="the connection")
        assert "mail" not in look(client)[1]["warnings"]
        moved_clock.move(seconds=16)
    else:
        sending.join()
        moved_clock.move(seconds=6)
    status, body = look(client)
    assert (status, body["status"]) == (200, "ready")
    said = r"1 email\(s\) not sent, .* \d+ s; the mail server refuses them or does not answer"
    assert re.fullmatch(said, body["warnings"]["mail"])
    age = client.get("/metrics", headers={"Authorization": "Bearer " + "m" * 16}).text
    assert float(age.split("\ntestimonials_outbox_oldest_seconds ")[1].split()[0]) > 5
    server.stop()
    sending.join()
    put_mail(app, state=MailState.SENT, sent_at=clock.now(), tried_at=clock.now())
    assert "mail" not in look(client)[1]["warnings"]


def test_other_things_to_look_at_are_warnings(make_app, moved_clock):
    app = make_app(ratelimit_storage_url=f"redis://:s3cret@127.0.0.1:{free_port()}/0")
    client = app.test_client()
    now = put_jobs(app)
    status, body = look(client)
    assert (status, body["status"]) == (200, "ready")
    assert body["warnings"] == {
        "jobs": f"backup failed at {iso(now + timedelta(seconds=5))}",
        "redis": "can't count: it is unreachable, full or read-only",
        "smtp": "SMTP_URL is not set: mail is printed to the log",
    }
    moved_clock.move(minutes=20)
    with app.app_context(), write():
        # It has another thread.
        db.session.add(Job(id="record.sign", kind="record.sign", finished_at=clock.now()))
    assert f"none has run since {iso(now)}" in look(client)[1]["warnings"]["jobs"]


def test_a_disk_that_is_full_or_read_only_is_seen(make_app, tmp_path):
    with small_disk(tmp_path / "disk", "400m") as disk:
        client = make_app(instance_path=str(disk)).test_client()
        body = look(client)[1]
        assert body["checks"]["disk"]["ok"]
        assert body["warnings"]["room"] in ("399 MB free", "400 MB free")
        fill(disk / "rest")
        status, body = look(client)
        assert status == 503
        assert body["checks"]["disk"]["detail"] == "can't be written to: No space left on device"
        # Another disk in its place.
        assert mount("mount", "-t", "tmpfs", "-o", "ro,size=500m", "tmpfs", disk)
        assert "Read-only file system" in look(client)[1]["checks"]["disk"]["detail"]
