"""`testimonials doctor`: no finding on a healthy instance, and one for each problem."""

import contextlib
import email.policy
import json
import os
import platform
import re
import sqlite3
import urllib.request
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import text

from testimonials.core import clock, extensions
from testimonials.core.db.migrate import upgrade
from testimonials.core.db.outages import MAKE_ROOM
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db
from testimonials.core.jobs import run_due
from testimonials.core.mail.outbox import MailState, OutboxMail
from testimonials.operations.doctor_network import CHECKS, NETWORK_SHARES, find_filesystem
from tests.conftest import MakeApp, MakeCaller
from tests.integrations.webhooks.receiver import Handler, receiving
from tests.operations.disks import fill, mount, small_disk
from tests.operations.instances import app_on
from tests.support.mail_servers import OddServer
from tests.support.servers import PATIENCE, free_port, serving

Found = dict[str, str]


def consult(app: Flask) -> Found:
    done = app.test_cli_runner().invoke(args=["doctor", "--json"])
    answer = json.loads(done.stdout)
    assert [check["check"] for check in answer["checks"]] == list(CHECKS)
    found = {
        check["check"]: " ".join(
            f"{each['problem']} {each['advice']}" for each in check["findings"]
        )
        for check in answer["checks"]
        if not check["ok"]
    }
    assert (answer["ok"], done.exit_code) == (not found, 1 if found else 0)
    return found


def change(app: Flask, *rows: object, sql: str = "") -> None:
    with app.app_context(), write():
        db.session.add_all(rows)
        if sql:
            db.session.execute(text(sql))


@pytest.fixture
def serve() -> Iterator[Callable[[Flask, int], None]]:
    with contextlib.ExitStack() as stack:
        yield lambda app, port: stack.enter_context(serving(app, port))


MakeHealthy = Callable[..., Flask]


