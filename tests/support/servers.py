"""Real servers for the tests: PostgreSQL, Redis and SMTP, started on free ports of the loopback."""

import asyncio
import contextlib
import glob
import os
import secrets
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import threading
import time
import uuid
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from pathlib import Path
from typing import Any

import psycopg
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import Envelope, Session
from flask import Flask
from werkzeug.serving import make_server

# Below those that Linux itself gives to whoever asks for any (from 32768 on, unless told).
PORTS = range(10_000, 32_000)


def free_port() -> int:
    """Return a port of the loopback address that nothing listens on.

    The system gives it to nobody by itself, or one of the many servers of a run might get it
    between this and the moment at which it is used.
    """
    while True:
        port = secrets.choice(PORTS)
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            return port


def is_listening(port: int) -> bool:
    """Tell whether anybody listens on a port; asking so is no connection."""
    tables = (Path(f"/proc/net/{name}").read_text() for name in ("tcp", "tcp6"))
    lines = [line.split() for table in tables for line in table.splitlines()]
    return any(each[1].endswith(f":{port:04X}") and each[3] == "0A" for each in lines)


@contextlib.contextmanager
def serving(app: Flask, port: int) -> Iterator[None]:
    """Serve an application in this process, on a port."""
    server = make_server("127.0.0.1", port, app, threaded=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


# Where the tests find the PostgreSQL that was started for them.
POSTGRES = "TESTS_POSTGRES_URL"
# Much more than the folders of a run take together.
MEMORY_NEEDED = 1024**3
# How long a test waits for what must come. A busy machine takes its time, and that is no finding;
# where things work, waiting for longer costs nothing.
PATIENCE = 60.0


def wait_for(condition: Callable[[], Any], seconds: float = PATIENCE, what: str = "it") -> Any:
    """Poll `condition` until it gives something true; fail past `seconds`."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if result := condition():
            return result
        time.sleep(0.02)
    raise AssertionError(f"waited {seconds} s for {what}")


def memory_folder() -> tempfile.TemporaryDirectory[str]:
    """Make a folder that is removed in the end; in memory, where there is room for that.

    SQLite waits for the disk with every commit, which is most of a test's time on a slow one.
    """
    memory = Path("/dev/shm")
    is_usable = os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > MEMORY_NEEDED
    return tempfile.TemporaryDirectory(
        prefix="testimonials-tests-", dir=memory if is_usable else None
    )


def find_program(name: str) -> str | None:
    """Find a server's program, also where Debian keeps PostgreSQL's."""
    candidates = sorted(glob.glob(f"/usr/lib/postgresql/*/bin/{name}"), reverse=True)
    return shutil.which(name) or (candidates[0] if candidates else None)


class PostgresServer:
    """A PostgreSQL cluster of its own in a temporary folder, which waits for the disk or not."""

    def __init__(self, fsync: str = "off") -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="testimonials-pg-"))
        self.port = free_port()
        # PostgreSQL refuses to run as root.
        runuser = shutil.which("runuser", path=f"{os.defpath}:/usr/sbin:/sbin") or "runuser"
        self.user = [runuser, "-u", "postgres", "--"] if os.geteuid() == 0 else []
        if self.user:
            shutil.chown(self.folder, "postgres", "postgres")
        data = self.folder / "data"
        self._run("initdb", "-D", data, "-U", "tests", "-A", "trust", "-E", "UTF8", "--no-sync")
        options = (
            f"-c port={self.port} -c listen_addresses=127.0.0.1 -c fsync={fsync} "
            f"-c max_connections=200 -c unix_socket_directories={self.folder}"
        )
        log = self.folder / "log"
        self._run("pg_ctl", "-D", data, "-l", log, "-w", "-o", options, "start")

    @property
    def url(self) -> str:
        return f"postgresql://tests@127.0.0.1:{self.port}"

    def restart(self) -> None:
        """End every connection in the middle of its work, and start again."""
        self._run("pg_ctl", "-D", self.folder / "data", "-m", "immediate", "-w", "restart")

    def send(self, number: signal.Signals) -> None:
        """Send a signal to each of its processes, as SIGSTOP, which freezes them."""
        parent = int((self.folder / "data" / "postmaster.pid").read_text().split()[0])
        os.kill(parent, number)
        for pid in Path(f"/proc/{parent}/task/{parent}/children").read_text().split():
            # One may have ended by itself meanwhile.
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), number)

    def stop(self) -> None:
        with contextlib.suppress(subprocess.CalledProcessError):
            self._run("pg_ctl", "-D", self.folder / "data", "-m", "immediate", "stop")
        shutil.rmtree(self.folder, ignore_errors=True)

    def _run(self, name: str, *arguments: object) -> None:
        program = find_program(name)
        assert program is not None, f"{name} is not installed"
        subprocess.run(
            [*self.user, program, *map(str, arguments)],
            check=True,
            stdout=subprocess.DEVNULL,
            cwd=self.folder,
        )


@contextlib.contextmanager
def new_database(server: str) -> Iterator[str]:
    """Return the address of a new, empty database on the PostgreSQL at `server`;
    remove it after."""
    name = f"tests_{uuid.uuid4().hex}"
    with psycopg.connect(f"{server}/postgres", autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
        yield f"{server}/{name}"
        connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


class RedisServer:
    def __init__(self) -> None:
        self.port = free_port()
        program = find_program("redis-server")
        assert program is not None, "redis-server is not installed"
        self.process = subprocess.Popen(
            [program, "--port", str(self.port), "--save", "", "--appendonly", "no"],
            stdout=subprocess.DEVNULL,
        )
        wait_for(self._answers, what="Redis")

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait()

    def _answers(self) -> bool:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
            return True
        return False


@dataclass
class Received:
    """One mail as the SMTP server got it."""

    sender: str
    recipients: list[str]
    message: EmailMessage

    @property
    def text(self) -> str:
        body = self.message.get_body(("plain",))
        assert body is not None
        return str(body.get_content())

    @property
    def html(self) -> str:
        body = self.message.get_body(("html",))
        assert body is not None
        return str(body.get_content())


class MailController(Controller):
    """Runs a mail server on a port that is its own from the beginning."""

    def __init__(self, handler: "MailSink", ssl_context: ssl.SSLContext | None = None) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        super().__init__(
            handler,
            hostname="127.0.0.1",
            port=int(self._listener.getsockname()[1]),
            ssl_context=ssl_context,
            ready_timeout=PATIENCE,
        )

    def _create_server(self) -> Awaitable[asyncio.AbstractServer]:
        return self.loop.create_server(
            self._factory_invoker, sock=self._listener, ssl=self.ssl_context
        )


@dataclass
class MailSink:
    """A real SMTP server that keeps what it gets; `answers` are given first, one a mail.

    `before_answer` is called when it has a mail and has not said so yet.
    """

    received: list[Received] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)
    before_answer: Callable[[], object] = lambda: None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    async def handle_DATA(  # noqa: N802 - the name that aiosmtpd calls
        self, _server: object, _session: Session, envelope: Envelope
    ) -> str:
        """Refuse with the next prepared answer, or keep the mail."""
        with self._lock:
            if self.answers:
                return self.answers.pop(0)
            content = envelope.content
            assert isinstance(content, bytes)
            message = message_from_bytes(content, policy=default)
            assert isinstance(message, EmailMessage)
            self.received.append(
                Received(str(envelope.mail_from), [str(to) for to in envelope.rcpt_tos], message)
            )
        self.before_answer()
        return "250 OK"

    def start(self) -> None:
        self._controller = MailController(self)
        self._controller.start()

    def stop(self) -> None:
        self._controller.stop()

    @property
    def url(self) -> str:
        return f"smtp://127.0.0.1:{self._controller.port}"

    def wait(self, count: int = 1) -> list[Received]:
        wait_for(lambda: len(self.received) >= count, what=f"{count} mail(s)")
        return self.received
