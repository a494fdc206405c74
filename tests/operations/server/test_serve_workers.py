"""`testimonials serve` with several workers: what they share, and how they start and end."""

import contextlib
import json
import os
import pty
import resource
import signal
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.operations.test_metrics import TOKEN
from tests.support.finding import find
from tests.support.load import NEEDED, Load
from tests.support.process import COMMAND, Answer, Service, clean_environment, start_service
from tests.support.servers import PATIENCE, wait_for

pytestmark = [pytest.mark.process, pytest.mark.thorough]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service of two workers, for every test that leaves it as it was."""
    instance = tmp_path_factory.mktemp("workers") / "service"
    service = start_service(instance, (), {"workers": "2", "metrics_token": TOKEN})
    yield service
    service.kill()


@pytest.fixture(scope="module")
def keys(running: Service) -> dict[str, str]:
    return running.sign_up()


@pytest.fixture
def service(running: Service) -> Service:
    """The service of all these tests, both of whose workers answer."""
    wait_for(lambda: len(answering(running)) == 2, what="both workers")
    return running


def answering(service: Service) -> list[int]:
    """Name the workers that have come so far as to wait for requests."""
    return [pid for pid in service.workers if _has_threads(pid)]


def _has_threads(pid: int) -> bool:
    with contextlib.suppress(FileNotFoundError):
        # Its own, four for requests, two for probes, two for background work.
        return len(list(Path(f"/proc/{pid}/task").iterdir())) >= 9
    return False


def is_alive(pid: int) -> bool:
    """Tell whether a process is there and not only waited for."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    return False


def test_each_worker_has_a_core_and_the_parent_no_connection(service):
    pinned = [os.sched_getaffinity(pid) for pid in service.workers]
    usable = os.sched_getaffinity(service.process.pid)
    assert [len(cores) for cores in pinned] == [1, 1]
    assert (len(set.union(*pinned)), usable) == (min(2, len(usable)), os.sched_getaffinity(0))
    # The parent has no thread and no connection to the database.
    pid = service.process.pid
    assert len(list(Path(f"/proc/{pid}/task").iterdir())) == 1
    opened = [os.readlink(link) for link in Path(f"/proc/{pid}/fd").iterdir()]
    assert [name for name in opened if "testimonials.db" in name] == []


def restarts(service: Service) -> float:
    page = service.call("GET", "/metrics", headers={"Authorization": f"Bearer {TOKEN}"}).body
    return float(find(r"(?m)^testimonials_worker_restarts_total (\S+)$", page.decode()))


def test_a_killed_worker_comes_back_and_is_counted(service, keys):
    load, count = Load(service, keys), restarts(service)
    load.go_on()
    before = service.workers
    os.kill(before[0], signal.SIGKILL)
    load.go_on()
    wait_for(lambda: len(answering(service)) == 2, what="the new worker")
    assert before[1] in service.workers
    assert before[0] not in service.workers
    words = f"(process {before[0]}) was ended by signal 9; another starts\n"
    wait_for(lambda: words in "".join(service.output), what=words)
    load.end()
    # What it was answering is cut off: of each writer one request at the most.
    assert len(load.broken) <= 3
    assert (load.lost(), restarts(service)) == (set(), count + 1)


def test_the_others_go_on_where_the_system_has_no_room_for_a_new_worker(service):
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


def test_a_worker_that_dies_in_its_start_is_started_again_after_a_while(service):
    first = answering(service)[0]
    said = len(service.output)
    for _ in range(2):
        wait_for(lambda: len(service.workers) == 2, what="another worker")
        (victim,) = set(service.workers) - {first}
        os.kill(victim, signal.SIGKILL)
        wait_for(lambda pid=victim: pid not in service.workers, what="its end")
    wait_for(lambda: "another starts in 5 s" in "".join(service.output[said:]), what="the delay")
    assert (service.call("GET", "/healthz").status, service.workers[0]) == (200, first)


def sockets_of(pid: int) -> int:
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
        found = []
        for connection in self._connections:
            connection.request("GET", path, headers=headers or {})
            answer = connection.getresponse()
            found.append(Answer(answer.status, answer.headers, answer.read()))
        return found

    def close(self) -> None:
        for connection in self._connections:
            connection.close()


def test_a_write_shows_in_the_next_answer_of_each(service, keys):
    project = service.make_project(keys)
    answers = Answers(service)
    for total in range(4):
        seen = [answer.json["total"] for answer in answers.get(f"/widget/{project}/feed")]
        assert set(seen) == {total}
        path = f"/v1/projects/{project}/testimonials"
        assert service.call("POST", path, NEEDED, keys).status == 200
    answers.close()


def test_concurrent_patches_of_other_fields_stay(service, keys):
    path = f"/v1/projects/{service.make_project(keys)}"

    def patch(change: dict[str, object]) -> None:
        assert service.call("PATCH", f"{path}/widget-config", change, keys).status == 200

    with ThreadPoolExecutor(4) as pool:
        for number in range(6):
            changes: list[dict[str, object]] = [
                {"initialCount": 3 + number}, {"theme": ("dark", "light")[number % 2]},
                {"showStars": bool(number % 3)}, {"palette": ("sky", "rose")[number % 2]},
            ]  # fmt: skip
            list(pool.map(patch, changes))
            config = service.call("GET", path, headers=keys).data["widgetConfig"]
            for change in changes:
                assert config | change == config


