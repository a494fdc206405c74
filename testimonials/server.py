"""`testimonials serve`: the application on waitress, with its background work."""

import logging
import os
import socket

import click

from testimonials.application import build_app
from testimonials.config import Settings, listening_url, load_settings, unknown_variables
from testimonials.core.cores import pin_to_core
from testimonials.core.delivery import BackgroundWorker
from testimonials.core.errors import ServiceError
from testimonials.core.instance_folder import hold_folder
from testimonials.core.logs import set_up_logs
from testimonials.operations.jobs import hand_over_jobs, run_jobs
from testimonials.operations.metrics import end_metrics
from testimonials.operations.sample import Sample, prepare_sample
from testimonials.operations.upgrading import upgrade_database
from testimonials.processes import Seat, note_signals
from testimonials.supervisor import Supervisor, describe_count
from testimonials.widget.scripts import keep_script
from testimonials.worker import BACKLOG, Server, run_until_ended

logger = logging.getLogger("testimonials.server")


@click.command()
@click.option("--host", help="The address to listen on.  [default: 127.0.0.1]")
@click.option("--port", help="The port to listen on; 0 picks a free one.  [default: 8000]")
@click.option("--workers", help="How many processes answer.  [default: one for each core]")
@click.option(
    "--sample", is_flag=True, help="Create a sample project the first time, and say where to look."
)
def serve(host: str | None, port: str | None, workers: str | None, sample: bool) -> None:
    """Run the service: migrate the database, then answer until SIGTERM or Ctrl-C.

    SIGHUP reads the settings anew.
    """
    signals = note_signals()
    flags = {"host": host, "port": port, "workers": workers}
    overrides = {name: value for name, value in flags.items() if value is not None}
    settings = load_settings(overrides=overrides)
    # No restore begins from here on; what it may have changed before is read again below.
    hold_folder(settings.instance_path)
    set_up_logs(settings.log_level, settings.log_format)
    for variable in unknown_variables():
        logger.warning("%s is no setting and is ignored", variable)
    listener = _listen(settings.host, settings.port)
    # Port 0 is known only now, and the addresses in snippets and mails depend on it.
    overrides |= {"host": settings.host, "port": listener.getsockname()[1]}
    settings = load_settings(overrides=overrides)
    # Cores are dealt out from a place of its own, so that two services don't share the first one.
    first_core = os.getpid()

    def load() -> Settings:
        settings = load_settings(overrides=overrides)
        set_up_logs(settings.log_level, settings.log_format)
        return settings

    def work(settings: Settings, seat: Seat) -> None:
        pin_to_core(first_core + seat.number)
        _answer(settings, seat, listener, sample=sample and not seat.is_reload)

    def announce() -> None:
        address = listening_url(*listener.getsockname()[:2])
        logger.info("listening on %s (%s)", address, describe_count(settings.workers))

    code = Supervisor(signals, listener, load, work, announce).run(settings)
    logger.info("stopped")
    raise SystemExit(code)


def _answer(settings: Settings, seat: Seat, listener: socket.socket, *, sample: bool) -> None:
    """Be a worker: everything that has threads or connections is made here, after the fork."""
    app = build_app(settings)
    addresses = None
    if seat.is_first:
        with app.app_context():
            upgrade_database()
            keep_script()
            addresses = _prepare_sample() if sample else None
    server = Server(app, listener, settings.threads)
    seat.tell_ready()
    if addresses is not None:
        _print_sample(addresses)
    run_until_ended(server, BackgroundWorker(app, run_jobs, at_end=hand_over_jobs))
    end_metrics(app)


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
