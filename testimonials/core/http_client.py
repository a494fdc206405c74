"""Requests to hosts that strangers name, and what the DNS says of a host."""

import http.client
import io
import ipaddress
import socket
import ssl
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from email.message import Message
from typing import Any
from urllib.parse import urlsplit

from testimonials.core.faults import FAULTS, refusing
from testimonials.core.settings.current import current_settings

# Requests to hosts that strangers name: only on the public internet.
#
# A name is looked up once, and the connection goes to the address that was checked, even if the
# name has another one a moment later.

# Says whether an address and a port may be connected to.
Check = Callable[[str, int], bool]

# What is routed on the internet, except for what leads on to other addresses or into a private
# network: protocol assignments such as Teredo, 6to4, and documentation. Each version of Python
# takes others of them for private.
IPV6 = ipaddress.IPv6Network("2000::/3")
SPECIAL = tuple(
    ipaddress.ip_network(each)
    for each in (
        "192.0.0.0/24", "192.88.99.0/24", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20",
    )
)  # fmt: skip
MAX_ADDRESSES = 4
LONGEST_HOST = 253
PORTS = {"http": 80, "https": 443}
# Of heads, and of what stands between the parts of an answer.
MOST_AROUND = 128 * 1024


class AddressRefused(Exception):
    """The host leads to an address that may not be connected to, or to none."""


class AnswerBroken(OSError):
    """What a server answers can't be read as HTTP."""


class _Bounded(io.RawIOBase):
    """What a server sends, up to a number of bytes, as `http.client` reads it.

    Of heads that announce another one, and of lines after the content, it would read any number.
    """

    def __init__(self, stream: socket.socket, most_bytes: int) -> None:
        self._stream, self._left = stream, most_bytes

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(self)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count = self._stream.recv_into(buffer)
        self._left -= count
        if self._left < 0:
            raise AnswerBroken("it sends too much around its answer")
        return count


class UrlRefused(Exception):
    """It is not a plain http:// or https:// URL."""


@dataclass(frozen=True)
class Answer:
    """What a server answered: the beginning of its content, and whether that is all of it."""

    status: int
    headers: Message
    content: bytes
    is_complete: bool


def is_public(address: str) -> bool:
    """Return whether an address belongs to one host on the public internet."""
    found = ipaddress.ip_address(address.partition("%")[0])
    if found.version == 6 and found not in IPV6:
        return False
    if any(found in network for network in SPECIAL if network.version == found.version):
        return False
    return found.is_global and not found.is_multicast


def may_connect() -> Check:
    """Return which addresses may be connected to, by the setting for webhooks."""
    if current_settings().webhook_addresses == "any":
        return lambda _address, _port: True
    return lambda address, _port: is_public(address)


# A name that the DNS can't have.
@refusing(lambda _fault: UrlRefused())
def connect(
    host: str, port: int, seconds: float, is_allowed: Check, addresses: Sequence[str] = ()
) -> socket.socket:
    """Return a connection to the first of a host's addresses that accepts one in time.

    They are looked up unless they are known. Raises `AddressRefused` unless all of them are
    allowed, `UrlRefused` for a name that nobody can have, and `OSError`.
    """
    end = time.monotonic() + seconds
    if not addresses:
        addresses = _find_addresses(host, port, seconds)
        seconds = max(0.001, end - time.monotonic())
    if not all(is_allowed(address, port) for address in addresses):
        raise AddressRefused
    tried = addresses[:MAX_ADDRESSES]
    for address in tried[:-1]:
        try:
            return socket.create_connection((address, port), timeout=seconds / len(tried))
        except OSError:
            continue
    return socket.create_connection((tried[-1], port), timeout=seconds / len(tried))


def _find_addresses(host: str, port: int, seconds: float) -> list[str]:
    """Return a host's addresses; raise `TimeoutError`, since the system's resolver has no limit."""
    answer: Future[list[str]] = Future()

    def look() -> None:
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            answer.set_result(list(dict.fromkeys(str(each[4][0]) for each in found)))
        # Whatever it is: who waits gets it.
        except Exception as error:
            answer.set_exception(error)

    threading.Thread(target=look, daemon=True).start()
    return answer.result(seconds)