def test_ctrl_c_under_load_loses_no_write_and_cuts_off_no_request(start):
    service = start(workers="2")
    wait_for(lambda: len(answering(service)) == 2, what="both workers")
    load = Load(service, service.sign_up(), 6)
    load.go_on()
    workers = service.workers
    # As a terminal does it: to the workers and to the parent.
    for pid in (*workers, service.process.pid):
        os.kill(pid, signal.SIGINT)
    assert service.wait() == 0
    load.end()
    # Afterwards nobody listens. One connection may have come after the last look and before the
    # close: the system resets it, and no worker has ever seen it.
    reasons = [getattr(error, "reason", error) for error in load.broken]
    others = [error for error in reasons if not isinstance(error, ConnectionRefusedError)]
    assert len(others) <= 1, others
    assert all(isinstance(error, ConnectionResetError) for error in others), others
    # The database is one file.
    folder = Path(service.environment["TESTIMONIALS_INSTANCE_PATH"])
    (folder / "testimonials.db-wal").unlink(missing_ok=True)
    assert load.lost() == set()
    assert [pid for pid in workers if is_alive(pid)] == []
    assert any("stopped" in line for line in service.output)
    assert "Traceback" not in "".join(service.output), service.output


def read_answer(connection: socket.socket) -> str:
    received = ""
    while not received.endswith("}\n"):
        received += connection.recv(4096).decode()
    return received


def test_sigterm_lets_begun_requests_finish_and_ends_connections(start):
    """As of a proxy, which keeps its connections; one request never ends."""
    service = start(workers="2")
    wait_for(lambda: len(answering(service)) == 2, what="both workers")
    host, port = service.url.removeprefix("http://").split(":")
    workers = service.workers
    before = sum(map(sockets_of, workers))
    whole = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
    with contextlib.ExitStack() as stack:
        begun = [
            stack.enter_context(socket.create_connection((host, int(port)), PATIENCE))
            for _ in range(9)
        ]
        for connection in begun:
            connection.sendall(whole)
            assert "Connection: close" not in read_answer(connection)
            connection.sendall(whole[:9])
        assert sum(map(sockets_of, workers)) >= before + len(begun)
        service.process.send_signal(signal.SIGTERM)
        # A whole process group gets it besides, and more than once.
        for _ in range(500):
            for pid in workers:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGTERM)
        wait_for(lambda: not service.is_listening, what="the end of both workers' listening")
        for connection in begun[1:]:
            connection.sendall(whole[9:])
        for connection in begun[1:]:
            answer = read_answer(connection)
            assert answer.startswith("HTTP/1.1 200")
            assert "Connection: close" in answer
        assert service.wait() == 0


def test_sighup_takes_over_settings_and_refuses_nobody(start, tmp_path):
    service = start(workers="2", log_format="json")
    wait_for(lambda: len(answering(service)) == 2, what="both workers")
    load = Load(service, service.sign_up())
    load.go_on()
    before = service.workers
    settings = tmp_path / "service" / "testimonials.toml"
    settings.write_text("claim_days = 2\n")
    service.process.send_signal(signal.SIGHUP)
    wait_for(lambda: any("reloaded: 2 workers" in line for line in service.output))
    wait_for(lambda: not set(service.workers) & set(before), what="the old workers' end")
    load.go_on()
    load.end()
    assert (load.broken, load.lost()) == ([], set())
    body = {"email": "second@example.com"}
    assert service.call("POST", "/v1/auth/agent-init", body).data["expiresInDays"] == 2
    # Settings that are wrong, and workers that can't start with them, leave it as it is.
    before = service.workers
    for content, words in (
        ("claim_days = 0\n", "not reloaded: claim_days in"),
        ('database_url = "sqlite:////dev/null/x.db"\n', "not reloaded: a new worker ended with"),
    ):
        settings.write_text(content)
        service.process.send_signal(signal.SIGHUP)
        wait_for(lambda words=words: words in "".join(service.output), what=words)
        wait_for(lambda: service.workers == before, what="the old workers alone")
        assert service.call("GET", "/healthz").status == 200
    assert service.stop() == 0
    lines = [json.loads(line)["message"] for line in service.output]
    (reason,) = [line for line in lines if "can't start" in line]
    assert "can't be opened" in reason


def test_the_workers_end_with_a_parent_that_is_killed(start):
    service = start(workers="2")
    workers = service.workers
    service.process.kill()
    service.process.wait()
    wait_for(lambda: not any(map(is_alive, workers)), what="the workers' end")


def test_a_closed_terminal_ends_it_instead_of_reloading(tmp_path):
    environment = clean_environment(tmp_path / "service", {"workers": "2"})
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(COMMAND[0], [*COMMAND, "serve", "--port", "0"], environment)  # noqa: S606
    try:
        shown = ""
        while "(2 workers)" not in shown or not shown.endswith("\n"):
            shown += os.read(terminal, 4096).decode()
        os.kill(pid, signal.SIGHUP)
        while "reloaded: 2 workers" not in shown:
            shown += os.read(terminal, 4096).decode()
        os.close(terminal)
        wait_for(lambda: os.waitpid(pid, os.WNOHANG)[0] == pid, what="its end")
    finally:
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
