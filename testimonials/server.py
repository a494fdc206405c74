"""`testimonials serve`: the application on waitress, with its background work."""

import json
import logging
import os
import signal
import socket
from types import FrameType
from typing import Any

import click
from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser, ParsingError
from waitress.server import create_server
from waitress.task import ErrorTask

from testimonials import create_app
from testimonials.config import listening_url, load_settings, unknown_variables
from testimonials.core.delivery import BackgroundWorker
from testimonials.core.errors import ServiceError, error_body
from testimonials.core.instance_folder import hold_folder
from testimonials.core.logs import set_up_logs
from testimonials.operations.jobs import hand_over_jobs, run_jobs
from testimonials.operations.sample import Sample, prepare_sample
from testimonials.operations.upgrading import upgrade_database

logger = logging.getLogger("testimonials.server")

BACKLOG = 1024
# The application refuses sooner and in its own words; this keeps endless bodies off the disk.
MAX_BODY_BYTES = 16 * 1024 * 1024
SERVER_OPTIONS: dict[str, Any] = {
    # Without poll the server dies at file descriptor 1,024; with few connections allowed, a
    # hundred idle ones keep everybody else out.
    "asyncore_use_poll": True,
    "connection_limit": 1500,
    "channel_timeout": 30,
    "cleanup_interval": 10,
    "backlog": BACKLOG,
    "max_request_body_size": MAX_BODY_BYTES,
    "max_request_header_size": 64 * 1024,
    # Whether to believe X-Forwarded-For is decided in one place: TRUSTED_PROXIES, by ProxyFix.
    "clear_untrusted_proxy_headers": False,
    "ident": None,
}


class _JsonErrorTask(ErrorTask):  # type: ignore[misc]
    """Answers what never reaches the application (a broken request) in the API's error shape."""

    def execute(self) -> None:
        error = self.request.error
        code = "BODY_TOO_LARGE" if error.code == 413 else "BAD_REQUEST"
        body = json.dumps(error_body(f"{error.reason}: {error.body}", code)).encode()
        self.status = f"{error.code} {error.reason}"
        self.content_length = len(body)
        self.response_headers += [
            ("Content-Type", "application/json"),
            ("Content-Length", str(len(body))),
            ("Connection", "close"),
        ]
        self.close_on_finish = True
        self.write(body)


class _Parser(HTTPRequestParser):  # type: ignore[misc]
    """Refuses an address that Python's own parser stumbles over, such as ``http://[x``."""

    def parse_header(self, header_plus: bytes) -> None:
        try:
            super().parse_header(header_plus)
        except ValueError as error:
            raise ParsingError("Bad URI") from error


class _Channel(HTTPChannel):  # type: ignore[misc]
    error_task_class = _JsonErrorTask
    parser_class = _Parser


@click.command()
@click.option("--host", help="The address to listen on.  [default: 127.0.0.1]")
@click.option("--port", help="The port to listen on; 0 picks a free one.  [default: 8000]")
@click.option(
    "--sample", is_flag=True, help="Create a sample project the first time, and say where to look."
)
def serve(host: str | None, port: str | None, sample: bool) -> None:
    """Run the service: migrate the database, then answer until SIGTERM or Ctrl-C."""
    flags = {"host": host, "port": port}
    overrides = {name: value for name, value in flags.items() if value is not None}
    settings = load_settings(overrides=overrides)
    # No restore begins from here on; what it may have changed before is read again below.
    hold_folder(settings.instance_path)
    set_up_logs(settings.log_level, settings.log_format)
    for variable in unknown_variables():
        logger.warning("%s is no setting and is ignored", variable)
    listener = _listen(settings.host, settings.port)
    # Port 0 is known only now, and the addresses in snippets and mails depend on it.
    settings = load_settings(overrides=overrides | {"port": listener.getsockname()[1]})
    app = create_app(settings)
    with app.app_context():
        upgrade_database()
        addresses = _prepare_sample() if sample else None
    _pin_to_one_core()
    worker = BackgroundWorker(app, run_jobs, at_end=hand_over_jobs)
    signal.signal(signal.SIGTERM, _stop)
    server = create_server(app, sockets=[listener], threads=settings.threads, **SERVER_OPTIONS)
    _use_json_errors(server)
    worker.start()
    logger.info("listening on %s", listening_url(*listener.getsockname()[:2]))
    if addresses is not None:
        _print_sample(addresses)
    try:
        # Ends by SystemExit or KeyboardInterrupt, after the requests in flight are answered.
        server.run()
    finally:
        worker.stop()
    logger.info("stopped")


def _prepare_sample() -> Sample:
    try:
        return prepare_sample()
    except ServiceError as error:
        raise click.ClickException(f"The sample can't be made: {error.message}") from None


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host.strip("[]"), port))
        listener.listen(BACKLOG)
    except OSError as error:
        raise click.ClickException(
            f"Can't listen on {host} port {port}: {error.strerror or error}. Choose another with "
            "--port or TESTIMONIALS_PORT."
        ) from None
    listener.setblocking(False)
    return listener


def _pin_to_one_core() -> None:
    """Keep the process on one core.

    Its threads would otherwise hand the interpreter's lock from core to core, which costs most of
    the speed.
    """
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def _use_json_errors(server: Any) -> None:
    server.channel_class = _Channel


def _stop(_signal: int, _frame: FrameType | None) -> None:
    raise SystemExit(0)


def _print_sample(sample: Sample) -> None:
    claim = sample.claim_link or "(claimed already)"
    click.echo(
        f"""
  Widget             {sample.widget_page}
  Collection page    {sample.collection_page}
  Sample account     {claim}
  Docs for agents    {sample.agent_docs}

  Ctrl-C stops it.
"""
    )
