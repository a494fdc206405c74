"""Requests to hosts that strangers name, and what the DNS says of a host."""

import http.client
import ipaddress
import secrets
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from email.message import Message
from pathlib import Path
from urllib.parse import urlsplit

from testimonials.core.faults import FAULTS, refusing

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


class AddressRefused(Exception):
    """The host leads to an address that may not be connected to, or to none."""


class AnswerBroken(OSError):
    """What a server answers can't be read as HTTP."""


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


# A name that the DNS can't have.
@refusing(lambda _fault: UrlRefused())
def connect(
    host: str, port: int, seconds: float, is_allowed: Check, addresses: Sequence[str] = ()
) -> socket.socket:
    """Return a connection to the first of a host's addresses that accepts one in time.

    They are looked up unless they are known. Raises `AddressRefused` unless all of them are
    allowed, `UrlRefused` for a name that nobody can have, and `OSError`.
    """
    if not addresses:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        addresses = list(dict.fromkeys(str(each[4][0]) for each in found))
    if not all(is_allowed(address, port) for address in addresses):
        raise AddressRefused
    tried = addresses[:MAX_ADDRESSES]
    for address in tried[:-1]:
        try:
            return socket.create_connection((address, port), timeout=seconds / len(tried))
        except OSError:
            continue
    return socket.create_connection((tried[-1], port), timeout=seconds / len(tried))


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
    # A server that sends a byte now and then would stay within the timeout of each read.
    timer = threading.Timer(remaining, _cut, [stream])
    timer.daemon = True
    timer.start()
    connection = http.client.HTTPConnection(host, port)
    connection.default_port = PORTS["https" if is_secure else "http"]
    connection.sock = stream
    try:
        if isinstance(stream, ssl.SSLSocket):
            stream.do_handshake()
        connection.request(method, path, body=body, headers=dict(headers))
        with connection.getresponse() as answer:
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


