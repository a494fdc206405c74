"""`testimonials serve` with several workers: what they share, and how they start and end."""

import contextlib
import json
import os
import pty
import re
import resource
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import urllib.error
from collections.abc import Callable, Iterator
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.conftest import StartService
from tests.operations.test_metrics import TOKEN
from tests.process import COMMAND, Answer, Service, clean_environment
from tests.servers import PATIENCE, wait_for

pytestmark = pytest.mark.process

NEEDED = {"authorName": "Maya Kowalski", "text": "It simply works."}


@pytest.fixture
def service(start: StartService) -> Service:
    """A service of two workers, both of which answer."""
    service = start(workers="2")
    wait_for(lambda: len(answering(service)) == 2, what="both workers")
    return service


def answering(service: Service) -> list[int]:
    """Name the workers that have come so far as to wait for requests."""
    return [pid for pid in service.workers if _has_threads(pid)]


def _has_threads(pid: int) -> bool:
    with contextlib.suppress(FileNotFoundError):
        # Its own, four for requests, two for probes, two for background work, one that watches the
        # parent.
        return len(list(Path(f"/proc/{pid}/task").iterdir())) == 10
    return False


def is_alive(pid: int) -> bool:
    """Tell whether a process is there and not only waited for."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    return False


def make_project(service: Service, headers: dict[str, str]) -> str:
    answer = service.call("POST", "/v1/projects", {"skipDemoTestimonials": True}, headers)
    return str(answer.data["_id"])


class Load:
    """Writers that post testimonials until told to stop; each on new connections."""

    def __init__(self, service: Service, count: int = 3) -> None:
        self.service, self.headers = service, service.sign_up()
        self.path = f"/v1/projects/{make_project(service, self.headers)}/testimonials"
        self.acknowledged: list[str] = []
        self.broken: list[BaseException] = []
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._run, daemon=True) for _ in range(count)]
        for thread in self._threads:
            thread.start()

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                answer = self.service.call("POST", self.path, NEEDED, self.headers)
            except (urllib.error.URLError, HTTPException, OSError) as error:
                self.broken.append(error)
            else:
                assert answer.status == 200, answer.body
                self.acknowledged.append(answer.data["_id"])

    def go_on(self, more: int = 30) -> None:
        """Wait until so many more are acknowledged."""
        aim = len(self.acknowledged) + more
        wait_for(lambda: len(self.acknowledged) >= aim, what=f"{more} more answers")

    def end(self) -> None:
        """Stop the writers."""
        self._stop.set()
        for thread in self._threads:
            thread.join(PATIENCE)

    def lost(self) -> set[str]:
        """Name what was acknowledged and is not in the database."""
        folder = Path(self.service.environment["TESTIMONIALS_INSTANCE_PATH"])
        with contextlib.closing(sqlite3.connect(folder / "testimonials.db")) as database:
            rows = {row[0] for row in database.execute("SELECT id FROM testimonial")}
        return set(self.acknowledged) - rows


def test_each_worker_has_a_core_of_its_own(service: Service) -> None:
    pinned = [os.sched_getaffinity(pid) for pid in service.workers]
    usable = os.sched_getaffinity(service.process.pid)
    assert [len(cores) for cores in pinned] == [1, 1]
    assert len(set.union(*pinned)) == min(2, len(usable))
    assert usable == os.sched_getaffinity(0)


def test_the_parent_has_no_thread_and_no_connection_to_the_database(service: Service) -> None:
    pid = service.process.pid
    assert len(list(Path(f"/proc/{pid}/task").iterdir())) == 1
    opened = [os.readlink(link) for link in Path(f"/proc/{pid}/fd").iterdir()]
    assert [name for name in opened if "testimonials.db" in name] == []


def test_a_worker_that_is_killed_under_load_comes_back(service: Service) -> None:
    load = Load(service)
    load.go_on()
    before = service.workers
    os.kill(before[0], signal.SIGKILL)
    load.go_on()
    wait_for(lambda: len(answering(service)) == 2, what="the new worker")
    assert before[1] in service.workers
    assert before[0] not in service.workers
    words = "was ended by signal 9; another starts"
    wait_for(lambda: words in "".join(service.output), what=words)
    load.end()
    # What it was answering is cut off: of each writer one request at the most.
    assert len(load.broken) <= 3
    assert load.lost() == set()


def test_workers_that_were_started_again_are_counted(start: StartService) -> None:
    service = start(workers="1", metrics_token=TOKEN)

    def count() -> Any:
        page = service.call("GET", "/metrics", headers={"Authorization": f"Bearer {TOKEN}"}).body
        return re.findall(r"(?m)^testimonials_worker_restarts_total (\S+)$", page.decode())[0]

    assert count() == "0.0"
    (victim,) = service.workers
    os.kill(victim, signal.SIGKILL)
    wait_for(lambda: not is_alive(victim), what="its end")
    # Whoever connects meanwhile is answered by the next one.
    assert count() == "1.0"


def test_the_others_go_on_where_the_system_has_no_room_for_a_new_worker(service: Service) -> None:
    parent, before = service.process.pid, service.workers
    files = resource.prlimit(parent, resource.RLIMIT_NOFILE)
    resource.prlimit(parent, resource.RLIMIT_NOFILE, (3, files[1]))
    os.kill(before[0], signal.SIGKILL)
    wait_for(
        lambda: any("no worker can be started: Too many" in line for line in service.output),
        what="the line in the log",
    )
    assert service.call("GET", "/healthz").status == 200
    resource.prlimit(parent, resource.RLIMIT_NOFILE, files)
    wait_for(lambda: len(answering(service)) == 2, what="the new worker")
    assert service.stop() == 0


def test_workers_that_are_killed_again_and_again_come_back_at_once(service: Service) -> None:
    for _ in range(4):
        victim = answering(service)[0]
        os.kill(victim, signal.SIGKILL)
        wait_for(lambda pid=victim: pid not in service.workers, what="its end")
        wait_for(lambda: len(answering(service)) == 2, what="the new worker")
    assert service.stop() == 0
    assert sum("another starts" in line for line in service.output) == 4
    assert not any("another starts in" in line for line in service.output)


def test_a_worker_that_keeps_dying_in_its_start_is_started_less_often(
    service: Service,
) -> None:
    first, second = service.workers
    for _ in range(4):
        wait_for(lambda: len(service.workers) == 2, what="another worker")
        (victim,) = set(service.workers) - {first}
        os.kill(victim, signal.SIGKILL)
        wait_for(lambda pid=victim: pid not in service.workers, what="its end")
    # Looked at from the first moment on: the next one comes by itself, while this test may be slow.
    wait_for(lambda: service.workers == [first], what="the first worker alone")
    wait_for(lambda: "another starts in 2 s" in "".join(service.output), what="the delay")
    starts = [line.rpartition("; another starts")[2].strip() for line in service.output]
    assert [words for words in starts if words in ("", "in 1 s", "in 2 s")][-2:] == [
        "in 1 s",
        "in 2 s",
    ]
    assert service.call("GET", "/healthz").status == 200
    assert service.workers[0] == first
    assert second not in service.workers


def sockets_of(pid: int) -> int:
    """Count the sockets that a process has open."""
    links = []
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            links.append(os.readlink(link))
    return sum(link.startswith("socket:") for link in links)


class Answers:
    """Asks each worker by a connection of its own, which stays with the worker that accepted it."""

    def __init__(self, service: Service) -> None:
        self._connections: list[HTTPConnection] = []
        idle = {pid: sockets_of(pid) for pid in service.workers}

        def is_each_asked() -> bool:
            connection = HTTPConnection(urlsplit(service.url).netloc, timeout=PATIENCE)
            connection.connect()
            self._connections.append(connection)
            return all(sockets_of(pid) > count for pid, count in idle.items())

        wait_for(is_each_asked, what="a connection to each worker")

    def get(self, path: str, headers: dict[str, str] | None = None) -> list[Answer]:
        """Return the answer that came on each connection."""
        found = []
        for connection in self._connections:
            connection.request("GET", path, headers=headers or {})
            answer = connection.getresponse()
            found.append(Answer(answer.status, answer.headers, answer.read()))
        return found

    def close(self) -> None:
        """Close the connections."""
        for connection in self._connections:
            connection.close()


def test_a_write_by_one_worker_shows_in_the_next_answer_of_each(service: Service) -> None:
    headers = service.sign_up()
    project = make_project(service, headers)
    answers = Answers(service)
    for total in range(4):
        seen = [answer.json["total"] for answer in answers.get(f"/widget/{project}/feed")]
        assert set(seen) == {total}
        path = f"/v1/projects/{project}/testimonials"
        assert service.call("POST", path, NEEDED, headers).status == 200
    answers.close()


def test_a_rate_limit_counts_over_all_workers(service: Service) -> None:
    body = {"email": "owner@example.com"}
    statuses = [service.call("POST", "/v1/auth/agent-init", body).status for _ in range(4)]
    assert statuses == [200, 200, 200, 429]


def test_sigterm_under_load_loses_no_write_and_cuts_off_no_request(service: Service) -> None:
    load = Load(service, 6)
    load.go_on()
    workers = service.workers
    assert service.stop() == 0
    load.end()
    # Afterwards nobody listens. One connection may have come after the last look and before the
    # close: the system resets it, and no worker has ever seen it.
    reasons = [getattr(error, "reason", error) for error in load.broken]
    others = [error for error in reasons if not isinstance(error, ConnectionRefusedError)]
    assert len(others) <= 1, others
    assert all(isinstance(error, ConnectionResetError) for error in others), others
    assert load.lost() == set()
    assert [pid for pid in workers if is_alive(pid)] == []
    assert any("stopped" in line for line in service.output)
    assert "Traceback" not in "".join(service.output), service.output


def test_a_worker_that_is_told_to_end_again_and_again_finishes_its_request(
    service: Service,
) -> None:
    """As where a whole process group gets the signal, and the parent passes it on besides."""
    host, port = service.url.removeprefix("http://").split(":")
    workers = service.workers
    before = sum(map(sockets_of, workers))
    body = b'{"email": "x"}'
    head = f"POST /v1/auth/agent-init HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
    with contextlib.ExitStack() as stack:
        begun = [
            stack.enter_context(socket.create_connection((host, int(port)), PATIENCE))
            for _ in range(8)
        ]
        for connection in begun:
            connection.sendall(head.encode() + body[:5])
        wait_for(lambda: sum(map(sockets_of, workers)) >= before + len(begun), what="the requests")
        # So often that they are told again while they heed the first time.
        for _ in range(500):
            for pid in workers:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGTERM)
        for connection in begun:
            connection.sendall(body[5:])
            assert connection.recv(100).startswith(b"HTTP/1.1 4"), "cut off"
    assert service.stop() == 0


def test_connections_that_are_kept_open_are_told_to_close(service: Service) -> None:
    """A proxy keeps its connections: none of its requests may meet a closed one."""
    place = urlsplit(service.url).netloc
    connections = [HTTPConnection(place, timeout=PATIENCE) for _ in range(8)]
    for connection in connections:
        connection.request("GET", "/healthz")
        assert connection.getresponse().read()
    service.process.send_signal(signal.SIGTERM)
    wait_for(lambda: not service.is_listening, what="the end of both workers' listening")
    # All at once: whoever comes after the second of grace may find the door closed.
    for connection in connections:
        connection.request("GET", "/healthz")
    for connection in connections:
        answer = connection.getresponse()
        assert answer.status == 200
        assert answer.headers["Connection"] == "close"
        answer.read()
        connection.close()
    assert service.wait() == 0


def test_a_request_that_never_ends_does_not_keep_it_up(service: Service) -> None:
    host, _, port = service.url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(b"POST /v1/auth/agent-init HTTP/1.1\r\nContent-Length: 9\r\n\r\n1")
        wait_for(lambda: service.call("GET", "/healthz").status == 200)
        service.process.send_signal(signal.SIGTERM)
        assert service.process.wait(20) == 0


def test_ctrl_c_ends_the_whole_group_quietly(tmp_path: Path, start: StartService) -> None:
    service = start(workers="2")
    wait_for(lambda: len(answering(service)) == 2, what="both workers")
    # As a terminal does it: to the parent and to the workers.
    for pid in (*service.workers, service.process.pid):
        os.kill(pid, signal.SIGINT)
    assert service.wait() == 0
    assert any("stopped" in line for line in service.output)
    assert "Traceback" not in "".join(service.output), service.output


def test_sighup_takes_over_the_settings_file_and_refuses_nobody(
    start: StartService, tmp_path: Path
) -> None:
    service = start(workers="2")
    wait_for(lambda: len(answering(service)) == 2, what="both workers")
    load = Load(service)
    load.go_on()
    before = service.workers
    (tmp_path / "service" / "testimonials.toml").write_text("claim_days = 2\n")
    service.process.send_signal(signal.SIGHUP)
    wait_for(lambda: any("reloaded: 2 workers" in line for line in service.output))
    wait_for(lambda: not set(service.workers) & set(before), what="the old workers' end")
    load.go_on()
    load.end()
    assert load.broken == []
    assert load.lost() == set()
    body = {"email": "second@example.com"}
    assert service.call("POST", "/v1/auth/agent-init", body).data["expiresInDays"] == 2
    assert service.stop() == 0


def test_a_reload_with_a_wrong_setting_keeps_what_runs(service: Service, tmp_path: Path) -> None:
    before = service.workers
    settings = tmp_path / "service" / "testimonials.toml"
    for content, words in (
        ("claim_days = 0\n", "not reloaded: claim_days in"),
        ('database_url = "sqlite:////dev/null/x.db"\n', "not reloaded: a new worker ended with"),
    ):
        settings.write_text(content)
        service.process.send_signal(signal.SIGHUP)
        wait_for(lambda words=words: words in "".join(service.output), what=words)
        wait_for(lambda: service.workers == before, what="the old workers alone")
        assert service.call("GET", "/healthz").status == 200


def test_why_a_reload_failed_is_a_line_of_the_log_too(start: StartService, tmp_path: Path) -> None:
    service = start(log_format="json")
    (tmp_path / "service" / "testimonials.toml").write_text(
        'database_url = "sqlite:////dev/null/x.db"\n'
    )
    service.process.send_signal(signal.SIGHUP)
    wait_for(lambda: "not reloaded" in "".join(service.output), what="the refusal")
    lines = [json.loads(line) for line in service.output]
    (reason,) = [line for line in lines if "can't start" in line["message"]]
    assert "can't be opened" in reason["message"]


KILLED_BY_MIGRATION = """
from testimonials.cli import main
from tests.killing import watch_statements
watch_statements("CREATE TABLE")
main(["serve", "--port", "0"])
"""


def test_a_first_worker_that_is_killed_is_named_in_the_log(tmp_path: Path) -> None:
    """Such as by a lack of memory during the upgrade, of which it can't say anything itself."""
    done = subprocess.run(
        [sys.executable, "-c", KILLED_BY_MIGRATION],
        env=clean_environment(tmp_path / "service", {"workers": "1"})
        | {"PYTHONPATH": os.pathsep.join(["", *sys.path])},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 1
    assert "the first worker was ended by signal 9 before it answered" in done.stderr


def test_the_workers_end_with_a_parent_that_is_killed(service: Service) -> None:
    workers = service.workers
    service.process.kill()
    service.process.wait()
    wait_for(lambda: not any(map(is_alive, workers)), what="the workers' end")


@contextlib.contextmanager
def in_terminal(instance: Path, settings: dict[str, str]) -> Iterator[tuple[int, int]]:
    """Start `serve` on a terminal of its own; return its process id and our end of the terminal."""
    environment = clean_environment(instance, settings)
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(COMMAND[0], [*COMMAND, "serve", "--port", "0"], environment)  # noqa: S606
    try:
        yield pid, terminal
    finally:
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def read_until(terminal: int, words: str) -> str:
    """Read what the terminal shows until it shows `words`."""
    shown = ""

    def has_come() -> bool:
        nonlocal shown
        shown += os.read(terminal, 4096).decode()
        return words in shown and shown.endswith("\n")

    wait_for(has_come, what=words)
    return shown


def test_a_closed_terminal_ends_it_instead_of_reloading(tmp_path: Path) -> None:
    instance = tmp_path / "service"
    instance.mkdir()
    (instance / "testimonials.toml").write_text("workers = 2\n")
    with in_terminal(instance, {}) as (pid, terminal):
        assert "(2 workers)" in read_until(terminal, "listening on http")
        (instance / "testimonials.toml").write_text("workers = 1\n")
        os.kill(pid, signal.SIGHUP)
        read_until(terminal, "reloaded: 1 worker")
        os.close(terminal)
        ended: Callable[[], Any] = lambda: os.waitpid(pid, os.WNOHANG)[0] == pid  # noqa: E731
        wait_for(ended, what="its end")