@pytest.fixture
def make_healthy(
    make_app: MakeApp,
    serve: Callable[[Flask, int], None],
    make_caller: MakeCaller,
    instance: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> MakeHealthy:
    """Make an instance that is served, has run its jobs, and has private files."""
    # The tests run on any Python that is supported.
    monkeypatch.setattr(email.policy.Policy, "verify_generated_headers", True, raising=False)

    def make(**settings: object) -> Flask:
        port = free_port()
        app = make_app(**({"base_url": f"http://127.0.0.1:{port}"} | settings))
        for path in (instance, *instance.iterdir()):
            path.chmod(0o700 if path.is_dir() else 0o600)
        make_caller(f"owner{port}@example.com", is_claimed=True, on=app)
        before = os.umask(0o077)
        with app.app_context():
            run_due("jobs")
            run_due("backups")
        os.umask(before)
        serve(app, port)
        return app

    return make


@pytest.fixture
def healthy(make_healthy: MakeHealthy) -> Flask:
    return make_healthy()


@pytest.mark.postgres
def test_what_is_well_has_no_finding_and_another_schema_has_one(healthy):
    assert consult(healthy) == {}
    done = healthy.test_cli_runner().invoke(args=["doctor"])
    assert done.exit_code == 0
    well = [f"ok  {name}" for name in CHECKS]
    assert [line for line in done.stdout.splitlines() if line.startswith("ok")] == well
    assert "!!" not in done.stdout
    with healthy.app_context():
        before = db.session.scalar(text("SELECT version_num FROM alembic_version"))
    for revision, words in (("0001", "testimonials db upgrade"), ("9999", "Install the newer")):
        change(healthy, sql=f"UPDATE alembic_version SET version_num = '{revision}'")
        assert words in consult(healthy)["schema"]
    change(healthy, sql=f"UPDATE alembic_version SET version_num = '{before}'")


def test_unsafe_python_misspelt_settings(healthy, monkeypatch):
    monkeypatch.delattr(email.policy.Policy, "verify_generated_headers")
    monkeypatch.setenv("TESTIMONIALS_SMPT_URL", "smtp://mail.example.com")
    found = consult(healthy)
    assert list(found) == ["python", "settings"]
    assert f"The email library of Python {platform.python_version()}" in found["python"]
    assert "TESTIMONIALS_SMPT_URL is not a setting" in found["settings"]


def test_addresses_without_tls_or_for_one_host(make_healthy, smtp):
    assert (
        "which other machines can't reach" in consult(make_healthy(smtp_url=smtp.url))["settings"]
    )
    plain = make_healthy(base_url="http://testimonials.invalid")
    found = consult(plain)
    assert "BASE_URL is http://testimonials.invalid: passwords" in found["settings"]
    assert "Put a proxy with TLS in front" in found["settings"]
    assert "BASE_URL (http://testimonials.invalid) does not answer" in found["addresses"]
    assert "no mail is sent" in found["mail server"]
    read = plain.test_cli_runner().invoke(args=["doctor"]).stdout
    assert "!!  settings\n      BASE_URL is http://" in read
    assert "\n      -> Put a proxy with TLS in front" in read


def test_a_network_share_is_known_by_its_mount(tmp_path):
    (folder := tmp_path / "a share" / "data").mkdir(parents=True)
    point = str(folder.parent).replace(" ", "\\040")
    (mounts := tmp_path / "mounts").write_text(
        f"/dev/sda1 / ext4 rw 0 0\nh:/x {point} nfs4 rw 0 0\n"
    )
    types = [find_filesystem(each, mounts) for each in (folder, tmp_path)]
    assert (types, *map(bool, map(NETWORK_SHARES.fullmatch, types))) == (
        ["nfs4", "ext4"],
        True,
        False,
    )


def test_files_that_others_may_read(make_app, tmp_path):
    """With commands that can be pasted into a shell."""
    folder = tmp_path / "my shop; rm -rf"
    folder.mkdir()
    # Not with `mkdir`, since an earlier command may have set the umask of this process.
    folder.chmod(0o755)
    app = make_app(instance_path=str(folder))
    (folder / "testimonials.toml").write_text("")
    (folder / "testimonials.toml").chmod(0o644)
    found = consult(app)["files"]
    assert f"{folder} has the mode 0755: others may read it. chmod 0700 '{folder}'" in found
    assert f"chmod 0600 '{folder / 'testimonials.toml'}'" in found
    assert "secret_key" not in found


def test_a_database_that_somebody_keeps_from_being_written_to(healthy, instance, monkeypatch):
    """Also the error of any other command."""
    monkeypatch.setattr(extensions, "BUSY_TIMEOUT_MS", 100)
    with healthy.app_context():
        db.engine.dispose()
    path = instance / "testimonials.db"
    with contextlib.closing(sqlite3.connect(path)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        found = consult(healthy)
        refused = healthy.test_cli_runner().invoke(args=["mail", "retry"])
    assert list(found) == ["database"]
    assert f"fuser -v {path}" in found["database"]
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert refused.stderr == (
        "Error: The database is busy: another program has locked it for writing. Try again, or "
        "stop that program.\n"
    )
    assert consult(healthy) == {}


def test_a_read_only_disk_is_not_taken_for_a_damaged_one(make_app, tmp_path):
    with small_disk(tmp_path / "disk") as disk:
        app = make_app(database_url=f"sqlite:///{disk / 'shop.db'}")
        with app.app_context():
            upgrade(db.engine)
            db.session.remove()
            db.engine.dispose()
        assert mount("mount", "-o", "remount,ro", disk)
        found = consult(app)
        command = app.test_cli_runner().invoke(args=["accounts", "list"])
        with app.app_context():
            db.engine.dispose()
    assert "can't be opened: unable to open database file. The disk is read-only" in command.stderr
    assert f"{disk} can't be written to: Read-only file system. Find out why" in found["disk"]
    assert "The file may be intact. Check the disk (dmesg, mount, df)" in found["database"]
    assert "damaged" not in str(found)


@pytest.mark.postgres
def test_redis_that_is_away(make_healthy):
    url = f"redis://:s3cret@127.0.0.1:{free_port()}/0"
    found = consult(make_healthy(ratelimit_storage_url=url))
    assert "Redis (RATELIMIT_STORAGE_URL) can't count" in found["rate limits"]
    assert "s3cret" not in str(found)


def test_a_full_disk_has_one_advice_which_makes_room(make_app, tmp_path, monkeypatch):
    """The doctor's, of every command, of the start, and in the table for 3 a.m."""
    with small_disk(tmp_path / "disk", "4m") as disk:
        app = make_app(instance_path=str(disk))
        run = app.test_cli_runner().invoke
        create = ["accounts", "create", "a@example.com"]
        with app.app_context():
            upgrade(db.engine)
            db.engine.dispose()
        (disk / "backups").mkdir()
        for month in ("01", "02"):
            (disk / f"backups/scheduled-2031{month}01T000000Z.tar.gz").write_bytes(bytes(500_000))
        fill(disk / "rest")
        assert f"The disk is full. {MAKE_ROOM}" in run(args=create).stderr
        os.truncate(disk / "rest", (disk / "rest").stat().st_size - 100_000)
        with app.app_context():
            db.session.execute(text("SELECT count(*) FROM account"))
            fill(disk / "more")
            said = f"Error: The database failed: database or disk is full. {MAKE_ROOM}\n"
            assert run(args=create).stderr == said
            db.session.rollback()
        full = f"The disk of {disk} can't be written to: No space left on device. {MAKE_ROOM}"
        assert consult(app)["disk"] == full
        monkeypatch.setenv("TMPDIR", str(disk))
        assert f"temporary files, {disk}, has 0 MB free" in consult(app)["disk"]
        assert MAKE_ROOM.startswith("Run `testimonials backup drop`, ")
        assert run(args=["backup", "drop"]).exit_code == 0
        assert f"The disk of {disk} has 0 MB free. {MAKE_ROOM}" in consult(app)["disk"]
        assert run(args=create).exit_code == 0
        with app.app_context():
            db.engine.dispose()
    table = Path("docs/operating.md").read_text(encoding="utf-8")
    assert f"| disk full | `df`, `du` of the instance folder | {MAKE_ROOM} |" in table


def test_a_database_that_is_away(make_app):
    away = f"postgresql://shop:secret@127.0.0.1:{free_port()}/shop"
    for url, words in (
        ("sqlite:////nowhere/at/all.db", "There is no database at"),
        (away, "can't be"),
    ):
        found = consult(make_app(database_url=url))
        assert words in found["database"]
        assert "secret" not in str(found)


@pytest.mark.postgres
def test_a_clock_that_differs_from_the_one_that_answers(healthy, moved_clock, backend):
    healthy.test_cli_runner().invoke(args=["accounts", "create", "ana@example.com"])
    moved_clock.move(minutes=-10)
    found = consult(healthy)
    assert "The clock at BASE_URL says" in found["addresses"]
    assert "clock was ahead, or is behind" in found["clock"]
    if backend == "postgresql":
        assert "the database's" in found["clock"]


def test_a_mail_server_that_refuses(make_healthy):
    server = OddServer(GREETING="554 5.7.1 Your address is blocked")
    found = consult(make_healthy(smtp_url=server.url))
    server.stop()
    assert "554 5.7.1 Your address is blocked" in found["mail server"]
    assert "testimonials mail test" in found["mail server"]
    assert server.taken == 0


@pytest.mark.postgres
def test_mail_that_was_given_up_or_waits(healthy, moved_clock):
    texts = {"purpose": "test", "subject": "S", "text": "T", "html": "H"}

    def mail(**values: Any) -> OutboxMail:
        return OutboxMail(recipient="private@example.com", **texts, **values)

    refusal = "550 5.1.1 <private@example.com> is unknown"
    change(
        healthy,
        mail(state=MailState.FAILED, last_error=refusal),
        mail(state=MailState.FAILED, last_error=refusal),
        mail(created_at=clock.now() - timedelta(minutes=20)),
        mail(last_error="421 busy"),
    )
    found = consult(healthy)["outbox"]
    assert "Mail is not being sent: 2 email(s) not sent, the oldest for 1200 s" in found
    assert "2 email(s) failed: 550 5.1.1 <(address)> is unknown" in found
    assert "1 email(s) refused so far: 421 busy" in found
    assert "testimonials mail retry" in found


def test_something_else_at_the_address(make_healthy, make_app, serve):
    port = free_port()
    app = make_healthy(app_url=f"http://127.0.0.1:{port}")
    assert "APP_URL" in consult(app)["addresses"]
    serve(make_app(secret_key="another secret of more than 32 letters"), port)
    found = consult(app)
    assert list(found) == ["addresses"]
    assert f"Something else answers at APP_URL (http://127.0.0.1:{port})" in found["addresses"]


@pytest.mark.parametrize(("trusted", "is_well"), [(0, False), (1, True)])
def test_a_proxy_that_is_not_trusted(make_healthy, serve, trusted, is_well):
    behind = free_port()

    def pass_on(handler: Handler) -> None:
        """Do what a reverse proxy does that appends to X-Forwarded-For."""
        headers = {"X-Forwarded-For": handler.client_address[0]}
        request = urllib.request.Request(
            f"http://127.0.0.1:{behind}{handler.path}", headers=headers
        )
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            handler.answer(200, answer.read())

    with receiving() as proxy:
        proxy.behaviour = pass_on
        app = make_healthy(base_url=proxy.url.removesuffix("/hook"), trusted_proxies=trusted)
        serve(app, behind)
        found = consult(app)
    assert (found == {}) is is_well
    if not is_well:
        assert "TRUSTED_PROXIES is 0" in found["addresses"]
        assert "Set TESTIMONIALS_TRUSTED_PROXIES to 1." in found["addresses"]


@pytest.mark.postgres
def test_background_work_that_stopped(healthy):
    change(healthy, sql=f"UPDATE job SET finished_at = {ago(minutes=5)}")
    # It was done once, for good.
    once = f"UPDATE job SET finished_at = {ago(days=1)} WHERE id = 'record.begin-each'"
    change(healthy, sql=once)
    assert consult(healthy) == {}
    change(
        healthy,
        sql=f"UPDATE job SET finished_at = {ago(hours=1)}, "
        "error = 'OSError: [Errno 28] No space left' WHERE id = 'sweep'",
    )
    found = consult(healthy)
    assert list(found) == ["background work"]
    assert "The job sweep last succeeded:" in found["background work"]
    assert "No space left" in found["background work"]
    change(healthy, sql=f"UPDATE job SET finished_at = {ago(hours=2)}")
    assert "No background work has been done since" in consult(healthy)["background work"]
    change(healthy, sql="DELETE FROM job")
    assert "on this database yet" in consult(healthy)["background work"]


def ago(**length: float) -> int:
    return clock.to_milliseconds(clock.now() - timedelta(**length))


def test_backups_that_fail_or_are_not_made_here(make_healthy, instance):
    place = instance / "mounted"
    place.mkdir()
    app = make_healthy(backup_to=str(place))
    assert consult(app) == {}
    assert "is on the same disk as the data" in app.test_cli_runner().invoke(args=["doctor"]).stdout
    for name, what in (
        ("backup", "backup"), ("backup-copy", "copy of a backup"),
        ("backup-verify", "restore on trial"),
    ):  # fmt: skip
        change(app, sql=f"UPDATE job SET finished_at = {ago(days=4)} WHERE id = '{name}'")
        assert f"There was no {what} since" in consult(app)["backups"]
        failed = f"UPDATE job SET failed_at = {ago(minutes=1)}, error = 'the disk is away'"
        change(app, sql=f"{failed} WHERE id = '{name}'")
        assert f"The last {what} failed at" in consult(app)["backups"]
        mended = f"UPDATE job SET finished_at = {ago(minutes=0)}, error = NULL"
        change(app, sql=f"{mended} WHERE id = '{name}'")
    absent = make_healthy(backup_command="no-such-program {file}")
    assert "BACKUP_COMMAND begins with no-such-program" in consult(absent)["backups"]
    # Those that others make are not called fine.
    others = make_healthy(backup_hours=0)
    assert consult(others) == {}
    said = others.test_cli_runner().invoke(args=["doctor"]).stdout
    assert re.search("--  backups\n.*switched off", said)


@pytest.mark.postgres
def test_each_host_is_told_of_its_own_backups(make_healthy, backend):
    """What another host does is as good, and what fails there can't be mended here."""
    if backend == "sqlite":
        pytest.skip("an SQLite file has one host")
    app = make_healthy()
    change(app, sql="UPDATE job SET leased_by = 'web1:/data:1:a' WHERE id LIKE 'backup%'")
    assert consult(app) == {}
    failed = f"UPDATE job SET failed_at = {ago(minutes=1)}, error = 'the disk is full'"
    change(app, sql=f"{failed} WHERE id = 'backup'")
    assert consult(app) == {}
    said = app.test_cli_runner().invoke(args=["doctor"]).stdout
    assert re.search(r"The last backup failed at \S+ on web1:/data: the disk is full\n", said)
    assert "-> Run `testimonials doctor` there." in said


def test_tables_that_are_not_there_yet_are_not_asked(tmp_path):
    sqlite3.connect(tmp_path / "testimonials.db").close()
    found = consult(app_on(tmp_path))
    assert "The database is empty" in found["schema"]
    assert "database" not in found
    for name in ("clock", "outbox", "background work", "backups"):
        assert found[name].startswith("Not checked"), name


def test_a_page_behind_one_of_the_service(healthy, make_caller):
    project = make_caller("kiln@example.com", on=healthy).create_project(slug="kiln")
    change(healthy, sql=f"UPDATE project SET slug = 'operator' WHERE id = '{project['_id']}'")
    assert "/operator" in consult(healthy)["slugs"]