def _cut(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # Already closed.


# A small resolver: what the DNS says of a name now, from the server that the settings name.
#
# The system's own resolver gives neither TXT records nor the difference between "there is none" and
# "nobody answered", on which it depends whether somebody still has a name.

RESOLV_CONF = Path("/etc/resolv.conf")
PORT = 53
A, CNAME, TXT, AAAA = 1, 5, 16, 28
INTERNET = 1
NAME_UNKNOWN = 3
# The seconds that one try of a question may take.
SHARE = 2.0
MOST_RECORDS = 100
MOST_JUMPS = 20
MOST_BYTES = 65_535


class LookupFailed(Exception):
    """Nobody answered, or not in a way that says anything about the name."""


@dataclass
class Records:
    """What the DNS says of a name: texts, the names that it stands for in turn, and addresses."""

    texts: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    addresses: list[str] = field(default_factory=list)


def look_up(name: str, kinds: tuple[int, ...], server: str, end: float) -> Records:
    """Return the records of `kinds` (A, AAAA, TXT) and the aliases on the way; empty if none.

    `server` is `host:port`; without one, the system's are asked. Gives up at `end`, a monotonic
    time. Raises `LookupFailed`.
    """
    servers = [_read_server(server)] if server else _read_system()
    found = Records()
    for kind in kinds:
        one = _ask_any(name, kind, servers, end)
        found.texts += one.texts
        found.names += [each for each in one.names if each not in found.names]
        found.addresses += one.addresses
    return found


def _read_server(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    return (host.strip("[]"), int(port)) if host else (text, PORT)


def _read_system() -> list[tuple[str, int]]:
    try:
        lines = RESOLV_CONF.read_text(errors="replace").splitlines()
    except OSError:
        lines = []
    words = [line.split() for line in lines]
    named = [each[1] for each in words if each[:1] == ["nameserver"] and len(each) > 1]
    return [(each, PORT) for each in named] or [("127.0.0.1", PORT)]


def _ask_any(name: str, kind: int, servers: list[tuple[str, int]], end: float) -> Records:
    reason = "no answer"
    # Twice, since a packet may get lost.
    for server in servers * 2:
        if (left := end - time.monotonic()) <= 0:
            break
        try:
            return _ask(name, kind, server, min(SHARE, left))
        except (OSError, LookupFailed) as error:
            reason = str(error) or type(error).__name__
    raise LookupFailed(reason)


@refusing(lambda fault: LookupFailed(str(fault) or type(fault).__name__))
def _ask(name: str, kind: int, server: tuple[str, int], seconds: float) -> Records:
    number = secrets.randbelow(65_536)
    question = _write_name(name) + struct.pack("!HH", kind, INTERNET)
    # With recursion desired.
    packet = struct.pack("!6H", number, 0x0100, 1, 0, 0, 0) + question
    end = time.monotonic() + seconds
    answer = _send_datagram(packet, server, end)
    if answer[2] & 0x02:
        # Cut off: all of it comes over TCP.
        answer = _send_stream(packet, server, end)
    return _read_answer(answer, name, kind)


def _send_datagram(packet: bytes, server: tuple[str, int], end: float) -> bytes:
    family = socket.AF_INET6 if ":" in server[0] else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as link:
        # Connected: the kernel drops what comes from anybody else.
        link.connect(server)
        link.send(packet)
        while True:
            link.settimeout(max(0.001, end - time.monotonic()))
            answer = link.recv(MOST_BYTES)
            if _is_answer(answer, packet):
                return answer


def _send_stream(packet: bytes, server: tuple[str, int], end: float) -> bytes:
    left = max(0.001, end - time.monotonic())
    with socket.create_connection(server, timeout=left) as link, link.makefile("rb") as answers:
        link.sendall(struct.pack("!H", len(packet)) + packet)
        (length,) = struct.unpack("!H", answers.read(2))
        answer = answers.read(length)
    if len(answer) != length or not _is_answer(answer, packet):
        raise LookupFailed("the answer is not to what was asked")
    return answer


def _is_answer(answer: bytes, packet: bytes) -> bool:
    """Return whether this is an answer to this question: same number, same words."""
    asked = packet[12:]
    return (
        len(answer) >= len(packet)
        and answer[:2] == packet[:2]
        and bool(answer[2] & 0x80)
        and answer[12 : 12 + len(asked)].lower() == asked.lower()
    )


def _read_answer(answer: bytes, name: str, kind: int) -> Records:
    code = answer[3] & 0x0F
    if code == NAME_UNKNOWN:
        return Records()
    if code != 0:
        raise LookupFailed(f"the name server answered with error {code}")
    (count,) = struct.unpack_from("!H", answer, 6)
    place = _skip_name(answer, 12) + 4
    owner, found = name.lower(), Records()
    for _ in range(min(count, MOST_RECORDS)):
        of, place = _read_name(answer, place)
        what, _, _, length = struct.unpack_from("!HHIH", answer, place)
        data = place + 10
        place = data + length
        if place > len(answer):
            raise LookupFailed("the answer is cut off")
        if of != owner:
            continue
        if what == CNAME:
            # What follows is said of the name that it stands for.
            owner = _read_name(answer, data)[0]
            found.names.append(owner)
        elif what == kind:
            _take(found, kind, answer[data:place])
    return found


def _take(found: Records, kind: int, data: bytes) -> None:
    if kind == TXT:
        parts = []
        while data:
            parts.append(data[1 : 1 + data[0]])
            data = data[1 + data[0] :]
        found.texts.append(b"".join(parts).decode("ascii", "replace"))
    elif len(data) in (4, 16):
        found.addresses.append(str(ipaddress.ip_address(data)))


def _write_name(name: str) -> bytes:
    labels = [each.encode("ascii") for each in name.rstrip(".").split(".")]
    if not all(1 <= len(each) <= 63 for each in labels) or len(name) > 253:
        raise LookupFailed("the name can't be asked for")
    return b"".join(bytes([len(each)]) + each for each in labels) + b"\0"


def _skip_name(answer: bytes, place: int) -> int:
    return _read_name(answer, place)[1]


def _read_name(answer: bytes, place: int) -> tuple[str, int]:
    """Return the name at a place in an answer, and where it ends; it may refer to earlier ones."""
    labels: list[str] = []
    end = None
    for _ in range(MOST_JUMPS + 128):
        length = answer[place]
        if length == 0:
            return ".".join(labels).lower(), (place + 1 if end is None else end)
        if length & 0xC0 == 0xC0:
            end = place + 2 if end is None else end
            place = (length & 0x3F) << 8 | answer[place + 1]
        else:
            labels.append(answer[place + 1 : place + 1 + length].decode("ascii", "replace"))
            place += 1 + length
    raise LookupFailed("a name in the answer has no end")
