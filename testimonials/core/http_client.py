"""Requests to hosts that strangers name, without SSRF, and DNS lookups."""

import http.client
import io
import ipaddress
import socket
import ssl
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from email.message import Message
from typing import Any
from urllib.parse import urlsplit

from testimonials.core.faults import FAULTS, refusing
from testimonials.core.settings.table import current_settings

# A name is looked up once, and the connection uses the address that was checked, even if the name
# changes its address a moment later (DNS rebinding).

# Returns whether connections to an address and a port are allowed.
Check = Callable[[str, int], bool]

# Global IPv6 addresses are in this range. These networks are excluded explicitly, since versions of
# Python disagree about them: protocol assignments such as Teredo, 6to4, and documentation.
IPV6 = ipaddress.IPv6Network("2000::/3")
SPECIAL = tuple(
    ipaddress.ip_network(each)
    for each in (
        "192.0.0.0/24", "192.88.99.0/24", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20",
    )
)  # fmt: skip
MAX_ADDRESSES = 4
MAX_HOST_LENGTH = 253
PORTS = {"http": 80, "https": 443}
# The limit for headers and anything else around the content.
MAX_OVERHEAD = 128 * 1024


class AddressRefused(Exception):
    """The host has an address that isn't allowed, or no address."""


class AnswerBroken(OSError):
    """The server's response isn't valid HTTP."""


class _Bounded(io.RawIOBase):
    """Limits the bytes that `http.client` reads, which accepts any number of 1xx responses."""

    def __init__(self, stream: socket.socket, max_bytes: int) -> None:
        self._stream, self._left = stream, max_bytes

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(self)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count = self._stream.recv_into(buffer)
        self._left -= count
        if self._left < 0:
            raise AnswerBroken("it sends too much around its response")
        return count


class UrlRefused(Exception):
    """The URL isn't a plain http:// or https:// URL."""


@dataclass(frozen=True)
class Answer:
    """A server's response, with all or only the beginning of its content."""

    status: int
    headers: Message
    content: bytes
    is_complete: bool


