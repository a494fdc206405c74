"""Two hosts on one PostgreSQL: each answers from memory, and learns what the other writes."""

import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass

import psycopg
import pytest

from tests.operations.server.hosts.line import Line, lay_line
from tests.support.process import Answer, Service, start_service
from tests.support.servers import PATIENCE, PostgresServer, new_database, wait_for

pytestmark = [pytest.mark.process, pytest.mark.postgres]

LISTEN = b"LISTEN testimonials_versions"
LISTENING = "SELECT pid FROM pg_stat_activity WHERE query LIKE 'SELECT pg_notify%'"
SECRET = "one secret for all hosts, which is long enough"


@dataclass
class Hosts:
    server: PostgresServer
    database: psycopg.Connection[tuple[int]]
    one: Service
    other: Service
    keys: dict[str, str]
    project: str

    line: Line

    def write(self, text: str) -> None:
        body: dict[str, object] = {"authorName": "Maya", "text": text, "rating": 5}
        path = f"/v1/projects/{self.project}/testimonials"
        assert self.one.call("POST", path, body, self.keys).status == 200

    def shows(self, text: str) -> bool:
        """Return whether the other host's widget and wall show it, neither marked as stale."""
        paths = (f"/widget/{self.project}/feed", "/kiln/wall")
        answers = [self.other.call("GET", path) for path in paths]
        assert all(each.headers["Warning"] is None for each in answers)
        return all(text in each.body.decode() for each in answers)

    def tell(self, text: str, what: str = "the other host", seconds: float = PATIENCE) -> None:
        """Write on the one host, and wait until the other shows it."""
        self.write(text)
        wait_for(lambda: self.shows(text), seconds, what=what)

    def is_from_memory(self) -> bool:
        """Return whether the other host's application is not reached."""
        answer = self.other.call("GET", f"/widget/{self.project}/feed")
        return "X-Request-Id" not in answer.headers

    def find_stale(self, path: str) -> Answer | None:
        answer = self.other.call("GET", path)
        return answer if answer.headers["Warning"] == '110 - "Response is Stale"' else None

    def find_listeners(self) -> list[int]:
        return [pid for (pid,) in self.database.execute(LISTENING)]


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    """Both hosts, for every test that leaves them listening."""
    server, folder = PostgresServer(), tmp_path_factory.mktemp("hosts")
    with new_database(server.url) as url, lay_line(server.port) as line:
        # The other host has a line of its own to the database.
        theirs = url.replace(f":{server.port}/", f":{line.port}/")
        one, other = (
            start_service(folder / name, (), {"database_url": database_url, "secret_key": SECRET})
            for name, database_url in (("one", url), ("other", theirs))
        )
        keys = one.sign_up()
        project = one.make_project(keys, slug="kiln")
        with psycopg.connect(url, autocommit=True) as database:
            yield Hosts(server, database, one, other, keys, project, line)
            # Before the database goes.
            one.kill()
            other.kill()
    server.stop()


def test_what_one_host_writes_the_other_shows(hosts):
    for number in range(5):
        hosts.tell(f"No. {number}", seconds=2)
        # What is known is not asked for: an answer from memory has no id of its request.
        wait_for(hosts.is_from_memory, what="an answer from memory")


def test_a_host_that_is_not_told_any_more_asks(hosts):
    hosts.tell("Before", seconds=2)
    wait_for(lambda: len(hosts.find_listeners()) == 2, what="both hosts to listen")
    for pid in hosts.find_listeners():
        hosts.database.execute("SELECT pg_terminate_backend(%s)", [pid])
    hosts.tell("Cut", "the host whose connection was cut", seconds=2)
    wait_for(lambda: len(hosts.find_listeners()) == 2, what="both hosts to listen again")
    frozen = hosts.find_listeners()
    for pid in frozen:
        os.kill(pid, signal.SIGSTOP)
    try:
        hosts.tell("Frozen", "the host whose connection was frozen", seconds=2)
    finally:
        for pid in frozen:
            os.kill(pid, signal.SIGCONT)


def test_a_line_that_fell_silent_hides_no_change(hosts):
    hosts.tell("Before")
    wait_for(lambda: len(hosts.find_listeners()) == 2, what="both hosts to listen")
    wait_for(hosts.is_from_memory, what="an answer from memory")
    # Nothing is told any more, and nobody notices that by the connection.
    told = hosts.line.count(LISTEN)
    hosts.line.silence(LISTEN)
    hosts.tell("Silence", "the host that is not told")
    wait_for(lambda: hosts.line.count(LISTEN) > told, what="an attempt to be told again")
    # Until then each version is asked for.
    for number in range(3):
        hosts.write(f"Asked {number}")
        assert hosts.shows(f"Asked {number}")
    hosts.line.go_on()
    wait_for(lambda: len(hosts.find_listeners()) == 2, what="both hosts to listen again")
    hosts.tell("Told", "the host that is told again")


def test_a_host_cut_off_from_the_database_shows_what_it_has_as_stale(hosts):
    hosts.tell("Kept")
    hosts.line.silence(b"")
    hosts.write("Missed")
    feed = f"/widget/{hosts.project}/feed"
    for path in (feed, "/kiln/wall"):
        marked = wait_for(lambda path=path: hosts.find_stale(path), what="the mark")
        assert marked.status == 200
        assert "Kept" in marked.body.decode()
        assert "Missed" not in marked.body.decode()
    hosts.line.go_on()
    wait_for(lambda: not hosts.find_stale(feed), what="recovery")
    assert hosts.shows("Missed")
