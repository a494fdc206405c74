"""`testimonials serve`: its socket, and starting the service."""

import errno
import logging
import os
import socket
import sys
from pathlib import Path
from threading import Thread
from typing import Any

import click
from flask import Flask
from sqlalchemy.exc import DatabaseError

from testimonials.core.db import migrate
from testimonials.core.db.outages import explaining_database_errors, log_fault
from testimonials.core.db.sqlite import checkpoint_log, describe_damage, is_damage
from testimonials.core.extensions import db
from testimonials.core.http.errors import ServiceError
from testimonials.core.images.worker import decoder
from testimonials.core.jobs import BackgroundWorker, do_own_work
from testimonials.core.late import late
from testimonials.core.logs import set_up_logs
from testimonials.core.settings.instance import hold_folder, pin_to_core
from testimonials.core.settings.table import (
    UNIX,
    Settings,
    current_settings,
    listening_url,
    load_settings,
    unknown_variables,
)
from testimonials.operations.database import require_known_secret
from testimonials.operations.server import supervisor
from testimonials.operations.server.worker import BACKLOG, Server, run_until_ended, use_one_arena
from testimonials.widget.script import keep_script
from testimonials.widget.versions import begin_versions

# The listening socket: its own, or one of systemd's, which stays open while the service restarts,
# so that clients wait rather than being refused.

# The first of the descriptors that systemd passes on (sd_listen_fds).
FIRST_PASSED = 3


def take_passed_socket() -> socket.socket | None:
    """Return the socket that systemd's socket activation passed to this process, if any.

    Raises `click.ClickException` unless it is a single listening socket.
    """
    count = os.environ.pop("LISTEN_FDS", "")
    # Children inherit these variables, but only the process that they name may take the socket.
    receiver, own = os.environ.pop("LISTEN_PID", ""), {str(os.getpid())}
    os.environ.pop("LISTEN_FDNAMES", None)
    if hasattr(sys, "frozen"):
        # The process that unpacked the single binary received it.
        own.add(str(os.getppid()))
    if not count or receiver not in own:
        return None
    os.set_inheritable(FIRST_PASSED, False)
    listener = socket.socket(fileno=FIRST_PASSED)
    if count != "1" or not listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
        raise click.ClickException(
            f"LISTEN_FDS is {count}, but exactly one listening socket is needed: give the "
            "socket unit "
            "one ListenStream=, and no Accept=yes."
        )
    listener.listen(BACKLOG)
    listener.setblocking(False)
    return listener


def describe_address(listener: socket.socket) -> tuple[str, int]:
    """Return the host, or `unix:` and a path, and the port."""
    address = listener.getsockname()
    if listener.family == socket.AF_UNIX:
        return f"{UNIX}{address}", 0
    return address[0], address[1]


def listen(host: str, port: int) -> socket.socket:
    """Return a new listening socket; raise `click.ClickException` if that isn't possible."""
    try:
        if host.startswith(UNIX):
            listener = _bind_file(Path(host.removeprefix(UNIX)))
        else:
            family = socket.AF_INET6 if ":" in host else socket.AF_INET
            listener = socket.socket(family, socket.SOCK_STREAM)
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((host.strip("[]"), port))
        listener.listen(BACKLOG)
    except OSError as error:
        where = host if host.startswith(UNIX) else f"{host} port {port}"
        raise click.ClickException(
            f"Can't listen on {where}: {error.strerror or error}. Choose another --host or --port."
        ) from None
    listener.setblocking(False)
    return listener


def _bind_file(path: Path) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    if path.is_socket() and listener.connect_ex(str(path)) == errno.ECONNREFUSED:
        # Left by a service that was killed.
        path.unlink()
    listener.bind(str(path))
    # Any user who can enter its folder may connect, such as that of the proxy.
    path.chmod(0o666)
    return listener


# `testimonials serve`: the application on waitress, with its background work.

logger = logging.getLogger("testimonials.operations.server.serve")


