"""`/healthz` says that the process lives, `/readyz` whether it can do its work."""

from datetime import timedelta
from pathlib import Path
from typing import Any

from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import text

from testimonials.core import clock
from testimonials.core.outbox import MailState, OutboxMail
from testimonials.extensions import begin_write, db
from tests.conftest import MakeApp, MovableClock
from tests.operations.disks import mount, small_disk
from tests.servers import free_port


def look(client: FlaskClient) -> tuple[int, dict[str, Any]]:
    answer = client.get("/readyz")
    assert answer.mimetype == "application/json"
    assert answer.headers["Cache-Control"] == "no-store"
    return answer.status_code, answer.get_json()


def put_mail(app: Flask, **values: Any) -> None:
    texts = {"purpose": "test", "subject": "S", "text": "T", "html": "H"}
    with app.app_context():
        begin_write()
        db.session.add(OutboxMail(recipient="private@example.com", **texts, **values))
        db.session.commit()


def test_all_is_well(app: Flask, client: FlaskClient) -> None:
    status, body = look(client)
    assert (status, body["status"]) == (200, "ready")
    assert list(body["checks"]) == ["database", "migrations", "outbox", "disk"]
    assert all(check["ok"] for check in body["checks"].values())
    health = client.get("/healthz").get_json()
    assert health["status"] == "ok"
    assert app.config["SECRET_KEY"] not in str(health)


def test_a_database_that_is_away_is_no_end_of_the_process(make_app: MakeApp, backend: str) -> None:
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


def test_another_schema_is_not_ready(app: Flask, client: FlaskClient) -> None:
    with app.app_context():
        before = db.session.scalar(text("SELECT version_num FROM alembic_version"))
        set_revision(app, "0001")
        status, body = look(client)
        set_revision(app, str(before))
    assert status == 503
    assert body["checks"]["migrations"]["ok"] is False
    assert body["checks"]["migrations"]["detail"].startswith("at 0001, needs ")
    assert body["checks"]["database"]["ok"]


def set_revision(app: Flask, revision: str) -> None:
    begin_write()
    db.session.execute(text("UPDATE alembic_version SET version_num = :to"), {"to": revision})
    db.session.commit()


def test_mail_that_nobody_sends_is_seen(
    app: Flask, client: FlaskClient, moved_clock: MovableClock
) -> None:
    put_mail(app)
    put_mail(app, state=MailState.FAILED)
    moved_clock.move(minutes=14)
    assert look(client)[0] == 200
    moved_clock.move(minutes=2)
    status, body = look(client)
    assert status == 503
    assert body["checks"]["outbox"] == {
        "ok": False, "detail": "the oldest due mail waits for 960 s"
    }  # fmt: skip
    assert "private@" not in str(body)


def test_mail_that_is_tried_again_later_is_no_fault(app: Flask, client: FlaskClient) -> None:
    put_mail(app, attempts=5, next_attempt_at=clock.now() + timedelta(hours=1))
    assert look(client)[0] == 200


def test_a_full_and_a_read_only_disk_are_seen(make_app: MakeApp, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk:
        client = make_app(instance_path=str(disk)).test_client()
        found = look(client)[1]["checks"]["disk"]
        assert (found["ok"], found["detail"]) in ((False, "19 MB free"), (False, "20 MB free"))
        # Another disk in its place.
        assert mount("mount", "-t", "tmpfs", "-o", "ro,size=500m", "tmpfs", disk)
        assert look(client)[1]["checks"]["disk"] == {"ok": False, "detail": "read-only"}
