"""A database that is frozen, away or out of room: said as such, to visitors and in the log."""

import io
import re
import shutil
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from html import unescape

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.exc import OperationalError

from testimonials.core.db import postgres_watch
from testimonials.core.db.outages import find_outage
from tests.operations.disks import fill, small_disk
from tests.operations.instances import app_on
from tests.support.servers import PostgresServer, free_port, new_database, wait_for

WORDS = "It simply works.\n<b>Really</b>."


@pytest.fixture
def frozen_postgres() -> Iterator[tuple[PostgresServer, str]]:
    server = PostgresServer()
    with new_database(server.url) as url:
        yield server, url
        server.send(signal.SIGCONT)
    server.stop()


@pytest.mark.postgres
@pytest.mark.process
def test_a_frozen_postgresql_is_503_until_it_goes_on(start, frozen_postgres):
    server, url = frozen_postgres
    service = start(database_url=url)
    keys = service.sign_up()
    server.send(signal.SIGSTOP)
    with ThreadPoolExecutor(9) as pool:
        # Twice as many as there are threads.
        answers = [pool.submit(service.call, "GET", "/v1/me", headers=keys) for _ in range(8)]
        assert service.call("GET", "/healthz").status == 200
    for answer in [future.result() for future in answers]:
        assert (answer.status, answer.json["code"]) == (503, "DATABASE_AWAY")
        assert answer.headers["Retry-After"] == "5"
    # What its operator tries then doesn't hang either.
    for command in (("accounts", "list"), ("serve", "--port", "0")):
        assert "can't be opened: connection timeout" in service.run(*command).stderr
    looked = service.run("doctor").stdout
    assert "!!  database" in looked
    assert service.call("GET", "/readyz").json["checks"]["database"]["ok"] is False
    server.send(signal.SIGCONT)
    wait_for(lambda: service.call("GET", "/v1/me", headers=keys).status == 200, what="recovery")
    assert service.stop() == 0
    log = "".join(service.output)
    assert "Traceback" not in log
    assert log.count("a request failed (DATABASE_AWAY): ") == 1, log


def test_only_a_server_that_answers_nobody_is_given_up(empty_postgres, monkeypatch):
    monkeypatch.setattr(postgres_watch, "QUIET_SECONDS", 0.05)
    engine = create_engine(empty_postgres.replace("postgresql:", "postgresql+psycopg:"))
    postgres_watch.watch_database(engine)
    postgres_watch.limit_statements(engine)
    with engine.connect() as connection:
        assert connection.scalar(text("SELECT 7 FROM pg_sleep(0.5)")) == 7
        assert connection.scalar(text("SHOW lock_timeout")) == "5s"
        # Now nobody is there who could say that the server lives.
        monkeypatch.setattr(postgres_watch.Heartbeat, "is_answering", lambda _: False)
        with pytest.raises(OperationalError) as caught:
            connection.scalar(text("SELECT pg_sleep(60)"))
    outage = find_outage(caught.value)
    assert outage is not None
    assert outage.code == "DATABASE_AWAY"
    engine.dispose()


def fields_of(page: str) -> dict[str, str]:
    found = re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', page)
    return {name: unescape(value) for name, value in found}


def test_a_full_disk_is_503_and_the_words_come_back(tmp_path, sqlite_template):
    with small_disk(tmp_path / "disk", "2m") as disk:
        shutil.copy(sqlite_template, disk / "testimonials.db")
        client = app_on(disk, min_form_seconds=0).test_client()
        access = client.post("/v1/auth/agent-init", json={"email": "owner@example.com"}).json[
            "data"
        ]  # type: ignore[index]
        keys = {"x-service-account-id": access["accountId"], "x-api-key": access["apiKey"]}
        project = {"slug": "kiln", "skipDemoTestimonials": True}
        assert client.post("/v1/projects", json=project, headers=keys).status_code == 200
        page = client.get("/kiln").text
        filler = disk / "filler"
        fill(filler)
        refused = client.post("/v1/projects", json={}, headers=keys)
        assert (refused.status_code, refused.json["code"]) == (503, "STORAGE_FAILED")  # type: ignore[index]
        assert refused.headers["Retry-After"] == "60"
        photo = (io.BytesIO(bytes(300_000)), "me.png")
        form = {"text": WORDS, "name": "Noor", "consent": "yes", **fields_of(page)}
        failed = client.post("/kiln", data=form | {"photo": photo})
        assert (failed.status_code, failed.headers["Cache-Control"]) == (503, "no-store")
        assert "&lt;b&gt;Really&lt;/b&gt;." in failed.text
        filler.unlink()
        # The page's own form, sent by its button.
        kept = fields_of(failed.text)
        assert kept.items() >= {"text": WORDS, "name": "Noor", "consent": "yes"}.items()
        assert client.post("/kiln", data=kept).status_code == 303


def test_a_database_file_that_is_away_is_not_made_anew(tmp_path, sqlite_template):
    """As when somebody moves it, or its disk is mounted somewhere else for a while."""
    file, away = tmp_path / "testimonials.db", tmp_path / "away.db"
    shutil.copy(sqlite_template, away)
    client = app_on(tmp_path).test_client()
    body = {"email": "owner@example.com"}
    refused = client.post("/v1/auth/agent-init", json=body)
    assert (refused.status_code, refused.json["code"]) == (503, "DATABASE_AWAY")  # type: ignore[index]
    assert not file.exists()
    away.rename(file)
    assert client.post("/v1/auth/agent-init", json=body).status_code == 200


def test_a_database_that_is_away_gives_the_words_back_but_no_secret(tmp_path):
    url = f"postgresql://shop:hidden@127.0.0.1:{free_port()}/shop"
    client = app_on(tmp_path, database_url=url).test_client()
    own = {"Sec-Fetch-Site": "same-origin", "Accept-Language": "de"}
    answer = client.post("/yours/x/correct?lang=de", data={"text": WORDS}, headers=own)
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")
    assert "Was Sie geschrieben haben" in answer.text
    assert 'action="/yours/x/correct?lang=de"' in answer.text
    assert fields_of(answer.text)["text"] == WORDS
    assert "hidden@" not in answer.text
    password = {"email": "a@example.com", "password": "three blue wardrobes"}
    for path, form, headers in (
        ("/login", password, own),
        ("/kiln", {"text": WORDS}, {"Sec-Fetch-Site": "cross-site"}),
    ):
        answer = client.post(path, data=form, headers=headers)
        assert answer.status_code >= 400
        assert "<form" not in answer.text
        assert "wardrobes" not in answer.text