@click.command()
@click.option("--host", help="The address to listen on.  [default: 127.0.0.1]")
@click.option("--port", help="The port to listen on; 0 picks a free one.  [default: 8000]")
@click.option("--workers", help="The number of worker processes.  [default: one for each core]")
@click.option("--sample", is_flag=True, help="Create a sample project, and print its addresses.")
@click.pass_obj
def serve(info: Any, host: str | None, port: str | None, workers: str | None, sample: bool) -> None:
    """Run the service: upgrade the database, then answer until SIGTERM or Ctrl-C.

    SIGHUP reloads the settings.
    """
    signals = supervisor.note_signals()
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
    # The number chosen for port 0 is part of the URLs in snippets and emails.
    overrides |= {"host": bound_host if passed else settings.host, "port": str(bound_port)}
    settings = load_settings(overrides=overrides)

    def load() -> Settings:
        nonlocal settings
        settings = load_settings(overrides=overrides)
        set_up_logs(settings.log_level, settings.log_format)
        return settings

    def work(settings: Settings, seat: supervisor.Seat) -> None:
        # Since it forks, this comes before threads and connections, and before pinning the worker.
        decoder.start(settings.threads)
        # Adding the parent's id keeps two services from sharing the first core.
        pin_to_core(seat.parent + seat.number)
        use_one_arena()
        _answer(info.create_app(settings), seat, listener, sample=sample and not seat.is_reload)

    def announce() -> None:
        is_file = bound_host.startswith(UNIX)
        address = bound_host if is_file else listening_url(bound_host, bound_port)
        logger.info("listening on %s (%s)", address, supervisor.describe_count(settings.workers))

    code = supervisor.Supervisor(signals, listener, load, work, announce).run(settings)
    _tidy_up(settings, "" if passed else bound_host)
    logger.info("stopped")
    raise SystemExit(code)


def _tidy_up(settings: Settings, host: str) -> None:
    if host.startswith(UNIX):
        Path(host.removeprefix(UNIX)).unlink(missing_ok=True)
    # The workers exit without closing the database. Once its log is merged into it, a copy of the
    # file is complete.
    if settings.database_file is not None and not checkpoint_log(settings.database_file):
        logger.warning(
            "the newest changes are in %s-wal, because the disk is full, the database is "
            "damaged, or another program is using it: copy both files, or neither",
            settings.database_file.name,
        )


def _answer(app: Flask, seat: supervisor.Seat, listener: socket.socket, *, sample: bool) -> None:
    """Run a worker. Everything with threads or connections is created here, after the fork."""
    settings = current_settings(app)
    app.extensions[supervisor.RESTARTS] = lambda: supervisor.restarts[0]
    addresses = None
    if seat.is_first:
        with app.app_context(), explaining_database_errors():
            upgrade_database()
            require_known_secret()
            addresses = _prepare_sample() if sample else None
    if not settings.is_sqlite:
        # Only after the upgrade, since a migration may take long.
        from testimonials.core.db.postgres_watch import limit_statements

        with app.app_context():
            limit_statements(db.engine)
    begin_versions(app)
    server = Server(app, listener, settings.threads)
    seat.tell_ready()
    if seat.is_first:
        Thread(target=_finish_start, args=(app,), name="start", daemon=True).start()
    if addresses is not None:
        _print_sample(addresses)
    background = BackgroundWorker(app)
    run_until_ended(server, background, seat.parent)
    with app.app_context():
        do_own_work("jobs")


def _finish_start(app: Flask) -> None:
    """Do the part of starting up that requests needn't wait for."""
    with app.app_context():
        try:
            keep_script()
        except Exception as error:
            log_fault(
                logger, "the widget's script was not stored; the next start will do it", error
            )


def _prepare_sample() -> Any:
    try:
        return late("operations.sample:prepare_sample")()
    except ServiceError as error:
        raise click.ClickException(f"The sample can't be created: {error.message}") from None


def _print_sample(sample: Any) -> None:
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


# Upgrading the schema after a backup, for `serve` and for `db upgrade`.


def upgrade_database(*, is_backed_up: bool = True) -> tuple[str | None, str]:
    """Upgrade the database to this program's schema; return the revisions before and after.

    Raises `click.ClickException`, with nothing changed, if the backup or the upgrade fails.
    """
    back_up = late("operations.backup.creating:back_up_before")
    try:
        before, after = migrate.upgrade(db.engine, back_up if is_backed_up else None)
    except DatabaseError as error:
        reason = " ".join(str(error.orig).split())
        if is_damage(error):
            raise click.ClickException(describe_damage(reason)) from None
        raise click.ClickException(
            f"The upgrade failed, and the database is as it was: {reason}"
        ) from error
    if before != after:
        logger.info("database upgraded from %s to %s", before or "empty", after)
    return before, after
