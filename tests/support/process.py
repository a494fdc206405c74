"""The real command as a process of its own."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass, field
from email.message import Message
from pathlib import Path
from typing import Any

from tests.support.servers import PATIENCE, is_listening, wait_for

COMMAND = (sys.executable, "-m", "testimonials")


@dataclass
class Answer:
    status: int
    headers: Message
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def data(self) -> Any:
        return self.json["data"]


@dataclass
class Service:
    """A running `testimonials serve`."""

    process: subprocess.Popen[str]
    environment: dict[str, str]
    url: str
    output: list[str] = field(default_factory=list)
    # Reads what it logs into `output`, until it and its workers have ended.
    reader: threading.Thread | None = None

    def call(
        self,
        method: str,
        path: str,
        body: object = None,
        headers: dict[str, str] | None = None,
        timeout: float = PATIENCE,
    ) -> Answer:
        """Send one request; a dict is sent as JSON, bytes as they are."""
        sent = dict(headers or {})
        content = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        if isinstance(body, dict | list):
            sent.setdefault("Content-Type", "application/json")
        request = urllib.request.Request(self.url + path, data=content, headers=sent, method=method)
        try:
            with urllib.request.urlopen(request, timeout=timeout) as answer:
                return Answer(answer.status, answer.headers, answer.read())
        except urllib.error.HTTPError as error:
            with error:
                return Answer(error.code, error.headers, error.read())

    def sign_up(self, email: str = "owner@example.com") -> dict[str, str]:
        answer = self.call("POST", "/v1/auth/agent-init", {"email": email})
        assert answer.status == 200, answer.body
        return {
            "x-service-account-id": answer.data["accountId"],
            "x-api-key": answer.data["apiKey"],
        }

    def make_project(self, headers: dict[str, str], **values: object) -> str:
        body = {"skipDemoTestimonials": True} | values
        answer = self.call("POST", "/v1/projects", body, headers)
        assert answer.status == 200, answer.body
        return str(answer.data["_id"])

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return run_command(arguments, self.environment)

    @property
    def workers(self) -> list[int]:
        """The process ids of its workers, oldest first."""
        pid = self.process.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text()
        return [int(child) for child in children.split()]

    @property
    def is_listening(self) -> bool:
        return is_listening(int(self.url.rpartition(":")[2]))

    def stop(self) -> int:
        """Send SIGTERM and wait; return the exit code. All that it logged is in `output` then."""
        self.process.send_signal(signal.SIGTERM)
        return self.wait()

    def wait(self) -> int:
        """Wait for its end by itself; return the exit code. All that it logged is in `output`."""
        code = self.process.wait(PATIENCE)
        assert self.reader is not None
        self.reader.join(PATIENCE)
        return code

    def kill(self) -> None:
        """End it without warning, and its workers, which would finish their work first."""
        if self.process.poll() is None:
            for pid in [self.process.pid, *self.workers]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        self.process.wait()
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()


def clean_environment(instance: Path, settings: dict[str, str]) -> dict[str, str]:
    # Compiling its modules anew is a quarter of the time that a command takes.
    left_out = ("TESTIMON", "PYTHONDONTWRITEBYTECODE")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(left_out)}
    named = {f"TESTIMONIALS_{name.upper()}": value for name, value in settings.items()}
    return kept | {"TESTIMONIALS_INSTANCE_PATH": str(instance)} | named


def run_command(
    arguments: Sequence[str], environment: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    return run_program([*COMMAND, *arguments], env=environment)


def run_program(command: Sequence[object], **options: Any) -> subprocess.CompletedProcess[str]:
    options = {"capture_output": True, "text": True, "timeout": PATIENCE, "check": False} | options
    return subprocess.run([*map(str, command)], **options)


def start_service(
    instance: Path,
    flags: Sequence[str],
    settings: dict[str, str],
    *,
    command: Sequence[str] = COMMAND,
    environment: dict[str, str] | None = None,
    passed: Sequence[int] = (),
) -> Service:
    """Start `serve` on a free port and wait until it listens; with one worker unless set.

    An `environment` of the caller's is taken as it is, without `settings`. The descriptors `passed`
    stay open in it.
    """
    if environment is None:
        environment = clean_environment(instance, {"workers": "1"} | settings)
    port = () if "port" in settings or "--port" in flags else ("--port", "0")
    process = subprocess.Popen(
        [*command, "serve", *port, *flags], env=environment, stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE, text=True, pass_fds=passed,
    )  # fmt: skip
    service = Service(process, environment, "")
    stderr = process.stderr
    assert stderr is not None

    def read() -> None:
        # `kill` closes the stream under the reader.
        with contextlib.suppress(ValueError):
            service.output.extend(iter(stderr.readline, ""))

    service.reader = threading.Thread(target=read, daemon=True)
    service.reader.start()

    def find_address() -> str | None:
        assert process.poll() is None, "".join(service.output)
        found = re.search(r'listening on ((?:http|unix):[^\s"]+)', "".join(service.output))
        return found[1] if found else None

    service.url = wait_for(find_address, what="serve to listen")
    return service
