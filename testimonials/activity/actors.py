"""Who acts in this request or command, and from where.

Guards, and doors that sign somebody in, set it (`act_as`); `recording` reads it.
"""

import ipaddress
from dataclasses import dataclass
from enum import StrEnum

import click
from flask import g, has_request_context, request


class ActorKind(StrEnum):
    PERSON = "person"
    AGENT = "agent"
    TOKEN = "token"  # noqa: S105 - no password
    OPERATOR = "operator"
    SYSTEM = "system"
    VISITOR = "visitor"


@dataclass(frozen=True)
class Actor:
    """Who acts. The name is, by kind: an account's id, the end of a key, a token's id, or a
    command."""

    kind: ActorKind
    name: str | None = None

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}"


def act_as(kind: ActorKind, name: str) -> None:
    g.actor = Actor(kind, name)


def current_actor() -> Actor:
    """Return who makes this request or runs this command; in a job, the service itself."""
    if has_request_context():
        actor: Actor = g.get("actor") or Actor(ActorKind.VISITOR)
        return actor
    if (context := click.get_current_context(silent=True)) is not None:
        return Actor(ActorKind.OPERATOR, context.command_path.partition(" ")[2])
    return Actor(ActorKind.SYSTEM)


def current_network() -> str | None:
    """Return the network that this request comes from: IPv4 as a /24, IPv6 as a /48."""
    if not has_request_context():
        return None
    try:
        address = ipaddress.ip_address(request.remote_addr or "")
    except ValueError:
        return None
    if isinstance(address, ipaddress.IPv6Address):
        address = address.ipv4_mapped or address
    bits = 24 if address.version == 4 else 48
    return str(ipaddress.ip_network((address, bits), strict=False))