def is_public(address: str) -> bool:
    """Return whether an address belongs to one host on the public internet."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if ip.version == 6 and ip not in IPV6:
        return False
    if any(ip in network for network in SPECIAL if network.version == ip.version):
        return False
    return ip.is_global and not ip.is_multicast


def may_connect() -> Check:
    """Return the check of addresses that WEBHOOK_ADDRESSES demands."""
    if current_settings().webhook_addresses == "any":
        return lambda _address, _port: True
    return lambda address, _port: is_public(address)


# For a name that the DNS can't have, anything may be raised.
@refusing(lambda _fault: UrlRefused())
def connect(
    host: str, port: int, seconds: float, is_allowed: Check, addresses: Sequence[str] = ()
) -> socket.socket:
    """Connect to the first of a host's addresses that accepts the connection in time.

    The addresses are looked up unless they are given. Raises `AddressRefused` unless all of them
    are allowed, `UrlRefused` for an impossible name, and `OSError`.
    """
    end = time.monotonic() + seconds
    if not addresses:
        addresses = _find_addresses(host, port, seconds)
        seconds = max(0.001, end - time.monotonic())
    if not all(is_allowed(address, port) for address in addresses):
        raise AddressRefused
    *others, last = addresses[:MAX_ADDRESSES]
    timeout = seconds / (len(others) + 1)
    for address in others:
        try:
            return socket.create_connection((address, port), timeout=timeout)
        except OSError:
            continue
    return socket.create_connection((last, port), timeout=timeout)


def _find_addresses(host: str, port: int, seconds: float) -> list[str]:
    """Return a host's addresses, or raise `TimeoutError`; the system's resolver has no timeout."""
    result: Future[list[str]] = Future()

    def look_up() -> None:
        try:
            entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            result.set_result(list(dict.fromkeys(str(each[4][0]) for each in entries)))
        except Exception as error:
            result.set_exception(error)

    threading.Thread(target=look_up, daemon=True).start()
    return result.result(seconds)


def ask(
    url: str,
    seconds: float,
    max_bytes: int,
    is_allowed: Check,
    *,
    method: str = "GET",
    headers: Mapping[str, str],
    body: bytes | None = None,
    addresses: Sequence[str] = (),
) -> Answer:
    """Send a request and read at most `max_bytes` of the response, within `seconds` in total.

    Follows no redirects and uses no proxy. Raises `UrlRefused`, `AddressRefused` and `OSError`.
    """
    end = time.monotonic() + seconds
    host, port, is_secure, path = _read_url(url)
    stream = connect(host, port, seconds, is_allowed, addresses)
    if is_secure:
        # The handshake, which verifies the host, comes within the time limit.
        stream = ssl.create_default_context().wrap_socket(
            stream, server_hostname=host, do_handshake_on_connect=False
        )
    timer = _limit_time(stream, end)
    connection = http.client.HTTPConnection(host, port)
    connection.default_port = PORTS["https" if is_secure else "http"]
    connection.sock = stream
    try:
        if isinstance(stream, ssl.SSLSocket):
            stream.do_handshake()
        connection.request(method, path, body=body, headers=dict(headers))
        bounded: Any = _Bounded(stream, max_bytes + MAX_OVERHEAD)
        with http.client.HTTPResponse(bounded, method=method) as response:
            response.begin()
            return _read(response, max_bytes)
    except (OSError, http.client.HTTPException, *FAULTS) as fault:
        if time.monotonic() >= end:
            raise TimeoutError from None
        broken = AnswerBroken(f"its response is not HTTP ({type(fault).__name__})")
        raise fault if isinstance(fault, OSError) else broken from None
    finally:
        timer.cancel()
        connection.close()
        stream.close()


@refusing(lambda _fault: UrlRefused())
def _read_url(url: str) -> tuple[str, int, bool, str]:
    """Return the host, the port, whether it is https, and the path with the query."""
    parts = urlsplit(url)
    host, port = parts.hostname, parts.port or PORTS.get(parts.scheme)
    if parts.scheme not in PORTS or not host or not port or parts.username is not None:
        raise UrlRefused
    if len(host) > MAX_HOST_LENGTH:
        raise UrlRefused
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    # Other characters aren't allowed in HTTP.
    path.encode("ascii")
    return host, port, parts.scheme == "https", path


def _read(response: http.client.HTTPResponse, max_bytes: int) -> Answer:
    try:
        content = response.read(max_bytes + 1)
        is_complete = not response.length and len(content) <= max_bytes
    except http.client.IncompleteRead as error:
        content, is_complete = error.partial, False
    except OSError:
        content, is_complete = b"", False
    return Answer(response.status, response.headers, content[:max_bytes], is_complete)


def _limit_time(connection: socket.socket, end: float) -> threading.Timer:
    # A server that sends a byte now and then never exceeds the timeout of a single read.
    seconds = max(0.001, end - time.monotonic())
    connection.settimeout(seconds)

    def cut() -> None:
        # It may be closed already.
        with suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(seconds, cut)
    timer.daemon = True
    timer.start()
    return timer


# Custom domains need TXT records, and the difference between "there is none" and "nobody answered".
# The system's resolver offers neither.

DNS_PORT = 53
# The timeout of a single attempt, in seconds.
SHARE = 2.0


class LookupFailed(Exception):
    """No name server answered, or only with an error."""


@dataclass
class Records:
    """The TXT records of a name, its aliases (CNAME), and its addresses."""

    texts: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    addresses: list[str] = field(default_factory=list)


def look_up(name: str, kinds: Sequence[str], server: str, end: float) -> Records:
    """Return the records of `kinds` (A, AAAA, TXT) and the aliases, if there are any.

    `server` is `host:port`, or "" for the system's. Gives up at `end`, a monotonic time.
    Raises `LookupFailed`.
    """
    from dns.exception import DNSException
    from dns.resolver import NXDOMAIN, Resolver

    records = Records()
    with refusing(lambda fault: LookupFailed(str(fault) or type(fault).__name__), DNSException):
        resolver = Resolver(configure=not server)
        if server:
            host, _, port = server.rpartition(":")
            resolver.nameservers = [host.strip("[]") or server]
            resolver.port = int(port) if host else DNS_PORT
        resolver.timeout = SHARE
        for kind in kinds:
            left = max(0.001, end - time.monotonic())
            try:
                answer = resolver.resolve(
                    name, kind, search=False, lifetime=left, raise_on_no_answer=False
                )
            except NXDOMAIN:
                continue
            aliases = [each[0].target for each in answer.chaining_result.cnames]
            names = [each.to_text(omit_final_dot=True).lower() for each in aliases]
            records.names += [each for each in names if each not in records.names]
            for record in answer.rrset or ():
                if kind == "TXT":
                    records.texts.append(b"".join(record.strings).decode("ascii", "replace"))
                else:
                    records.addresses.append(record.address)
    return records
