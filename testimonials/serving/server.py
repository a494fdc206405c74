"""`testimonials serve`: the application on waitress, with its background work."""

import logging
import socket
from pathlib import Path
from threading import Thread

import click
from flask import Flask

from testimonials.application import build_app
from testimonials.core.commands import telling_trouble
from testimonials.core.data.damage import look_for_damage
from testimonials.core.data.sqlite_file import fold_log
from testimonials.core.logs.lines import set_up_logs
from testimonials.core.mail.delivery import BackgroundWorker
from testimonials.core.pictures.decoder_process import decoder
from testimonials.core.web.errors import ServiceError
from testimonials.extensions import db
from testimonials.operations.database.shared_secret import require_known_secret
from testimonials.operations.database.upgrading import upgrade_database
from testimonials.operations.jobs.link_mail import answer_link_requests
from testimonials.operations.jobs.registry import end_jobs, run_backups, run_jobs
from testimonials.operations.metrics import RESTARTS, end_metrics
from testimonials.operations.sample import Sample, prepare_sample
from testimonials.projects.notifications.services import is_mail_wanted
from testimonials.serving.listening import describe_address, listen, take_passed_socket
from testimonials.serving.processes import Seat, note_signals, restarts
from testimonials.serving.supervisor import Supervisor, describe_count
from testimonials.serving.worker import Server, run_until_ended
from testimonials.settings.cores import pin_to_core
from testimonials.settings.instance_folder import hold_folder
from testimonials.settings.table import (
    UNIX,
    Settings,
    listening_url,
    load_settings,
    unknown_variables,
)
from testimonials.transfer.imports.running import run_imports
from testimonials.webhooks.dispatch import Dispatcher
from testimonials.widget.memory.told import begin_versions
from testimonials.widget.script.versions import keep_script

logger = logging.getLogger("testimonials.serving.server")


@click.command()
@click.option("--host", help="The address to listen on.  [default: 127.0.0.1]")
@click.option("--port", help="The port to listen on; 0 picks a free one.  [default: 8000]")
@click.option("--workers", help="The number of worker processes.  [default: one for each core]")
@click.option("--sample", is_flag=True, help="Create a sample project, and print its addresses.")
def serve(host: str | None, port: str | None, workers: str | None, sample: bool) -> None:
    """Run the service: upgrade the database, then answer until SIGTERM or Ctrl-C.

    SIGHUP reloads the settings.
    """
    signals = note_signals()
    flags = {"host": host, "port": port, "workers": workers}
    overrides = {name: value for name, value in flags.items() if value is not None}
    settings = load_settings(overrides=overrides)
    # No restore can start from here on, so the settings are read again below.
    hold_folder(settings.instance_path)
    set_up_logs(settings.log_level, settings.log_format)
    for variable in unknown_variables():
        logger.warning("%s is not a setting and is ignored", variable)
    passed = take_passed_socket()
    listener = passed or listen(settings.host, settings.port)
    bound_host, bound_port = describe_address(listener)
    # The number chosen for port 0 is part of the URLs in snippets and mails.
    overrides |= {"host": bound_host if passed else settings.host, "port": str(bound_port)}
    settings = load_settings(overrides=overrides)

    def load() -> Settings:
        nonlocal settings
        settings = load_settings(overrides=overrides)
        set_up_logs(settings.log_level, settings.log_format)
        return settings

    def work(settings: Settings, seat: Seat) -> None:
        # It forks, so before there are threads or connections, and before this is pinned.
        decoder.start(settings.threads)
        # Counting from the parent's id keeps two services from sharing the first core.
        pin_to_core(seat.parent + seat.number)
        _answer(settings, seat, listener, sample=sample and not seat.is_reload)

    def announce() -> None:
        is_file = bound_host.startswith(UNIX)
        address = bound_host if is_file else listening_url(bound_host, bound_port)
        logger.info("listening on %s (%s)", address, describe_count(settings.workers))

    code = Supervisor(signals, listener, load, work, announce).run(settings)
    _tidy_up(settings, "" if passed else bound_host)
    logger.info("stopped")
    raise SystemExit(code)


def _tidy_up(settings: Settings, host: str) -> None:
    if host.startswith(UNIX):
        Path(host.removeprefix(UNIX)).unlink(missing_ok=True)
    # The workers exit without closing the database; with its log folded in, a copy is complete.
    if settings.database_file is not None and not fold_log(settings.database_file):
        logger.warning(
            "the newest changes are in %s-wal, because the disk is full, the database damaged, or "
            "another program using it: copy both files, or neither",
            settings.database_file.name,
        )


def _answer(settings: Settings, seat: Seat, listener: socket.socket, *, sample: bool) -> None:
    """Run a worker; whatever has threads or connections is made here, after the fork."""
    app = build_app(settings)
    app.extensions[RESTARTS] = lambda: restarts[0]
    addresses = None
    if seat.is_first:
        with app.app_context(), telling_trouble():
            upgrade_database()
            require_known_secret()
            keep_script()
            addresses = _prepare_sample() if sample else None
    if not settings.is_sqlite:
        # Only now, since a migration may take long.
        from testimonials.core.data.postgres_watch import limit_statements

        with app.app_context():
            limit_statements(db.engine)
    begin_versions(app)
    server = Server(app, listener, settings.threads)
    seat.tell_ready()
    if seat.is_first:
        # It may take minutes, and finds what nobody has asked for yet.
        Thread(target=_look_for_damage, args=(app,), name="damage", daemon=True).start()
    if addresses is not None:
        _print_sample(addresses)
    background = BackgroundWorker(
        app,
        run_jobs,
        write_mail=answer_link_requests,
        is_mail_wanted=is_mail_wanted,
        send_webhooks=Dispatcher().run,
        run_imports=run_imports,
        back_up=run_backups,
    )
    run_until_ended(server, background, seat.parent)
    with app.app_context():
        end_jobs()
    end_metrics(app)


def _look_for_damage(app: Flask) -> None:
    with app.app_context():
        look_for_damage()


def _prepare_sample() -> Sample:
    try:
        return prepare_sample()
    except ServiceError as error:
        raise click.ClickException(f"The sample can't be created: {error.message}") from None


def _print_sample(sample: Sample) -> None:
    claim = sample.claim_link or "(already claimed)"
    click.echo(
        f"""
  Widget             {sample.widget_page}
  Collection page    {sample.collection_page}
  Sample account     {claim}
  Docs for agents    {sample.agent_docs}

  Ctrl-C stops it.
"""
    )
