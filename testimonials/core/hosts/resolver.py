"""A small resolver: what the DNS says of a name now, from the server that the settings name.

The system's own resolver gives neither TXT records nor the difference between "there is none" and
"nobody answered", on which it depends whether somebody still has a name.
"""

import ipaddress
import secrets
import socket
import struct
import time
from dataclasses import dataclass, field
from pathlib import Path

from testimonials.core.faults import refusing

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
