"""Two hosts behind nginx, on one PostgreSQL and one Redis."""

import json
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from http.client import HTTPConnection, HTTPException
from itertools import count, cycle
from pathlib import Path

import psycopg
import pytest

from tests.conftest import StartService
from tests.integrations.webhooks.receiver import receiving
from tests.operations.server.hosts.nginx import run_nginx
from tests.support.process import Service
from tests.support.servers import PATIENCE, POSTGRES, MailSink, free_port, new_database, wait_for

pytestmark = [pytest.mark.process, pytest.mark.thorough]

SECRET = "one secret for all hosts, which is long enough"
READERS, WRITERS, ENOUGH = 4, 2, 40


@dataclass
class Cluster:
    port: int
    hosts: list[Service]
    database: psycopg.Connection[tuple[str]]
    keys: dict[str, str] = field(default_factory=dict)
    project: str = ""

    def call(self, method: str, path: str, body: object = None) -> tuple[int, bytes]:
        headers = {"Content-Type": "application/json"} | self.keys
        # Closed too when its host was killed.
        with closing(HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)) as connection:
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            return answer.status, answer.read()

    def add(self, text: str) -> int:
        body = {"authorName": "Maya", "text": text}
        return self.call("POST", f"/v1/projects/{self.project}/testimonials", body)[0]

    def stored(self) -> Counter[str]:
        return Counter(text for (text,) in self.database.execute("SELECT text FROM testimonial"))


@pytest.fixture
def cluster(
    redis_url: str, start: StartService, tmp_path: Path, smtp: MailSink
) -> Iterator[Cluster]:
    port = free_port()
    settings = {
        "base_url": f"http://127.0.0.1:{port}", "trusted_proxies": "1", "secret_key": SECRET,
        "ratelimit_storage_url": redis_url, "smtp_url": smtp.url, "webhook_addresses": "any",
    }  # fmt: skip
    with new_database(os.environ[POSTGRES]) as url:
        hosts = [
            start(instance=tmp_path / name, database_url=url, **settings)
            for name in ("one", "other")
        ]
        with psycopg.connect(url, autocommit=True) as database, run_nginx(port, hosts):
            cluster = Cluster(port, hosts, database)
            status, content = cluster.call("POST", "/v1/auth/agent-init", {"email": "o@x.example"})
            assert status == 200, content
            data = json.loads(content)["data"]
            cluster.keys = {
                "x-service-account-id": data["accountId"], "x-api-key": data["apiKey"]
            }  # fmt: skip
            body = {"slug": "kiln", "skipDemoTestimonials": True}
            cluster.project = json.loads(cluster.call("POST", "/v1/projects", body)[1])["data"][
                "_id"
            ]
            yield cluster
            for host in hosts:
                host.kill()


@dataclass
class Load:
    """People who ask for pages and programs that add testimonials, until they are stopped."""

    cluster: Cluster
    is_over: threading.Event = field(default_factory=threading.Event)
    # What was asked for or sent, when, and the answer's status; 0 for none.
    reads: list[tuple[str, float, int]] = field(default_factory=list)
    writes: list[tuple[str, float, int]] = field(default_factory=list)

    def read(self) -> None:
        for path in cycle(("/kiln/wall", f"/widget/{self.cluster.project}", "/v1/projects")):
            if self.is_over.is_set():
                return
            self._note(self.reads, path, lambda path=path: self.cluster.call("GET", path)[0])

    def write(self, name: int) -> None:
        for number in count():
            if self.is_over.is_set():
                return
            text = f"{name}/{number}"
            self._note(self.writes, text, lambda text=text: self.cluster.add(text))

    @staticmethod
    def _note(notes: list[tuple[str, float, int]], what: str, ask: Callable[[], int]) -> None:
        begun = time.monotonic()
        try:
            status = ask()
        except (OSError, HTTPException):
            status = 0
        notes.append((what, begun, status))

    def written(self, since: float = 0) -> set[str]:
        """Return the texts that were acknowledged, of those sent since then."""
        return {text for text, begun, status in self.writes if status == 200 and begun >= since}


def test_a_host_killed_under_load_loses_only_what_it_was_answering(cluster):
    load = Load(cluster)
    threads = [threading.Thread(target=load.read) for _ in range(READERS)]
    threads += [threading.Thread(target=load.write, args=[name]) for name in range(WRITERS)]
    for thread in threads:
        thread.start()
    try:
        wait_for(lambda: len(load.written()) > ENOUGH, what="writes on both hosts")
        killed = cluster.hosts[1]
        killed.kill()
        wait_for(lambda: not killed.is_listening, what="the end of a host")
        gone = time.monotonic()
        wait_for(lambda: len(load.written(gone)) > ENOUGH, what="writes on the one host")
    finally:
        load.is_over.set()
        for thread in threads:
            thread.join()
    failed = [each for each in load.reads + load.writes if each[2] != 200]
    assert [each for each in failed if each[1] > gone] == []
    # One for each of those who were waiting for it, at the most.
    assert len(failed) <= len(threads)
    stored = cluster.stored()
    assert set(stored.values()) == {1}
    assert load.written() <= stored.keys() <= load.written() | {text for text, _, _ in failed}


def test_both_hosts_do_each_job_once(cluster, smtp):
    # Whoever sends one is at it while the other host looks for work.
    smtp.before_answer = partial(time.sleep, 0.3)
    with receiving() as receiver:
        # A webhook needs a claimed account; its link is in a mail.
        cluster.database.execute("UPDATE account SET claimed_at = created_at")
        token = cluster.hosts[0].run(
            "tokens", "create", "--account", cluster.keys["x-service-account-id"], "--name", "t",
            "--scopes", "read,configure", "--json",
        )  # fmt: skip
        headers = {"Authorization": f"Bearer {json.loads(token.stdout)['token']}"}
        path = f"/v1/projects/{cluster.project}/webhooks"
        body: dict[str, object] = {"url": receiver.url, "events": ["testimonial.approved"]}
        assert cluster.hosts[0].call("POST", path, body, headers).status == 200
        for number in range(10):
            assert cluster.add(f"No. {number}") == 200
        for number in range(4):
            host = cluster.hosts[number % 2]
            body = {"email": f"owner{number}@x.example"}
            forwarded = {"X-Forwarded-For": f"198.51.100.{number}"}
            assert host.call("POST", "/v1/auth/agent-init", body, forwarded).status == 200
        smtp.wait(5)
        wait_for(lambda: len(receiver.ids) >= 10, what="the webhooks")
        waiting = "SELECT id FROM webhook_delivery WHERE state = 'due'"
        wait_for(lambda: not cluster.database.execute(waiting).fetchall(), what="their end")
        assert len(set(receiver.ids)) == len(receiver.ids) == 10
    told = Counter(mail.recipients[0] for mail in smtp.received)
    assert told == Counter(["o@x.example", *(f"owner{number}@x.example" for number in range(4))])
