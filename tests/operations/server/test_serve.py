"""`testimonials serve` as the process that it is: start, limits, load, and its end."""

import signal
import socket
import stat
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from email.message import Message
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from click import ClickException
from flask import Flask

from testimonials.auth.models import Account
from testimonials.operations.database import require_known_secret
from tests.support.load import NEEDED
from tests.support.process import (
    COMMAND,
    Answer,
    Service,
    clean_environment,
    run_command,
    run_program,
    start_service,
)
from tests.support.rows import count_rows
from tests.support.servers import PATIENCE, free_port, wait_for

pytestmark = pytest.mark.process


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service of one worker on a new folder, for every test that leaves it as it was."""
    instance = tmp_path_factory.mktemp("serve") / "service"
    service = start_service(instance, ("--sample",), {"smtp_uri": "smtp://x"})
    yield service
    service.kill()


@pytest.fixture(scope="module")
def keys(service: Service) -> dict[str, str]:
    return service.sign_up()


def _send_raw(service: Service, content: bytes) -> Answer:
    """Send bytes that no client would, and read the answer to its end."""
    host, _, port = service.url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=PATIENCE) as connection:
        connection.sendall(content)
        connection.shutdown(socket.SHUT_WR)
        received = b"".join(iter(lambda: connection.recv(65536), b""))
    head, _, body = received.partition(b"\r\n\r\n")
    assert b"content-type: application/json" in head.lower()
    assert b"x-content-type-options: nosniff" in head.lower()
    return Answer(int(head.split()[1]), None, body)  # type: ignore[arg-type]


def test_starts_on_an_empty_folder_and_keeps_its_secret_to_itself(service):
    assert service.call("GET", "/healthz").json["status"] == "ok"
    folder = Path(service.environment["TESTIMONIALS_INSTANCE_PATH"])
    assert (_mode(folder), _mode(folder / "secret_key")) == (0o700, 0o600)
    assert len((folder / "secret_key").read_text().strip()) >= 32
    # The backup that a first start makes is verified in a folder that goes again.
    kept = {path.name for path in folder.iterdir() if not path.name.startswith(".unfinished-")}
    assert kept <= {
        "instance.lock", "secret_key", "testimonials.db", "testimonials.db-wal",
        "testimonials.db-shm", "backups", "templates",
    }  # fmt: skip
    log = "".join(service.output)
    assert "database upgraded from empty to" in log
    assert "TESTIMONIALS_SMTP_URI is not a setting" in log
    assert service.call("GET", "/fern-fable-salon").status == 200


def test_addresses_are_where_it_listens_unless_set(service, keys):
    path = f"/v1/projects/{service.make_project(keys)}/embed-snippet"
    assert service.call("GET", path, headers=keys).data["widgetUrl"].startswith(service.url)


def test_another_secret_on_the_same_database_is_refused(make_app, backend):
    for app in (make_app(), make_app()):
        with app.app_context():
            require_known_secret()
    other = make_app(secret_key="another" * 6)
    # As when somebody runs a command without what only the service's environment has.
    told = other.test_cli_runner().invoke(args=["accounts", "create", "mira@example.com"])
    assert "The secret key here differs from the service's" in told.output
    assert count_rows(other, Account) == 0
    with other.app_context():
        if backend == "postgresql":
            with pytest.raises(ClickException, match="run: testimonials db forget-secret"):
                require_known_secret()
            assert make_app().test_cli_runner().invoke(args=["db", "forget-secret"]).exit_code == 0
        require_known_secret()
        require_known_secret()


# The real command, which is sent signals with the lines of its log that match: that hits moments
# which nobody hits from outside. Twice, as an impatient person does.
SIGNALS_ITSELF = """
import logging, os, re, sys
from testimonials.cli.main import main

parent = os.getpid()

class Alarm(logging.Handler):
    def emit(self, record):
        if re.match(sys.argv[2], record.getMessage()):
            for _ in range(2):
                os.kill(parent, int(sys.argv[1]))

