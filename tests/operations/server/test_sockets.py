"""Sockets that systemd holds, unix sockets and IPv6: with nginx, curl and systemd's own program."""

import json
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.operations.server.hosts.nginx import run_site
from tests.support.load import Load
from tests.support.process import COMMAND, Service, clean_environment, run_program, start_service
from tests.support.servers import PATIENCE, free_port, wait_for

pytestmark = [pytest.mark.process, pytest.mark.thorough]

# Does what systemd does: the descriptor becomes number 3, and the process learns that it is for it.
PASS = """
exec 3<&"$1" && shift
export LISTEN_PID=$$ LISTEN_FDS=1 LISTEN_FDNAMES=testimonials.socket
exec "$@"
"""


@pytest.fixture
def held() -> Iterator[socket.socket]:
    """A socket that listens and stays open, whoever answers."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(1024)
        yield listener


def start_on(
    listener: socket.socket, instance: Path, *, command: Sequence[str] = COMMAND
) -> Service:
    """Start `serve` on a socket that it gets, told of another port."""
    number = listener.fileno()
    wrapped = ["bash", "-c", PASS, "bash", str(number), *command]
    settings = {"workers": "2", "port": "1"}
    return start_service(instance, (), settings, command=wrapped, passed=(number,))


def end(service: Service) -> None:
    assert service.stop() == 0
    service.kill()


def test_a_restart_on_a_held_socket_refuses_nobody(held, tmp_path):
    instance = tmp_path / "service"
    old = start_on(held, instance)
    assert old.url == f"http://127.0.0.1:{held.getsockname()[1]}"
    load = Load(old, old.sign_up(), count=6)
    try:
        for _ in range(3):
            load.go_on()
            end(old)
            # Nobody answers now, and nobody is refused.
            old = start_on(held, instance)
        load.go_on()
    finally:
        load.end()
        old.kill()
    assert (load.broken, load.lost()) == ([], set())


def test_systemd_hands_it_a_unix_socket(tmp_path):
    path = tmp_path / "web.sock"
    settings = {"base_url": "https://a.example.com", "workers": "1"}
    environment = clean_environment(tmp_path / "service", settings)
    program = shutil.which("systemd-socket-activate")
    assert program is not None, "systemd is not installed; scripts/test installs it."
    names = [name for name in environment if name.startswith(("TESTIMONIALS_", "PYTHON"))]
    passed = [f"--setenv={name}={environment[name]}" for name in names]
    process = subprocess.Popen([program, f"--listen={path}", *passed, *COMMAND, "serve"])
    try:
        wait_for(path.is_socket, what="the socket")
        # The first who connects has it started, and waits.
        assert json.loads(_curl("--unix-socket", str(path), "http://a/healthz"))["status"] == "ok"
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
    # It isn't the service's to remove.
    assert path.is_socket()


def test_two_sockets_are_refused(held, tmp_path):
    environment = clean_environment(tmp_path / "service", {})
    script = PASS.replace("LISTEN_FDS=1", "LISTEN_FDS=2")
    number = held.fileno()
    command = ["bash", "-c", script, "bash", str(number), *COMMAND, "serve"]
    done = run_program(command, env=environment, pass_fds=(number,))
    assert done.returncode == 1
    assert "give the socket unit one ListenStream=" in done.stderr


@pytest.mark.parametrize("kind", ["unix", "ipv6", "both"])
def test_nginx_reaches_it(start, kind):
    """By each kind of address, with a visitor who comes by IPv6."""
    port = free_port()
    # nginx is another user, who can't look into the folders of a test.
    path = Path(f"/tmp/testimonials-{port}.sock")
    host = {"unix": f"unix:{path}", "ipv6": "::1", "both": "::"}[kind]
    if kind == "unix":
        with socket.socket(socket.AF_UNIX) as left:
            # As a service leaves it that was killed.
            left.bind(str(path))
    settings = {"base_url": f"http://[::1]:{port}", "trusted_proxies": "1"}
    service = start("--host", host, **settings)
    target = host if kind == "unix" else f"127.0.0.1:{service.url.rpartition(':')[2]}"
    if kind == "ipv6":
        target = service.url.removeprefix("http://")
    site = f"""server {{
        listen [::1]:{port};
        location / {{
            proxy_pass http://{f"{target}:/" if kind == "unix" else target};
            proxy_set_header Host $http_host;
            proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
        }}
    }}"""
    with run_site(port, site):
        url = f"http://[::1]:{port}"
        body = '{"email": "owner@example.com"}'
        form = ("-HContent-Type: application/json", f"-d{body}")
        made = json.loads(_curl(*form, f"{url}/v1/auth/agent-init"))["data"]
        keys = [f"-Hx-service-account-id: {made['accountId']}"]
        keys.append(f"-Hx-api-key: {made['apiKey']}")
        project = json.loads(_curl(*keys, "--json", "{}", f"{url}/v1/projects"))["data"]["_id"]
        found = _curl(*keys, f"{url}/v1/projects/{project}/embed-snippet")
        assert json.loads(found)["data"]["widgetUrl"].startswith(f"{url}/widget/v1.js?")
        sent = ("-demail=owner@example.com&password=wrong", f"-HOrigin: {url}")
        refused = _curl(*sent, f"{url}/login", fails=False)
        assert "password" in refused
        assert service.run("activity", "list", "--account", "owner@example.com").returncode == 0
    assert service.stop() == 0
    assert not path.exists()
    assert "Traceback" not in "".join(service.output)


def _curl(*arguments: str, fails: bool = True) -> str:
    flags = ["--globoff", "--silent", "--show-error", *(["--fail"] if fails else [])]
    done = run_program(["curl", *flags, *arguments])
    assert done.returncode == 0, done.stderr
    return done.stdout
