"""The socket on which `serve` listens: its own, or one that systemd holds for it.

One that systemd holds stays open while the service restarts, so that whoever connects meanwhile
waits instead of being refused.
"""

import errno
import os
import socket
import sys
from pathlib import Path

import click

from testimonials.serving.worker import BACKLOG
from testimonials.settings.table import UNIX

# The first of the descriptors that systemd passes on (sd_listen_fds).
FIRST_PASSED = 3


def take_passed_socket() -> socket.socket | None:
    """Return the socket that was passed to this process (systemd's socket activation), if any.

    Raises `click.ClickException` if what was passed isn't one socket to listen on.
    """
    count = os.environ.pop("LISTEN_FDS", "")
    # What was meant for another process is not for its children.
    receiver, own = os.environ.pop("LISTEN_PID", ""), {str(os.getpid())}
    os.environ.pop("LISTEN_FDNAMES", None)
    if hasattr(sys, "frozen"):
        # The process that unpacked the one file received it.
        own.add(str(os.getppid()))
    if not count or receiver not in own:
        return None
    os.set_inheritable(FIRST_PASSED, False)
    listener = socket.socket(fileno=FIRST_PASSED)
    if count != "1" or not listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
        raise click.ClickException(
            f"LISTEN_FDS is {count}, and one socket that listens is needed: give the socket unit "
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
    """Return a new socket that listens; raise `click.ClickException` if there can't be one."""
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
    # Any user who may enter its folder may connect, such as the proxy's.
    path.chmod(0o666)
    return listener