def ask(
    url: str,
    seconds: float,
    most_bytes: int,
    is_allowed: Check,
    *,
    method: str = "GET",
    headers: Mapping[str, str],
    body: bytes | None = None,
    addresses: Sequence[str] = (),
) -> Answer:
    """Send a request and read at most `most_bytes` of the answer, within `seconds` altogether.

    Follows no redirect and uses no proxy. Raises `UrlRefused`, `AddressRefused` and `OSError`.
    """
    end = time.monotonic() + seconds
    host, port, is_secure, path = _read_url(url)
    stream = connect(host, port, seconds, is_allowed, addresses)
    if is_secure:
        stream = _encrypt(stream, host)
    remaining = max(0.001, end - time.monotonic())
    stream.settimeout(remaining)
    timer = _cut_after(remaining, stream)
    connection = http.client.HTTPConnection(host, port)
    connection.default_port = PORTS["https" if is_secure else "http"]
    connection.sock = stream
    try:
        if isinstance(stream, ssl.SSLSocket):
            stream.do_handshake()
        connection.request(method, path, body=body, headers=dict(headers))
        sent: Any = _Bounded(stream, most_bytes + MOST_AROUND)
        with http.client.HTTPResponse(sent, method=method) as answer:
            answer.begin()
            return _read(answer, most_bytes)
    except (OSError, http.client.HTTPException, *FAULTS) as fault:
        if time.monotonic() >= end:
            raise TimeoutError from None
        broken = AnswerBroken(f"its answer is no HTTP ({type(fault).__name__})")
        raise fault if isinstance(fault, OSError) else broken from None
    finally:
        timer.cancel()
        connection.close()
        stream.close()


def _encrypt(stream: socket.socket, host: str) -> ssl.SSLSocket:
    """Return a TLS connection; its handshake, which verifies the host, is still to come."""
    return ssl.create_default_context().wrap_socket(
        stream, server_hostname=host, do_handshake_on_connect=False
    )


@refusing(lambda _fault: UrlRefused())
def _read_url(url: str) -> tuple[str, int, bool, str]:
    """Return the host, the port, whether it is https, and the path with the query."""
    parts = urlsplit(url)
    host, port = parts.hostname, parts.port or PORTS.get(parts.scheme)
    if parts.scheme not in PORTS or not host or not port or parts.username is not None:
        raise UrlRefused
    if len(host) > LONGEST_HOST:
        raise UrlRefused
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    # HTTP has no way to ask for another.
    path.encode("ascii")
    return host, port, parts.scheme == "https", path


def _read(answer: http.client.HTTPResponse, most_bytes: int) -> Answer:
    try:
        content = answer.read(most_bytes + 1)
        is_complete = not answer.length and len(content) <= most_bytes
    except http.client.IncompleteRead as error:
        content, is_complete = error.partial, False
    except OSError:
        content, is_complete = b"", False
    return Answer(answer.status, answer.headers, content[:most_bytes], is_complete)


def _cut_after(seconds: float, connection: socket.socket) -> threading.Timer:
    # A server that sends a byte now and then would stay within the timeout of each read.
    timer = threading.Timer(seconds, _cut, [connection])
    timer.daemon = True
    timer.start()
    return timer


def _cut(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # Already closed.


# What the DNS says of a name now, from the server that the settings name.
#
# The system's own resolver gives neither TXT records nor the difference between "there is none" and
# "nobody answered", on which it depends whether somebody still has a name.

DNS_PORT = 53
# The seconds that one try of a question may take.
SHARE = 2.0


class LookupFailed(Exception):
    """Nobody answered, or not in a way that says anything about the name."""


@dataclass
class Records:
    """What the DNS says of a name: texts, the names that it stands for in turn, and addresses."""

    texts: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    addresses: list[str] = field(default_factory=list)


def look_up(name: str, kinds: Sequence[str], server: str, end: float) -> Records:
    """Return the records of `kinds` (A, AAAA, TXT) and the aliases on the way; empty if none.

    `server` is `host:port`; without one, the system's are asked. Gives up at `end`, a monotonic
    time. Raises `LookupFailed`.
    """
    from dns.exception import DNSException
    from dns.resolver import NXDOMAIN, Resolver

    found = Records()
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
            found.names += [each for each in names if each not in found.names]
            for record in answer.rrset or ():
                if kind == "TXT":
                    found.texts.append(b"".join(record.strings).decode("ascii", "replace"))
                else:
                    found.addresses.append(record.address)
    return found
