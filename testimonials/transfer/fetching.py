"""Fetching pictures from the addresses in a file, without becoming a door into the own network.

Only http(s) on its usual ports, only addresses of the public internet, each redirect checked anew.
The connection goes to the very address that was checked, whatever the name means a moment later.
"""

import http.client
import ipaddress
import socket
import ssl
import threading
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import SplitResult, urljoin, urlsplit

from testimonials.core.images import AVATAR

SECONDS = 10.0
REDIRECTS = 3
PORTS = {"http": 80, "https": 443}

# Says whether an address and a port may be connected to.
Check = Callable[[str, int], bool]


class PictureUnreachable(Exception):
    """There is no picture that can be fetched; the message says why."""


@dataclass(frozen=True)
class _Target:
    url: SplitResult
    host: str
    port: int
    address: str


def is_public(address: str, port: int) -> bool:
    """Tell whether an address belongs to the public internet and the port to the web."""
    found = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(found, ipaddress.IPv6Address):
        # Those that carry another address may lead anywhere.
        has_other = found.ipv4_mapped or found.sixtofour or found.teredo
        if has_other or found in ipaddress.ip_network("64:ff9b::/32"):
            return False
    return found.is_global and not found.is_multicast and port in PORTS.values()


def fetch_picture(url: str, is_allowed: Check = is_public, seconds: float = SECONDS) -> bytes:
    """Give the bytes at an address; raise `PictureUnreachable`."""
    for _turn in range(REDIRECTS + 1):
        target = _resolve(url, is_allowed)
        try:
            content, location = _get(target, seconds)
        except (OSError, http.client.HTTPException, ValueError) as error:
            name = type(error).__name__
            raise PictureUnreachable(f"It can’t be fetched ({name}).") from None
        if location is None:
            return content
        url = urljoin(url, location)
    raise PictureUnreachable("It redirects too often.")


def _resolve(url: str, is_allowed: Check) -> _Target:
    """Give where an address leads, if it may be gone to."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port or PORTS.get(parts.scheme)
        if parts.scheme not in PORTS or not host or not port or parts.username is not None:
            raise PictureUnreachable("It is no plain http:// or https:// address.")
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, ValueError):
        raise PictureUnreachable("There is no such website.") from None
    addresses = [str(each[4][0]) for each in found]
    if not addresses or not all(is_allowed(address, port) for address in addresses):
        raise PictureUnreachable("It leads into a private network.")
    return _Target(parts, host, port, addresses[0])


def _get(target: _Target, seconds: float) -> tuple[bytes, str | None]:
    """Give the content, or where a redirect leads; the whole of it within the time."""
    stream = socket.create_connection((target.address, target.port), timeout=seconds)
    if target.url.scheme == "https":
        # The handshake comes below, where the watch is on.
        stream = ssl.create_default_context().wrap_socket(
            stream, server_hostname=target.host, do_handshake_on_connect=False
        )
    # A server that sends a letter now and then would keep every single read within its time.
    watch = threading.Timer(seconds, _cut, [stream])
    watch.daemon = True
    watch.start()
    connection = http.client.HTTPConnection(target.host, target.port, timeout=seconds)
    connection.sock = stream
    try:
        if isinstance(stream, ssl.SSLSocket):
            stream.do_handshake()
        path = (target.url.path or "/") + (f"?{target.url.query}" if target.url.query else "")
        headers = {"Accept": "image/*", "User-Agent": "testimonials"}
        connection.request("GET", path, headers=headers)
        with connection.getresponse() as answer:
            return _read(answer)
    finally:
        watch.cancel()
        connection.close()
        stream.close()


def _read(answer: http.client.HTTPResponse) -> tuple[bytes, str | None]:
    location = answer.getheader("Location")
    if 300 <= answer.status < 400 and location:
        return b"", location
    if answer.status != 200:
        raise PictureUnreachable(f"Its server answers {answer.status}.")
    content = answer.read(AVATAR.max_bytes + 1)
    if len(content) > AVATAR.max_bytes:
        raise PictureUnreachable("It is too large.")
    if answer.length:
        raise PictureUnreachable("It took too long.")
    return content, None


def _cut(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        # It is over already.
        return