logging.getLogger("testimonials.operations.server.serve").addHandler(Alarm())
main(["serve", "--port", "0"])
"""


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("ending", "moments", "has_listened"),
    [
        (signal.SIGTERM, "database upgraded", False),
        (signal.SIGINT, "listening on", True),
        (signal.SIGTERM, "listening on|stopped", True),
    ],
    ids=["before", "between", "after"],
)
def test_a_signal_at_any_moment_ends_it_with_exit_code_0(tmp_path, ending, moments, has_listened):
    command = [sys.executable, "-c", SIGNALS_ITSELF, int(ending), moments]
    done = run_program(command, env=clean_environment(tmp_path / "service", {}))
    assert done.returncode == 0, done.stderr
    assert done.stderr.endswith("testimonials.operations.server.serve stopped\n")
    assert ("listening on" in done.stderr) == has_listened
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_a_body_over_64_kib_is_413_as_json(service):
    answer = service.call("POST", "/v1/auth/agent-init", {"email": "a" * 65_536})
    assert (answer.status, answer.json["code"]) == (413, "BODY_TOO_LARGE")
    head = "POST /v1/auth/agent-init HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    # More than the server takes itself: it is refused before a byte of it was sent.
    refused = _send_raw(service, f"{head}Content-Length: {17 * 1024 * 1024}\r\n\r\n".encode())
    assert (refused.status, refused.json["code"]) == (413, "BODY_TOO_LARGE")
    assert set(refused.json) == {"message", "code"}
    chunk = f"{head}Transfer-Encoding: chunked\r\n\r\n11000\r\n{'a' * 0x11000}\r\n0\r\n\r\n"
    assert _send_raw(service, chunk.encode()).status == 413


def test_a_broken_request_gets_a_json_error_and_the_server_goes_on(service):
    # As long as the server reads and not a byte longer: what it leaves unread resets a connection.
    long = b"GET /v1/me HTTP/1.1\r\nHost: x\r\nx: ".ljust(65_536, b"a")
    broken_requests = {
        "no http": b"hello\r\n\r\n", "no uri": b"GET\r\n\r\n",
        "header without colon": b"GET /v1/me HTTP/1.1\r\nHost: x\r\nnonsense\r\n\r\n",
        "two lengths": b"POST /v1/me HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        "bad length": b"POST /v1/me HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        "length of letters": b"POST /v1/me HTTP/1.1\r\nHost: x\r\nContent-Length: 1_0\r\n\r\n",
        "bad encoding": b"POST /v1/me HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: zip\r\n\r\n",
        "length and chunks": b"GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "bad chunk": b"POST /v1/me HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        "huge header": long, "no address": b"GET http://[x/ HTTP/1.1\r\nHost: x\r\n\r\n",
        "bytes in the path": b"GET /v1/\xff HTTP/1.1\r\nHost: x\r\n\r\n",
        "bare line feed": b"GET /v1/me HTTP/1.1\r\nHost: x\nA: b\r\n\r\n",
    }  # fmt: skip
    for name, content in broken_requests.items():
        answer = _send_raw(service, content)
        assert 400 <= answer.status <= 501, name
        assert set(answer.json) == {"message", "code"}, name
        assert "Traceback" not in answer.json["message"]
    assert service.call("GET", "/healthz").status == 200
    assert "Traceback" not in "".join(service.output), service.output


def test_a_connection_goes_on_after_every_answer(service, keys):
    project = service.make_project(keys)
    with closing(HTTPConnection(urlsplit(service.url).netloc, timeout=PATIENCE)) as connection:
        connection.connect()
        first_socket = connection.sock

        def ask(method: str, path: str, **headers: str) -> tuple[int, Message]:
            connection.request(method, path, headers=headers)
            answer = connection.getresponse()
            answer.read()
            assert len(answer.headers.get_all("Date", [])) == 1
            assert "Connection" not in answer.headers
            assert connection.sock is first_socket
            return answer.status, answer.headers

        for path in (f"/widget/{project}/feed", f"/widget/{project}/feed", "/widget/v1.js"):
            status, headers = ask("GET", path)
            length, tag = headers["Content-Length"], headers["ETag"]
            assert (status, int(length) > 0) == (200, True)
            status, headers = ask("GET", path, **{"If-None-Match": tag})
            assert (status, headers["ETag"], headers["Content-Length"]) == (304, tag, None)
        status, headers = ask("HEAD", "/widget/v1.js")
        assert (status, headers["Content-Length"], ask("GET", "/login")[0]) == (200, length, 200)
        assert (ask("DELETE", "/healthz")[0], ask("GET", "/nothing-here")[0]) == (405, 404)
        assert ask("GET", "/v1/me")[0] == 401


@pytest.mark.thorough
def test_connections_are_fewer_where_few_files_may_be_open(tmp_path):
    limit = 64
    shell = ["/bin/sh", "-c", f'ulimit -n {limit} && exec "$@"', "sh"]
    service = start_service(tmp_path / "service", [], {}, command=[*shell, *COMMAND])
    try:
        with ExitStack() as stack:
            address = ("127.0.0.1", int(service.url.rpartition(":")[2]))
            for _ in range(limit):
                stack.enter_context(socket.create_connection(address, timeout=PATIENCE))
            # On a busy machine it takes more than a second to look, which is not ready.
            wait_for(lambda: service.call("GET", "/readyz").status == 200, what="readiness")
        assert service.stop() == 0
        assert "Too many open files" not in "".join(service.output)
    finally:
        service.kill()


def _init(app: Flask, number: int, forwarded: str) -> int:
    headers = {"X-Forwarded-For": forwarded}
    body = {"email": f"owner{number}@example.com"}
    return app.test_client().post("/v1/auth/agent-init", json=body, headers=headers).status_code


def test_forwarded_addresses_are_not_believed_unless_proxies_are_trusted(app):
    statuses = [_init(app, number, f"192.0.2.{number}") for number in range(6)]
    assert statuses == [200] * 5 + [429]


def test_with_a_trusted_proxy_the_address_it_saw_counts(make_app):
    app = make_app(trusted_proxies=1, base_url="https://testimonials.example.com")
    # What the client itself put into the header stands before it and counts for nothing.
    statuses = [_init(app, number, f"198.51.100.{number}, 192.0.2.1") for number in range(6)]
    assert (statuses, _init(app, 7, "192.0.2.1, 192.0.2.2")) == ([200] * 5 + [429], 200)
    # A content delivery network, and a proxy that appends the address alone.
    two = make_app(trusted_proxies=2, base_url="https://testimonials.example.com")
    statuses = [_init(two, number, f"192.0.2.3, 203.0.113.{number}") for number in range(6)]
    assert statuses == [200] * 5 + [429]
    # The nearest says how the browser asked.
    for each in (app, two):
        secure = each.test_client().get("/healthz", headers={"X-Forwarded-Proto": "https"})
        assert "Strict-Transport-Security" in secure.headers


@pytest.mark.thorough
def test_a_port_in_use_is_said_in_one_sentence(tmp_path):
    port = str(free_port())
    with socket.create_server(("127.0.0.1", int(port))):
        environment = clean_environment(tmp_path / "second", {"port": port})
        done = run_command(["serve"], environment)
    assert done.returncode != 0
    assert f"Can't listen on 127.0.0.1 port {port}: Address already in use." in done.stderr
    assert "Traceback" not in done.stderr


def test_postgresql_serves_too(start, empty_postgres, tmp_path):
    service = start(database_url=empty_postgres, workers="2")
    headers = service.sign_up()
    path = f"/v1/projects/{service.make_project(headers)}/testimonials"
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: service.call("POST", path, NEEDED, headers), range(24)))
    assert {answer.status for answer in answers} == {200}
    items = service.call("GET", f"{path}?limit=100", headers=headers).data["items"]
    times = [item["createdAt"] for item in items]
    assert (times, len(times)) == (sorted(set(times), reverse=True), 24)
    assert not (tmp_path / "service" / "testimonials.db").exists()
