"""Connections to hosts that strangers name: only on the public internet.

A name is looked up once, and the connection goes to the address that was checked, even if the name
has another one a moment later.
"""

import ipaddress
import socket
from collections.abc import Callable

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


class AddressRefused(Exception):
    """The host leads to an address that may not be connected to, or to none."""


def is_public(address: str) -> bool:
    """Return whether an address belongs to one host on the public internet."""
    found = ipaddress.ip_address(address.partition("%")[0])
    if found.version == 6 and found not in IPV6:
        return False
    if any(found in network for network in SPECIAL if network.version == found.version):
        return False
    return found.is_global and not found.is_multicast


def connect(host: str, port: int, seconds: float, is_allowed: Check) -> socket.socket:
    """Return a connection to the first of a host's addresses that accepts one in time.

    Raises `AddressRefused` unless all of them are allowed, and `OSError`.
    """
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
